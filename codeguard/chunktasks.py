"""Chunking as a task for workers: files in, cuts out, as bytes.

Texts and digests are made here, of the bytes that were read here: they make
the way back short, and a worker that a hostile file subverts can cut a file
in the wrong places, but not say what is in it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from typing import Any

from codeguard.chunking import chunk_file
from codeguard.chunking.assembling import assembled, read_file_text
from codeguard.chunking.chunker import cuts_of
from codeguard.chunking.cutvalues import cuts_from, cuts_values
from codeguard.errors import CorpusError
from codeguard.executor import Here, spread
from codeguard.models import Skipped, SourceFile
from codeguard.tasks import WorkerError

BATCH_BYTES = 1 << 20  # about a tenth of a second

File = tuple[str, bytes]  # name and content


def chunked(executor: Executor, files: Iterable[File]) -> Iterator[SourceFile | Skipped]:
    """Yield files given by name and content, chunked or refused, in their order, whoever did the work.

    Raises:
        WorkerError: a worker's answer is none, or not about these files.
    """
    if isinstance(executor, Here):
        yield from map(_chunked, files)
        return
    sent: deque[list[File]] = deque()

    def payloads() -> Iterator[bytes]:
        for batch in _batches(files):
            sent.append(batch)
            yield _packed(batch)

    for answer in spread(executor, chunk_task, payloads()):
        yield from _unpacked(sent.popleft(), answer)


def chunk_task(payload: bytes) -> bytes:
    """Find where the files of a payload are to be cut; null for one that cannot be read."""
    head, _, body = payload.partition(b"\n")
    found: list[list[Any] | None] = []
    start = 0
    for name, size in json.loads(head):
        try:
            found.append(cuts_values(cuts_of(read_file_text(name, body[start : start + size]))))
        except CorpusError:
            found.append(None)
        start += size
    return json.dumps(found).encode("ascii")


def _chunked(file: File) -> SourceFile | Skipped:
    try:
        return chunk_file(*file)
    except CorpusError as error:
        return Skipped(file[0], str(error))


def _batches(files: Iterable[File]) -> Iterator[list[File]]:
    batch: list[File] = []
    size = 0
    for name, data in files:
        batch.append((name, data))
        size += len(data)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _packed(batch: list[File]) -> bytes:
    head = json.dumps([(name, len(data)) for name, data in batch]).encode("ascii")
    return head + b"\n" + b"".join(data for _, data in batch)


def _unpacked(batch: list[File], answer: bytes) -> Iterator[SourceFile | Skipped]:
    try:
        for file, values in zip(batch, json.loads(answer), strict=True):
            yield _assembled(file, values)
    except (KeyError, TypeError, ValueError) as error:
        raise WorkerError(f"a worker cut a file where it cannot be cut ({error})") from error


def _assembled(file: File, values: object) -> SourceFile | Skipped:
    try:
        text = read_file_text(*file)
    except CorpusError as error:
        return Skipped(file[0], str(error))
    return assembled(text, cuts_from(values))
