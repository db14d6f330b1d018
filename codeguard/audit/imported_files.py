"""Files that an audited or checked file imports, on disk or in a tree of git."""

from __future__ import annotations

import stat
from collections.abc import Callable
from concurrent.futures import Executor
from functools import cache
from pathlib import Path

from codeguard.corpus.discovery import LARGEST_FILE, FoundFile, read_file
from codeguard.errors import CorpusError
from codeguard.index.behavior_reports import sibling_of
from codeguard.index.file_tasks import chunked, masked
from codeguard.models import Sibling, Skipped, SourceFile

Covered = Callable[[str, str], bool]


class ImportedFiles:
    """Files that others import (see `codeguard.index.behavior_reports`), read as they are asked for.

    Args:
        has: whether there is a file of a name.
        read: returns its bytes, or raises CorpusError.
        executor: cuts them and masks their secrets.
        covered: whether a file of this name and digest is trusted.
    """

    def __init__(
        self,
        has: Callable[[str], bool],
        read: Callable[[str], bytes],
        executor: Executor,
        covered: Covered = lambda path, sha256: False,
    ) -> None:
        self.has = cache(has)
        self._read, self._executor, self._covered = read, executor, covered

    def file(self, path: str) -> SourceFile | None:
        """Return a file with its secrets masked, None if it is not there or cannot be read."""
        if not self.has(path):
            return None
        try:
            (file,) = chunked(self._executor, [(path, self._read(path))])
        except CorpusError:
            return None
        return None if isinstance(file, Skipped) else next(iter(masked([file], self._executor)))

    def sibling(self, path: str) -> Sibling | None:
        """Return a file as one that others import, without text if it is trusted."""
        file = self.file(path)
        return None if file is None else sibling_of(file, self._covered)


def on_disk(root: Path, folder: Path, executor: Executor, covered: Covered) -> ImportedFiles:
    """Return the files in a folder, by paths that are relative to `root`. Links are not followed."""

    def has(path: str) -> bool:
        place = root / path
        try:
            inside = stat.S_ISREG(place.lstat().st_mode) and place.is_relative_to(folder)
            return inside and place.resolve().is_relative_to(folder.resolve())
        except (OSError, ValueError, RuntimeError):
            return False

    return ImportedFiles(has, lambda path: read_named(root / path), executor, covered)


def read_named(path: Path) -> bytes:
    """Return the content of one explicitly named file.

    Raises:
        CorpusError: it does not exist, is no regular file, is too large or cannot be read.
    """
    try:
        info = path.stat()
    except (OSError, ValueError):
        raise CorpusError(
            f"cannot read {path}", got="nothing there", expected="a file", hint="check the path"
        ) from None
    if stat.S_ISDIR(info.st_mode):
        hint = f"name one of its files; codeguard audit {path} looks at all of it"
        raise CorpusError(f"cannot read {path}", got="a folder", expected="a file", hint=hint)
    if info.st_size > LARGEST_FILE:
        expected = f"at most {LARGEST_FILE} bytes"
        raise CorpusError(f"cannot read {path}", got=f"{info.st_size} bytes", expected=expected)
    return read_file(FoundFile(path.resolve(), path.as_posix(), info.st_size))
