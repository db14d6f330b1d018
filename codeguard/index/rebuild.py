"""Rebuild an index from the files next to the old one, and replace that when complete."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from codeguard.config import CATALOG, Settings
from codeguard.errors import CodeguardError, StoreError
from codeguard.index import trusted_paths
from codeguard.index.catalog import EXCLUDED_GLOBS, INDEXED_PATHS, SIGNED_TREES, TRUSTED_PATHS, Catalog
from codeguard.index.moved import follow_move, refuse_gone, remember_place
from codeguard.index.pipeline import Indexer, first_root
from codeguard.index.report import IndexReport, Progress
from codeguard.index.store.base import BusyError
from codeguard.index.store.chroma import replace_vectors
from codeguard.index.swapping import (
    VECTORS,
    WRITING,
    discard_unfinished,
    finish_swap,
    fresh_folder,
    put_in_place,
)
from codeguard.index.trusted import refuse_vanished
from codeguard.index.trusted_paths import TrustedPath, trusted_by_name, with_changes
from codeguard.index.workspace import (
    SEED,
    Workspace,
    passing_key,
)
from codeguard.index.writer_lock import held
from codeguard.trust.acceptances import ACCEPTED_NAME
from codeguard.trust.installation import (
    SECRET_BYTES,
    ForeignStateError,
    claim,
    ensure_ours,
    installation_key,
    is_shared,
    set_aside,
    set_aside_warning,
)
from codeguard.trust.local import load_unsigned
from codeguard.trust.manifest import Manifest
from codeguard.trust.signed_trees import from_text

SHOWN = 3  # names in a message


@dataclass
class _Remembered:
    """The verified parts of the old index; `problem` says why there are none."""

    problem: str = ""
    foreign: bool = False  # from another installation or an older version
    root: str | None = None
    embedding: str | None = None
    paths: list[Path] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    trusted: list[TrustedPath] = field(default_factory=list)
    signed: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def rebuild(
    settings: Settings,
    paths: Sequence[Path],
    trust: Sequence[Path] = (),
    *,
    untrust: Sequence[Path] = (),
    quarantine: bool = False,
    exclude: Sequence[str] = (),
    progress: Progress = lambda stage, done, total: None,
) -> IndexReport:
    """Rebuild catalog and vectors from the files under the remembered paths and the given ones.

    Acceptances and seed are kept, and trust as far as it verifies. A run that ends early for any reason
    leaves the old index.

    Raises:
        StoreError: no verified record says which paths were indexed, and none are given.
        CorpusError, ConfigError, ManifestError, NothingToDoError, EmbeddingError: as `Indexer.run`.
    """
    state = settings.state
    warnings: list[str] = []
    try:
        key = installation_key()
    except StoreError:
        key = passing_key()
    try:
        ensure_ours(state, key, settings.shared_state)
        finish_swap(state)
    except FileNotFoundError:
        raise StoreError(
            f"no index in {state}", hint="make one with: codeguard index PATH… --trust PATH"
        ) from None
    except ForeignStateError as error:
        if key == passing_key():
            raise
        place = set_aside(state)
        warnings.append(set_aside_warning(error, place))
        claim(state, key)
    with held(state / WRITING, lambda: progress("waiting for another index of this store", 0, 1)):
        old = _remembered(state, key)
        if not paths and not old.paths:
            raise StoreError(
                f"nothing says what the index in {state} was made from ({old.problem or 'no path is remembered'})",
                hint="name it: codeguard index --rebuild PATH… --trust PATH",
            )
        if old.problem and not warnings:
            warnings.append(f"the old index was not believed: {old.problem}")
        if old.foreign and is_shared(state, settings.shared_state):
            warnings.append(
                f"{state} is shared: the installation that made the old index will not believe this one and make its "
                "own in turn; give each a state_dir of its own, or the same evidence.key in the configuration"
            )
        there = old.root is not None and os.path.isdir(old.root)  # noqa: PTH112
        root = Path(old.root) if old.root is not None and there else first_root(settings)
        now = datetime.now(UTC).replace(microsecond=0).isoformat()
        resolved = [path.resolve() for path in trust]
        tops = [*old.paths, *(path.resolve() for path in paths), *resolved]
        known = with_changes(old.trusted, resolved, [path.resolve() for path in untrust], root, now, tops)
        if old.root is not None:
            refuse_gone(Path(old.root), () if paths else old.paths, known)
        refuse_vanished(known)
        _refuse_unsigned(old, known)
        gone = [path for path in old.paths if not os.path.lexists(path)]
        warnings += [f"{path} is no longer there: left out" for path in gone]
        chosen = [*paths, *(path for path in old.paths if path not in gone)]
        folder = fresh_folder(state)
        claim(folder, key)
        try:
            warnings += _carry(state, folder, key)
            built = settings.replace(
                store=None if settings.remote else str(folder),
                state_dir=str(folder),
                root=str(root),
                embedding=old.embedding if settings.embedding == "auto" else None,
                share_idle_s=0.0,
            )
            report = _built(built, chosen, trust, untrust, old, quarantine, exclude, progress)
            warnings += _left_out(old, folder, key)
            put_in_place(state)
            with contextlib.suppress(BusyError):  # whatever opens them next does it
                replace_vectors(state / VECTORS)
            with Catalog(state / CATALOG, key) as catalog:
                remember_place(catalog)
        finally:
            with contextlib.suppress(OSError):
                discard_unfinished(state)
    return replace(report, warnings=(*warnings, *report.warnings))


def _built(
    settings: Settings,
    paths: Sequence[Path],
    trust: Sequence[Path],
    untrust: Sequence[Path],
    old: _Remembered,
    quarantine: bool,
    exclude: Sequence[str],
    progress: Progress,
) -> IndexReport:
    workspace = Workspace(settings, create=True)
    try:
        workspace.save_trusted_paths(old.trusted)
        workspace.remember_excluded(old.excluded)
        workspace.adopt_manifest()
        return Indexer(workspace, progress).run(
            paths, trust, untrust=untrust, quarantine=quarantine, exclude=exclude
        )
    finally:
        workspace.close()


def _remembered(state: Path, key: bytes) -> _Remembered:
    """Return the verified parts of the old catalog."""
    found = _Remembered()
    if not (state / CATALOG).exists():
        return replace(found, problem="it has no catalog")
    try:
        with Catalog(state / CATALOG, key) as catalog:
            follow_move(catalog)
            if catalog.foreign:
                found.foreign = True
                found.problem = "made by another user or an older version of codeguard"
                found.signed = [part for tree in from_text(catalog.meta(SIGNED_TREES)) for part in tree.parts]
            else:
                found.root, found.embedding = catalog.meta("root"), catalog.meta("embedding_name")
                found.paths = [Path(item) for item in json.loads(catalog.meta(INDEXED_PATHS) or "[]")]
                found.excluded = [str(item) for item in json.loads(catalog.meta(EXCLUDED_GLOBS) or "[]")]
                found.trusted = trusted_paths.from_text(catalog.meta(TRUSTED_PATHS))
            found.files = [str(row) for row in catalog.paths()]
    except (CodeguardError, TypeError, ValueError) as error:
        found.problem = found.problem or str(getattr(error, "what", error))
    return found


def _refuse_unsigned(old: _Remembered, known: Sequence[TrustedPath]) -> None:
    lost = [part for part in old.signed if not trusted_by_name("" if part == "." else part, known)]
    if lost:
        raise StoreError(
            f"the old index trusted {', '.join(lost[:SHOWN])} by signed manifests",
            got="no --trust for them",
            expected="--trust PATH, or --untrust PATH",
        )


def _carry(state: Path, folder: Path, key: bytes) -> Iterator[str]:
    """Copy what is kept, and yield a line for everything that does not verify."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(state / ACCEPTED_NAME, folder / ACCEPTED_NAME)
    seed = _bytes(state / SEED)
    if seed is not None and len(seed) == SECRET_BYTES:
        (folder / SEED).touch(0o600)
        (folder / SEED).write_bytes(seed)
    elif seed is not None:
        yield f"the secret {state / SEED} is damaged: a new one is made"
    try:
        manifest: Manifest | None = load_unsigned(state, key)
    except CodeguardError as error:
        yield f"{error.what}: it will be built again"
        return
    if manifest is not None:
        name = "manifest.unsigned.json"
        shutil.copyfile(state / name, folder / name)


def _left_out(old: _Remembered, folder: Path, key: bytes) -> list[str]:
    with Catalog(folder / CATALOG, key) as catalog:
        lost = sorted(set(old.files) - set(catalog.paths()))
    if not lost:
        return []
    more = ", …" if len(lost) > SHOWN else ""
    return [f"{len(lost)} files of the old index are not in the new one: {', '.join(lost[:SHOWN])}{more}"]


def _bytes(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(SECRET_BYTES + 1)
    except OSError:
        return None
