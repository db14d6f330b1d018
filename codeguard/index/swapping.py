"""The right to change an index, and its replacement: a crash leaves either the old one or the new one.

rebuild.new      being built: worthless until it is renamed
rebuild.ready    complete: the next process that opens the index puts it in place
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from codeguard.config import CATALOG
from codeguard.errors import STOPPED, StoreError
from codeguard.trust.state_files import FileLock, StateFolder

WRITING = "index.lock"
NEW, READY = "rebuild.new", "rebuild.ready"
VECTORS = "chroma"
ROWS = "chroma.sqlite3"  # in that folder: the file that Chroma writes with every change
PARTS = (f"{CATALOG}-wal", CATALOG, "manifest.unsigned.json", "perplexity.npz", "seed")
_ABSENT = "absent.json"
WORKING = 10.0  # times as long as for an answer: a process that indexes much holds the lock for long
WAIT_S = WORKING * 60.0
UNSETTLED = ".unsettled"  # suffix of the marker that a store's files may not be on disk yet


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
    if (state / NEW).exists():
        shutil.rmtree(state / NEW)


def put_in_place(state: Path) -> None:
    """Replace catalog, vectors, manifest, model and seed by the new ones. The index's lock is held."""
    new = state / NEW
    (new / _ABSENT).write_text(json.dumps([name for name in PARTS if not (new / name).exists()]))
    sync_folder(new)
    new.rename(state / READY)
    sync_names(state)
    _move(state)


def finish_swap(state: Path) -> None:
    """Put a complete new state in place if a crash prevented that.

    Raises StoreError if that is impossible.
    """
    if (state / READY).exists():
        with held(state / WRITING, lambda: None):
            _move(state)


def _move(state: Path) -> None:
    ready = state / READY
    if not ready.exists():  # another process was first
        return
    try:
        if (ready / VECTORS).exists():  # the store puts them in place itself, when it is opened next
            _clear(ready_of(state / VECTORS))
            (ready / VECTORS).rename(ready_of(state / VECTORS))
        for name in json.loads((ready / _ABSENT).read_text()):
            (state / str(name)).unlink(missing_ok=True)
        (state / f"{CATALOG}-shm").unlink(missing_ok=True)
        for name in PARTS:
            if (ready / name).exists():
                _clear(state / name)
                (ready / name).rename(state / name)
        sync_names(state)
        shutil.rmtree(ready)
    except (OSError, ValueError) as error:
        raise StoreError(
            f"the new index {ready} cannot be put in place ({error})", hint=f"check the folder {state}"
        ) from None


def recover(folder: Path) -> None:
    """Finish the replacement of a folder of vectors that was interrupted. The store's lock is held.

    Raises:
        StoreError: the folders cannot be renamed or deleted.
    """
    ready, old = ready_of(folder), folder.with_name(folder.name + ".old")
    try:
        if ready.exists():
            if folder.exists():
                _clear(old)
                folder.rename(old)
            ready.rename(folder)
            folder.with_name(folder.name + UNSETTLED).unlink(missing_ok=True)  # of the one that is replaced
            sync_names(folder.parent)
        elif old.exists() and not folder.exists():
            old.rename(folder)
        if old.exists():
            _clear(old)
    except OSError as error:
        raise StoreError(
            f"the store {folder} cannot be put in place ({error.strerror})", hint="check its folder"
        ) from error


def ready_of(folder: Path) -> Path:
    """Return the folder that will replace a folder of vectors."""
    return folder.with_name(folder.name + ".ready")


def _clear(path: Path) -> None:
    """Delete whatever has this name; a link is deleted, not its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Sync a folder and everything in it to disk."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        elif path.is_dir():
            sync_names(path)
    sync_names(folder)


def sync_names(folder: Path) -> None:
    """Sync what a folder lists to disk: its names, not what is in its files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
