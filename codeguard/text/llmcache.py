"""Answers of a language model on disk, so that a repeated run asks nothing twice."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from codeguard.errors import CorpusError


def cache_key(request: Mapping[str, Any]) -> str:
    """Return the digest of everything that an answer depends on."""
    canonical = json.dumps(request, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


class AnswerCache:
    """A small SQLite file in a folder that the user owns; several processes may share it."""

    def __init__(self, folder: Path) -> None:
        """Create the folder, readable by the user alone, and the file in it.

        Raises:
            CorpusError: the folder or the file cannot be written, or the file is no database.
        """
        self._path = folder / "answers.sqlite3"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise CorpusError(f"the answer cache {folder} cannot be made ({error.strerror})") from None
        with self._open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, value TEXT NOT NULL)")

    def get(self, key: str) -> dict[str, Any] | None:
        """Return a stored answer, or None; a damaged entry counts as none."""
        with self._open() as database:
            row = database.execute("SELECT value FROM answers WHERE key = ?", (key,)).fetchone()
        try:
            value = json.loads(row[0]) if row else None
        except (ValueError, RecursionError, TypeError):
            return None
        return value if isinstance(value, dict) else None

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        """Store an answer."""
        with self._open() as database:
            database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, json.dumps(value)))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=10)) as database, database:
                yield database
        except sqlite3.Error as error:
            raise CorpusError(
                f"the answer cache {self._path} cannot be used ({error})", hint="delete the file"
            ) from None
