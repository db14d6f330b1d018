"""Replace an index's state by a newly built one, so that a crash leaves either the old or the new one.

rebuild.new      being built: worthless until it is renamed
rebuild.ready    complete: the next process that opens the index puts it in place
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
ROWS = "chroma.sqlite3"  # in that folder: the file that Chroma writes with every change
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
    sync_folder(new)
    new.rename(state / READY)
    sync_names(state)
    _move(state)


def finish_swap(state: Path) -> None:
    """Put a complete new state in place if a crash prevented that.

    Raises StoreError if that is impossible.
    """
    if (state / READY).exists():
        from codeguard.index.writer_lock import held  # imports logging

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
