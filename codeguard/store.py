"""The vectors, in Chroma: embedded in a folder, or a server.

The store may be shared with others and may be rewritten by an attacker, so
nothing that comes from here is believed but an id and a distance; the
catalog says what the id stands for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from codeguard.chroma_import import import_chromadb
from codeguard.errors import StoreError

COLLECTION = "codeguard"
ADD_BATCH = 1000
LOCK_WAIT_S = 10.0


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


class VectorStore:
    """A Chroma collection of unit vectors under cosine distance.

    An embedded store belongs to one process at a time: two writers destroy
    Chroma's files. The lock is held until `close`.
    """

    def __init__(self, client: Any, location: str, dimension: int, lock: FileLock | None = None) -> None:
        self._client = client
        self._lock = lock
        self.location = location
        self.dimension = dimension
        self._collection = self._open_collection()

    @classmethod
    def open_folder(cls, folder: Path, dimension: int, *, wait_s: float = LOCK_WAIT_S) -> VectorStore:
        """Open or create the store in a folder.

        Raises:
            StoreError: in use by another process, not writable, or not readable by this Chroma.
        """
        with _told(f"the store's folder {folder} cannot be written"):
            folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(str(folder.with_name(folder.name + ".lock")))
        try:
            lock.acquire(timeout=wait_s)
        except Timeout:
            raise StoreError(
                f"the store {folder} is in use by another process",
                hint="wait for it, or use a Chroma server (--store http://…)",
            ) from None
        except OSError as error:
            raise StoreError(f"the store {folder} cannot be locked ({error.strerror})") from None
        try:
            chromadb = import_chromadb()
            settings = chromadb.config.Settings(_env_file=None, anonymized_telemetry=False)
            with _told(
                f"the store {folder} cannot be opened", hint="restore it or index again into a new folder"
            ):
                client = chromadb.PersistentClient(path=str(folder), settings=settings)
            return cls(client, str(folder), dimension, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open_url(cls, url: str, dimension: int, headers: Mapping[str, str] | None = None) -> VectorStore:
        """Connect to a Chroma server.

        Raises:
            StoreError: no server there, or it refuses.
        """
        parts = urlsplit(url)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 8000)
        except ValueError:
            port = None
        if not parts.hostname or port is None or parts.scheme not in ("http", "https"):
            raise StoreError("not the address of a store", got=url, expected="http(s)://host:port")
        chromadb = import_chromadb()
        settings = chromadb.config.Settings(_env_file=None, anonymized_telemetry=False)
        with _told(f"no Chroma server answers at {parts.hostname}:{port}", hint="start one with: chroma run"):
            client = chromadb.HttpClient(
                host=parts.hostname,
                port=port,
                ssl=parts.scheme == "https",
                headers=dict(headers or {}),
                settings=settings,
            )
        return cls(client, url, dimension)

    def _open_collection(self) -> Any:
        with _told(f"the collection of {self.location} cannot be opened"):
            return self._client.get_or_create_collection(
                COLLECTION,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": 200}},
            )

    def add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """Write rows; an id that exists is overwritten. `vectors` has shape (len(rows), dimension)."""
        for start in range(0, len(rows), ADD_BATCH):
            batch = rows[start : start + ADD_BATCH]
            with _told(f"the store {self.location} cannot be written"):
                self._collection.upsert(
                    ids=[row.id for row in batch],
                    embeddings=vectors[start : start + len(batch)],
                    documents=[row.document for row in batch],
                    metadatas=[dict(row.metadata) for row in batch],
                )

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; an id that is not there is no error."""
        for start in range(0, len(ids), ADD_BATCH):
            with _told(f"the store {self.location} cannot be written"):
                self._collection.delete(ids=list(ids[start : start + ADD_BATCH]))

    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """Return the `count` nearest rows of a unit vector of shape (dimension,), nearest first."""
        total = self.count()
        if total == 0:
            return []
        with _told(f"the store {self.location} cannot be searched", hint="run: codeguard index"):
            answer = self._collection.query(
                query_embeddings=[vector], n_results=min(count, total), include=["distances", "documents"]
            )
        hits = [
            Hit(str(id_), float(distance), str(document or ""))
            for id_, distance, document in zip(
                answer["ids"][0], answer["distances"][0], answer["documents"][0], strict=True
            )
        ]
        return sorted(hits, key=lambda hit: (hit.distance, hit.id))

    def count(self) -> int:
        """Return the number of rows."""
        with _told(
            f"the store {self.location} cannot be read", hint="restore it or index again into a new folder"
        ):
            return int(self._collection.count())

    def ids(self) -> set[str]:
        """Return the ids of all rows."""
        found: set[str] = set()
        with _told(f"the store {self.location} cannot be read"):
            while page := self._collection.get(include=[], limit=ADD_BATCH, offset=len(found))["ids"]:
                before = len(found)
                found.update(page)
                if len(found) == before:
                    break
        return found

    def documents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return what the store holds under these ids."""
        found: dict[str, str] = {}
        for start in range(0, len(ids), ADD_BATCH):
            with _told(f"the store {self.location} cannot be read"):
                page = self._collection.get(ids=list(ids[start : start + ADD_BATCH]), include=["documents"])
            found.update(zip(page["ids"], page["documents"], strict=True))
        return found

    def close(self) -> None:
        """Let go of the folder."""
        close = getattr(self._client, "close", None)
        if callable(close):
            with contextlib.suppress(RuntimeError):
                close()
        if self._lock is not None:
            self._lock.release()


@contextlib.contextmanager
def _told(what: str, hint: str | None = None) -> Iterator[None]:
    """Turn whatever Chroma raises into one line of ours."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:  # Chroma raises its own, pydantic's, sqlite's and plain ones
        cause = " ".join(str(error).split())[:200] or type(error).__name__
        raise StoreError(f"{what} ({cause})", hint=hint) from error
