"""Files on disk that an audited or checked file imports."""

from __future__ import annotations

import stat
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from codeguard.corpus.discovery import LARGEST_FILE, FoundFile, read_file
from codeguard.errors import CorpusError
from codeguard.index.file_tasks import chunked, masked
from codeguard.index.siblings import sibling_of
from codeguard.models import Sibling, Skipped, SourceFile

Covered = Callable[[str, str], bool]


def never(path: str, sha256: str) -> bool:
    """Return that a file is not trusted."""
    return False


class FilesRead(ABC):
    """Files that others import (see `codeguard.index.siblings`), read as they are asked for."""

    def __init__(self, executor: Executor, covered: Covered) -> None:
        self._executor, self._covered = executor, covered

    @abstractmethod
    def has(self, path: str) -> bool:
        """Return whether there is such a file."""

    @abstractmethod
    def _read(self, path: str) -> bytes: ...

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


class FilesOnDisk(FilesRead):
    """The files in a folder, by paths that are relative to `root`. Links are not followed."""

    def __init__(self, root: Path, folder: Path, executor: Executor, covered: Covered) -> None:
        super().__init__(executor, covered)
        self._root, self._folder = root, folder
        self._there: dict[str, bool] = {}

    def has(self, path: str) -> bool:
        """Return whether there is such a file."""
        if path not in self._there:
            self._there[path] = self._is_file(self._root / path)
        return self._there[path]

    def _is_file(self, place: Path) -> bool:
        try:
            regular = stat.S_ISREG(place.lstat().st_mode)
            inside = regular and place.is_relative_to(self._folder)
            return inside and place.resolve().is_relative_to(self._folder.resolve())
        except (OSError, ValueError, RuntimeError):
            return False

    def _read(self, path: str) -> bytes:
        return read_named(self._root / path)


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
