"""A chunk as the vector store holds it."""

from __future__ import annotations

from codeguard.index.store import Row
from codeguard.models import Chunk


def row_of(id_: str, chunk: Chunk) -> Row:
    """Return the data stored with a chunk's vector."""
    metadata = {
        "path": chunk.path,
        "symbol": chunk.symbol,
        "kind": chunk.kind.value,
        "language": chunk.language,
        "sha256": chunk.sha256,
    }
    return Row(id_, chunk.text, metadata)
