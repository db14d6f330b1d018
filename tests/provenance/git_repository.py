"""A real git repository with real ssh keys, for the tests."""

import os
import subprocess
from pathlib import Path

from codeguard.trust.git import head_commit


class Repository:
    """A git repository in `root`, with ssh keys and an allowed signers file outside of it."""

    def __init__(self, root: Path, outside: Path) -> None:
        self.root, self.outside = root, outside
        outside.mkdir(parents=True, exist_ok=True)
        root.mkdir(parents=True, exist_ok=True)
        for name in ("alice", "mallory"):
            key = outside / name
            if not key.exists():
                subprocess.run(
                    ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", key], check=True
                )
        self.allowed = outside / "allowed_signers"
        public = (outside / "alice.pub").read_text().split()
        self.allowed.write_text(f'alice@example.org namespaces="git" {public[0]} {public[1]}\n')
        self.git("init", "-q", "-b", "main")
        self.git("config", "gpg.format", "ssh")
        self.git("config", "core.autocrlf", "false")

    def git(self, *arguments: object) -> str:
        isolated = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        who = {f"GIT_{role}_{part}": "x@y" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["git", "-C", self.root, *map(str, arguments)],
            check=True,
            capture_output=True,
            env={**os.environ, **isolated, **who},
        )
        return done.stdout.decode().strip()

    def commit(self, changes: dict[str, bytes | None], signer: str | None = "alice") -> str:
        for name, data in changes.items():
            place = self.root / name
            if data is None:
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
        self.git("add", "-A")
        signing = ["-S", "-c", f"user.signingkey={self.outside / signer}"] if signer else []
        options = [item for item in signing if item != "-S"]
        self.git(*options, "commit", "-q", "--allow-empty", "-m", "edit", *(["-S"] if signer else []))
        return head_commit(self.root)
