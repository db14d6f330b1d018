"""The command line without a process of its own, for tests that are not about processes."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

from click.testing import CliRunner

from codeguard.cli import main


def codeguard(
    *words: str, cwd: Path, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder and return what a process would have given."""
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(main, list(words), input=stdin, env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)
