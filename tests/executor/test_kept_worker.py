"""One process is kept for the runs of a process that want one, and holds one sandbox at a time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.workers.processes import Processes, default_workers, open_executor

pytestmark = pytest.mark.ci


def test_a_single_worker_is_the_one_that_is_kept() -> None:
    with open_executor(1) as first, open_executor(1) as second:
        assert first is second is default_workers()
    with open_executor(2) as two:
        assert two is not default_workers()


def test_an_interruption_ends_it_and_an_error_does_not() -> None:
    before = default_workers()
    with pytest.raises(ValueError, match="x"), open_executor(1):
        raise ValueError("x")
    assert default_workers() is before
    with pytest.raises(KeyboardInterrupt), open_executor(1):
        raise KeyboardInterrupt
    assert default_workers() is not before


def test_it_holds_one_sandbox_however_often_what_is_trusted_changes(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    counts = set()
    for number in range(4):
        code = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n'
        (ours / f"m{number}.py").write_text(code.replace("add", f"add{number}"))
        (theirs / f"m{number}.py").write_text(code.replace("add", f"add{number}").replace("+", "-"))
        settings = Settings(store=str(tmp_path / "state"), embedding="lexical", jobs=1)
        with CodeGuard.open(settings=settings, trust=[ours]) as guard:
            guard.index([theirs])
        counts.add(_sandboxes())
    assert max(counts) == min(counts) > 0


def _sandboxes() -> int:
    """Return how many processes of sandboxes the kept worker has started and not ended."""
    workers = default_workers()
    assert isinstance(workers, Processes)
    (worker,) = workers._workers
    listed = subprocess.run(
        ["ps", "--no-headers", "--ppid", str(worker._pid)], capture_output=True, text=True, check=False
    )
    return len(listed.stdout.splitlines())
