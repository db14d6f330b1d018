"""Combine verified manifests, with the file names of a corpus and the digests of a chunker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from codeguard.errors import ManifestError
from codeguard.trust.escape import shown
from codeguard.trust.manifest import FileEntry, Manifest
from codeguard.trust.tree import in_scope
from codeguard.trust.verified import VerifiedManifest, _admit


def combined_manifest(parts: Sequence[tuple[str, VerifiedManifest]]) -> VerifiedManifest:
    """Return one verified manifest of several trees, with the names that a corpus gives their files.

    `parts` are (folder, manifest): the folder, relative to the corpus root
    with `/` and `.` for the root itself, in which the manifest's tree lies.
    The result is unsigned if any part is; its signers are those of all parts.

    Raises ManifestError if two parts list one path, ValueError without
    parts.
    """
    if not parts:
        raise ValueError("nothing to combine")
    files: dict[str, FileEntry] = {}
    scope: list[str] = []
    for folder, part in parts:
        prefix = "" if folder == "." else f"{folder}/"
        for path, entry in part.files.items():
            name = prefix + path
            if files.setdefault(name, entry) is not entry:
                raise ManifestError(
                    "two manifests list one path",
                    got=f"{shown(name)} again",
                    expected="trees that do not overlap",
                )
        scope.extend(folder if inner == "." else prefix + inner for inner in part.manifest.scope)
    manifests = [part.manifest for _, part in parts]
    expiries = [manifest.expires for manifest in manifests if manifest.expires is not None]
    merged = Manifest(
        files=files,
        root=" + ".join(manifest.root for manifest in manifests)[:512],
        # Increases whenever one of them does.
        version=sum(manifest.version for manifest in manifests),
        created=min(manifest.created for manifest in manifests),
        expires=min(expiries, default=None),
        chunker=_agreed(manifest.chunker for manifest in manifests),
        git_commit=_agreed(manifest.git_commit for manifest in manifests),
        source_url=_agreed(manifest.source_url for manifest in manifests),
        scope=tuple(dict.fromkeys(scope)),
    )
    signers = tuple(dict.fromkeys(identity for _, part in parts for identity in part.signed_by))
    return _admit(merged, signers, unsigned=any(part.unsigned for _, part in parts))


def within(verified: VerifiedManifest, parts: Sequence[str]) -> VerifiedManifest:
    """Return the manifest limited to parts of its tree, folders or files with `/`; `.` is all of it."""
    if "." in parts:
        return verified
    old = verified.manifest
    files = {path: entry for path, entry in old.files.items() if in_scope(path, parts)}
    manifest = replace(old, files=files, scope=tuple(parts))
    return _admit(manifest, verified.signed_by, unsigned=verified.unsigned)


def narrowed(verified: VerifiedManifest, keep: Callable[[str], bool]) -> VerifiedManifest:
    """Return the manifest limited to the paths that `keep` accepts."""
    old = verified.manifest
    manifest = replace(old, files={path: entry for path, entry in old.files.items() if keep(path)})
    return _admit(manifest, verified.signed_by, unsigned=verified.unsigned)


def rechunked(
    verified: VerifiedManifest, files: Iterable[tuple[str, bytes, Sequence[str]]], chunker: str
) -> VerifiedManifest:
    """Return the manifest with the chunk digests of another chunker.

    A manifest stays valid when codeguard chunks files differently, because the file's own digest is what was
    signed. `files` are (path, bytes, sha256 of each chunk's text). Those whose bytes are not exactly the
    listed ones are left out, so that all their chunks count as modified.
    """
    chunks: dict[str, tuple[str, ...]] = {}
    for path, data, digests in files:
        if verified.covers(path, hashlib.sha256(data).hexdigest()):
            chunks[path] = tuple(digests)
    old = verified.manifest
    entries = {path: FileEntry(entry.sha256, chunks.get(path, ())) for path, entry in old.files.items()}
    manifest = replace(old, files=entries, chunker=chunker)
    return _admit(manifest, verified.signed_by, unsigned=verified.unsigned)


def _agreed(values: Iterable[str]) -> str:
    """Return the value on which all agree, empty if they do not."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else ""
