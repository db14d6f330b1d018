"""Put a state that was built beside an index in its place, so that anyone who crashes leaves the old or the new one.

rebuild.new      being built: worth nothing until it is renamed
rebuild.ready    complete: anyone who opens the index next puts it in place
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from codeguard.config import CATALOG
from codeguard.errors import StoreError

WRITING = "index.lock"
NEW, READY = "rebuild.new", "rebuild.ready"
VECTORS = "chroma"
PARTS = (f"{CATALOG}-wal", CATALOG, "manifest.unsigned.json", "perplexity.npz", "seed")
_ABSENT = "absent.json"


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
    _sync(new)
    new.rename(state / READY)
    _sync_folder(state)
    _move(state)


def finish_swap(state: Path) -> None:
    """Put a complete new state in place where a crash kept somebody from it.

    Raises StoreError if that is impossible.
    """
    if (state / READY).exists():
        from codeguard.index.writer_lock import held  # brings logging

        with held(state / WRITING, lambda: None):
            _move(state)


def _move(state: Path) -> None:
    ready = state / READY
    if not ready.exists():  # somebody else was first
        return
    try:
        if (ready / VECTORS).exists():
            _move_vectors(state)
        for name in json.loads((ready / _ABSENT).read_text()):
            (state / str(name)).unlink(missing_ok=True)
        (state / f"{CATALOG}-shm").unlink(missing_ok=True)
        for name in PARTS:
            if (ready / name).exists():
                _clear(state / name)
                (ready / name).rename(state / name)
        _sync_folder(state)
        shutil.rmtree(ready)
    except (OSError, ValueError) as error:
        raise StoreError(
            f"the new index {ready} cannot be put in place ({error})", hint=f"check the folder {state}"
        ) from None


def _move_vectors(state: Path) -> None:
    from codeguard.index.store.chroma import lock_folder  # brings Chroma's side; needed after a rebuild alone

    folder, old = state / VECTORS, state / f"{VECTORS}.old"
    lock = lock_folder(folder)
    try:
        _clear(old)
        if os.path.lexists(folder):
            folder.rename(old)
        (state / READY / VECTORS).rename(folder)
        _clear(old)
    finally:
        lock.release()


def _clear(path: Path) -> None:
    """Delete whatever lies under a name; a link goes, not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        elif path.is_dir():
            _sync_folder(path)
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
