"""The right to change an index, and its replacement: a crash leaves either the old one or the new one.

rebuild.new             being built: worthless until its catalog is renamed
catalog.sqlite3.ready   complete: the next process that opens the index puts it in place
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from codeguard.config import CATALOG, CHROMA
from codeguard.errors import STOPPED, StoreError
from codeguard.trust.state_files import FileLock, StateFolder

WRITING = "index.lock"
NEW, READY = "rebuild.new", f"{CATALOG}.ready"
WORKING = 10.0  # times as long as for an answer: a process that indexes much holds the lock for long
WAIT_S = WORKING * 60.0


@contextlib.contextmanager
def held(path: Path, waiting: Callable[[], None] | None = None, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Hold the lock of a file; yield whether it was acquired.

    With `waiting` it always is: if another process holds it, `waiting` is called once, and the lock is
    awaited for `wait_s` seconds. Without `waiting`, it is tried once. The system releases the lock when the process
    ends for any reason.

    Raises StoreError if the file cannot be locked at all, or another process holds it for too long.
    """
    with contextlib.ExitStack() as stack:
        try:
            lock = FileLock(stack.enter_context(StateFolder(path.parent)), path.name)
            alone = lock.acquire(0.0)
            if not alone and waiting is not None:
                waiting()
                alone = lock.acquire(wait_s)
                if not alone:
                    raise StoreError(
                        f"another process has changed the index in {path.parent} for more than {wait_s:g} s",
                        hint=STOPPED,
                    )
        except OSError as error:
            raise StoreError(f"the index in {path.parent} cannot be locked ({error.strerror})") from None
        stack.callback(lock.release)
        yield alone


def fresh_folder(state: Path) -> Path:
    """Return an empty folder to build in. The index's lock is held."""
    discard_unfinished(state)
    folder = state / NEW
    folder.mkdir(mode=0o700)
    return folder


def discard_unfinished(state: Path) -> None:
    """Delete what a crash left of a state that was never completed. The index's lock is held."""
    _clear(state / NEW)


def put_in_place(state: Path) -> None:
    """Replace the catalog by the one that was built, which nobody has open. The index's lock is held.

    Raises StoreError if that is impossible.
    """
    built = state / NEW / CATALOG
    try:
        with contextlib.closing(sqlite3.connect(built)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # all of it in one file
        built.rename(state / READY)
        _sync_names(state)
    except (OSError, sqlite3.Error) as error:
        raise _stuck(built, error) from None
    _move(state)
    with contextlib.suppress(OSError):  # it can be made again
        (state / NEW / CHROMA).rename(state / CHROMA)


def finish_swap(state: Path) -> None:
    """Put a complete new catalog in place if a crash prevented that.

    Raises StoreError if that is impossible.
    """
    if (state / READY).exists():
        with held(state / WRITING, lambda: None):
            if (state / READY).exists():  # another process may have been first
                _move(state)


def _move(state: Path) -> None:
    try:
        # In what Chroma has made of the catalog may still be texts that were deleted.
        for name in (f"{CATALOG}-wal", f"{CATALOG}-shm", CHROMA):
            _clear(state / name)
        _clear(state / CATALOG)
        (state / READY).rename(state / CATALOG)
        _sync_names(state)
    except OSError as error:
        raise _stuck(state / READY, error) from None


def _stuck(built: Path, error: Exception) -> StoreError:
    return StoreError(
        f"the new index {built} cannot be put in place ({error})", hint=f"check the folder {built.parent}"
    )


def _clear(path: Path) -> None:
    """Delete whatever has this name; a link is deleted, not its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync_names(folder: Path) -> None:
    """Sync what a folder lists to disk: its names, not what is in its files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
