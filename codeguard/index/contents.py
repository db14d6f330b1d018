"""The content of an index, its changes on disk, and the removal of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codeguard.errors import ConfigError, ManifestError, NothingToDoError
from codeguard.index.on_disk import IndexOnDisk, differing, found_on_disk
from codeguard.index.pipeline import Indexer
from codeguard.index.report import Suspect
from codeguard.index.trusted_paths import below, name_in_index, trusted_by_name
from codeguard.index.workspace import Workspace
from codeguard.trust.verified import MANIFEST_NAME


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
