"""A row of the catalog's table of chunks as a chunk.

The imports of a file are longer than most of its chunks; they stand in the
file's first chunk, and the others that have the same ones hold an empty text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from codeguard.models import Chunk, ChunkKind, Span, text_digest

COLUMNS = (
    "id, path, symbol, kind, start_line, end_line, start_byte, end_byte, text, sha256, language,"
    " CASE imports WHEN '' THEN (SELECT first.imports FROM chunks AS first"
    " WHERE first.path = chunks.path AND first.ordinal = 0) ELSE imports END"
)


@lru_cache(maxsize=256)
def _imports(value: str) -> tuple[str, ...]:
    """Every chunk of a file has the same ones."""
    return tuple(json.loads(value))


def kept_imports(chunks: Sequence[Chunk]) -> list[str]:
    """Return what the column `imports` holds of each chunk of one file."""
    first = chunks[0].imports if chunks else ()
    return [
        "" if position and chunk.imports == first else json.dumps(chunk.imports)
        for position, chunk in enumerate(chunks)
    ]


def chunk_of(row: Sequence[Any]) -> Chunk:
    """Return the chunk of a row of COLUMNS."""
    # The digest is taken of the text, not from its column: trust follows from what will be shown.
    return Chunk(
        path=row[1],
        symbol=row[2],
        kind=ChunkKind(row[3]),
        span=Span(row[4], row[5], row[6], row[7]),
        text=row[8],
        sha256=text_digest(row[8]),
        language=row[10],
        imports=_imports(row[11]),
    )
