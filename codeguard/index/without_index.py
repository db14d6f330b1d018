"""What there is without an index: trusted files by verified manifests from outside of a tree, and cached evidence."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import platformdirs

from codeguard.config import CATALOG, Settings
from codeguard.corpus.chunking import CHUNKER_ID, chunk_file
from codeguard.corpus.discovery import discover, left_out, read_file
from codeguard.corpus.secrets import without_secrets
from codeguard.errors import NoIndexError, StoreError
from codeguard.index.catalog import ForeignCatalogError
from codeguard.index.workspace import Workspace, usable_key
from codeguard.models import SourceFile
from codeguard.trust.installation import is_own_state
from codeguard.trust.manifest import build_manifest, unlistable
from codeguard.trust.signed_trees import find_signed_trees, of_users, verified_trees
from codeguard.trust.state_files import StateFolder
from codeguard.trust.verified import (
    MANIFEST_NAME,
    VerifiedManifest,
    combined_manifest,
    in_scope,
    verify_unsigned,
)


@dataclass(frozen=True, slots=True)
class TrustedBase:
    """A verified manifest with the names of one run, and how to get the trusted files.

    `root` is the folder to which the names are relative; `said` is one line for the user.
    """

    root: Path
    manifest: VerifiedManifest | None = None
    files: Callable[[], list[SourceFile]] = field(default=list)
    said: str = "nothing is trusted"
    warnings: tuple[str, ...] = ()

    def covers(self, name: str, sha256: str) -> bool:
        """Return whether the manifest lists a file with exactly these bytes."""
        return self.manifest is not None and self.manifest.covers(name, sha256)


def of_paths(paths: Sequence[Path], settings: Settings, root: Path) -> TrustedBase:
    """Trust paths: those with a signed manifest as far as it verifies, the others in their current state.

    Raises:
        ManifestError, ConfigError: a manifest is refused, or a signature is required and there is none.
        CorpusError: a path cannot be read.
    """
    base = root.resolve()
    trees, ignored = of_users(find_signed_trees([path.resolve() for path in paths], base), settings)
    parts = verified_trees(trees, settings)
    files: list[tuple[str, bytes, list[str]]] = []
    sources: dict[str, SourceFile] = {}
    is_state = partial(is_own_state, shared=settings.shared_state)
    found = discover(paths, root=base, is_own_state=is_state).files
    refused = unlistable(item.name for item in found)
    unsigned = [
        (item.name, item.path) for item in found if not any(in_scope(item.name, tree.parts) for tree in trees)
    ]
    installed, folders = left_out(unsigned, [path.resolve() for path in paths])
    for item in found:
        own = item.name.rpartition("/")[2] == MANIFEST_NAME
        if own or item.name in refused or item.name in installed:
            continue
        data = read_file(item)
        sources[item.name] = file = without_secrets(chunk_file(item.name, data))
        if not any(in_scope(item.name, tree.parts) for tree in trees):
            files.append((item.name, data, [chunk.sha256 for chunk in file.chunks]))
    if files:
        made = build_manifest(base, files, chunker=CHUNKER_ID)
        parts.append((".", verify_unsigned(made, require_signature=settings.require_signature)))
    not_written = (
        f"{name} is not trusted, because it is {kind}, not written here; --trust names it all the same"
        for name, kind in sorted(folders.items())
    )
    if not parts:
        return TrustedBase(base, warnings=tuple(not_written))
    manifest = combined_manifest(parts)
    trusted = [file for name, file in sources.items() if manifest.covers(name, file.sha256)]
    refusals = (f"{name} is not trusted: {reason}" for name, reason in refused.items())
    return TrustedBase(base, manifest, lambda: trusted, _said(manifest), (*ignored, *refusals, *not_written))


def _said(manifest: VerifiedManifest) -> str:
    by = f"signed by {', '.join(manifest.signed_by)}" if not manifest.unsigned else "named by you, not signed"
    count = len(manifest.files)
    return f"{count} files are trusted ({by})" if count != 1 else f"1 file is trusted ({by})"


LARGEST = 256_000_000  # bytes of cached evidence that belongs to no index; above this, the cache is cleared


class WorkspaceOfPaths(Workspace):
    """A workspace without an index, with the manifest and trusted files of one run."""

    def __init__(self, settings: Settings, folder: Path, base: TrustedBase) -> None:
        self._base = base
        own = settings.replace(store=str(folder), state_dir=str(folder))
        try:
            super().__init__(own, create=True)
        except ForeignCatalogError:
            (folder / CATALOG).unlink()
            super().__init__(own, create=True)

    def _opened_state(self, create: bool, renew: bool) -> bytes:
        """Check that the folder is private to this user; each piece of evidence authenticates itself."""
        with StateFolder(self.state.parent, create=create, checked=False):
            pass  # private to this user, whatever the umask: versions seen are kept there
        with StateFolder(self.state, create=create) as folder:
            folder.check_all()
        return usable_key()[0]

    @property
    def manifest(self) -> VerifiedManifest | None:
        """The manifest of this run."""
        return self._base.manifest

    def trusted_files(self) -> list[SourceFile]:
        """Return the trusted files of this run."""
        return self._base.files()


def index_of(settings: Settings) -> Workspace | None:
    """Return the workspace of the settings' index, None if there is none."""
    try:
        return Workspace(settings)
    except NoIndexError:
        return None


def base_of(workspace: Workspace) -> TrustedBase:
    """Return what an index trusts, using its names."""
    root = Path(workspace.catalog.meta("root") or ".").resolve()
    manifest = workspace.manifest
    if manifest is None:
        return TrustedBase(root)
    by = "unsigned" if manifest.unsigned else f"signed by {', '.join(manifest.signed_by)}"
    said = f"{len(manifest.files)} files are trusted by the index in {workspace.state} ({by})"
    return TrustedBase(root, manifest, workspace.trusted_files, said)


@contextlib.contextmanager
def opened_workspace(settings: Settings, base: TrustedBase) -> Iterator[Workspace]:
    """Open a workspace for evidence that belongs to no index; a temporary one if none can be kept."""
    folder = Path(platformdirs.user_state_dir("codeguard")) / "audit"
    with contextlib.ExitStack() as stack:
        try:
            if (folder / CATALOG).exists() and (folder / CATALOG).stat().st_size > LARGEST:
                (folder / CATALOG).unlink()
            opened = WorkspaceOfPaths(settings, folder, base)
        except (StoreError, OSError) as error:
            passing = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="codeguard-")))
            opened = WorkspaceOfPaths(settings, passing, base)
            opened.warnings.append(f"evidence is not kept: {error}")
        stack.callback(opened.close)
        yield opened
