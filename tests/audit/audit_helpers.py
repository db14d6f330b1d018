"""What the tests of the audit share: small files, a git repository, the command line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from codeguard.audit.findings import AuditReport, Finding
from codeguard.audit.rules import RuleSelection
from codeguard.audit.run import AuditOptions, audit

GOOD = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'
CLEAN = "def twice(number):\n    return 2 * number\n"
# A finding of the audit's own, so that no test here depends on a signal: it asks to be ignored.
FLAGGED = "def half(number):\n    return number / 2  # codeguard: ignore\n"
OWN = ("audit", "discovery")


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files of text by their names."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def look(
    *paths: str | Path, only: tuple[str, ...] = OWN, behavior: bool = False, **options: object
) -> AuditReport:
    """Audit paths with some rules, without behavior unless it is asked for."""
    chosen = AuditOptions(selection=RuleSelection(only), behavior=behavior, **options)  # type: ignore[arg-type]
    return audit([Path(path) for path in paths], chosen)


def rules(findings: Iterable[Finding]) -> list[str]:
    """Return the rules of findings in their order."""
    return [item.rule for item in findings]


def git(folder: Path, *words: str, **variables: str) -> str:
    """Run git as a user does, with an identity of the test's own and no configuration of the machine."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **variables}
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def commit(repository: Path, files: dict[str, str]) -> None:
    """Write files into a repository and commit everything that is there."""
    write(repository, files)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "a change", "--allow-empty")
