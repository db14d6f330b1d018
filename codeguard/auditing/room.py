"""Where an audit keeps what it learned of behavior: the index's state directory, else one of the user's own."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from codeguard.auditing.trust import TrustedBase
from codeguard.config import CATALOG, LEVELS, Settings
from codeguard.errors import StoreError
from codeguard.models import SourceFile
from codeguard.provenance import VerifiedManifest
from codeguard.workspace import Workspace

LARGEST = 256_000_000  # bytes of kept evidence that belongs to no index; above, it starts anew


class AuditRoom(Workspace):
    """A workspace without an index: its manifest and trusted files are those of one audit."""

    def __init__(self, settings: Settings, folder: Path, base: TrustedBase) -> None:
        self._base = base
        super().__init__(settings.replace(store=str(folder), state_dir=str(folder)), create=True)

    @property
    def manifest(self) -> VerifiedManifest | None:
        """The manifest of this audit."""
        return self._base.manifest

    def trusted_files(self) -> list[SourceFile]:
        """Return the trusted files of this audit."""
        return self._base.files()


def index_of(settings: Settings) -> Workspace | None:
    """Return the workspace of the settings' index, None where there is none."""
    return Workspace(settings) if (settings.state / CATALOG).exists() else None


def base_of(workspace: Workspace) -> TrustedBase:
    """Return what an index trusts, in its names."""
    root = Path(workspace.catalog.meta("root") or ".").resolve()
    manifest = workspace.manifest
    if manifest is None:
        return TrustedBase(root)
    by = "unsigned" if manifest.unsigned else f"signed by {', '.join(manifest.signed_by)}"
    said = f"{len(manifest.files)} files are trusted by the index in {workspace.state} ({by})"
    return TrustedBase(root, manifest, workspace.trusted_files, said)


@contextlib.contextmanager
def room(settings: Settings, base: TrustedBase) -> Iterator[Workspace]:
    """Open a room for evidence that belongs to no index; a passing one where none can be kept."""
    folder = Path(platformdirs.user_state_dir("codeguard")) / "audit"
    with contextlib.ExitStack() as stack:
        try:
            if (folder / CATALOG).exists() and (folder / CATALOG).stat().st_size > LARGEST:
                (folder / CATALOG).unlink()
            opened = AuditRoom(settings, folder, base)
        except (StoreError, OSError) as error:
            passing = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="codeguard-")))
            opened = AuditRoom(settings, passing, base)
            opened.warnings.append(f"evidence is not kept: {error}")
        stack.callback(opened.close)
        yield opened


def ensure_level(workspace: Workspace) -> str:
    """Return the sandbox level that the kept evidence is of; it is found out where it is not known or too low.

    A level that was once too low may have been raised since, so it is asked for again.
    """
    known = workspace.catalog.meta("sandbox_level") or ""
    required = workspace.settings.defense.required_level
    if known in LEVELS and LEVELS.index(known) >= LEVELS.index(required):
        return known
    level = workspace.sandbox.level.name
    workspace.catalog.set_meta("sandbox_level", level)
    return level
