"""The interface of vector stores: Chroma in this process, in a server process of ours, or on a server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import REBUILD, StoreError
from codeguard.models import Chunk

COLLECTION = "codeguard"
BATCH = 1000
IDS_A_PAGE = 50_000  # Chroma scans everything before a page
LONGEST_BATCH = 4 << 20  # characters of one request's documents
# The methods of a collection in Chroma that are used, and their arguments.
REQUESTS: dict[str, list[set[str]]] = {
    "count": [set()],
    "delete": [{"ids"}],
    "get": [{"ids", "include"}, {"include", "limit", "offset"}],
    "query": [{"query_embeddings", "n_results", "include"}],
    "upsert": [{"ids", "embeddings", "documents", "metadatas"}],
}
WRITES = ("upsert", "delete")
WRITING = 5.0  # times as long for the answer to one of these
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


class Vectors(ABC):
    """A collection of unit vectors under cosine distance.

    Every method raises StoreError if the store cannot be reached, read or written. All requests are
    idempotent.
    """

    location: str
    batch = BATCH  # rows of one request

    @abstractmethod
    def request(self, op: str, **asked: Any) -> Any:
        """Return what the method `op` of the collection in Chroma answers; see `REQUESTS`."""

    @abstractmethod
    def close(self) -> None:
        """Release the store."""

    def add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """Write rows; an id that exists is overwritten. `vectors` has shape (len(rows), dimension)."""
        start = 0
        while start < len(rows):
            end, length = start, 0
            while end < len(rows) and end - start < self.batch and length < LONGEST_BATCH:
                length += len(rows[end].document)
                end += 1
            self.request(
                "upsert",
                ids=[row.id for row in rows[start:end]],
                embeddings=vectors[start:end],
                documents=[row.document for row in rows[start:end]],
                metadatas=[dict(row.metadata) for row in rows[start:end]],
            )
            start = end

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are no error."""
        for page in self._pages(ids):
            self.request("delete", ids=page)

    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """Return the `count` nearest rows of a unit vector of shape (dimension,), nearest first."""
        found = self.request("query", query_embeddings=vector[None], n_results=count, include=["distances"])
        hits = zip(found["ids"][0], found["distances"][0], strict=True)
        return sorted(
            (Hit(str(id_), float(far)) for id_, far in hits), key=lambda hit: (hit.distance, hit.id)
        )

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.request("count"))

    def ids(self) -> set[str]:
        """Return the ids of all rows."""
        found: set[str] = set()
        while (page := self.page_of_ids(len(found))) and not found.issuperset(page):
            found.update(page)
        return found

    def page_of_ids(self, offset: int) -> list[str]:
        """Return some ids from `offset` on, none after the last."""
        return [str(id_) for id_ in self.request("get", include=[], limit=IDS_A_PAGE, offset=offset)["ids"]]

    def documents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the stored texts of these ids; unknown ids are left out."""
        return {id_: str(document or "") for id_, document in self._get(ids, "documents")}

    def embeddings(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the stored vectors of these ids, each of shape (dimension,); unknown ids are left out."""
        return {id_: np.asarray(row, dtype=np.float32) for id_, row in self._get(ids, "embeddings")}

    def metadatas(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the stored metadata of these ids; unknown ids are left out."""
        return {
            id_: {str(key): str(value) for key, value in (row or {}).items()}
            for id_, row in self._get(ids, "metadatas")
        }

    def _get(self, ids: Sequence[str], what: str) -> Iterator[tuple[str, Any]]:
        for page in self._pages(ids):
            found = self.request("get", ids=page, include=[what])
            yield from zip(map(str, found["ids"]), found[what], strict=True)

    def _pages(self, ids: Sequence[str]) -> Iterator[list[str]]:
        for start in range(0, len(ids), self.batch):
            yield list(ids[start : start + self.batch])
