"""The vectors in the catalog's own file, and Chroma in a folder beside it, which searches many of them.

They are written in the catalog's transactions. A search multiplies the query with all vectors, which stay in memory
until one of them changes: 18 ms of processor time for 152,000 vectors of 256 dimensions, 0.4 s to read them first.

Two processes at once destroy Chroma's files, so one of them has the folder open; the others, and every process where
chromadb is not installed or the folder cannot be read, search the record itself, exactly. What the folder holds is
made of the record and brought up to it before a search, so a crash or a lost folder costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codeguard.config import CHROMA
from codeguard.errors import REBUILD, StoreError
from codeguard.index.store import Hit, Row, Vectors
from codeguard.index.store.chroma import BATCH, client_settings, collection_of, import_chromadb
from codeguard.trust.state_files import FileLock, StateFolder, UnsafeStateError, folder_by_path

if TYPE_CHECKING:
    from codeguard.index.catalog import Catalog

ROUNDING = 1e-5  # of a product of two matrices of single precision, at most


class LocalVectors(Vectors):
    """See `codeguard.index.store.Vectors`; texts and metadata are the catalog's."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._read: tuple[str, list[str], NDArray[np.float32]] | None = None  # the stamp, ids and vectors
        self.location = str(catalog.path)

    def add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """See `Vectors`."""
        stored = ((row.id, vector.astype("<f4").tobytes()) for row, vector in zip(rows, vectors, strict=True))
        with self._catalog.changing() as db:
            _count_change(db)
            db.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, (SELECT count FROM vector_changes))", stored
            )

    def delete(self, ids: Sequence[str]) -> None:
        """See `Vectors`."""
        with self._catalog.changing() as db:
            db.executemany("DELETE FROM vectors WHERE id = ?", [(id_,) for id_ in ids])
            _count_change(db)

    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """See `Vectors`."""
        ids, vectors = self._all()
        if not ids:
            return []
        if vectors.shape[1] != len(vector):
            raise self._damaged()
        distances = 1.0 - vectors @ np.asarray(vector, dtype=np.float32)
        # All that may be as near as the last one, so that ids and not their order in the file decide.
        last = np.partition(distances, min(count, len(ids)) - 1)[min(count, len(ids)) - 1]
        return ordered({ids[at]: vectors[at] for at in np.flatnonzero(distances <= last + ROUNDING)}, vector)[
            :count
        ]

    def count(self) -> int:
        """See `Vectors`."""
        return int(self._catalog.rows("SELECT count(*) FROM vectors")[0][0])

    def ids(self) -> set[str]:
        """See `Vectors`."""
        return {str(row[0]) for row in self._catalog.rows("SELECT id FROM vectors")}

    def embeddings(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """See `Vectors`."""
        rows = self._catalog.rows_of("SELECT id, vector FROM vectors WHERE id IN", ids)
        try:
            return {str(id_): np.frombuffer(data, dtype="<f4") for id_, data in rows}
        except (TypeError, ValueError):
            raise self._damaged() from None

    def rewritten(self, rows: Iterable[Row]) -> dict[str, str]:
        """See `Vectors`."""
        return {}

    def stamp(self) -> str:
        """See `Vectors`."""
        return str(self._catalog.rows("SELECT count FROM vector_changes")[0][0])

    def _all(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return all ids and their vectors in one matrix."""
        with self._lock:
            now = self.stamp()
            if self._read is None or self._read[0] != now:
                self._read = None  # before the others are in memory as well
                ids, data, size = [], bytearray(), 0
                for id_, vector in self._catalog.each("SELECT id, vector FROM vectors"):
                    if (
                        not isinstance(vector, bytes)
                        or len(vector) % 4
                        or len(vector) != (size or len(vector))
                    ):
                        raise self._damaged()
                    size = len(vector)
                    ids.append(str(id_))
                    data += vector
                self._read = now, ids, np.frombuffer(data, dtype="<f4").reshape(len(ids), size // 4)
            return self._read[1], self._read[2]

    def _damaged(self) -> StoreError:
        return StoreError(f"vectors in {self.location} are damaged", hint=f"bring it back, or {REBUILD}")


def ordered(rows: Mapping[str, NDArray[np.float32]], vector: NDArray[np.float32]) -> list[Hit]:
    """Return vectors by their distance to a query, computed one by one: the same for every way to find them."""
    asked = np.asarray(vector, np.float64)
    hits = [Hit(id_, float(1.0 - row.astype(np.float64) @ asked)) for id_, row in rows.items()]
    return sorted(hits, key=lambda hit: (hit.distance, hit.id))


def _count_change(db: sqlite3.Connection) -> None:
    db.execute("UPDATE vector_changes SET count = count + 1")


# Vectors up to which a search of the record takes less processor time than Chroma does, and no folder is made.
MOST_EXACT = 20_000
MOST_DUE = 1_000  # changes that a search carries out itself; `prepare` has no limit
PREPARED = (
    "searchable"  # a setting of the catalog: stamp and number of the vectors that `prepare` has brought over
)
_SYNCED = "synced"  # the stamp of the record that a collection has


class FolderVectors(LocalVectors):
    """See `codeguard.index.store.Vectors`. Distances are those of the record, whatever the folder says."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        self._folder = Path(self.location).with_name(CHROMA)
        self._turn = threading.Lock()
        self._open = contextlib.ExitStack()
        self._client: Any = None
        self._brought: tuple[str, Any] = ("", None)  # the stamp of the record, and the collection that has it
        self._unusable = False

    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """See `Vectors`."""
        if self._catalog.totals().vectors <= MOST_EXACT:
            return super().nearest(vector, count)
        with self._turn:
            found = self._asked(vector, count)
        if found is None:
            return super().nearest(vector, count)
        known = self.embeddings(found)
        if any(len(row) != len(vector) for row in known.values()):
            raise self._damaged()
        return ordered(known, vector)

    def prepare(self) -> None:
        """See `Vectors`. A few changes are left to the next search, since loading Chroma takes longer than they do."""
        if self._catalog.totals().vectors <= MOST_EXACT or self._most_due() <= MOST_DUE:
            return
        with self._turn:
            if self._collection(len(self.ids()) + MOST_DUE) is not None:
                self._catalog.set_meta(PREPARED, f"{self.stamp()} {self.count()}")

    def _most_due(self) -> int:
        """Return how many changes the folder lacks, at most; those that searches have carried out count as well."""
        done, _, held = (self._catalog.meta(PREPARED) or "").partition(" ")
        if not done or not self._folder.exists():
            return self.count()
        ((written,),) = self._catalog.rows("SELECT count(*) FROM vectors WHERE change > ?", [int(done)])
        return 2 * int(written) + int(held) - self.count()  # what was written, and what is gone

    def close(self) -> None:
        """See `Vectors`."""
        with self._turn:
            self._client, self._brought = None, ("", None)
            self._open.close()

    def _asked(self, vector: NDArray[np.float32], count: int) -> list[str] | None:
        collection = self._collection(MOST_DUE)
        if collection is None:
            return None
        try:
            return [str(id_) for id_ in collection.query(vector[None], n_results=count, include=[])["ids"][0]]
        except Exception:
            self._give_up()
            return None

    def _collection(self, most_due: int) -> Any:
        """Return the collection with what the record holds, None where it cannot be had or more than that is due."""
        if self._unusable:
            return None
        try:
            return self._synchronized(most_due) if self._client is not None or self._opened() else None
        except (ImportError, UnsafeStateError):
            self._unusable = True
            self._open.close()
        except Exception:  # Chroma raises its own, pydantic's, sqlite's and plain ones
            self._give_up()
        return None

    def _opened(self) -> bool:
        """Open the folder unless another process has it; no `.env` of the current folder is read."""
        chromadb = import_chromadb()
        lock = FileLock(self._open.enter_context(StateFolder(self._folder.parent)), f"{CHROMA}.lock")
        if not lock.acquire(0.0):
            self._open.close()
            return False
        self._open.callback(lock.release)
        with folder_by_path(self._folder):
            self._client = chromadb.PersistentClient(str(self._folder), client_settings())
        self._open.callback(self._client.close)
        return True

    def _synchronized(self, most_due: int) -> Any:
        if self._brought[0] == self.stamp():  # nobody else may have the folder open
            return self._brought[1]
        collection = collection_of(self._client)
        now, done = int(self.stamp()), int((collection.metadata or {}).get(_SYNCED, -1))
        if done == now:
            self._brought = str(now), collection
            return collection
        changes = {
            str(id_): int(change) for id_, change in self._catalog.rows("SELECT id, change FROM vectors")
        }
        present = {str(id_) for id_ in collection.get(include=[])["ids"]}
        gone = present - changes.keys()
        # Of another catalog, or mostly space that Chroma does not free.
        if done > now or len(gone) > len(changes):
            self._client.delete_collection(collection.name)
            collection, present, gone, done = collection_of(self._client), set(), set(), -1
        due = [id_ for id_, change in changes.items() if change > done or id_ not in present]
        if len(due) + len(gone) > most_due:
            return None
        for ids in (list(gone)[start : start + BATCH] for start in range(0, len(gone), BATCH)):
            collection.delete(ids=ids)
        for start in range(0, len(due), BATCH):
            rows = self.embeddings(due[start : start + BATCH])
            collection.upsert(ids=list(rows), embeddings=np.stack(list(rows.values())))
        collection.modify(metadata={_SYNCED: str(now)})
        self._brought = str(now), collection
        return collection

    def _give_up(self) -> None:
        """Leave a folder that Chroma cannot read, for this process; the next one begins with an empty one."""
        self._unusable, self._client = True, None
        shutil.rmtree(self._folder, ignore_errors=True)  # while no other process may open it
        with contextlib.suppress(Exception):
            self._open.close()
