"""Run git in an untrusted repository, without running or fetching anything that its configuration names."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from codeguard.interpreter import OUTSIDE

TIMEOUT_S = 120
_NO_GIT = "git is not installed"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
# Settings by which a repository's configuration could run a program or redirect git.
_SETTINGS = {
    "advice.graftFileDeprecated": "false",
    "core.commitGraph": "false",
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "diff.external": "",
    "diff.ignoreSubmodules": "none",
    "diff.renames": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
VARIABLES = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}


def run_git(
    folder: Path,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    variables: Collection[str] = (),
) -> subprocess.CompletedProcess[bytes]:
    """Run git and return its output and exit status.

    Args:
        folder: a folder in the repository.
        arguments: the command and its arguments.
        settings: in addition to our own, or overriding them.
        variables: names of `GIT_…` variables to keep. All others are removed: they could redirect git to
            another repository, index or object store.

    Raises:
        FileNotFoundError: git is not installed.
        subprocess.TimeoutExpired: it did not finish in time.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in variables
    }
    return subprocess.run(
        command(folder, *arguments, settings=settings),
        cwd=OUTSIDE,  # what a relative entry of PATH finds there is not the repository's
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment | VARIABLES,
        timeout=TIMEOUT_S,
        check=False,
    )


def command(folder: Path, *arguments: str, settings: Mapping[str, str] | None = None) -> list[str]:
    """Return the command line of git in a folder, with our settings; it needs `VARIABLES` as well."""
    chosen = {**_SETTINGS, **(settings or {})}
    options = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    return ["git", "--no-pager", "-C", str(folder.absolute()), *options, *arguments]


class WorkingTree:
    """A folder that may be in the working tree of a git repository, and what git tracks in it.

    A folder named `.git` proves nothing: anyone can put one into an archive. So
    git is asked, on first use. If it is not installed, the folder's word counts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def is_one(self) -> bool:
        """Whether the folder or one above it holds a repository, as far as can be known."""
        return self._claims and self._answer[1] in ("", _NO_GIT)

    @property
    def problem(self) -> str:
        """Why git cannot list tracked files, or ""."""
        return self._answer[1] if self._claims else ""

    def tracks(self, relative: str) -> bool:
        """Return whether a file (relative to the folder, posix) is tracked, or anything in a folder of that name."""
        return relative in self._answer[0]

    @cached_property
    def _claims(self) -> bool:
        return any((place / ".git").exists() for place in (self._folder, *self._folder.parents))

    @cached_property
    def _answer(self) -> tuple[set[str], str]:
        """Return what is tracked, with the folders around it, and why git cannot list it."""
        try:
            # A repository of another user may be listed: nothing that its configuration names is run.
            done = run_git(self._folder, "ls-files", "-z", "--cached", settings={"safe.directory": "*"})
        except FileNotFoundError:
            return set(), _NO_GIT
        except (OSError, subprocess.TimeoutExpired):
            return set(), "git cannot be run"
        if done.returncode:
            return set(), done.stderr.decode("utf-8", "replace").strip().partition("\n")[0][:200]
        known: set[str] = set()
        for name in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
            while name and name not in known:
                known.add(name)
                name = name.rpartition("/")[0]
        return known, ""
