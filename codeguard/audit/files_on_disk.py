"""Files on disk that an audited or checked file imports."""

from __future__ import annotations

import stat
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from codeguard.corpus.discovery import LARGEST_FILE, FoundFile, read_file
from codeguard.errors import CorpusError
from codeguard.index.file_tasks import chunked, masked
from codeguard.index.siblings import sibling_of
from codeguard.models import Sibling, Skipped


class FilesOnDisk:
    """The files in a folder, by paths that are relative to `root`. Links are not followed."""

    def __init__(
        self, root: Path, folder: Path, executor: Executor, covered: Callable[[str, str], bool]
    ) -> None:
        self._root = root
        self._folder = folder
        self._executor = executor
        self._covered = covered
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

    def sibling(self, path: str) -> Sibling | None:
        """Return a file that is there, without text if it is trusted; None if it cannot be read."""
        if not self.has(path):
            return None
        try:
            (file,) = chunked(self._executor, [(path, read_named(self._root / path))])
        except CorpusError:
            return None
        if isinstance(file, Skipped):
            return None
        (file,) = masked([file], self._executor)
        return sibling_of(file, self._covered)


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
