"""The files that an untrusted file imports, directly or through others, from the same index, audit or check.

A function whose helper is in another file can only be run together with it, and what it does then depends on
both. So the text of these files goes to the checker with the function's own file, and their digests are part of
the key of its report.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Protocol

from codeguard.behavior.source.import_paths import AMBIGUOUS, INIT, file_of, imports_in
from codeguard.behavior.source.importing import MOST_CHARACTERS, MOST_MODULES
from codeguard.index.catalog import Catalog
from codeguard.models import Sibling, SourceFile, parts_digest
from codeguard.trust.verified import VerifiedManifest

MOST_LOOKUPS = 1_000  # in one file
MOST_KEPT = 20_000_000  # characters of all files that are kept


class SiblingFiles(Protocol):
    """The files that may be imported, by path."""

    def has(self, path: str) -> bool:
        """Return whether there is such a file."""

    def sibling(self, path: str) -> Sibling | None:
        """Return a file that is there, without text if it is trusted; None if it cannot be read."""


def _nothing(path: str, sha256: str) -> bool:
    return False


class ListedFiles:
    """Files in memory; those that are not among them are looked up in `others`."""

    def __init__(
        self,
        files: Iterable[SourceFile],
        covered: Callable[[str, str], bool] = _nothing,
        others: SiblingFiles | None = None,
    ) -> None:
        self._files = {file.path: file for file in files}
        self._covered = covered
        self._others = others

    def has(self, path: str) -> bool:
        """Return whether there is such a file."""
        return path in self._files or (self._others is not None and self._others.has(path))

    def sibling(self, path: str) -> Sibling | None:
        """Return a file that is there, without text if it is trusted; None if it cannot be read."""
        if path in self._files:
            return sibling_of(self._files[path], self._covered)
        return None if self._others is None else self._others.sibling(path)


class IndexedFiles:
    """The files of an index."""

    def __init__(self, catalog: Catalog, manifest: VerifiedManifest | None) -> None:
        self._catalog = catalog
        self._covered = _nothing if manifest is None else manifest.covers
        self.has = cache(catalog.has_file)

    def sibling(self, path: str) -> Sibling | None:
        """Return a file that is there, without text if it is trusted; None if it cannot be read."""
        file = self._catalog.file(path)
        return None if file is None else sibling_of(file, self._covered)


def sibling_of(file: SourceFile, covered: Callable[[str, str], bool]) -> Sibling | None:
    """Return a file as one that others import; without text if it is trusted, None if it is no Python."""
    if file.language != "python":
        return None
    trusted = covered(file.path, file.sha256)
    return Sibling(file.path, file.sha256, "" if trusted else file.text, trusted)


class Siblings:
    """Finds what files import. It caches what it has read, so a new one is created where files may have changed."""

    def __init__(self, files: SiblingFiles | None = None) -> None:
        self._files = files or ListedFiles(())
        self._read: dict[str, Sibling | None] = {}
        self._imported: dict[str, list[str]] = {}
        self._complete: dict[tuple[str, str], tuple[Sibling, ...]] = {}
        self._kept = 0

    def beside(self, file: SourceFile) -> SourceFile:
        """Return a file together with those that it imports."""
        found = self.of(file)
        return replace(file, siblings=found) if found else file

    def digest(self, file: SourceFile) -> str:
        """Return the digest of everything that a file imports from others, "" if that is nothing."""
        return siblings_digest(file.path, self.of(file))

    def of(self, file: SourceFile) -> tuple[Sibling, ...]:
        """Return the files that a file imports, nearest first; of trusted ones, imports are not followed."""
        key = file.path, file.sha256
        if key not in self._complete:
            self._complete[key] = tuple(self._found(file)) if file.language == "python" else ()
        return self._complete[key]

    def _found(self, file: SourceFile) -> Iterator[Sibling]:
        seen = {file.path}
        pending = deque(self._paths(file.path, file.text))
        room, left = MOST_CHARACTERS, MOST_MODULES
        while pending and left:
            path = pending.popleft()
            if path in seen:
                continue
            seen.add(path)
            sibling = self._sibling(path)
            if sibling is None:
                continue
            if len(sibling.text) > room:
                sibling = replace(sibling, text="")  # it counts as there, and gives nothing
            room, left = room - len(sibling.text), left - 1
            yield sibling
            if sibling.text:
                if path not in self._imported:
                    self._imported[path] = self._paths(path, sibling.text)
                pending.extend(self._imported[path])

    def _sibling(self, path: str) -> Sibling | None:
        if path not in self._read:
            found = self._files.sibling(path)
            size = 0 if found is None else len(found.text)
            if self._kept + size > MOST_KEPT:
                self._read.clear()
                self._complete.clear()
                self._kept = 0
            self._read[path] = found
            self._kept += size
        return self._read[path]

    def _paths(self, own_path: str, text: str) -> list[str]:
        """Return the files that a text imports, in its order, up to a limit of look-ups."""
        found: dict[str, None] = {}
        left = MOST_LOOKUPS
        for level, module, names in imports_in(text):
            prefixes = [module[:length] for length in range(1, len(module) + 1)]
            wanted = [module, *([*module, name] for name in names)] if names else prefixes
            for parts in wanted:
                left -= 1
                if left < 0:
                    return list(found)
                path = file_of(parts, level, own_path, self._files.has)
                if path not in ("", AMBIGUOUS):
                    found[path] = None
        folder = own_path.rpartition("/")[0]
        while folder and self._files.has(
            f"{folder}/{INIT}"
        ):  # an import executes the packages around a module
            found[f"{folder}/{INIT}"] = None
            folder = folder.rpartition("/")[0]
        found.pop(own_path, None)
        return list(found)


def siblings_digest(path: str, siblings: Iterable[Sibling]) -> str:
    """Return the digest of what a file of this path imports, "" if that is nothing."""
    parts = [part for item in siblings for part in (item.path, item.sha256, str(item.trusted))]
    return parts_digest(path, *parts) if parts else ""
