"""The interface of vector stores: Chroma in this process, in a server process of ours, or on a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import REBUILD, StoreError
from codeguard.models import Chunk

COLLECTION = "codeguard"
BATCH = 1000
IDS_A_PAGE = 50_000  # Chroma scans everything before a page
DAMAGED = f"bring it back, or {REBUILD}"  # a hint


class BusyError(StoreError):
    """Another process holds the embedded store without serving it."""


class Hit(NamedTuple):
    """One result of the vector search."""

    id: str
    distance: float


@dataclass(frozen=True, slots=True)
class Row:
    """What is written for one chunk."""

    id: str
    document: str
    metadata: Mapping[str, str]


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


def all_ids(page: Callable[[int], list[str]]) -> set[str]:
    """Return all ids of a store that gives them from an offset on, none after the last."""
    found: set[str] = set()
    while (more := page(len(found))) and not found.issuperset(more):
        found.update(more)
    return found


class Vectors(Protocol):
    """A collection of unit vectors under cosine distance.

    Every method raises StoreError if the store cannot be reached, read or written. All requests are
    idempotent.
    """

    location: str

    def add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """Write rows; an id that exists is overwritten. `vectors` has shape (len(rows), dimension)."""

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are no error."""

    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """Return the `count` nearest rows of a unit vector of shape (dimension,), nearest first."""

    def count(self) -> int:
        """Return the number of rows."""

    def ids(self) -> set[str]:
        """Return the ids of all rows."""

    def documents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the stored texts of these ids; unknown ids are left out."""

    def embeddings(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the stored vectors of these ids, each of shape (dimension,); unknown ids are left out."""

    def metadatas(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the stored metadata of these ids; unknown ids are left out."""

    def close(self) -> None:
        """Release the store."""
