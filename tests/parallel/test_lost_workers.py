"""A worker that is killed, and a run that is interrupted: no file is lost, nothing is doubled, the store is clean."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from parallel_index import difference, dump, index, settings_of

from codeguard.errors import NoIndexError
from codeguard.index.maintenance import verify
from codeguard.index.workspace import Workspace

pytestmark = pytest.mark.ci

STAGES = ("files", "signals", "checks")


def pool() -> list[int]:
    """Return the worker processes of this one."""
    found = []
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text().split():
            with contextlib.suppress(OSError):
                if b"codeguard.workers.processes" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
    return found


@pytest.mark.slow
def test_a_killed_process_changes_nothing(corpus: Path, tmp_path: Path, alone: list[str]) -> None:
    killed: dict[str, int] = {}

    def kill(stage: str, done: int, total: int) -> None:
        for pid in pool()[:1]:
            if stage in STAGES and stage not in killed:
                killed[stage] = pid
                os.kill(pid, signal.SIGKILL)

    index(corpus, tmp_path / "state", jobs=2, progress=kill)
    assert "checks" in killed
    assert difference(dump(corpus, tmp_path / "state"), alone) == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell lets what it runs in the background ignore Ctrl-C, the tests as well."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "stage",
    [stage if stage == "signals" else pytest.param(stage, marks=pytest.mark.slow) for stage in STAGES],
)
def test_an_interrupted_run_leaves_a_clean_store(
    corpus: Path, tmp_path: Path, alone: list[str], stage: str, interruptible: None
) -> None:
    def interrupt(name: str, done: int, total: int) -> None:
        if name == stage and done:
            os.kill(os.getpid(), signal.SIGINT)

    before = set(pool())  # of tests that ran in this process
    with pytest.raises(KeyboardInterrupt):
        index(corpus, tmp_path / "state", jobs=2, progress=interrupt)
    assert set(pool()) <= before
    if stage == "files":  # nothing of it is there yet
        with pytest.raises(NoIndexError):
            Workspace(settings_of(corpus, tmp_path / "state"))
    else:
        workspace = Workspace(settings_of(corpus, tmp_path / "state"))
        assert verify(workspace, all_vectors=True).clean
        workspace.close()
    index(corpus, tmp_path / "state", jobs=2)
    assert difference(dump(corpus, tmp_path / "state"), alone) == []
