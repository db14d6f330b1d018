"""A verified manifest, which decides what is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Never

from codeguard.errors import ManifestError
from codeguard.models import Trust
from codeguard.trust.manifest import FileEntry, Manifest


class VerifiedManifest:
    """A manifest that passed verification; only functions of this package create one.

    Trust comes only from here and from the digest of a text, and is determined anew each time: names, stores,
    comments and caches do not matter. It cannot be constructed, copied with changes, or pickled.
    """

    __slots__ = ("_chunks", "_everywhere", "_manifest", "_whole", "signed_by", "unsigned")

    _chunks: Mapping[str, frozenset[str]]  # by path
    _everywhere: frozenset[str]
    _manifest: Manifest
    _whole: frozenset[str]  # digests of files
    signed_by: tuple[str, ...]
    unsigned: bool

    def __init__(self) -> None:
        raise TypeError("a VerifiedManifest comes from verify_envelope or verify_unsigned only")

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a VerifiedManifest does not change: {name}")

    def __reduce__(self) -> Never:
        raise TypeError("a VerifiedManifest is not pickled or copied: verify again")

    @property
    def manifest(self) -> Manifest:
        """The manifest itself."""
        return self._manifest

    @property
    def files(self) -> Mapping[str, FileEntry]:
        """The listed files by path."""
        return self._manifest.files

    @property
    def root(self) -> str:
        """The label of the tree."""
        return self._manifest.root

    def trust_of(self, path: str, chunk_sha256: str) -> Trust:
        """Return the trust of a chunk text in `path`.

        `path` is relative to the manifest's root. TRUSTED: this path lists this digest. COPY: another path
        does. MODIFIED: the path is listed, but the digest is not listed anywhere. UNLISTED: neither. A
        trivial text (an empty line, a common import) is often a copy: that is harmless, as a copy gains
        nothing.
        """
        here = self._chunks.get(path)
        if here is not None and chunk_sha256 in here:
            return Trust.TRUSTED
        if chunk_sha256 in self._everywhere:
            return Trust.COPY
        return Trust.UNLISTED if here is None else Trust.MODIFIED

    def covers(self, path: str, file_sha256: str) -> bool:
        """Return whether `path` is listed with exactly these bytes."""
        entry = self._manifest.files.get(path)
        return entry is not None and entry.sha256 == file_sha256

    def lists(self, file_sha256: str) -> bool:
        """Return whether a file with exactly these bytes is listed, under any path."""
        return file_sha256 in self._whole

    def __repr__(self) -> str:
        by = "unsigned" if self.unsigned else f"signed by {len(self.signed_by)}"
        return f"<VerifiedManifest of {len(self.files)} files, {by}>"


def verify_unsigned(manifest: Manifest, *, require_signature: bool = False) -> VerifiedManifest:
    """Accept a manifest without a signature, and mark it as unsigned.

    It is only as trustworthy as its source: call this for a manifest just built from the trusted paths, or
    for one from the state directory (`codeguard.trust.load_unsigned`), never for a file of the corpus.

    Raises ManifestError if a signature is required.
    """
    if require_signature:
        raise ManifestError(
            "manifest is not signed",
            got="no signature",
            expected="a signature (require_signature is on)",
            hint="sign it with: codeguard trust sign",
        )
    return _admit(manifest, (), unsigned=True)


def _admit(manifest: Manifest, signed_by: tuple[str, ...], *, unsigned: bool) -> VerifiedManifest:
    """Create the verified form; to be called only after verification."""
    chunks = {path: frozenset(entry.chunks) for path, entry in manifest.files.items()}
    verified = object.__new__(VerifiedManifest)
    for name, value in (
        ("_manifest", manifest),
        ("_chunks", MappingProxyType(chunks)),
        ("_everywhere", frozenset[str]().union(*chunks.values())),
        ("_whole", frozenset(entry.sha256 for entry in manifest.files.values())),
        ("signed_by", signed_by),
        ("unsigned", unsigned),
    ):
        object.__setattr__(verified, name, value)
    return verified
