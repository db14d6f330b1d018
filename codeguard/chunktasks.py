"""Chunking as a task for workers: files in, chunks out, as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor

from codeguard.chunking import chunk_file
from codeguard.errors import CorpusError
from codeguard.executor import spread
from codeguard.filebytes import described, rebuilt
from codeguard.models import Skipped, SourceFile

BATCH_BYTES = 1 << 20  # about a tenth of a second


def chunked(executor: Executor, files: Iterable[tuple[str, bytes]]) -> Iterator[SourceFile | Skipped]:
    """Yield files given by name and content, chunked or refused, in their order, whoever did the work."""
    for answer in spread(executor, chunk_task, map(_packed, _batches(files))):
        yield from _unpacked(answer)


def chunk_task(payload: bytes) -> bytes:
    """Chunk the files of a payload."""
    head, _, body = payload.partition(b"\n")
    found, start = [], 0
    for name, size in json.loads(head):
        try:
            found.append(described(chunk_file(name, body[start : start + size])))
        except CorpusError as error:
            found.append({"path": name, "refused": str(error)})
        start += size
    return json.dumps(found).encode("ascii")


def _batches(files: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for name, data in files:
        batch.append((name, data))
        size += len(data)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _packed(batch: list[tuple[str, bytes]]) -> bytes:
    head = json.dumps([(name, len(data)) for name, data in batch]).encode("ascii")
    return head + b"\n" + b"".join(data for _, data in batch)


def _unpacked(answer: bytes) -> Iterator[SourceFile | Skipped]:
    for value in json.loads(answer):
        yield Skipped(value["path"], value["refused"]) if "refused" in value else rebuilt(value)
