"""Whoever does the work, wherever: the same answers in the same order, and no worker takes anything with it."""

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from codeguard.chunking import chunk_file
from codeguard.chunktasks import chunked
from codeguard.errors import ConfigError, MissingExtraError
from codeguard.executor import Here, open_executor, spread
from codeguard.models import Skipped
from codeguard.processes import Processes
from codeguard.tasks import Shared, WorkerError

TESTS = Path(__file__).parent
SEEN: dict[int, Shared] = {}


def shout(payload: bytes) -> bytes:
    print("into nowhere")
    return payload.upper()


def fail(payload: bytes) -> bytes:
    raise ValueError(payload.decode())


def die_once(payload: bytes) -> bytes:
    """Die where the mark is not there yet, as a worker does that is killed."""
    mark, _, text = payload.partition(b"\n")
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return text
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def die(payload: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return payload


def of_shared(payload: bytes, shared: Shared) -> bytes:
    SEEN[id(shared)] = shared
    return f"{len(shared.verified())} {len(SEEN)}".encode()


def never(payload: bytes) -> bytes:
    Path(os.fsdecode(payload)).touch()
    signal.pause()
    return payload


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TESTS))


@pytest.mark.parametrize("jobs", [1, 3])
def test_answers_come_in_order(jobs: int) -> None:
    payloads = [f"text {number}".encode() for number in range(100)]
    with open_executor(jobs) as executor:
        assert list(spread(executor, shout, payloads)) == [item.upper() for item in payloads]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_task_is_told(jobs: int) -> None:
    with pytest.raises(WorkerError, match="ValueError: because"), open_executor(jobs) as executor:
        list(spread(executor, fail, [b"because"]))


def test_a_lost_worker_loses_nothing(tmp_path: Path) -> None:
    payloads = [f"{tmp_path / str(number % 3)}\n{number}".encode() for number in range(20)]
    with open_executor(2) as executor:
        answers = list(spread(executor, die_once, payloads))
    assert answers == [str(number).encode() for number in range(20)]


def test_a_task_that_kills_every_worker_is_told() -> None:
    with pytest.raises(WorkerError, match="lost 3 times"), open_executor(2) as executor:
        list(spread(executor, die, [b"x"]))


def test_a_single_future_breaks_with_its_worker() -> None:
    with Processes(1) as executor:
        with pytest.raises(BrokenExecutor):
            executor.submit(die, b"x").result()
        assert executor.submit(shout, b"x").result() == b"X"


def test_what_is_shared_is_sent_once_to_each_process() -> None:
    shared = Shared.of(b"x" * 1000)
    with Processes(1) as executor:
        assert set(spread(executor, of_shared, [b""] * 5, shared)) == {b"1000 1"}


def test_an_aborted_executor_ends_its_tasks(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with Processes(1) as executor:
        future = executor.submit(never, os.fsencode(mark))
        while not mark.exists():
            assert not future.done()
        executor.abort()
        with pytest.raises(BrokenExecutor):
            future.result()


def test_only_so_much_is_read_ahead() -> None:
    taken: list[int] = []

    def payloads() -> Iterator[bytes]:
        for number in range(1000):
            taken.append(number)
            yield b"x"

    answers = spread(Here(), shout, payloads())
    next(answers)
    assert len(taken) < 10


def files() -> list[tuple[str, bytes]]:
    own = Path(chunk_file.__code__.co_filename).parent
    found = [(path.name, path.read_bytes()) for path in sorted(own.glob("*.py"))]
    return [
        *found,
        ("latin.py", b"# -*- coding: latin-1 -*-\nn = '\xe9'\n"),
        ("empty.py", b""),
        ("x.md", b"# hi\n"),
    ]


@pytest.mark.parametrize("jobs", [1, 2])
def test_chunks_are_what_the_chunker_says(jobs: int) -> None:
    with open_executor(jobs) as executor:
        found = list(chunked(executor, files()))
    assert found == [chunk_file(name, data) for name, data in files()]


def test_a_file_that_cannot_be_chunked_is_skipped_and_the_others_are_not() -> None:
    (found, after) = chunked(Here(), [("x.py", b"a = '\xff\xfe\0'\n"), ("y.py", b"x = 1\n")])
    assert isinstance(found, Skipped) or found.path == "x.py"
    assert not isinstance(after, Skipped)


def test_no_cluster_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingExtraError, match=r"codeguard\[cluster\]"),
        open_executor(1, "tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_clear_line() -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(ConfigError, match="no cluster answers") as caught,
        open_executor(1, "tcp://127.0.0.1:1"),
    ):
        pass
    assert "\n" not in str(caught.value)
