"""Replace a store's folder by a new one, so that a crash leaves either the old or the new one.

chroma.new      being built by another process, with a lock and a socket: worthless until it is renamed
chroma.ready    complete, to be put in place
chroma.old      replaced, to be deleted
"""

from __future__ import annotations

import shutil
from pathlib import Path

from codeguard.errors import StoreError
from codeguard.index.swapping import ready_of, sync_folder, sync_names

UNSETTLED = ".unsettled"  # suffix of the marker that a store's files may not be on disk yet


class Replacement:
    """A folder that is built next to a store's folder and then replaces it. The store's lock is held."""

    def __init__(self, folder: Path) -> None:
        recover(folder)
        self._folder = folder
        self.path = folder.with_name(folder.name + ".new")

    def put_in_place(self) -> None:
        """Replace the folder by the new one and delete the old one."""
        sync_folder(self.path)
        self.path.rename(ready_of(self._folder))
        sync_names(self._folder.parent)
        recover(self._folder)


def recover(folder: Path) -> None:
    """Finish or undo a replacement that was interrupted. The store's lock is held.

    Raises:
        StoreError: the folders cannot be renamed or deleted.
    """
    new, ready = folder.with_name(folder.name + ".new"), ready_of(folder)
    old = folder.with_name(folder.name + ".old")
    try:
        if ready.exists():
            if folder.exists():
                _delete(old)
                folder.rename(old)
            ready.rename(folder)
            folder.with_name(folder.name + UNSETTLED).unlink(missing_ok=True)  # of the one that is replaced
            sync_names(folder.parent)
        elif old.exists() and not folder.exists():
            old.rename(folder)
        _delete(new)
        _delete(old)
        for ending in (".lock", ".sock", UNSETTLED):  # of the process that built the new one
            new.with_name(new.name + ending).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"the store {folder} cannot be put in place ({error.strerror})", hint="check its folder"
        ) from error


def _delete(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
