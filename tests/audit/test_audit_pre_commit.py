"""The hooks as pre-commit runs them: a poisoned commit is stopped, a clean one passes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from audit_helpers import CLEAN, FLAGGED, git, write

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[2]
POISON = "import os\n\n\ndef remove(name):\n    # codeguard: ignore\n    os.system('echo ' + name)\n"


def hooks() -> dict[str, dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    return {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


def on_path() -> dict[str, str]:
    """Return the environment of somebody who has installed codeguard; git's own variables are not theirs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**environment, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def commit(repository: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    """Commit a file the way a user does, hooks and all."""
    write(repository, {name: text})
    git(repository, "add", name)
    words = ["git", "-c", "user.name=Test", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", name]
    return subprocess.run(
        words, cwd=repository, env=on_path(), capture_output=True, text=True, timeout=600, check=False
    )


def test_every_hook_is_our_module_in_the_isolated_python_of_its_environment() -> None:
    found = hooks()
    assert set(found) == {"codeguard-audit", "codeguard-trust-verify"}
    assert {hook["language"] for hook in found.values()} == {"python"}
    assert {hook["entry"].partition(" codeguard ")[0] for hook in found.values()} == {"python -I -m"}


@pytest.mark.parametrize(("text", "code"), [(POISON, 1), (CLEAN, 0), (FLAGGED, 1)])
def test_the_entry_as_pre_commit_runs_it(repository: Path, text: str, code: int) -> None:
    write(repository, {"changed.py": text, "data.bin": "x\0"})
    words = [*hooks()["codeguard-audit"]["entry"].split(), "changed.py", "data.bin"]
    done = subprocess.run(
        words, cwd=repository, env=on_path(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "--no-behavior",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("--ignore=audit", "--fail-on=critical", "-x")
        ),
    ],
)
def test_a_file_named_like_an_option_stops_the_commit(repository: Path, name: str) -> None:
    write(repository, {name: CLEAN, "changed.py": FLAGGED})
    words = [*hooks()["codeguard-audit"]["entry"].split(), "changed.py"]
    told = [
        subprocess.run(
            [*words, *more], cwd=repository, env=on_path(), capture_output=True, check=False, timeout=300
        )
        for more in ([name], ["--", name])
    ]
    assert [done.returncode for done in told] == [2, 1]


def test_only_skipped_files_are_no_reason_to_stop(repository: Path) -> None:
    write(repository, {"data.bin": "x\0"})
    words = [*hooks()["codeguard-audit"]["entry"].split(), "data.bin"]
    done = subprocess.run(words, cwd=repository, env=on_path(), capture_output=True, check=False, timeout=300)
    assert done.returncode == 0


def config(repository: Path, text: str) -> None:
    """Install pre-commit's own hook with a configuration."""
    write(repository, {".pre-commit-config.yaml": text})
    git(repository, "add", ".pre-commit-config.yaml")
    words = [sys.executable, "-m", "pre_commit", "install"]
    subprocess.run(words, cwd=repository, env=on_path(), check=True, capture_output=True, timeout=120)


@pytest.mark.slow
def test_pre_commit_stops_a_poisoned_commit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the hook's own entry, but the codeguard that is installed: no environment is built."""
    pytest.importorskip("pre_commit")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(repository.parent / "cache"))
    hook = {**hooks()["codeguard-audit"], "language": "system"}
    import json  # what is JSON is YAML

    config(repository, json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
    clean = commit(repository, "clean.py", CLEAN)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    poisoned = commit(repository, "poisoned.py", POISON)
    assert poisoned.returncode == 1
    assert "audit.inline-ignore" in poisoned.stdout + poisoned.stderr
    # Poisoned in the index, clean in the tree: pre-commit puts the tree aside.
    write(repository, {"poisoned.py": CLEAN})
    words = ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "x"]
    again = subprocess.run(
        words, cwd=repository, env=on_path(), capture_output=True, check=False, timeout=600
    )
    assert again.returncode == 1
    assert commit(repository, "poisoned.py", CLEAN).returncode == 0


@pytest.mark.slow
def test_trust_verify_stops_a_changed_tree(repository: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    private = repository.parent / "key.pem"
    subprocess.run([openssl, "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    write(repository, {"m.py": CLEAN})

    def run(*words: str) -> int:
        return subprocess.run(
            ["codeguard", *words],
            cwd=repository,
            env=on_path(),
            capture_output=True,
            check=False,
            timeout=120,
        ).returncode

    assert run("trust", "build", ".", "--label", "p") == 0
    assert run("trust", "sign", ".", "--key", str(private), "--count-as", "us") == 0
    words = (*hooks()["codeguard-trust-verify"]["entry"].split()[4:], "--label", "p")
    assert run(*words) == 0
    write(repository, {"m.py": CLEAN + "# more\n"})
    assert run(*words) == 1
