"""The content of an index and the space it takes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from codeguard.index.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Figures of an index. `bytes_` are of the whole state directory, on disk."""

    store: str
    state: str
    files: int
    chunks: int
    vectors: int
    quarantined: int
    unfinished: int
    embedding: str
    chunker: str
    root: str
    sandbox_level: str
    bytes_: int
    bytes_catalog: int


def info(workspace: Workspace) -> StoreInfo:
    """Count the content of an index without changing anything.

    Raises:
        StoreError: catalog or store cannot be read.
    """
    catalog = workspace.catalog
    intents = catalog.intents()
    return StoreInfo(
        store=workspace.settings.store,
        state=str(workspace.state),
        files=len(catalog.files()),
        chunks=len(catalog.ids()),
        vectors=workspace.vectors.count(),
        quarantined=len(catalog.quarantined()),
        unfinished=len(intents.write) + len(intents.delete),
        embedding=catalog.meta("embedding") or "",
        chunker=catalog.meta("chunker") or "",
        root=catalog.meta("root") or "",
        sandbox_level=catalog.meta("sandbox_level") or "",
        bytes_=folder_bytes(workspace.state),
        bytes_catalog=sum(
            path.stat().st_size for path in workspace.state.glob(catalog.path.name + "*") if path.is_file()
        ),
    )


def folder_bytes(folder: Path) -> int:
    """Return the total size of all files under a folder in bytes, skipping those that vanish meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
    return total
