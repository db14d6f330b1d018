"""Whoever does the work, wherever: the same answers in the same order, and no worker takes anything with it."""

import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from codeguard.chunking import chunk_file
from codeguard.chunktasks import chunked
from codeguard.config import Settings
from codeguard.errors import ConfigError, MissingExtraError
from codeguard.executor import Here, open_executor, spread
from codeguard.guard import CodeGuard
from codeguard.models import Skipped
from codeguard.processes import Processes
from codeguard.tasks import WorkerError

TESTS = Path(__file__).parent


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


def dump(state: Path) -> tuple[list[tuple[object, ...]], bytes]:
    """Return all that an index holds but times and secrets."""
    with sqlite3.connect(state / "catalog.sqlite3") as db:
        rows = [
            row
            for table in ("chunks", "files", "quarantine")
            for row in db.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
        ]
        rows += list(db.execute("SELECT key, value FROM analyses WHERE key NOT IN ('last run') ORDER BY key"))
    manifest = (state / "manifest.unsigned.json").read_bytes().split(b"\n", 1)[1]
    return rows, manifest.split(b'"created"')[0]


def index(corpus: Path, state: Path, jobs: int, cluster: str | None = None) -> int:
    settings = Settings(
        store=str(state), root=str(corpus), embedding="lexical", fixed_seed=b"x" * 32, share=False, jobs=jobs,
        cluster=cluster,
    )  # fmt: skip
    with CodeGuard.open(settings=settings, trust=[corpus / "ours"]) as guard:
        return guard.index([corpus]).files


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    for number, (name, data) in enumerate(files()):
        path = folder / ("ours" if number % 4 == 0 else "theirs") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_the_index_is_the_same_whatever_the_number_of_workers(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codeguard.indexing.BYTES_A_POOL", 1)
    monkeypatch.setattr("codeguard.chunktasks.BATCH_BYTES", 4000)
    for jobs in (1, 2, 5):
        index(corpus, tmp_path / str(jobs), jobs)
    first = dump(tmp_path / "1")
    assert first[0]
    assert dump(tmp_path / "2") == first
    assert dump(tmp_path / "5") == first


@pytest.mark.slow
def test_a_cluster_makes_the_same_index(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("codeguard.chunktasks.BATCH_BYTES", 4000)
    index(corpus, tmp_path / "here", 1)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        index(corpus, tmp_path / "cluster", 1, cluster.scheduler_address)
    assert dump(tmp_path / "cluster") == dump(tmp_path / "here")


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_clear_line() -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(ConfigError, match="no cluster answers") as caught,
        open_executor(1, "tcp://127.0.0.1:1"),
    ):
        pass
    assert "\n" not in str(caught.value)
