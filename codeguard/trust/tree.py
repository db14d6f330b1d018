"""Compare a tree on disk with a verified manifest, byte by byte; a difference is the error that refuses the tree."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from codeguard.errors import ManifestError
from codeguard.escaping import shown
from codeguard.trust.manifest import Manifest, NameIndex, path_problem
from codeguard.trust.state_files import open_regular
from codeguard.trust.verified import VerifiedManifest, in_scope

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
