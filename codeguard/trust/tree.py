"""Compare a tree on disk with a verified manifest, byte by byte."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from codeguard.errors import ManifestError
from codeguard.escaping import shown
from codeguard.trust.local import open_regular
from codeguard.trust.manifest import Manifest
from codeguard.trust.paths import NameIndex, path_problem
from codeguard.trust.verified import VerifiedManifest, in_scope

MANIFEST_NAME = "codeguard.manifest.json"  # the signed manifest, in the root of the tree
BUNDLE_NAME = "codeguard.manifest.sigstore.json"  # a keyless signer's bundle
_OWN = frozenset({MANIFEST_NAME, BUNDLE_NAME})


class FileChange(StrEnum):
    """How a file differs."""

    CHANGED = "changed"
    LINE_ENDINGS = "line endings"
    MISSING = "missing"
    ADDED = "added"
    LOOKALIKE = "lookalike"
    LINK = "link"
    UNSAFE = "unsafe"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """One difference between the tree and the manifest."""

    path: str
    change: FileChange
    got: str
    expected: str
    hint: str = ""

    def error(self) -> ManifestError:
        """Return the difference as the error that refuses the tree."""
        return ManifestError(
            f"{self.change.value}: {shown(self.path)}",
            got=self.got,
            expected=self.expected,
            hint=self.hint or None,
        )


def check_tree(verified: VerifiedManifest, root: Path, present: Iterable[str]) -> tuple[TreeDifference, ...]:
    """Return every difference between the files under `root` and the manifest.

    `present` are the paths, relative to `root`, of the files that the caller's discovery found; those in the
    manifest's scope but not in its list are reported as added, except the manifest itself and its bundle.
    Every listed file is read here, regardless of discovery, and hashed unchanged.
    """
    found: list[TreeDifference] = []
    for path, entry in sorted(verified.files.items()):
        difference = _check_file(root, path, entry.sha256)
        if difference:
            found.append(difference)
    found.extend(_added(verified, present))
    return tuple(found)


def edits(old: Manifest, new: Manifest) -> dict[str, str | None]:
    """Return the paths in which two manifests differ, with the new sha256, or None if removed."""
    paths = sorted(old.files.keys() | new.files.keys())
    digests = {path: new.files[path].sha256 if path in new.files else None for path in paths}
    return {
        path: digest
        for path, digest in digests.items()
        if path not in old.files or old.files[path].sha256 != digest
    }


def read_inside(root: Path, path: str) -> bytes:
    """Return the bytes of a regular file below `root`.

    Links may point to places inside the root, not out of it. Raises ManifestError if it is not a readable
    regular file.
    """
    data = _read(root, path)
    if isinstance(data, TreeDifference):
        raise data.error()
    return data


def _read(root: Path, path: str) -> bytes | TreeDifference:
    problem = path_problem(path)
    if problem:
        return TreeDifference(path, FileChange.UNSAFE, problem, "a plain path relative to the root")
    inside = root.resolve()
    try:
        real = (root / path).resolve(strict=True)
        if inside not in real.parents:
            got = f"a link to {shown(str(real))}"
            return TreeDifference(path, FileChange.LINK, got, "a file inside the root")
        # The resolved path contains no links; one that appears meanwhile is refused.
        with open_regular(real, follow=False) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return TreeDifference(path, FileChange.MISSING, "no file", "a regular file")
    except (OSError, RuntimeError) as error:  # RuntimeError: raised by Python for a loop of links
        reason = (error.strerror if isinstance(error, OSError) else None) or "a loop of links"
        return TreeDifference(path, FileChange.UNREADABLE, reason.lower(), "a readable regular file")


def _check_file(root: Path, path: str, sha256: str) -> TreeDifference | None:
    data = _read(root, path)
    if isinstance(data, TreeDifference):
        return data
    digest = hashlib.sha256(data).hexdigest()
    if digest == sha256:
        return None
    if _differs_in_line_endings_only(data, sha256):
        return TreeDifference(
            path,
            FileChange.LINE_ENDINGS,
            f"sha256 {digest}, the listed text with other line endings",
            f"sha256 {sha256}",
            "digests are over the bytes as they are: give every checkout the same line endings with "
            "'* text=auto eol=lf' in .gitattributes",
        )
    return TreeDifference(path, FileChange.CHANGED, f"sha256 {digest}", f"sha256 {sha256}")


def _differs_in_line_endings_only(data: bytes, sha256: str) -> bool:
    """Return whether the listed bytes are these bytes with all line endings LF, or all CRLF."""
    lf = data.replace(b"\r\n", b"\n")
    return sha256 in (hashlib.sha256(text).hexdigest() for text in (lf, lf.replace(b"\n", b"\r\n")))


def _added(verified: VerifiedManifest, present: Iterable[str]) -> list[TreeDifference]:
    index = NameIndex(verified.files)
    found = []
    for path in sorted(set(present)):
        if path in verified.files or path in _OWN or not in_scope(path, verified.manifest.scope):
            continue
        lookalike = index.lookalike(path)
        if lookalike:
            got = f"a file beside {shown(lookalike)} that passes for it"
            found.append(TreeDifference(path, FileChange.LOOKALIKE, got, "only the listed file"))
        else:
            found.append(
                TreeDifference(path, FileChange.ADDED, "a file that the manifest does not list", "no file")
            )
    return found
