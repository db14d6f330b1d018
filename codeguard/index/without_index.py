"""A workspace without an index, whose cached evidence is in a folder of the user's own."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from codeguard.config import CATALOG, Settings
from codeguard.errors import NoIndexError, StoreError
from codeguard.index.catalog import ForeignCatalogError
from codeguard.index.trusted_base import TrustedBase
from codeguard.index.workspace import Workspace, usable_key
from codeguard.models import SourceFile
from codeguard.trust.state_files import StateFolder
from codeguard.trust.verified import VerifiedManifest

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
