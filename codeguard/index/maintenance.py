"""Maintenance of an index: whether catalog and vector store agree."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import SystemRandom
from typing import TypeVar

import numpy as np

from codeguard.errors import StoreError
from codeguard.index.lexical import retrievable, retrieval_text
from codeguard.index.pipeline import Indexer
from codeguard.index.report import Progress
from codeguard.index.store.base import row_of
from codeguard.index.workspace import Workspace
from codeguard.models import Chunk

BATCH = 500  # chunks that are compared together
SAMPLE = 256
SAME_VECTOR = 0.999  # cosine; the same weights on another processor stay above 0.9999
LISTED = 1000
REWRITTEN = "is not as it was written"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged entry: the kind of damage, the chunk, and its location."""

    kind: str
    id: str
    place: str


@dataclass(slots=True)
class VerifyReport:
    """The result of a comparison.

    `carried_out` are writes that a crash had interrupted: they are finished
    first and are no damage. `found` counts damage by kind, `damage` lists
    the first thousand. `foreign` are entries that the catalog does not know:
    damage in an embedded store, whereas a server's collection may be shared. `embedded` chunks were embedded
    again to compare vectors, of `chunks`.
    """

    chunks: int = 0
    carried_out: int = 0
    foreign: int = 0
    embedded: int = 0
    found: dict[str, int] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.found

    def add(self, kind: str, id_: str, chunk: Chunk | None = None) -> None:
        """Note damage."""
        self.found[kind] = self.found.get(kind, 0) + 1
        if len(self.damage) < LISTED:
            place = f"{chunk.path}:{chunk.start_line} {chunk.symbol}".rstrip() if chunk else ""
            self.damage.append(Damage(kind, id_, place))


def verify(
    workspace: Workspace,
    *,
    all_vectors: bool = False,
    repair: bool = False,
    progress: Progress = lambda stage, done, total: None,
) -> VerifyReport:
    """Compare all ids, documents and metadata with the catalog, and vectors with re-embedded texts.

    A random sample of the vectors is compared, or every one. `repair` writes missing and rewritten entries
    again and deletes foreign ones from an embedded store; it cannot repair a damaged catalog.

    Raises:
        StoreError, EmbeddingError: catalog or store cannot be read at all.
    """
    catalog, vectors = workspace.catalog, workspace.vectors
    report = VerifyReport()
    with workspace.writing(lambda: progress("waiting for an index of this store", 0, 1)):
        if intents := catalog.intents():
            Indexer(workspace).repair()
            report.carried_out = len(intents.write) + len(intents.delete)
        _check_catalog(workspace, report)
        if report.found:  # a damaged catalog proves nothing about the store
            return report
        ids = sorted(catalog.ids())
        # Unpredictable, so that nobody can rewrite only entries that are not checked.
        chosen = set(ids if all_vectors else SystemRandom().sample(ids, min(SAMPLE, len(ids))))
        present: set[str] = set()
        rewritten: set[str] = set()
        for batch in _expected(workspace):
            stored = vectors.embeddings(list(batch))
            present |= stored.keys()
            rewritten |= _differing(workspace, batch, stored.keys(), report)
            due = {id_: chunk for id_, chunk in batch.items() if id_ in chosen and id_ in stored}
            rewritten |= _moved(workspace, due, stored, report)
            report.chunks += len(batch)
            progress("verify", report.chunks, max(len(ids), report.chunks))
        progress("verify", report.chunks, report.chunks)
        strange = vectors.ids() - present if vectors.count() != len(present) else set()
        report.foreign = len(strange)
        if workspace.settings.remote:
            strange = set()
        for id_ in sorted(strange):
            report.add("store: entry that codeguard did not write", id_)
        if repair:
            # Delete first: inserting is faster than overwriting, and nothing of a foreign row may remain.
            vectors.delete(sorted(strange | rewritten))
            with catalog.transaction():
                catalog.intend_writes(rewritten)
            Indexer(workspace).repair()
    return report


def _expected(workspace: Workspace) -> Iterator[Mapping[str, Chunk]]:
    """Yield the chunks expected in the vector store by id, file by file, some hundred at a time."""
    batch: dict[str, Chunk] = {}
    for path in sorted(workspace.catalog.files()):
        for id_, chunk in workspace.catalog.chunks_of(path).items():
            if retrievable(chunk):
                batch[id_] = chunk
            if len(batch) == BATCH:
                yield batch
                batch = {}
    if batch:
        yield batch


def _check_catalog(workspace: Workspace, report: VerifyReport) -> None:
    """Run SQLite's own check, then verify all authenticated data and the words of every text."""
    catalog = workspace.catalog

    def checked(what: str, id_: str, look: Callable[[], T]) -> T | None:
        try:
            return look()
        except StoreError:
            report.add(f"catalog: {what}", id_)
            return None

    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{catalog.path}?mode=ro", uri=True, timeout=30.0)
        ) as db:
            for (line,) in db.execute("PRAGMA integrity_check(100)"):
                if line != "ok":
                    report.add("catalog: not sound", str(line)[:200])
            for (id_,) in db.execute("SELECT id FROM chunks WHERE path NOT IN (SELECT path FROM files)"):
                report.add("catalog: chunk of no file", str(id_))
            recorded = dict(db.execute("SELECT id, sha256 FROM chunks"))
    except sqlite3.DatabaseError as error:
        raise catalog.damaged(str(error)) from error
    checked("settings are not as they were written", "settings", partial(catalog.meta, "root"))
    checked("files are not as they were written", "files", catalog.files)
    for path in catalog.paths():
        chunks = checked(f"text {REWRITTEN}", path, partial(catalog.chunks_of, path))
        for id_, chunk in (chunks or {}).items():
            if recorded.get(id_) != chunk.sha256:
                report.add("catalog: text is not as its digest says", id_, chunk)
    for id_ in sorted(catalog.lexical_damage()):
        report.add("catalog: words of a chunk are not those of its text", id_)


def _differing(
    workspace: Workspace, batch: Mapping[str, Chunk], stored: Collection[str], report: VerifyReport
) -> set[str]:
    """Return the entries that are missing, or whose text or metadata is not the catalog's."""
    found = dict.fromkeys(batch.keys() - stored, "store: missing")
    rewritten = workspace.vectors.rewritten([row_of(id_, chunk) for id_, chunk in batch.items()])
    found |= {id_: f"store: {what} rewritten" for id_, what in rewritten.items()}
    for id_, kind in found.items():
        report.add(kind, id_, batch[id_])
    return set(found)


def _moved(
    workspace: Workspace, batch: Mapping[str, Chunk], stored: Mapping[str, np.ndarray], report: VerifyReport
) -> set[str]:
    """Return the entries whose vector is not that of the catalog's text."""
    if not batch:
        return set()
    fresh = workspace.embedding.embed([retrieval_text(chunk) for chunk in batch.values()])
    found = {id_ for id_, vector in zip(batch, fresh, strict=True) if not _same(stored[id_], vector)}
    for id_ in found:
        report.add("store: vector rewritten", id_, batch[id_])
    report.embedded += len(batch)
    return found


def _same(stored: np.ndarray, fresh: np.ndarray) -> bool:
    if stored.shape != fresh.shape:
        return False
    length = float(np.linalg.norm(stored)) * float(np.linalg.norm(fresh))
    if length == 0.0:
        return bool(np.array_equal(stored, fresh))
    return float(stored @ fresh) / length >= SAME_VECTOR
