"""Chunking as a task for workers: files in, chunks out, as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor

from codeguard.chunking import chunk_file
from codeguard.errors import CorpusError
from codeguard.executor import spread
from codeguard.models import Chunk, ChunkKind, Skipped, SourceFile, Span, text_digest

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
            found.append(_described(chunk_file(name, body[start : start + size])))
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


def _described(file: SourceFile) -> dict[str, object]:
    imports: dict[tuple[str, ...], int] = {}
    return {
        "path": file.path,
        "sha256": file.sha256,
        "language": file.language,
        "parsed": file.parsed,
        "syntax_errors": file.syntax_errors,
        "encoding": file.encoding,
        "notes": file.notes,
        "chunks": [
            (
                chunk.symbol, chunk.kind.value, chunk.text, chunk.language,
                imports.setdefault(chunk.imports, len(imports)),
                chunk.span.start_line, chunk.span.end_line, chunk.span.start_byte, chunk.span.end_byte,
            )
            for chunk in file.chunks
        ],
        "imports": list(imports),
    }  # fmt: skip


def _unpacked(answer: bytes) -> Iterator[SourceFile | Skipped]:
    for value in json.loads(answer):
        if "refused" in value:
            yield Skipped(value["path"], value["refused"])
            continue
        imports = [tuple(item) for item in value["imports"]]
        chunks = tuple(
            Chunk(
                value["path"],
                symbol,
                ChunkKind(kind),
                Span(*span),
                text,
                text_digest(text),
                language,
                imports[scope],
            )
            for symbol, kind, text, language, scope, *span in value["chunks"]
        )
        yield SourceFile(
            path=value["path"],
            text="".join(chunk.text for chunk in chunks),
            sha256=value["sha256"],
            language=value["language"],
            chunks=chunks,
            parsed=value["parsed"],
            syntax_errors=value["syntax_errors"],
            encoding=value["encoding"],
            notes=tuple(value["notes"]),
        )
