"""Chroma in this process, or on a server."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

from codeguard.errors import REBUILD, STOPPED, StoreError
from codeguard.index.store.base import BATCH, COLLECTION, DAMAGED, WRITES, WRITING, BusyError, Vectors
from codeguard.index.store.wire import ANSWER_S, ask_to_retire
from codeguard.index.swapping import UNSETTLED, recover, sync_folder
from codeguard.trust.state_files import FileLock, StateFolder, folder_by_path
from codeguard.workers.garbage_collection import deferred
from codeguard.workers.waiting import within

LOCK_WAIT_S = 10.0
COMPARED = 1_000  # vectors read at each of three places after the writer of a store was killed
RETRIES = 6
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
ROOM_BYTES = 256 << 10  # with less free space, the disk counts as full

T = TypeVar("T")


class VectorStore(Vectors):
    """A Chroma collection of unit vectors under cosine distance (see `codeguard.index.store.base.Vectors`).

    An embedded store belongs to one process at a time: two writers destroy
    Chroma's files. The lock is held until `close`.
    """

    def __init__(
        self, client: Any, location: str, lock: FileLock | None = None, wait_s: float | None = None
    ) -> None:
        self._client = client
        self._wait_s = wait_s  # for a server's answer; None in this process
        self._lock = lock
        self.location = location
        self._attempts = 1 if lock is not None else RETRIES
        self._collection = self._open_collection()
        self._unsettled = False

    @classmethod
    def open_folder(cls, folder: Path, *, wait_s: float = LOCK_WAIT_S, retire: bool = True) -> VectorStore:
        """Open or create the store in a folder, exclusively for this process.

        A codeguard process that serves the folder is asked to release it, unless `retire` is False.

        Raises:
            StoreError: in use by another process, not writable, not readable by this Chroma, or unsafe to
                open (see `codeguard.trust.state_files`).
        """
        lock = lock_folder(folder, wait_s, retire=retire)
        try:
            with StateFolder(folder.parent) as state:
                state.check_all()
            recover(folder)
            written_at = _unsettled(folder)
            if written_at not in (None, _boot()):
                raise StoreError(
                    f"the machine stopped while the vectors in {folder} were written", hint=REBUILD
                )
            store = cls(embedded_client(folder), str(folder), lock)
            if written_at is not None:
                store._unsettled = True
                try:
                    store._check_readable()
                except StoreError:
                    store._close_client()
                    raise
            return store
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open_url(
        cls, url: str, headers: Mapping[str, str] | None = None, wait_s: float = ANSWER_S
    ) -> VectorStore:
        """Connect to a Chroma server, which has `wait_s` seconds for each answer, and more for what it writes.

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
        where = f"{parts.hostname}:{port}"
        with _told(f"no Chroma server answers at {where}", hint="start one with: chroma run"):
            client = _tried(lambda: within(wait_s, connect), 2)
        store = cls(client, url, wait_s=wait_s)
        with contextlib.suppress(Exception):  # an older server does not say
            store.batch = max(1, min(BATCH, int(within(wait_s, client.get_max_batch_size))))
        return store

    def _open_collection(self) -> Any:
        return self._call(
            lambda: self._client.get_or_create_collection(
                COLLECTION,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine", "ef_construction": 100, "ef_search": 200}},
            ),
            f"the collection of {self.location} cannot be opened",
            DAMAGED,
        )

    def _call(self, request: Callable[[], T], what: str, hint: str | None = None, patience: float = 1.0) -> T:
        limit = None if self._wait_s is None else self._wait_s * patience
        asked = request if limit is None else lambda: within(limit, request)
        with _told(what, hint, None if self._lock is None else Path(self.location)):
            return _tried(asked, self._attempts)

    def request(self, op: str, **asked: Any) -> Any:
        """See `Vectors`."""
        if op in WRITES:
            self._unsettle()
        done = "written" if op in WRITES else "searched" if op == "query" else "read"
        found = self._call(
            lambda: getattr(self._collection, op)(**asked),
            f"the store {self.location} cannot be {done}",
            None if op in WRITES else DAMAGED,
            WRITING if op in WRITES else 1.0,
        )
        return {key: found[key] for key in ("ids", *asked["include"])} if "include" in asked else found

    def _unsettle(self) -> None:
        """Note, before Chroma writes, that its files may not be on the disk.

        Chroma writes the file of the vectors anew in place, without fsync, and then deletes its log of
        them with one: after a power cut both may be gone.
        """
        if self._lock is not None and not self._unsettled:
            folder = Path(self.location)
            with _told(f"the store {folder} cannot be written"), StateFolder(folder.parent) as state:
                state.write(folder.name + UNSETTLED, _boot().encode("ascii"))
            self._unsettled = True

    def settle(self) -> None:
        """Have all that was written on the disk."""
        if self._unsettled:
            folder = Path(self.location)
            with _told(f"the store {folder} cannot be written"), StateFolder(folder.parent) as state:
                sync_folder(folder)
                state.delete(folder.name + UNSETTLED)
            self._unsettled = False

    def _check_readable(self) -> None:
        """Read vectors of a store whose last writer was killed, perhaps while their file was written anew."""
        count = self.count()
        for offset in {0, count // 2, max(0, count - COMPARED)}:
            ids = self.page_of_ids(offset)[:COMPARED]
            try:
                found = len(self.embeddings(ids))
            except StoreError:
                found = -1
            if found != len(ids):
                raise StoreError(f"vectors of the store {self.location} are damaged", hint=REBUILD)

    def close(self) -> None:
        """See `Vectors`."""
        self._close_client()
        try:
            # Deleted or moved meanwhile: no longer our responsibility.
            if self._lock is not None and Path(self.location).is_dir():
                self.settle()
        finally:
            if self._lock is not None:
                self._lock.release()

    def _close_client(self) -> None:
        close = getattr(self._client, "close", None)
        if callable(close):
            with contextlib.suppress(RuntimeError):
                close()


def import_chromadb() -> ModuleType:
    """Import chromadb without letting the current directory's `.env` configure it.

    Chroma reads a `.env` during import, which a hostile repository can provide, so the import happens in an
    empty folder if possible.
    """
    if "chromadb" in sys.modules:
        return sys.modules["chromadb"]
    with deferred():  # importing creates no garbage
        if not Path(".env").exists():
            import chromadb

            return chromadb
        here = Path.cwd()
        with tempfile.TemporaryDirectory() as empty:
            os.chdir(empty)
            try:
                import chromadb
            finally:
                os.chdir(here)
    return chromadb


def embedded_client(folder: Path) -> Any:
    """Open Chroma in a folder whose lock the caller holds; no `.env` of the current folder is read."""
    with _told(f"the store {folder} cannot be opened", DAMAGED, folder), folder_by_path(folder):
        chromadb = import_chromadb()
        try:
            return chromadb.PersistentClient(path=str(folder), settings=client_settings())
        except BaseException:
            # Chroma caches a failed system and returns it to the next caller that opens the path in this
            # process.
            shared = chromadb.api.shared_system_client.SharedSystemClient
            if str(folder) not in getattr(shared, "_identifier_to_refcount", {}):
                getattr(shared, "_identifier_to_system", {}).pop(str(folder), None)
            raise


def _unsettled(folder: Path) -> str | None:
    """Return the boot during which a store was written but not synced, None if it was synced."""
    try:
        with StateFolder(folder.parent) as state:
            return state.read(folder.name + UNSETTLED, 100).decode("ascii", "replace")
    except FileNotFoundError:
        return None


def _boot() -> str:
    """Return the kernel's id of the current boot, or ""."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def lock_folder(folder: Path, wait_s: float = LOCK_WAIT_S, *, retire: bool = True) -> FileLock:
    """Take the lock of an embedded store; the system releases it when its holder ends, however it ends.

    Raises:
        BusyError: held by another process for longer than `wait_s` seconds.
        StoreError: the lock is not writable.
    """
    try:
        with StateFolder(folder.parent, create=True) as state:
            lock = FileLock(state, folder.name + ".lock")
            if lock.acquire(0.0):
                return lock
            if retire:
                ask_to_retire(folder)
            if lock.acquire(wait_s):
                return lock
    except OSError as error:
        raise StoreError(
            f"the store {folder} cannot be locked ({error.strerror})", hint="check its folder"
        ) from None
    raise BusyError(
        f"the store {folder} is in use by another process",
        hint="wait for it, or use a Chroma server (--store http://…)",
    )


def replace_vectors(folder: Path) -> None:
    """Put vectors that are ready to replace a store's folder in place, and delete the old ones.

    Raises:
        BusyError, StoreError: see `lock_folder` and `codeguard.index.swapping.recover`.
    """
    lock = lock_folder(folder)
    try:
        recover(folder)
    finally:
        lock.release()


def client_settings() -> Any:
    """Return settings that a `.env` in the current folder cannot change."""
    return import_chromadb().config.Settings(_env_file=None, anonymized_telemetry=False)


def _tried(request: Callable[[], T], attempts: int) -> T:
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
def _told(what: str, hint: str | None = None, folder: Path | None = None) -> Iterator[None]:
    """Turn any exception of Chroma into a one-line StoreError.

    For a full disk under `folder`, Chroma itself reports only that something failed.
    """
    try:
        yield
    except StoreError:
        raise
    except TimeoutError as error:
        raise StoreError(f"{what} ({error})", hint=STOPPED) from None
    except Exception as error:  # Chroma raises its own, pydantic's, sqlite's and plain ones
        if folder is not None and _is_full(folder):
            hint = f"the disk that holds {folder} is full: free some space"
        raise StoreError(f"{what} ({_cause(error)})", hint=hint) from error


def _is_full(folder: Path) -> bool:
    """Return whether a folder's file system has too little space for Chroma's next write."""
    try:
        found = os.statvfs(folder)
    except (OSError, AttributeError):  # the folder is gone, or the system lacks the call
        return False
    return found.f_bavail * found.f_frsize < ROOM_BYTES or (found.f_files > 0 and found.f_favail == 0)


def _cause(error: Exception) -> str:
    """Return one line about a connection failure, whose cause Chroma hides, or Chroma's own message."""
    hidden = (item for item in _causes(error) if type(item).__module__.startswith("httpx") and str(item))
    said = next(hidden, error)
    return " ".join(str(said).split())[:200] or type(said).__name__
