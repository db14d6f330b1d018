"""Compare catalog and vector store: find missing, unknown and rewritten entries."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from random import SystemRandom
from typing import TypeVar

import numpy as np

from codeguard.errors import StoreError
from codeguard.index.maintenance.expected import Batch, expected
from codeguard.index.pipeline import Indexer
from codeguard.index.report import Progress
from codeguard.index.retrieval_text import retrieval_text
from codeguard.index.store.base import row_of
from codeguard.index.workspace import Workspace
from codeguard.models import Chunk, text_digest

SAMPLE = 256
SAME_VECTOR = 0.999  # cosine; the same weights on another processor stay above 0.9999
LISTED = 1000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged entry: the kind of damage, the chunk, and its location."""

    kind: str
    id: str
    place: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of a comparison.

    `carried_out` are writes that a crash had interrupted: they are finished
    first and are no damage. `found` counts damage by kind, `damage` lists
    the first thousand. `foreign` are entries that the catalog does not know:
    damage in an embedded store, whereas a server's collection may be shared. `embedded` chunks were embedded
    again to compare vectors, of `chunks`.
    """

    chunks: int
    carried_out: int
    foreign: int
    embedded: int
    found: Mapping[str, int]
    damage: tuple[Damage, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.found


class _Findings:
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.listed: list[Damage] = []
        self.to_write: set[str] = set()
        self.to_delete: set[str] = set()

    def add(self, kind: str, id_: str, chunk: Chunk | None = None) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if len(self.listed) < LISTED:
            place = f"{chunk.path}:{chunk.start_line} {chunk.symbol}".rstrip() if chunk else ""
            self.listed.append(Damage(kind, id_, place))


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
    with workspace.writing(lambda: progress("waiting for an index of this store", 0, 1)):
        carried_out = _finish(workspace)
        findings = _Findings()
        _check_catalog(workspace, findings)
        if findings.counts:  # a damaged catalog proves nothing about the store
            return VerifyReport(0, carried_out, 0, 0, findings.counts, tuple(findings.listed))
        total = len(workspace.catalog.ids())
        chosen = None if all_vectors else _sample(workspace)
        present: set[str] = set()
        chunks = embedded = 0
        for batch in expected(workspace):
            present |= _check_batch(workspace, batch, findings)
            compared = {id_: chunk for id_, chunk in batch.items() if chosen is None or id_ in chosen}
            embedded += _check_vectors(workspace, compared, findings)
            chunks += len(batch)
            progress("verify", chunks, max(total, chunks))
        progress("verify", chunks, chunks)
        foreign = _check_foreign(workspace, present, findings)
        if repair:
            _repair(workspace, findings)
    return VerifyReport(chunks, carried_out, foreign, embedded, findings.counts, tuple(findings.listed))


def _repair(workspace: Workspace, findings: _Findings) -> None:
    catalog = workspace.catalog
    # Delete first: inserting is faster than overwriting, and nothing of a foreign row may remain.
    workspace.vectors.delete(sorted(findings.to_delete | findings.to_write))
    with catalog.transaction():
        catalog.intend_writes(findings.to_write)
    Indexer(workspace).repair()


def _finish(workspace: Workspace) -> int:
    intents = workspace.catalog.intents()
    if intents:
        Indexer(workspace).repair()
    return len(intents.write) + len(intents.delete)


def _check_catalog(workspace: Workspace, findings: _Findings) -> None:
    """Run SQLite's own check, then verify all authenticated data and the words of every text."""
    catalog = workspace.catalog
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{catalog.path}?mode=ro", uri=True, timeout=30.0)
        ) as db:
            for (line,) in db.execute("PRAGMA integrity_check(100)"):
                if line != "ok":
                    findings.add("catalog: not sound", str(line)[:200])
            for (id_,) in db.execute("SELECT id FROM chunks WHERE path NOT IN (SELECT path FROM files)"):
                findings.add("catalog: chunk of no file", str(id_))
            recorded = dict(db.execute("SELECT id, sha256 FROM chunks"))
    except sqlite3.DatabaseError as error:
        raise catalog.damaged(str(error)) from error
    if catalog.foreign:
        findings.add("catalog: of another user or an older version", "maker")
        return
    for key in catalog.meta_keys():
        _checked(findings, "catalog: a setting is not as it was written", key, partial(catalog.meta, key))
    _checked(findings, "catalog: files are not as they were written", "files", catalog.files)
    _checked(findings, "catalog: quarantine is not as it was written", "quarantine", catalog.quarantined)
    for path in catalog.paths():
        chunks = _checked(
            findings, "catalog: text is not as it was written", path, partial(catalog.chunks_of, path)
        )
        for id_, chunk in (chunks or {}).items():
            if recorded.get(id_) != chunk.sha256:
                findings.add("catalog: text is not as its digest says", id_, chunk)
    for id_ in sorted(catalog.lexical_damage()):
        findings.add("catalog: words of a chunk are not those of its text", id_)


def _checked(findings: _Findings, kind: str, what: str, look: Callable[[], T]) -> T | None:
    try:
        return look()
    except StoreError:
        findings.add(kind, what)
        return None


def _sample(workspace: Workspace) -> set[str]:
    # Unpredictable, so that nobody can rewrite only entries that are not checked.
    ids = sorted(workspace.catalog.ids())
    return set(SystemRandom().sample(ids, min(SAMPLE, len(ids))))


def _check_batch(workspace: Workspace, batch: Batch, findings: _Findings) -> set[str]:
    documents = workspace.vectors.documents(list(batch))
    metadatas = workspace.vectors.metadatas(list(batch))
    for id_, chunk in batch.items():
        if id_ not in documents:
            findings.add("store: missing", id_, chunk)
        elif text_digest(documents[id_]) != chunk.text_sha256:
            findings.add("store: document rewritten", id_, chunk)
        elif metadatas.get(id_) != dict(row_of(id_, chunk).metadata):
            findings.add("store: metadata rewritten", id_, chunk)
        else:
            continue
        findings.to_write.add(id_)
    return set(documents)


def _check_vectors(workspace: Workspace, batch: Batch, findings: _Findings) -> int:
    if not batch:
        return 0
    stored = workspace.vectors.embeddings(list(batch))
    ids = [id_ for id_ in batch if id_ in stored]
    if not ids:
        return 0
    fresh = workspace.embedding.embed([retrieval_text(batch[id_]) for id_ in ids])
    for id_, vector in zip(ids, fresh, strict=True):
        if not _same(stored[id_], vector):
            findings.add("store: vector rewritten", id_, batch[id_])
            findings.to_write.add(id_)
    return len(ids)


def _same(stored: np.ndarray, fresh: np.ndarray) -> bool:
    if stored.shape != fresh.shape:
        return False
    length = float(np.linalg.norm(stored)) * float(np.linalg.norm(fresh))
    if length == 0.0:
        return bool(np.array_equal(stored, fresh))
    return float(stored @ fresh) / length >= SAME_VECTOR


def _check_foreign(workspace: Workspace, present: set[str], findings: _Findings) -> int:
    if workspace.vectors.count() == len(present):
        return 0
    foreign = workspace.vectors.ids() - present
    if not workspace.settings.remote:
        findings.to_delete |= foreign
        for id_ in sorted(foreign):
            findings.add("store: entry that codeguard did not write", id_)
    return len(foreign)


def lines(report: VerifyReport) -> Iterator[str]:
    """Yield the report as lines of text."""
    yield f"{report.chunks} chunks compared, {report.embedded} of them embedded again"
    if report.carried_out:
        yield f"{report.carried_out} interrupted writes finished first"
    if report.foreign:
        yield f"{report.foreign} entries that this catalog does not know"
    for kind, count in sorted(report.found.items()):
        yield f"DAMAGE {kind}: {count}"
