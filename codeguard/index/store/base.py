"""What a store of vectors can do, anyone who holds Chroma: this process, a process of ours, or a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import StoreError

COLLECTION = "codeguard"
BATCH = 1000
IDS_A_PAGE = 50_000  # Chroma walks over all that lies before a page


class BusyError(StoreError):
    """Another process holds the embedded store and serves nobody."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of the vector search; `document` is what the store claims, not yet believed."""

    id: str
    distance: float
    document: str


@dataclass(frozen=True, slots=True)
class Row:
    """What is written for one chunk."""

    id: str
    document: str
    metadata: Mapping[str, str]


class Vectors(Protocol):
    """A collection of unit vectors under cosine distance.

    Every method raises StoreError where the store cannot be reached, read or
    written. Every request may be sent twice without harm.
    """

    location: str

    def add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """Write rows; an id that exists is overwritten. `vectors` has shape (len(rows), dimension)."""

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; an id that is not there is no error."""

    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """Return the `count` nearest rows of a unit vector of shape (dimension,), nearest first."""

    def count(self) -> int:
        """Return the number of rows."""

    def ids(self) -> set[str]:
        """Return the ids of all rows."""

    def documents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return what the store holds as text under these ids; an unknown id is left out."""

    def embeddings(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the stored vectors of these ids, each of shape (dimension,); an unknown id is left out."""

    def metadatas(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return what the store holds as metadata under these ids; an unknown id is left out."""

    def close(self) -> None:
        """Let go of the store."""
