"""Maintenance of an index: its content, its changes on disk, removal of files, and whether catalog and store agree."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import TypeVar

import numpy as np

from codeguard.config import CATALOG, Settings
from codeguard.errors import CodeguardError, ConfigError, ManifestError, NothingToDoError, StoreError
from codeguard.index import trusted_paths
from codeguard.index.catalog import EXCLUDED_GLOBS, INDEXED_PATHS, TRUSTED_PATHS, Catalog
from codeguard.index.lexical import retrievable, retrieval_text
from codeguard.index.on_disk import IndexOnDisk, differing, found_on_disk
from codeguard.index.pipeline import Indexer, first_root
from codeguard.index.report import IndexReport, Progress, Suspect
from codeguard.index.store import row_of
from codeguard.index.swapping import (
    WRITING,
    discard_unfinished,
    finish_swap,
    fresh_folder,
    held,
    put_in_place,
)
from codeguard.index.trusted_paths import (
    TrustedPath,
    below,
    name_in_index,
    refuse_gone,
    refuse_vanished,
    trusted_by_name,
    with_changes,
)
from codeguard.index.workspace import Workspace, open_state, unsigned_of
from codeguard.models import Chunk
from codeguard.trust.acceptances import ACCEPTED_NAME
from codeguard.trust.installation import claim
from codeguard.trust.manifest import Manifest
from codeguard.trust.verified import MANIFEST_NAME

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


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of the index. `suspects` is what the last run found in it, by the decision, unless accepted.

    `changed`: it was trusted as it is indexed, and the disk has it otherwise.
    """

    path: str
    size: int
    trusted: bool
    suspects: Mapping[str, Sequence[str]] = field(default_factory=dict)
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of files that differ between the disk and the index."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def indexed_files(workspace: Workspace, paths: Sequence[str] = ()) -> list[IndexedFile]:
    """Return the files of the index, by name; only those in `paths` (names or folders in it) if given."""
    known = workspace.trusted_paths
    try:
        manifest = workspace.manifest
        listed = set() if manifest is None else set(manifest.files)
    except (ManifestError, ConfigError):  # which says what is wrong where it matters: the paths then
        listed = set(workspace.catalog.files())
    suspects: dict[str, dict[str, list[str]]] = {}
    for item in (Suspect(**kept) for kept in workspace.suspects or ()):
        if not item.accepted:
            of_file = suspects.setdefault(item.path, {})
            of_file.setdefault(item.kind, []).append(item.symbol or "(module)")
    return [
        IndexedFile(
            name,
            state.size,
            name in listed and trusted_by_name(name, known),
            suspects.get(name, {}),
        )
        for name, state in sorted(workspace.catalog.files().items())
        if not paths or any(below(name, path) for path in paths)
    ]


def compared(workspace: Workspace, files: Sequence[IndexedFile]) -> list[IndexedFile]:
    """Return files of the index, without trust where the disk has them otherwise."""
    disk = IndexOnDisk(workspace.catalog, workspace.indexed_paths)
    return [
        replace(item, trusted=False, changed=True)
        if item.trusted and disk.state(item.path, trusted=True).differs
        else item
        for item in files
    ]


def changes(workspace: Workspace) -> Changes:
    """Compare the indexed paths with their current state, as `index` does: see `is_indexed`.

    Raises:
        NothingToDoError: nothing has been indexed.
    """
    root, paths = workspace.catalog.meta("root"), workspace.indexed_paths
    if root is None or not paths:
        raise NothingToDoError("nothing has been indexed", hint="codeguard index PATH…")
    files = workspace.catalog.files()
    there = [path for path in paths if path.exists()]
    found = found_on_disk(there, Path(root), workspace.settings, workspace.excluded(), files, paths).files
    own = {tree.folder / MANIFEST_NAME for tree in workspace.signed_trees}
    here = {item.name for item in found if item.path not in own}
    changed = {item.name for item in differing(found, files, workspace.trusted_paths)} & files.keys()
    return Changes(*(tuple(sorted(names)) for names in (here - files.keys(), changed, files.keys() - here)))


def remove(workspace: Workspace, paths: Sequence[Path]) -> list[str]:
    """Remove files, and everything below folders, from the index; return their names.

    The paths need not exist any more. A later `index` of a parent folder adds existing files again.

    Raises:
        NothingToDoError: none of them is indexed.
        ConfigError: one of them is trusted: trust must be revoked separately.
    """
    with workspace.writing():
        workspace.refresh()
        root = Path(workspace.catalog.meta("root") or ".")
        resolved = [path.resolve() for path in paths]
        scopes = [name_in_index(path, root, workspace.indexed_paths) for path in resolved]
        gone = [item for item in indexed_files(workspace) if any(below(item.path, scope) for scope in scopes)]
        if not gone:
            raise NothingToDoError(
                "no such file in the index",
                got=", ".join(map(str, paths)),
                hint="codeguard ls lists what is indexed",
            )
        if trusted := next((item.path for item in gone if item.trusted), ""):
            raise ConfigError(
                "a trusted file",
                got=trusted,
                expected="files that are not",
                hint="codeguard index --untrust PATH first",
            )
        workspace.suspects = None
        with workspace.catalog.transaction():
            for item in gone:
                workspace.catalog.remove_file(item.path)
        Indexer(workspace).repair()
        # No later run is to bring them back.
        workspace.indexed_paths = [
            path
            for path in workspace.indexed_paths
            if not any(path.is_relative_to(gone) for gone in resolved)
        ]
    return [item.path for item in gone]


SHOWN = 3  # names in a message


@dataclass
class _Remembered:
    """The verified parts of the old index; `problem` says why there are none."""

    problem: str = ""
    root: str | None = None
    embedding: str | None = None
    paths: list[Path] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    trusted: list[TrustedPath] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    manifest: Manifest | None = None


def rebuild(
    settings: Settings,
    paths: Sequence[Path],
    trust: Sequence[Path] = (),
    *,
    untrust: Sequence[Path] = (),
    exclude: Sequence[str] = (),
    progress: Progress = lambda stage, done, total: None,
) -> IndexReport:
    """Rebuild catalog and vectors from the files under the remembered paths and the given ones.

    Acceptances are kept, and trust as far as it verifies. A run that ends early for any reason
    leaves the old index. Nothing of what was deleted is left on the disk.

    Raises:
        StoreError: no verified record says which paths were indexed, and none are given.
        CorpusError, ConfigError, ManifestError, NothingToDoError, EmbeddingError: as `Indexer.run`.
    """
    state = settings.state
    if not os.path.lexists(state):
        raise StoreError(f"no index in {state}", hint="make one with: codeguard index PATH… --trust PATH")
    key, warnings = open_state(settings, create=True, renew=True)
    finish_swap(state)
    with held(state / WRITING, lambda: progress("waiting for another index of this store", 0, 1)):
        old = _remembered(state, key)
        if not paths and not old.paths:
            raise StoreError(
                f"nothing says what the index in {state} was made from ({old.problem or 'no path is remembered'})",
                hint="name it: codeguard index --rebuild PATH… --trust PATH",
            )
        if old.problem:
            warnings.append(f"the old index was not believed, nor what it trusted: {old.problem}")
        there = old.root is not None and os.path.isdir(old.root)  # noqa: PTH112
        root = Path(old.root) if old.root is not None and there else first_root(settings)
        now = datetime.now(UTC).replace(microsecond=0).isoformat()
        resolved = [path.resolve() for path in trust]
        tops = [*old.paths, *(path.resolve() for path in paths), *resolved]
        known = with_changes(old.trusted, resolved, [path.resolve() for path in untrust], root, now, tops)
        if old.root is not None:
            refuse_gone(Path(old.root), () if paths else old.paths, known)
        refuse_vanished(known)
        gone = [path for path in old.paths if not os.path.lexists(path)]
        warnings += [f"{path} is no longer there: left out" for path in gone]
        folder = fresh_folder(state)
        try:
            claim(folder, key)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(state / ACCEPTED_NAME, folder / ACCEPTED_NAME)
            built = settings.replace(
                store=None if settings.remote else str(folder),
                state_dir=str(folder),
                root=str(root),
                embedding=old.embedding if settings.embedding == "auto" else None,
            )
            with contextlib.closing(Workspace(built, create=True)) as workspace:
                workspace.catalog.set_meta(TRUSTED_PATHS, trusted_paths.to_text(old.trusted))
                workspace.catalog.set_meta(EXCLUDED_GLOBS, json.dumps(old.excluded))
                if old.manifest is not None:
                    workspace.save_manifest(old.manifest)
                report = Indexer(workspace, progress).run(
                    [*paths, *(path for path in old.paths if path not in gone)],
                    trust,
                    untrust=untrust,
                    exclude=exclude,
                )
                lost = sorted(set(old.files) - set(workspace.catalog.paths()))
            if lost:
                named = ", ".join(lost[:SHOWN]) + (", …" if len(lost) > SHOWN else "")
                warnings.append(f"{len(lost)} files of the old index are not in the new one: {named}")
            put_in_place(state)
        finally:
            with contextlib.suppress(OSError):
                discard_unfinished(state)
    return replace(report, warnings=(*warnings, *report.warnings))


def _remembered(state: Path, key: bytes) -> _Remembered:
    found = _Remembered()
    if not (state / CATALOG).exists():
        return found
    try:
        with Catalog(state / CATALOG, key) as catalog:
            found.root, found.embedding = catalog.meta("root"), catalog.meta("embedding_name")
            found.paths = [Path(item) for item in json.loads(catalog.meta(INDEXED_PATHS) or "[]")]
            found.excluded = [str(item) for item in json.loads(catalog.meta(EXCLUDED_GLOBS) or "[]")]
            found.trusted = trusted_paths.from_text(catalog.meta(TRUSTED_PATHS))
            found.files = catalog.paths()
            found.manifest = unsigned_of(catalog)
    except (CodeguardError, TypeError, ValueError) as error:
        found.problem = str(getattr(error, "what", error))
    return found
