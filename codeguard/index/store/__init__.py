"""The vectors: recorded in the catalog and searched by Chroma in a folder, or in Chroma on a server.

A server may be shared with others and rewritten by an attacker, so only ids and distances from there are
used; the catalog says what an id stands for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codeguard.models import Chunk


class Hit(NamedTuple):
    """One result of the vector search."""

    id: str
    distance: float


@dataclass(frozen=True, slots=True)
class Row:
    """What is written for one chunk besides its vector."""

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


class Vectors(ABC):
    """A collection of unit vectors under cosine distance.

    Every method raises StoreError if the store cannot be reached, read or written.
    """

    location: str

    @abstractmethod
    def add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """Write rows; an id that exists is overwritten. `vectors` has shape (len(rows), dimension)."""

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are no error."""

    @abstractmethod
    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """Return the `count` nearest rows of a unit vector of shape (dimension,), nearest first."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def ids(self) -> set[str]:
        """Return the ids of all rows."""

    @abstractmethod
    def embeddings(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the stored vectors of these ids, each of shape (dimension,); unknown ids are left out."""

    @abstractmethod
    def rewritten(self, rows: Iterable[Row]) -> dict[str, str]:
        """Return what was changed of these rows, "document" or "metadata", by id; missing rows are left out."""

    def prepare(self) -> None:  # noqa: B027 -- most stores have nothing to do
        """Do now what the next search would have to, if there is anything."""

    def close(self) -> None:  # noqa: B027
        """Release what is open; the next search opens it again."""

    @abstractmethod
    def stamp(self) -> str:
        """Return what changes whenever a row does; "" if the store does not say."""


__all__ = ["Hit", "LocalVectors", "Row", "Vectors"]
