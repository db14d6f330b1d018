"""What a subverted worker can say of a file: where it is cut, not what it holds."""

import json
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.chunking.grammars import gave_up, uncut
from codeguard.index.file_tasks import PASSING, chunk_task, chunked, masked
from codeguard.models import SourceFile, text_digest
from codeguard.workers.tasks import TaskAnswer, WorkerError

FILE = ("a.py", b"import os\n\n\ndef f():\n    return '\xc3\xa9'\n\n\nx = 1\n")


class Lying(Executor):
    """A worker that answers as told."""

    def __init__(self, answer: bytes | TaskAnswer) -> None:
        self.answer = answer if isinstance(answer, TaskAnswer) else TaskAnswer((answer,))

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result([self.answer])
        return future


def honest() -> list[Any]:
    name, data = FILE
    (answer,) = chunk_task()(json.dumps([name, data.decode("latin-1")]).encode())
    cuts: list[Any] = json.loads(answer)
    return cuts


def answered(cuts: Any) -> list[Any]:
    return list(chunked(Lying(json.dumps(cuts).encode()), [FILE]))


def test_an_honest_answer_is_what_the_chunker_says() -> None:
    assert answered(honest()) == [chunk_file(*FILE)]


def test_a_worker_that_cuts_elsewhere_still_gives_the_files_text_and_its_digests() -> None:
    [language, parsed, [[cut, of]]] = honest()
    moved = [[[0, 5, "function", "g"], [5, len(FILE[1]), "module", ""]], *cut[1:]]
    [found] = answered([language, parsed, [[moved, of]]])
    assert isinstance(found, SourceFile)
    assert "".join(chunk.text for chunk in found.chunks).encode() == FILE[1]
    assert [chunk.sha256 for chunk in found.chunks] == [text_digest(chunk.text) for chunk in found.chunks]


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [[0, 10, "module", ""]],
        [[0, 10_000, "module", ""]],
        [[0, 10, "module", ""], [5, 45, "module", ""]],
        [[0, 60, "module", ""], [60, 45, "module", ""]],
        [[0, 34, "module", ""], [34, 45, "module", ""]],
        [[0, 45, "spell", ""]],
        [[0, 45]],
        [["0", None, "module", ""]],
    ],
    ids=["none", "short", "long", "twice", "backwards", "in a character", "kind", "shape", "types"],
)
def test_an_answer_that_leaves_out_or_repeats_bytes_is_refused(pieces: list[Any]) -> None:
    [language, parsed, [[cut, of]]] = honest()
    assert len(FILE[1]) == 45
    assert FILE[1][33:35] == b"\xc3\xa9"
    with pytest.raises(WorkerError, match="cut a file where it cannot be cut"):
        answered([language, parsed, [[[pieces, *cut[1:]], of]]])


@pytest.mark.parametrize("answer", [[], None, {}, 7, ["python", True, []]])
def test_an_answer_about_other_files_is_refused(answer: Any) -> None:
    with pytest.raises(WorkerError):
        answered(answer)


@pytest.mark.parametrize("answer", [b"", b"\xff", b"[" * 100_000, b"[[0, 99, 'r']]"])
def test_an_answer_that_is_no_plain_value_is_refused(answer: bytes) -> None:
    with pytest.raises(WorkerError, match="no plain value"):
        list(chunked(Lying(answer), [FILE]))
    with pytest.raises(WorkerError, match="no plain value"):
        list(masked([chunk_file(*FILE)], Lying(answer)))


@pytest.mark.parametrize("found", [[[0]], [[3, 2, "r"]], [[-1, 2, "r"]], [[0, 999, "r"]], 7])
def test_a_secret_that_is_not_in_the_text_is_refused(found: Any) -> None:
    with pytest.raises(WorkerError, match="a secret"):
        list(masked([chunk_file(*FILE)], Lying(json.dumps(found).encode())))


@pytest.mark.parametrize(
    ("ended", "lasting", "note"),
    [
        ("cpu", True, "chunked by lines: the chunker gave up on it, because"),
        ("failed", True, "chunked by lines: the chunker gave up on it, an error in it"),
        ("wall", False, f"chunked by lines: the chunker gave up on it, {PASSING}: because"),
    ],
)
def test_a_file_that_the_chunker_runs_out_on_is_cut_by_its_lines_and_says_so(
    ended: str, lasting: bool, note: str
) -> None:
    (found,) = chunked(Lying(TaskAnswer((), ended, "because", lasting)), [FILE])
    assert isinstance(found, SourceFile)
    assert (found.language, found.parsed, found.notes) == ("python", False, (note,))
    assert "".join(chunk.text for chunk in found.chunks).encode() == FILE[1]
    assert uncut(found)
    assert gave_up(found)
