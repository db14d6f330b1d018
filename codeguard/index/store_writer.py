"""Write the catalog's intended changes to the vector store, while the next batch is chunked and embedded."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from codeguard.index.catalog import Intents
from codeguard.index.embedding.base import Vectors
from codeguard.index.store.base import Row
from codeguard.index.workspace import Workspace


class StoreWriter:
    """Writes one batch to the store at a time; its intents are cleared when it is written.

    Use it as a context manager: its exit waits for the last batch. The next call raises the error of a failed
    batch, whose intents stay and are carried out by a later repair.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._going: tuple[Future[None], Intents] | None = None

    def begin(self) -> None:
        """Open the store: the process that serves it starts while the batch is embedded."""
        _ = self._workspace.vectors

    def untold(self, intents: Intents) -> Intents:
        """Return the intents that are not being written."""
        if self._going is None:
            return intents
        write, delete = set(self._going[1].write), set(self._going[1].delete)
        return Intents(
            tuple(id_ for id_ in intents.write if id_ not in write),
            tuple(id_ for id_ in intents.delete if id_ not in delete),
        )

    def tell(self, intents: Intents, rows: Sequence[Row], vectors: Vectors | None) -> None:
        """Send a batch once the previous one is written; `vectors` has a row for each of `rows`."""
        self._arrived()
        self._going = self._thread.submit(self._send, rows, vectors, intents.delete), intents

    def _send(self, rows: Sequence[Row], vectors: Vectors | None, gone: Sequence[str]) -> None:
        store = self._workspace.vectors
        if vectors is not None:
            store.add(rows, vectors)
        if gone:
            store.delete(gone)

    def _arrived(self) -> None:
        if self._going is not None:
            future, intents = self._going
            future.result()
            self._going = None
            self._workspace.catalog.clear_intents([*intents.write, *intents.delete])

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self._arrived()
        finally:
            self._thread.shutdown()
