"""Hold a tree on a disk against a verified manifest, byte by byte."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from codeguard.errors import ManifestError
from codeguard.trust.escape import shown
from codeguard.trust.local import open_regular
from codeguard.trust.manifest import Manifest
from codeguard.trust.paths import NameIndex, path_problem
from codeguard.trust.verified import VerifiedManifest

MANIFEST_NAME = "codeguard.manifest.json"  # where the signed manifest lies, in the root of the tree
BUNDLE_NAME = "codeguard.manifest.sigstore.json"  # and a keyless signer's bundle
_OWN = frozenset({MANIFEST_NAME, BUNDLE_NAME})


class Change(StrEnum):
    """What is different about a file."""

    CHANGED = "changed"
    LINE_ENDINGS = "line endings"
    MISSING = "missing"
    ADDED = "added"
    LOOKALIKE = "lookalike"
    LINK = "link"
    UNSAFE = "unsafe"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which the tree is not what the manifest says."""

    path: str
    change: Change
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


def check_tree(verified: VerifiedManifest, root: Path, present: Iterable[str]) -> tuple[Difference, ...]:
    """Return every difference between the files under `root` and the manifest, none where it holds.

    `present` are the paths, relative to `root`, of the files that are there
    as the caller's discovery sees them; those that the manifest's scope
    includes and its list does not are reported as added, all but the
    manifest itself and its bundle. Every listed file
    is read here, whatever discovery says of it, and hashed as it is.
    """
    found: list[Difference] = []
    for path, entry in sorted(verified.files.items()):
        difference = _check_file(root, path, entry.sha256)
        if difference:
            found.append(difference)
    found.extend(_added(verified, present))
    return tuple(found)


def edits(old: Manifest, new: Manifest) -> dict[str, str | None]:
    """Return the paths in which two manifests differ, with the sha256 in the new one, None if it is gone."""
    paths = sorted(old.files.keys() | new.files.keys())
    digests = {path: new.files[path].sha256 if path in new.files else None for path in paths}
    return {
        path: digest
        for path, digest in digests.items()
        if path not in old.files or old.files[path].sha256 != digest
    }


def read_inside(root: Path, path: str) -> bytes:
    """Return the bytes of a regular file below `root`.

    Links may lead from place to place inside the root, not out of it. Raises
    ManifestError for anything else that is not a readable regular file.
    """
    data = _read(root, path)
    if isinstance(data, Difference):
        raise data.error()
    return data


def _read(root: Path, path: str) -> bytes | Difference:
    problem = path_problem(path)
    if problem:
        return Difference(path, Change.UNSAFE, problem, "a plain path relative to the root")
    inside = root.resolve()
    try:
        real = (root / path).resolve(strict=True)
        if inside not in real.parents:
            got = f"a link to {shown(str(real))}"
            return Difference(path, Change.LINK, got, "a file inside the root")
        # The resolved path has no links left: one that appears meanwhile is refused.
        with open_regular(real, follow=False) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return Difference(path, Change.MISSING, "no file", "a regular file")
    except (OSError, RuntimeError) as error:  # RuntimeError: Python's word for a loop of links
        reason = (error.strerror if isinstance(error, OSError) else None) or "a loop of links"
        return Difference(path, Change.UNREADABLE, reason.lower(), "a readable regular file")


def _check_file(root: Path, path: str, sha256: str) -> Difference | None:
    data = _read(root, path)
    if isinstance(data, Difference):
        return data
    digest = hashlib.sha256(data).hexdigest()
    if digest == sha256:
        return None
    if _differs_in_line_endings_only(data, sha256):
        return Difference(
            path,
            Change.LINE_ENDINGS,
            f"sha256 {digest}, the listed text with other line endings",
            f"sha256 {sha256}",
            "digests are over the bytes as they are: give every checkout the same line endings with "
            "'* text=auto eol=lf' in .gitattributes",
        )
    return Difference(path, Change.CHANGED, f"sha256 {digest}", f"sha256 {sha256}")


def _differs_in_line_endings_only(data: bytes, sha256: str) -> bool:
    """Return whether the listed bytes are these with all line ends LF, or all CRLF."""
    lf = data.replace(b"\r\n", b"\n")
    return sha256 in (hashlib.sha256(text).hexdigest() for text in (lf, lf.replace(b"\n", b"\r\n")))


def _added(verified: VerifiedManifest, present: Iterable[str]) -> list[Difference]:
    index = NameIndex(verified.files)
    found = []
    for path in sorted(set(present)):
        if path in verified.files or path in _OWN or not in_scope(path, verified.manifest.scope):
            continue
        twin = index.twin(path)
        if twin:
            got = f"a file beside {shown(twin)} that passes for it"
            found.append(Difference(path, Change.LOOKALIKE, got, "only the listed file"))
        else:
            found.append(Difference(path, Change.ADDED, "a file that the manifest does not list", "no file"))
    return found


def in_scope(path: str, scope: Sequence[str]) -> bool:
    """Return whether one of the parts of the tree that a manifest speaks for holds `path`."""
    return any(part in (".", path) or path.startswith(f"{part}/") for part in scope)
