"""Chunking as a task for workers: files in, cuts out, as bytes.

Texts and digests are computed here, from the bytes that were read here: answers stay short, and a worker that
a hostile file takes over can cut a file in the wrong places, but cannot forge its content.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor

from codeguard.corpus.chunking.assembling import assembled, read_file_text
from codeguard.corpus.chunking.chunker import cuts_by_lines, cuts_of
from codeguard.corpus.chunking.cutvalues import cuts_from, cuts_values
from codeguard.errors import CorpusError
from codeguard.index.executor import batched, spread
from codeguard.models import Skipped, SourceFile
from codeguard.workers.processes import default_workers
from codeguard.workers.tasks import CUTTING_S, FAILED, ItemBounds, Run, TaskAnswer, WorkerError

FILES_A_BATCH = 256
BATCH_BYTES = 1 << 20  # about a tenth of a second
BOUNDS = ItemBounds(CUTTING_S)
PASSING = "this time"  # part of a note that another try may invalidate

File = tuple[str, bytes]  # name and content


def chunked(executor: Executor, files: Iterable[File]) -> Iterator[SourceFile | Skipped]:
    """Yield files given by name and content, chunked or refused, in order.

    A file that reached a limit is cut by its lines, with a note.

    Raises:
        WorkerError: a worker's answer is malformed, or not about these files.
    """
    sent: deque[File] = deque()

    def items() -> Iterator[bytes]:
        for name, data in files:
            sent.append((name, data))
            yield json.dumps(name).encode("ascii") + b"\n" + data

    batches = batched(items(), FILES_A_BATCH, BATCH_BYTES)
    for answer in spread(executor, chunk_task, batches, bounds=BOUNDS):
        yield _unpacked(sent.popleft(), answer)


def chunk_one(name: str, data: bytes) -> SourceFile:
    """Chunk one file in this process's shared worker.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    (found,) = chunked(default_workers(), [(name, data)])
    if isinstance(found, Skipped):
        raise CorpusError(found.reason)
    return found


def chunk_task() -> Run:
    """Find the cuts of files; null for one that cannot be read."""

    def run(payload: bytes) -> Iterator[bytes]:
        name, _, data = payload.partition(b"\n")
        try:
            cuts = cuts_values(cuts_of(read_file_text(json.loads(name), data)))
        except CorpusError:
            cuts = None
        yield json.dumps(cuts).encode("ascii")

    return run


def _unpacked(file: File, answer: TaskAnswer) -> SourceFile | Skipped:
    try:
        text = read_file_text(*file)
    except CorpusError as error:
        return Skipped(file[0], str(error))
    if answer.ended:
        why = "an error in it" if answer.ended == FAILED else answer.why
        return assembled(text, cuts_by_lines(text, why if answer.lasting else f"{PASSING}: {why}"))
    try:
        return assembled(text, cuts_from(json.loads(answer.last)))
    except (KeyError, TypeError, ValueError) as error:
        raise WorkerError(f"a worker cut a file where it cannot be cut ({error})") from error
