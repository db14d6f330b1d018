"""Free the space of deleted data, and remove all traces of it from the disk.

Chroma keeps deleted vectors and texts in its files, SQLite keeps deleted
rows in free pages. The store is rebuilt next to the old one and swapped; the catalog is vacuumed; cached
analyses of removed chunks are deleted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from codeguard.errors import StoreError
from codeguard.index.behavior_reports import TRUSTED_ANSWERS, ProbeAnswers, checkable
from codeguard.index.embedding.base import Vectors as Matrix
from codeguard.index.maintenance.expected import expected
from codeguard.index.maintenance.info import folder_bytes
from codeguard.index.pipeline import Indexer
from codeguard.index.report import Progress
from codeguard.index.retrieval_text import retrieval_text
from codeguard.index.store import Row
from codeguard.index.store.base import row_of
from codeguard.index.workspace import Workspace

BUSY_S = 30.0


@dataclass(frozen=True, slots=True)
class CompactReport:
    """The result of a compaction; sizes of the state directory in bytes."""

    chunks: int
    embedded: int
    bytes_before: int
    bytes_after: int
    warnings: tuple[str, ...]


def compact(
    workspace: Workspace, *, embed: bool = False, progress: Progress = lambda stage, done, total: None
) -> CompactReport:
    """Rebuild the store from the catalog with its existing vectors; embed missing ones, or all.

    A crash at any moment leaves the old store or the new one.

    Raises:
        StoreError: the store is on a server, in use or not writable, or the disk is full.
    """
    if workspace.settings.remote:
        raise StoreError(
            "the files of a server's store are the server's",
            got=workspace.settings.store,
            expected="a folder",
            hint="compact it there: chroma vacuum",
        )
    before = folder_bytes(workspace.state)
    with workspace.writing(lambda: progress("waiting for an index of this store", 0, 1)):
        Indexer(workspace).repair()
        total = len(workspace.catalog.ids())
        counts = {"chunks": 0, "embedded": 0}

        def batches() -> Iterator[tuple[list[Row], Matrix]]:
            for batch in expected(workspace):
                found = {} if embed else store.embeddings(list(batch))
                missing = [id_ for id_ in batch if id_ not in found]
                if missing:
                    fresh = workspace.embedding.embed([retrieval_text(batch[id_]) for id_ in missing])
                    found.update(zip(missing, fresh, strict=True))
                yield (
                    [row_of(id_, chunk) for id_, chunk in batch.items()],
                    np.stack([found[id_] for id_ in batch]),
                )
                counts["chunks"] += len(batch)
                counts["embedded"] += len(missing)
                progress("compact", counts["chunks"], total)

        with workspace.exclusive_vectors() as store:
            store.rebuild(batches())
        _drop_analyses(workspace)
        warnings = _vacuum(workspace)
    progress("compact", total, total)
    return CompactReport(
        counts["chunks"], counts["embedded"], before, folder_bytes(workspace.state), tuple(warnings)
    )


def _drop_analyses(workspace: Workspace) -> None:
    """Delete results about removed texts, because reasons may quote them."""
    reports = workspace.reports()
    catalog = workspace.catalog
    keys = [TRUSTED_ANSWERS]
    for path in catalog.files():
        file = catalog.file(path)
        if file is not None:
            for chunk in filter(checkable, file.chunks):
                keys += [reports.own_key(chunk, file), reports.near_key(chunk, file), ProbeAnswers.key(chunk)]
    catalog.keep_analyses(keys)


def _vacuum(workspace: Workspace) -> list[str]:
    path = workspace.catalog.path
    try:
        db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            db.execute("PRAGMA secure_delete = ON")
            for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
            ).fetchall():
                db.execute(f'INSERT INTO "{name}" ("{name}") VALUES (\'optimize\')')
            db.execute("VACUUM")
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            db.close()
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"the catalog {path} cannot be compacted ({error})",
            hint="free some space" if "full" in str(error) else "try again when no other process uses it",
        ) from error
    if busy:
        return [
            "another process reads the catalog: its write-ahead log still holds old pages, compact again later"
        ]
    return []
