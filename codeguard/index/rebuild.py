"""Rebuild an index from the files next to the old one, and replace that when complete."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from codeguard.config import CATALOG, Settings
from codeguard.errors import CodeguardError, StoreError
from codeguard.index import trusted_paths
from codeguard.index.catalog import EXCLUDED_GLOBS, INDEXED_PATHS, TRUSTED_PATHS, Catalog
from codeguard.index.pipeline import Indexer, first_root
from codeguard.index.report import IndexReport, Progress
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
    refuse_gone,
    refuse_vanished,
    with_changes,
)
from codeguard.index.workspace import Workspace, open_state, unsigned_of
from codeguard.trust.acceptances import ACCEPTED_NAME
from codeguard.trust.installation import claim
from codeguard.trust.manifest import Manifest

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
