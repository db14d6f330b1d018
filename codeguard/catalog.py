"""The catalog: what every id in the vector store stands for, in one SQLite file of the state directory.

The catalog decides, the vector store follows: a batch is first committed
here together with the intent to change the vectors, and the intent is
cleared when the vectors are written. Whoever opens the catalog after a crash
finds the intent and carries it out again.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard import lexical
from codeguard.catalogrows import COLUMNS, chunk_of, kept_imports
from codeguard.errors import StoreError
from codeguard.models import Chunk, SourceFile

SCHEMA_VERSION = 3  # 1 had no lexical index, 2 repeated the imports in every chunk
PARAMETERS = 500  # of one statement; SQLite's own limit is at least 999

# Ids and digests fall on random pages: with SQLite's own 2 MiB a batch writes most of them several times.
CACHE_KIB = 128 * 1024
CHECKPOINT_PAGES = 16 * 1024

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    sha256 TEXT NOT NULL, language TEXT NOT NULL, parsed INTEGER NOT NULL
);
CREATE TABLE chunks (
    id TEXT PRIMARY KEY, path TEXT NOT NULL REFERENCES files(path) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL, symbol TEXT NOT NULL, kind TEXT NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL,
    text TEXT NOT NULL, sha256 TEXT NOT NULL, language TEXT NOT NULL, imports TEXT NOT NULL
);
CREATE INDEX chunks_of_path ON chunks (path, ordinal);
CREATE INDEX chunks_of_digest ON chunks (sha256);
CREATE TABLE intents (id TEXT PRIMARY KEY, action TEXT NOT NULL CHECK (action IN ('write', 'delete')));
CREATE TABLE analyses (key TEXT PRIMARY KEY, value TEXT NOT NULL, mac BLOB NOT NULL);
CREATE TABLE quarantine (id TEXT PRIMARY KEY, reason TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class FileState:
    """What is known of an indexed file: size in bytes, modification time, digest of the bytes."""

    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Intents:
    """What the vector store still has to be told."""

    write: tuple[str, ...]
    delete: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.write or self.delete)


def chunk_ids(chunks: Sequence[Chunk]) -> list[str]:
    """Return an id for each chunk of one file.

    It holds while path, symbol and text hold, whatever moves above it, so
    that an edit rewrites only what it changed.
    """
    seen: dict[tuple[str, str], int] = {}
    ids = []
    for chunk in chunks:
        key = (chunk.symbol, chunk.sha256)
        seen[key] = seen.get(key, 0) + 1
        parts = "\0".join((chunk.path, chunk.symbol, chunk.sha256, str(seen[key])))
        ids.append(hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return ids


class Catalog:
    """One SQLite file; use as a context manager or call `close`.

    `key` authenticates cached analyses: what was written under another key
    is not read, so a shared state directory cannot bring its own verdicts.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key
        self._db = self._connect()

    def _connect(self) -> sqlite3.Connection:
        with self._told("cannot be opened"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=30.0, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("PRAGMA secure_delete = ON")
                db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
                db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                self._ensure_wal(db)
                self._ensure_schema(db)
            except BaseException:
                db.close()
                raise
        return db

    def _ensure_wal(self, db: sqlite3.Connection) -> None:
        """Switch the journal, one process at a time: SQLite does not wait for others when it does this."""
        if _journal(db) == "wal":
            return
        from filelock import FileLock  # brings logging, and is needed once for each catalog

        with FileLock(f"{self.path}.opening"):
            if _journal(db) != "wal":
                db.execute("PRAGMA journal_mode = WAL")

    def _ensure_schema(self, db: sqlite3.Connection) -> None:
        version = _version(db)
        if version not in range(SCHEMA_VERSION + 1):
            raise StoreError(
                f"the catalog {self.path} is of another version of codeguard",
                got=version,
                expected=SCHEMA_VERSION,
                hint="index again into a new folder (--store)",
            )
        if version == SCHEMA_VERSION:
            return
        db.execute("BEGIN IMMEDIATE")
        version = _version(db)  # another process may have been first
        if version < 2:
            for statement in (_SCHEMA if version == 0 else "").split(";") + lexical.SCHEMA.split(";"):
                db.execute(statement)
            lexical.add(
                db, (lexical.Document(*row) for row in db.execute("SELECT id, symbol, text FROM chunks"))
            )
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            hint = "free some space" if "full" in str(error) else None
            raise StoreError(f"the catalog {self.path} {what} ({error})", hint=hint) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"the catalog {self.path} is damaged ({error})",
                hint="restore it or index again into a new folder",
            ) from error
        except OSError as error:
            raise StoreError(f"the catalog {self.path} {what} ({error.strerror})") from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: an exception takes every change back."""
        with self._told("cannot be written"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._told("cannot be read"):
            return self._db.execute(statement, parameters).fetchall()

    def generation(self) -> tuple[int, int]:
        """Return what changes whenever the catalog does, by this process or another."""
        return int(self._rows("PRAGMA data_version")[0][0]), self._db.total_changes

    def meta(self, key: str) -> str | None:
        """Return a remembered setting, None where there is none."""
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def set_meta(self, key: str, value: str) -> None:
        """Remember a setting."""
        with self._told("cannot be written"):
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def files(self) -> dict[str, FileState]:
        """Return every indexed file by its path."""
        return {
            row[0]: FileState(*row[1:])
            for row in self._rows("SELECT path, size, mtime_ns, sha256 FROM files")
        }

    def unparsed(self) -> list[str]:
        """Return the files that are chunked by lines for want of a grammar."""
        return [str(row[0]) for row in self._rows("SELECT path FROM files WHERE NOT parsed ORDER BY path")]

    def touch(self, path: str, mtime_ns: int) -> None:
        """Note that a file was read and found unchanged."""
        with self._told("cannot be written"):
            self._db.execute("UPDATE files SET mtime_ns = ? WHERE path = ?", (mtime_ns, path))

    def put_file(self, file: SourceFile, state: FileState) -> None:
        """Replace a file's chunks; the intents for the vector store come with it. Call in a transaction."""
        ids = chunk_ids(file.chunks)
        before = self._documents(file.path)
        gone = before.keys() - set(ids)
        self._intend("delete", gone)
        lexical.remove(self._db, [before[id_] for id_ in sorted(gone)])
        self._db.execute("DELETE FROM files WHERE path = ?", (file.path,))
        self._db.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)",
            (file.path, state.size, state.mtime_ns, state.sha256, file.language, file.parsed),
        )
        self._db.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    id_, file.path, ordinal, chunk.symbol, chunk.kind.value, chunk.span.start_line,
                    chunk.span.end_line, chunk.span.start_byte, chunk.span.end_byte, chunk.text,
                    chunk.sha256, chunk.language, imports,
                )
                for ordinal, (id_, chunk, imports) in enumerate(
                    zip(ids, file.chunks, kept_imports(file.chunks), strict=True)
                )
            ],
        )  # fmt: skip
        self._intend("write", set(ids) - before.keys())
        lexical.add(
            self._db,
            [
                lexical.Document(id_, chunk.symbol, chunk.text)
                for id_, chunk in zip(ids, file.chunks, strict=True)
                if id_ not in before
            ],
        )

    def remove_file(self, path: str) -> None:
        """Forget a file; the intents for the vector store come with it. Call in a transaction."""
        gone = self._documents(path)
        self._intend("delete", gone)
        lexical.remove(self._db, gone.values())
        self._db.execute("DELETE FROM files WHERE path = ?", (path,))

    def _documents(self, path: str) -> dict[str, lexical.Document]:
        rows = self._db.execute(
            "SELECT id, symbol, text FROM chunks WHERE path = ? ORDER BY ordinal", (path,)
        )
        return {row[0]: lexical.Document(*row) for row in rows}

    def lexical_scores(self, query: str, count: int) -> dict[str, float]:
        """Return the BM25 scores of the `count` chunks that share most words with a query, best first."""
        with self._told("cannot be read"):
            return lexical.search(self._db, query, count)

    def _intend(self, action: str, ids: Iterable[str]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO intents VALUES (?, ?)", [(id_, action) for id_ in sorted(ids)]
        )

    def intents(self) -> Intents:
        """Return what the vector store still has to be told."""
        rows = self._rows("SELECT id, action FROM intents ORDER BY id")
        return Intents(
            write=tuple(row[0] for row in rows if row[1] == "write"),
            delete=tuple(row[0] for row in rows if row[1] == "delete"),
        )

    def clear_intents(self, ids: Iterable[str]) -> None:
        """Note that the vector store has been told."""
        with self.transaction():
            self._db.executemany("DELETE FROM intents WHERE id = ?", [(id_,) for id_ in ids])

    def intend_writes(self, ids: Iterable[str]) -> None:
        """Ask for these chunks to be written to the vector store again. Call in a transaction."""
        self._intend("write", ids)

    def intend_deletes(self, ids: Iterable[str]) -> None:
        """Ask for these chunks to be kept out of the vector store. Call in a transaction."""
        self._intend("delete", ids)

    def ids(self) -> set[str]:
        """Return the ids of all chunks."""
        return {row[0] for row in self._rows("SELECT id FROM chunks")}

    def count(self) -> int:
        """Return the number of chunks."""
        return int(self._rows("SELECT count(*) FROM chunks")[0][0])

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Return the chunks of these ids; an id that is unknown is left out."""
        wanted = list(ids)
        found: dict[str, Chunk] = {}
        for start in range(0, len(wanted), PARAMETERS):
            page = wanted[start : start + PARAMETERS]
            marks = ",".join("?" * len(page))
            for row in self._rows(f"SELECT {COLUMNS} FROM chunks WHERE id IN ({marks})", page):
                found[row[0]] = chunk_of(row)
        return found

    def file(self, path: str) -> SourceFile | None:
        """Return an indexed file with its chunks, put together from them."""
        rows = self._rows("SELECT sha256, language, parsed FROM files WHERE path = ?", (path,))
        if not rows:
            return None
        chunks = self.chunks_of(path)
        sha256, language, parsed = rows[0]
        text = "".join(chunk.text for chunk in chunks.values())
        return SourceFile(path, text, sha256, language, tuple(chunks.values()), bool(parsed))

    def chunks_of(self, path: str) -> dict[str, Chunk]:
        """Return the chunks of one file by id, in the file's order."""
        rows = self._rows(f"SELECT {COLUMNS} FROM chunks WHERE path = ? ORDER BY ordinal", (path,))
        return {row[0]: chunk_of(row) for row in rows}

    def analysis(self, key: str) -> dict[str, Any] | None:
        """Return a cached analysis; None where there is none or its authentication fails."""
        rows = self._rows("SELECT value, mac FROM analyses WHERE key = ?", (key,))
        if not rows or not hmac.compare_digest(self._mac(key, rows[0][0]), bytes(rows[0][1])):
            return None
        value = json.loads(rows[0][0])
        return value if isinstance(value, dict) else None

    def analysis_keys(self, prefix: str) -> list[str]:
        """Return the keys of the cached analyses that begin so, authentic or not."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return [
            str(row[0])
            for row in self._rows("SELECT key FROM analyses WHERE key >= ? AND key < ?", (prefix, end))
        ]

    def put_analyses(self, analyses: Mapping[str, Mapping[str, Any]]) -> None:
        """Cache analyses, authenticated under this installation's key."""
        rows = []
        for key, analysis in analyses.items():
            value = json.dumps(analysis, sort_keys=True)
            rows.append((key, value, self._mac(key, value)))
        with self.transaction():
            self._db.executemany("INSERT OR REPLACE INTO analyses VALUES (?, ?, ?)", rows)

    def keep_analyses(self, keys: Iterable[str]) -> int:
        """Drop every cached analysis but these and those of the same content; return how many went."""
        with self.transaction():
            self._db.execute("CREATE TEMP TABLE kept (key TEXT PRIMARY KEY)")
            self._db.executemany("INSERT OR IGNORE INTO kept VALUES (?)", ((key,) for key in keys))
            before = self._db.execute("SELECT count(*) FROM analyses").fetchone()[0]
            self._db.execute(
                "DELETE FROM analyses WHERE key NOT IN kept AND value NOT IN "
                "(SELECT value FROM analyses WHERE key IN kept)"
            )
            after = self._db.execute("SELECT count(*) FROM analyses").fetchone()[0]
            self._db.execute("DROP TABLE kept")
        return int(before - after)

    def _mac(self, key: str, value: str) -> bytes:
        return hmac.digest(self._key, f"{key}\0{value}".encode("utf-8", "surrogatepass"), "sha256")

    def quarantined(self) -> dict[str, str]:
        """Return the ids kept out of the vector store, with the reason."""
        return {
            str(row[0]): str(row[1]) for row in self._rows("SELECT id, reason FROM quarantine ORDER BY id")
        }

    def set_quarantine(self, reasons: Mapping[str, str]) -> None:
        """Replace the list of what is kept out of the vector store. Call in a transaction."""
        self._db.execute("DELETE FROM quarantine")
        self._db.executemany("INSERT INTO quarantine VALUES (?, ?)", sorted(reasons.items()))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _journal(db: sqlite3.Connection) -> str:
    return str(db.execute("PRAGMA journal_mode").fetchone()[0])


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
