"""A verified manifest: what it trusts, several as one or limited to a part, and how a tree on disk differs from it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Never

from codeguard.errors import ManifestError
from codeguard.escaping import shown
from codeguard.models import Trust
from codeguard.trust.manifest import FileEntry, Manifest, NameIndex, path_problem
from codeguard.trust.state_files import open_regular

_ADMITTED = object()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VerifiedManifest:
    """A manifest that passed verification; only functions of this package create one.

    Trust comes only from here and from the digest of a text, and is determined anew each time: names, stores,
    comments and caches do not matter. It cannot be constructed, copied with changes, or pickled.
    """

    manifest: Manifest
    signed_by: tuple[str, ...]
    unsigned: bool
    _chunks: Mapping[str, frozenset[str]]  # by path
    _everywhere: frozenset[str]
    _whole: frozenset[str]  # digests of files
    admitted: InitVar[object]

    def __post_init__(self, admitted: object) -> None:
        if admitted is not _ADMITTED:
            raise TypeError("a VerifiedManifest comes from verify_envelope or verify_unsigned only")

    def __reduce__(self) -> Never:
        raise TypeError("a VerifiedManifest is not pickled or copied: verify again")

    @property
    def files(self) -> Mapping[str, FileEntry]:
        """The listed files by path."""
        return self.manifest.files

    @property
    def root(self) -> str:
        """The label of the tree."""
        return self.manifest.root

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
        entry = self.manifest.files.get(path)
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
    for one from the user's own catalog, never for a file of the corpus.

    Raises ManifestError if a signature is required.
    """
    if require_signature:
        raise ManifestError(
            "manifest is not signed",
            got="no signature",
            expected="a signature (require_signature is on)",
            hint="sign it with: codeguard trust sign",
        )
    return admit(manifest, (), unsigned=True)


def admit(manifest: Manifest, signed_by: tuple[str, ...], *, unsigned: bool) -> VerifiedManifest:
    """Create the verified form; to be called only after verification."""
    chunks = {path: frozenset(entry.chunks) for path, entry in manifest.files.items()}
    everywhere = frozenset[str]().union(*chunks.values())
    whole = frozenset(entry.sha256 for entry in manifest.files.values())
    return VerifiedManifest(
        manifest, signed_by, unsigned, MappingProxyType(chunks), everywhere, whole, _ADMITTED
    )


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
    chunkers = {manifest.chunker for manifest in manifests}
    merged = Manifest(
        files=files,
        root=" + ".join(manifest.root for manifest in manifests)[:512],
        # Increases whenever one of them does.
        version=sum(manifest.version for manifest in manifests),
        created=min(manifest.created for manifest in manifests),
        expires=min((item.expires for item in manifests if item.expires is not None), default=None),
        chunker=chunkers.pop() if len(chunkers) == 1 else "",
        scope=tuple(dict.fromkeys(scope)),
    )
    signers = tuple(dict.fromkeys(identity for _, part in parts for identity in part.signed_by))
    return admit(merged, signers, unsigned=any(part.unsigned for _, part in parts))


def within(verified: VerifiedManifest, parts: Sequence[str]) -> VerifiedManifest:
    """Return the manifest limited to parts of its tree, folders or files with `/`; `.` is all of it."""
    if "." in parts:
        return verified
    return narrowed(verified, lambda path: in_scope(path, parts), scope=tuple(parts))


def narrowed(verified: VerifiedManifest, keep: Callable[[str], bool], **changes: Any) -> VerifiedManifest:
    """Return the manifest limited to the paths that `keep` accepts."""
    files = {path: entry for path, entry in verified.files.items() if keep(path)}
    manifest = replace(verified.manifest, files=files, **changes)
    return admit(manifest, verified.signed_by, unsigned=verified.unsigned)


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
    entries = {path: FileEntry(entry.sha256, chunks.get(path, ())) for path, entry in verified.files.items()}
    manifest = replace(verified.manifest, files=entries, chunker=chunker)
    return admit(manifest, verified.signed_by, unsigned=verified.unsigned)


def in_scope(path: str, scope: Sequence[str]) -> bool:
    """Return whether `path` is in the scope of a manifest."""
    return any(part in (".", path) or path.startswith(f"{part}/") for part in scope)


MANIFEST_NAME = "codeguard.manifest.json"  # the signed manifest, in the root of the tree


def check_tree(verified: VerifiedManifest, root: Path, present: Iterable[str]) -> tuple[ManifestError, ...]:
    """Return every difference between the files under `root` and the manifest.

    `present` are the paths, relative to `root`, of the files that the caller's discovery found; those in the
    manifest's scope but not in its list are reported as added, except the manifest itself.
    Every listed file is read here, regardless of discovery, and hashed unchanged.
    """
    found: list[ManifestError] = []
    for path, entry in sorted(verified.files.items()):
        try:
            _check_file(path, read_inside(root, path), entry.sha256)
        except ManifestError as difference:
            found.append(difference)
    return (*found, *_added(verified, present))


def edits(old: Manifest, new: Manifest) -> dict[str, str | None]:
    """Return the paths in which two manifests differ, with the new sha256, or None if removed."""
    before, after = (
        {path: entry.sha256 for path, entry in manifest.files.items()} for manifest in (old, new)
    )
    changed = (path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return {path: after.get(path) for path in sorted(changed)}


def read_inside(root: Path, path: str) -> bytes:
    """Return the bytes of a regular file below `root`.

    Links may point to places inside the root, not out of it. Raises ManifestError if it is not a readable
    regular file.
    """
    problem = path_problem(path)
    if problem:
        raise _differs("unsafe", path, problem, "a plain path relative to the root")
    try:
        real = (root / path).resolve(strict=True)
        if root.resolve() not in real.parents:
            raise _differs("link", path, f"a link to {shown(str(real))}", "a file inside the root")
        # The resolved path contains no links; one that appears meanwhile is refused.
        with open_regular(real, follow=False) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise _differs("missing", path, "no file", "a regular file") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: raised by Python for a loop of links
        reason = (error.strerror if isinstance(error, OSError) else None) or "a loop of links"
        raise _differs("unreadable", path, reason.lower(), "a readable regular file") from None


def _check_file(path: str, data: bytes, sha256: str) -> None:
    digest = hashlib.sha256(data).hexdigest()
    if digest == sha256:
        return
    # The listed bytes may be these with all line endings LF, or all CRLF.
    lf = data.replace(b"\r\n", b"\n")
    if sha256 in (hashlib.sha256(text).hexdigest() for text in (lf, lf.replace(b"\n", b"\r\n"))):
        error = _differs(
            "line endings",
            path,
            f"sha256 {digest}, the listed text with other line endings",
            f"sha256 {sha256}",
        )
        error.hint = (
            "digests are over the bytes as they are: give every checkout the same line endings with "
            "'* text=auto eol=lf' in .gitattributes"
        )
        raise error
    raise _differs("changed", path, f"sha256 {digest}", f"sha256 {sha256}")


def _added(verified: VerifiedManifest, present: Iterable[str]) -> Iterator[ManifestError]:
    index = NameIndex(verified.files)
    for path in sorted({*present} - {*verified.files, MANIFEST_NAME}):
        if not in_scope(path, verified.manifest.scope):
            continue
        if lookalike := index.lookalike(path):
            got = f"a file beside {shown(lookalike)} that passes for it"
            yield _differs("lookalike", path, got, "only the listed file")
        else:
            yield _differs("added", path, "a file that the manifest does not list", "no file")


def _differs(how: str, path: str, got: str, expected: str) -> ManifestError:
    return ManifestError(f"{how}: {shown(path)}", got=got, expected=expected)
