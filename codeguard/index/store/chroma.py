"""Chroma on a server."""

from __future__ import annotations

import contextlib
import importlib.util
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import REBUILD, STOPPED, StoreError
from codeguard.index.store import Hit, Row, Vectors
from codeguard.workers.processes import deferred
from codeguard.workers.tasks import within

COLLECTION = "codeguard"
BATCH = 1000  # rows of one request
LONGEST_BATCH = 4 << 20  # characters of one request's documents
IDS_A_PAGE = 50_000  # Chroma scans everything before a page
WRITING = 5.0  # times as long for the answer to a write
ATTEMPTS = 6
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
DAMAGED = f"bring it back, or {REBUILD}"  # a hint

T = TypeVar("T")


class ChromaServer(Vectors):
    """A collection on a Chroma server (see `codeguard.index.store.Vectors`); requests are repeated."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, wait_s: float = 60.0) -> None:
        """Connect to a server, which has `wait_s` seconds for each answer, and more for what it writes.

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
        connect = partial(
            import_chromadb().HttpClient,
            host=parts.hostname,
            port=port,
            ssl=parts.scheme == "https",
            headers=dict(headers or {}),
            settings=client_settings(),
        )
        self.location = url
        self._wait_s = wait_s
        what = f"no Chroma server answers at {parts.hostname}:{port}"
        with _one_line(what, "start one with: chroma run"):
            client = _tried(lambda: within(wait_s, connect), 2)
        with _one_line(f"the collection of {url} cannot be opened", DAMAGED):
            self._collection = _tried(lambda: within(wait_s, partial(collection_of, client)))
        self._batch = BATCH
        with contextlib.suppress(Exception):  # an older server does not say
            self._batch = max(1, min(BATCH, int(within(wait_s, client.get_max_batch_size))))

    def _read(self, op: str, **asked: Any) -> Any:
        with _one_line(f"the store {self.location} cannot be read", DAMAGED):
            return _tried(lambda: within(self._wait_s, partial(getattr(self._collection, op), **asked)))

    def _write(self, op: str, **asked: Any) -> None:
        with _one_line(f"the store {self.location} cannot be written"):
            _tried(lambda: within(WRITING * self._wait_s, partial(getattr(self._collection, op), **asked)))

    def add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """See `Vectors`."""
        start = 0
        while start < len(rows):
            end, length = start, 0
            while end < len(rows) and end - start < self._batch and length < LONGEST_BATCH:
                length += len(rows[end].document)
                end += 1
            self._write(
                "upsert",
                ids=[row.id for row in rows[start:end]],
                embeddings=vectors[start:end],
                documents=[row.document for row in rows[start:end]],
                metadatas=[dict(row.metadata) for row in rows[start:end]],
            )
            start = end

    def delete(self, ids: Sequence[str]) -> None:
        """See `Vectors`."""
        for page in self._pages(ids):
            self._write("delete", ids=page)

    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """See `Vectors`."""
        found = self._read("query", query_embeddings=vector[None], n_results=count, include=["distances"])
        hits = zip(found["ids"][0], found["distances"][0], strict=True)
        return sorted(
            (Hit(str(id_), float(far)) for id_, far in hits), key=lambda hit: (hit.distance, hit.id)
        )

    def count(self) -> int:
        """See `Vectors`."""
        return int(self._read("count"))

    def ids(self) -> set[str]:
        """See `Vectors`."""
        found: set[str] = set()
        while page := self._read("get", include=[], limit=IDS_A_PAGE, offset=len(found))["ids"]:
            if found.issuperset(page):
                break
            found.update(map(str, page))
        return found

    def embeddings(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """See `Vectors`."""
        return {id_: np.asarray(row, dtype=np.float32) for id_, row in self._get(ids, "embeddings")}

    def rewritten(self, rows: Iterable[Row]) -> dict[str, str]:
        """See `Vectors`."""
        known = {row.id: row for row in rows}
        found: dict[str, str] = {}
        for id_, metadata in self._get(list(known), "metadatas"):
            if {str(key): str(value) for key, value in (metadata or {}).items()} != known[id_].metadata:
                found[id_] = "metadata"
        for id_, document in self._get(list(known), "documents"):
            if document != known[id_].document:
                found[id_] = "document"
        return found

    def stamp(self) -> str:
        """See `Vectors`."""
        return ""

    def _get(self, ids: Sequence[str], what: str) -> Iterator[tuple[str, Any]]:
        for page in self._pages(ids):
            found = self._read("get", ids=page, include=[what])
            yield from zip(map(str, found["ids"]), found[what], strict=True)

    def _pages(self, ids: Sequence[str]) -> Iterator[list[str]]:
        for start in range(0, len(ids), self._batch):
            yield list(ids[start : start + self._batch])


def collection_of(client: Any) -> Any:
    """Return our collection of a client; made if there is none."""
    return client.get_or_create_collection(
        COLLECTION,
        embedding_function=None,
        configuration={"hnsw": {"space": "cosine", "ef_construction": 100, "ef_search": 200}},
    )


def import_chromadb() -> ModuleType:
    """Import chromadb without letting the current directory's `.env` configure it.

    Chroma reads a `.env` during import, which a hostile repository can provide, so the import happens in an
    empty folder if possible.
    """
    if "chromadb" in sys.modules:
        return sys.modules["chromadb"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(deferred())  # importing creates no garbage
        stack.enter_context(_grammar_when_used("rfc3987_syntax"))
        if Path(".env").exists():
            stack.enter_context(contextlib.chdir(stack.enter_context(tempfile.TemporaryDirectory())))
        import chromadb
    return chromadb


@contextlib.contextmanager
def _grammar_when_used(name: str) -> Iterator[None]:
    """Let jsonschema import a module on its first use: compiling its grammar takes longer than all of chromadb."""
    later: Any = ModuleType(name)
    later.is_valid_syntax = lambda *given: importlib.import_module(name).is_valid_syntax(*given)
    if is_stood_in := name not in sys.modules and importlib.util.find_spec(name) is not None:
        sys.modules[name] = later
    try:
        yield
    finally:
        if is_stood_in:
            del sys.modules[name]


def client_settings() -> Any:
    """Return settings that a `.env` in the current folder cannot change."""
    return import_chromadb().config.Settings(_env_file=None, anonymized_telemetry=False)


def _tried(request: Callable[[], T], attempts: int = ATTEMPTS) -> T:
    """Repeat a request after server or network failures, with growing pauses."""
    pause = FIRST_PAUSE_S
    for left in range(attempts - 1, -1, -1):
        try:
            return request()
        except Exception as error:
            if not left or not _passing(error):
                raise
        # With jitter, so that several processes do not retry in step.
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(LONGEST_PAUSE_S, pause * 3)
    raise AssertionError("unreachable")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _passing(error: Exception) -> bool:
    """Return whether an error may be temporary: no answer, 429, or a server failure (5xx)."""
    import httpx

    for cause in _causes(error):
        if isinstance(cause, httpx.TransportError):
            return not isinstance(cause, httpx.UnsupportedProtocol)
        code: Any = getattr(cause, "code", None)
        with contextlib.suppress(Exception):
            status = cause.response.status_code if isinstance(cause, httpx.HTTPStatusError) else int(code())
            return status == 429 or status >= 500
    return False


@contextlib.contextmanager
def _one_line(what: str, hint: str | None = None) -> Iterator[None]:
    """Turn any exception of Chroma into a one-line StoreError."""
    try:
        yield
    except StoreError:
        raise
    except TimeoutError as error:
        raise StoreError(f"{what} ({error})", hint=STOPPED) from None
    except Exception as error:  # Chroma raises its own, pydantic's, sqlite's and plain ones
        raise StoreError(f"{what} ({_cause(error)})", hint=hint) from error


def _cause(error: Exception) -> str:
    """Return one line about a connection failure, whose cause Chroma hides, or Chroma's own message."""
    hidden = (item for item in _causes(error) if type(item).__module__.startswith("httpx") and str(item))
    found = next(hidden, error)
    return " ".join(str(found).split())[:200] or type(found).__name__
