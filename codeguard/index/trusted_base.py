"""What is trusted where no index says so: verified manifests from outside of a tree, and the files they list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from codeguard.config import Settings
from codeguard.corpus.chunking import CHUNKER_ID, chunk_file
from codeguard.corpus.discovery import discover, left_out, read_file
from codeguard.corpus.secrets import without_secrets
from codeguard.models import SourceFile
from codeguard.trust.installation import is_own_state
from codeguard.trust.manifest import build_manifest, unlistable
from codeguard.trust.signed_trees import find_signed_trees, of_users, verified_trees
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
