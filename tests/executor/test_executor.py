"""Whoever does the work, wherever: the same answers in the same order, and no worker takes anything with it."""

import importlib
import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, wait
from pathlib import Path

import pytest

from codeguard.corpus.chunking import chunk_file
from codeguard.index.file_tasks import chunked
from codeguard.workers.processes import Processes, batched, open_executor, send, spread
from codeguard.workers.tasks import ItemBounds, Run, Shared, WorkerError

pytestmark = pytest.mark.ci

TESTS = Path(__file__).parent


def shout() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        print("into nowhere")
        yield payload.upper()

    return run


def where() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        yield os.getcwd().encode()  # noqa: PTH109

    return run


def who() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        yield str(os.getpid()).encode()

    return run


@pytest.mark.parametrize("fork", [False, True])
def test_no_worker_is_in_the_folder_where_the_command_started(fork: bool) -> None:
    with Processes(1, fork=fork) as pool:
        (answer,) = send(pool, where, [b""], None, ItemBounds(None, 60.0)).result()
    assert answer.parts == (b"/",)


def fail() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        yield b"so far"
        raise ValueError(payload.decode())

    return run


def refuse() -> Run:
    raise ValueError("because")


def die_once() -> Run:
    """Die where the mark is not there yet, as a worker does that is killed."""

    def run(payload: bytes) -> Iterator[bytes]:
        mark, _, text = payload.partition(b"\n")
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            yield text
            return
        os.kill(os.getpid(), signal.SIGKILL)

    return run


def die() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        if payload == b"die":
            os.kill(os.getpid(), signal.SIGKILL)
        yield payload.upper()

    return run


def never() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        Path(os.fsdecode(payload)).touch()
        signal.pause()
        yield payload

    return run


def singly(payloads: Iterable[bytes]) -> Iterator[list[bytes]]:
    return batched(payloads, 1, 1)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TESTS))


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("most", [1, 7])
def test_answers_come_in_order(jobs: int, most: int) -> None:
    payloads = [f"text {number}".encode() for number in range(100)]
    with open_executor(jobs) as executor:
        answers = spread(executor, shout, batched(payloads, most, 1 << 20))
        assert [answer.last for answer in answers] == [item.upper() for item in payloads]


def test_a_further_process_is_made_ready_only_for_what_waits_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeguard.workers.processes.STARTING_S", 300.0)
    with open_executor(2) as executor:
        answers = list(spread(executor, who, [[b""]] * 8))
    assert len({answer.last for answer in answers}) == 1


def test_a_failing_item_is_told_and_what_it_had_is_kept() -> None:
    with open_executor(2) as executor:
        first, second = spread(executor, fail, [[b"because", b"again"]])
    assert (first.ended, first.why, first.parts) == ("failed", "ValueError: because", (b"so far",))
    assert second.why == "ValueError: again"


def test_a_task_that_cannot_be_made_ready_is_an_error() -> None:
    with pytest.raises(WorkerError, match="ValueError: because"), open_executor(2) as executor:
        list(spread(executor, refuse, [[b"x"]]))


@pytest.mark.slow
def test_a_lost_worker_loses_nothing(tmp_path: Path) -> None:
    payloads = [f"{tmp_path / str(number % 3)}\n{number}".encode() for number in range(20)]
    with open_executor(2) as executor:
        answers = [answer.last for answer in spread(executor, die_once, batched(payloads, 5, 1 << 20))]
    assert answers == [str(number).encode() for number in range(20)]


def test_an_item_that_kills_every_worker_is_told_and_ends_none_of_its_batch() -> None:
    with open_executor(1) as executor:
        answers = list(spread(executor, die, [[b"x", b"die", b"y"]]))
    assert [(answer.ended, answer.parts) for answer in answers] == [
        ("", (b"X",)),
        ("died", ()),
        ("", (b"Y",)),
    ]
    assert not answers[1].lasting  # somebody else may have sent the signal


def test_an_aborted_executor_ends_its_tasks(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with Processes(1) as executor:
        future = send(executor, never, [os.fsencode(mark)], None, ItemBounds())
        while not mark.exists():
            assert not future.done()
        queued = send(executor, never, [os.fsencode(mark)], None, ItemBounds())
        executor.abort()
        assert wait([queued], 10).done  # another thread may be waiting for it
        with pytest.raises(BrokenExecutor):
            future.result()
        with pytest.raises(BrokenExecutor):  # rather than wait for processes that no longer come
            send(executor, never, [os.fsencode(mark)], None, ItemBounds())


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


def test_what_can_be_imported_by_now_a_worker_of_before_can_import_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = "def task():\n    return lambda payload: iter([payload + b'!'])\n"
    (tmp_path / "late_task.py").write_text(late)
    with open_executor(1) as executor:
        assert [answer.last for answer in spread(executor, shout, [[b"x"]])] == [b"X"]
        monkeypatch.syspath_prepend(str(tmp_path))
        task = importlib.import_module("late_task").task
        assert [answer.last for answer in spread(executor, task, [[b"x"]])] == [b"x!"]


def test_a_refusal_counts_only_if_the_worker_is_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plugin_version").write_text("1")
    (tmp_path / "of_version.py").write_text(
        "from pathlib import Path\n"
        "LOADED = Path(__file__).with_name('plugin_version').read_bytes()\n"
        "def task(shared):\n"
        "    if shared.data != LOADED:\n"
        "        raise ValueError('other version')\n"
        "    return lambda payload: iter([LOADED])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    task = importlib.import_module("of_version").task
    with open_executor(1) as executor:
        assert [item.last for item in spread(executor, task, [[b"x"]], Shared.of(b"1"))] == [b"1"]
        (tmp_path / "plugin_version").write_text("2")
        assert [item.last for item in spread(executor, task, [[b"x"]], Shared.of(b"2"))] == [b"2"]
        with pytest.raises(WorkerError, match="other version"):
            list(spread(executor, task, [[b"x"]], Shared.of(b"1")))
