"""The catalog: what every id in the vector store stands for, in one SQLite file of the state directory.

The catalog decides, the vector store follows: a batch is first committed
here together with the intent to change the vectors, and the intent is
cleared when the vectors are written. The next process that opens the catalog after a crash finds the intent
and carries it out again.

All trusted data in the file is authenticated under a key from outside the state directory: every file with its
chunks in order; and the settings, the totals among them, all together by one head, so that rows of different times do
not verify beside each other. A catalog of another installation or another version is refused: it has to be made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from codeguard.errors import REBUILD, STOPPED, StoreError
from codeguard.index import lexical
from codeguard.index.lexical import retrievable
from codeguard.models import Chunk, ChunkKind, SourceFile, Span, text_digest
from codeguard.trust.state_files import StateFolder, inode_of, opened_by_path

SCHEMA_VERSION = 7
NEEDS_WRITING = (
    "this user cannot write its folder, and reading takes notes there, too: copy the folder to where they can, "
    "name the copy with --store, and list it as shared_state in the configuration"
)
BY_INDENTATION = 2  # in the column `parsed`, which is 0 for files cut by lines
PARAMETERS = 500  # per statement; SQLite's own limit is at least 999

# Ids and digests fall on random pages: with SQLite's default of 2 MiB, a batch writes most of them several
# times.
BUSY_S = 30.0  # for a transaction of another process
CACHE_KIB = 128 * 1024
CHECKPOINT_PAGES = 16 * 1024
# Settings of the catalog that an earlier run left for the next: texts of JSON.
SIGNED_TREES, INDEXED_PATHS, EXCLUDED_GLOBS = "signed_trees", "indexed_paths", "excluded"
TRUSTED_PATHS = "trusted_paths"
TO_BE_READ_AGAIN = "again"  # the stamp of a file that has to be chunked again, whatever it contains
_COMPANIONS = ("-wal", "-shm", "-journal")  # files that SQLite opens with it

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, stamp TEXT NOT NULL,
    sha256 TEXT NOT NULL, language TEXT NOT NULL, parsed INTEGER NOT NULL,
    vectors INTEGER NOT NULL, content TEXT NOT NULL, mac BLOB NOT NULL
);
CREATE TABLE chunks (
    id TEXT PRIMARY KEY, path TEXT NOT NULL REFERENCES files(path) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL, symbol TEXT NOT NULL, kind TEXT NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL,
    text TEXT NOT NULL, sha256 TEXT NOT NULL, language TEXT NOT NULL, imports TEXT NOT NULL,
    secrets TEXT NOT NULL, withheld INTEGER NOT NULL
);
CREATE INDEX chunks_of_path ON chunks (path, ordinal);
CREATE TABLE intents (id TEXT PRIMARY KEY, action TEXT NOT NULL CHECK (action IN ('write', 'delete')));
CREATE TABLE analyses (key TEXT PRIMARY KEY, value TEXT NOT NULL, mac BLOB NOT NULL);
CREATE TABLE vectors (id TEXT PRIMARY KEY, vector BLOB NOT NULL, change INTEGER NOT NULL);
CREATE TABLE vector_changes (count INTEGER NOT NULL);
INSERT INTO vector_changes VALUES (abs(random() / 4));  -- no two catalogs count alike
"""


_FILE = "path, size, stamp, sha256, language, parsed, vectors, content, mac"
_MAKER, _TOTALS, _HEAD = "maker", "totals", "head"


@dataclass(frozen=True, slots=True)
class FileState:
    """The record of an indexed file: size in bytes, stamp (see `codeguard.corpus.discovery`), digest of the bytes."""

    size: int
    stamp: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Intents:
    """The changes that the vector store still needs."""

    write: tuple[str, ...]
    delete: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.write or self.delete)


class Totals(NamedTuple):
    """The totals of a catalog; `macs` sums the files' MACs, so that removed or restored files are noticed.

    `vectors` counts the chunks that belong in the vector store.
    """

    files: int = 0
    chunks: int = 0
    vectors: int = 0
    macs: int = 0

    def plus(self, *other: int) -> Totals:
        """Return the totals plus others."""
        return Totals(*map(sum, zip(self, other, strict=True)))


def chunk_ids(chunks: Sequence[Chunk]) -> list[str]:
    """Return an id for each chunk of one file.

    An id stays the same while path, symbol and text do, even if the chunk moves, so that an edit rewrites
    only changed chunks.
    """
    seen: dict[tuple[str, str], int] = {}
    ids = []
    for chunk in chunks:
        key = (chunk.symbol, chunk.sha256)
        seen[key] = seen.get(key, 0) + 1
        parts = "\0".join((chunk.path, chunk.symbol, chunk.sha256, str(seen[key])))
        ids.append(text_digest(parts)[:32])
    return ids


class ForeignCatalogError(StoreError):
    """A catalog of another user or another version."""


class Catalog:
    """One SQLite file; use as a context manager or call `close`.

    `key` authenticates its content. Data changed by somebody else raises StoreError, and so does the whole catalog
    if it was made with another key or by another version (ForeignCatalogError).
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key
        self._verified_at: tuple[int, int] | None = None
        self._added = Totals()
        self._lock = threading.RLock()
        self._settings: dict[str, str] = {}  # as last read and verified
        self._settings_of: tuple[int, int] | None = None  # the state of the catalog that these are of
        self._db = self._connect()
        self._inode = inode_of(path)

    def replaced(self) -> bool:
        """Return whether the open file has been replaced by another one."""
        return inode_of(self.path) != self._inode

    def _connect(self) -> sqlite3.Connection:
        with self._told("cannot be opened"), opened_by_path(self.path, companions=_COMPANIONS):
            db = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("PRAGMA secure_delete = ON")
                db.execute("PRAGMA synchronous = FULL")  # an intent is on disk before the store is changed
                db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
                db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                if (
                    _pragma(db, "journal_mode") != "wal"
                ):  # one at a time: SQLite does not wait for others here
                    with StateFolder(self.path.parent) as folder, folder.lock(f"{self.path.name}.opening"):
                        db.execute("PRAGMA journal_mode = WAL")
                self._ensure_schema(db)
            except BaseException:
                db.close()
                raise
        return db

    def _ensure_schema(self, db: sqlite3.Connection) -> None:
        """Create the tables, or raise ForeignCatalogError if they are of another user or another version."""
        # The public id of the key that authenticates this catalog, and of what is authenticated how.
        maker = hmac.digest(self._key, f"codeguard catalog {SCHEMA_VERSION}".encode(), "sha256").hex()
        if not _pragma(db, "user_version"):
            db.execute("BEGIN IMMEDIATE")
            if not _pragma(db, "user_version"):  # another process may have created it first
                for statement in _SCHEMA.split(";") + lexical.SCHEMA.split(";"):
                    db.execute(statement)
                self._put_meta(db, {_MAKER: maker, _TOTALS: json.dumps(Totals())})
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            db.execute("COMMIT")
        found = _pragma(db, "user_version")
        row = db.execute("SELECT value FROM meta WHERE key = ?", (_MAKER,)).fetchone()
        if found != SCHEMA_VERSION or row != (maker,):
            raise ForeignCatalogError(
                f"the catalog {self.path} was made by another user or another version of codeguard",
                hint=f"{REBUILD} PATH… --trust PATH",
            )

    def damaged(self, what: str) -> StoreError:
        """Return the error about a part of the catalog that codeguard did not write."""
        # What cannot be read does not say either which paths the index was made from.
        return StoreError(
            f"the catalog {self.path} is damaged ({what})", hint=f"{REBUILD} PATH… --trust PATH"
        )

    def _authentic(self, mac: object, *parts: object) -> bool:
        return isinstance(mac, bytes) and hmac.compare_digest(mac, self._mac(*parts))

    def _mac(self, *parts: object) -> bytes:
        return hmac.digest(self._key, repr(parts).encode("utf-8", "surrogatepass"), "sha256")

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if str(error).startswith("no such"):
                raise self.damaged(str(error)) from error
            hint = None
            if "full" in str(error):
                hint = "free some space"
            elif "locked" in str(error):
                what, hint = f"{what} after {BUSY_S:g} s of waiting for another process", STOPPED
            elif not os.access(self.path.parent, os.W_OK):
                hint = NEEDS_WRITING
            raise StoreError(f"the catalog {self.path} {what} ({error})", hint=hint) from error
        except sqlite3.DatabaseError as error:
            raise self.damaged(str(error)) from error
        except OSError as error:
            raise StoreError(f"the catalog {self.path} {what} ({error.strerror})") from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction; an exception rolls back every change."""
        with self._lock, self._told("cannot be written"):
            self._db.execute("BEGIN IMMEDIATE")
            self._added = Totals()
            try:
                yield
                if self._added != Totals():
                    self._put_meta(self._db, {_TOTALS: json.dumps(self.totals().plus(*self._added))})
            except BaseException:
                self._db.execute("ROLLBACK")
                self._settings_of = None
                raise
            self._db.execute("COMMIT")

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction, or go on with the one that this thread is in; yield the connection."""
        with self._lock, contextlib.nullcontext() if self._db.in_transaction else self.transaction():
            yield self._db

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that a statement selects."""
        # A failure is read from the connection afterwards, where another thread's use would overwrite it.
        with self._lock, self._told("cannot be read"):
            return self._db.execute(statement, parameters).fetchall()

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a statement selects, of one time and not all in memory at once."""
        with self._lock, self._told("cannot be read"):
            yield from self._db.execute(statement)

    def generation(self) -> tuple[int, int]:
        """Return a value that changes whenever this process or another changes the catalog."""
        return int(self.rows("PRAGMA data_version")[0][0]), self._db.total_changes

    def meta(self, key: str) -> str | None:
        """Return a stored setting or None."""
        with self._lock:
            generation = self.generation()
            if self._settings_of != generation:
                settings = {str(key): str(value) for key, value in self.rows("SELECT key, value FROM meta")}
                head = self._head_of(row for row in settings.items() if row[0] != _HEAD)
                if not hmac.compare_digest(head.encode(), settings.get(_HEAD, "").encode()):
                    raise self.damaged("its settings are not of one time, or were changed by another hand")
                self._settings = settings
                self._settings_of = generation
            return self._settings.get(key)

    def set_meta(self, key: str, value: str) -> None:
        """Store a setting."""
        with self.changing() as db:
            self._put_meta(db, {key: value})

    def _put_meta(self, db: sqlite3.Connection, settings: Mapping[str, str]) -> None:
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", settings.items())
        rows = db.execute("SELECT key, value FROM meta WHERE key != ?", (_HEAD,)).fetchall()
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_HEAD, self._head_of(rows)))

    def _head_of(self, rows: Iterable[tuple[Any, ...]]) -> str:
        """Return the code of all settings together."""
        return self._mac("meta", *sorted(rows)).hex()

    def totals(self) -> Totals:
        """Return the totals as last written."""
        return Totals(*json.loads(self.meta(_TOTALS) or "[]"))

    def check_totals(self) -> None:
        """Raise StoreError if files or chunks were removed, added, or reverted to an earlier state."""
        with self._snapshot():
            totals = self.totals()
            macs = [row[0] for row in self.rows("SELECT mac FROM files")]
            chunks = self.count()
        total = sum(int.from_bytes(mac) for mac in macs if isinstance(mac, bytes))
        if (len(macs), chunks, total) != (totals.files, totals.chunks, totals.macs):
            raise self.damaged("files or chunks are missing, added, or of an earlier time")

    def files(self) -> dict[str, FileState]:
        """Return every indexed file by its path."""
        generation = self.generation()
        with self._snapshot():
            rows = self.rows(f"SELECT {_FILE} FROM files")
            if self._verified_at != generation:
                for row in rows:
                    self._check_file(row)
                self.check_totals()
                self._verified_at = generation
        return {row[0]: FileState(*row[1:4]) for row in rows}

    def _check_file(self, row: Sequence[Any]) -> None:
        if not self._authentic(row[-1], "file", *row[:-1]):
            raise self.damaged(f"its entry of {row[0]} was changed by another hand")

    def state_of(self, path: str) -> FileState | None:
        """Return the record of one file; raise StoreError if it was modified."""
        row = self._file_row(path)
        return None if row is None else FileState(*row[1:4])

    def has_file(self, path: str) -> bool:
        """Return whether a file of this path is indexed."""
        return bool(self.rows("SELECT 1 FROM files WHERE path = ?", (path,)))

    def paths(self) -> list[str]:
        """Return the paths of the indexed files, unverified."""
        return [str(row[0]) for row in self.rows("SELECT path FROM files ORDER BY path")]

    def some_ids(self, count: int) -> list[str]:
        """Return the ids of some random chunks."""
        start = secrets.token_hex(16)
        rows = self.rows("SELECT id FROM chunks WHERE id >= ? ORDER BY id LIMIT ?", (start, count))
        rows += self.rows(
            "SELECT id FROM chunks WHERE id < ? ORDER BY id LIMIT ?", (start, count - len(rows))
        )
        return [str(row[0]) for row in rows]

    def unparsed(self) -> list[str]:
        """Return the files that are chunked by lines because no grammar is installed."""
        return [str(row[0]) for row in self.rows("SELECT path FROM files WHERE NOT parsed ORDER BY path")]

    def touch(self, stamps: Mapping[str, str]) -> None:
        """Record the stamps of files that were read and found unchanged, by path."""
        with self.transaction():
            for path, stamp in stamps.items():
                (row,) = self.rows(f"SELECT {_FILE} FROM files WHERE path = ?", (path,))
                self._check_file(row)
                kept = (row[0], row[1], stamp, *row[3:-1])
                mac = self._mac("file", *kept)
                self._db.execute("UPDATE files SET stamp = ?, mac = ? WHERE path = ?", (stamp, mac, path))
                self._added = self._added.plus(0, 0, 0, int.from_bytes(mac) - int.from_bytes(row[-1]))

    def put_file(self, file: SourceFile, state: FileState) -> None:
        """Replace a file's chunks and add the intents for the vector store. Call in a transaction.

        For a chunk with a secret, the masked text and the digest of the original text are stored: trust depends on
        that digest.
        """
        chunks = dict(zip(chunk_ids(file.chunks), file.chunks, strict=True))
        before = self._documents(file.path)
        rows = self.rows("SELECT id, secrets, withheld FROM chunks WHERE path = ?", (file.path,))
        states = {id_: (tuple(rules.split()), bool(withheld)) for id_, rules, withheld in rows}
        gone = before.keys() - {
            id_ for id_, chunk in chunks.items() if states.get(id_) == (chunk.secrets, chunk.withheld)
        }
        self._intend("delete", gone)
        lexical.remove(self._db, [before[id_] for id_ in sorted(gone)])
        self._delete(file.path, len(before))
        row = (
            file.path, state.size, state.stamp, state.sha256, file.language, _parsed(file),
            sum(map(retrievable, file.chunks)), content_digest(chunks),
        )  # fmt: skip
        mac = self._mac("file", *row)
        self._db.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, mac))
        self._added = self._added.plus(1, len(chunks), row[6], int.from_bytes(mac))
        shared = file.chunks[0].imports if file.chunks else ()
        for ordinal, (id_, chunk) in enumerate(chunks.items()):
            imports = "" if ordinal and chunk.imports == shared else json.dumps(chunk.imports)
            self._db.execute(
                "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    id_, file.path, ordinal, chunk.symbol, chunk.kind.value, *_places(chunk), chunk.text,
                    chunk.sha256, chunk.language, imports, " ".join(chunk.secrets), int(chunk.withheld),
                ),
            )  # fmt: skip
        # Withheld chunks that were never written need not be deleted either.
        fresh = {
            id_: chunk
            for id_, chunk in chunks.items()
            if (id_ not in before or id_ in gone) and not chunk.withheld
        }
        self._intend("write", (id_ for id_, chunk in fresh.items() if retrievable(chunk)))
        lexical.add(
            self._db, [lexical.IndexedText(id_, chunk.symbol, chunk.text) for id_, chunk in fresh.items()]
        )

    def rows_of(self, statement: str, ids: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a statement that ends with `IN`, for these ids."""
        wanted = list(ids)
        for start in range(0, len(wanted), PARAMETERS):
            page = wanted[start : start + PARAMETERS]
            yield from self.rows(f"{statement} ({','.join('?' * len(page))})", page)

    def holding_secrets(self) -> list[Chunk]:
        """Return the chunks that contained secrets, by path and line."""
        ids = [row[0] for row in self.rows("SELECT id FROM chunks WHERE secrets != ''")]
        return sorted(self.chunks(ids).values(), key=lambda chunk: (chunk.path, chunk.start_line))

    def remove_file(self, path: str) -> None:
        """Remove a file and add the intents for the vector store. Call in a transaction."""
        gone = self._documents(path)
        self._intend("delete", gone)
        lexical.remove(self._db, gone.values())
        self._delete(path, len(gone))

    def _delete(self, path: str, chunks: int) -> None:
        for vectors, mac in self.rows("SELECT vectors, mac FROM files WHERE path = ?", (path,)):
            self._added = self._added.plus(-1, -chunks, -int(vectors), -int.from_bytes(mac))
        self._db.execute("DELETE FROM files WHERE path = ?", (path,))

    def _documents(self, path: str) -> dict[str, lexical.IndexedText]:
        rows = self._db.execute(
            "SELECT id, symbol, text FROM chunks WHERE path = ? ORDER BY ordinal", (path,)
        )
        return {row[0]: lexical.IndexedText(*row) for row in rows}

    def lexical_scores(self, query: str, count: int) -> dict[str, float]:
        """Return the BM25 scores of the `count` chunks that share most words with a query, best first."""
        with self._lock, self._told("cannot be read"):
            return lexical.search(self._db, query, count)

    def lexical_damage(self) -> set[str]:
        """Return the ids of chunks whose indexed words do not match their text."""
        with self._lock, self._told("cannot be read"):
            rows = self._db.execute("SELECT id, symbol, text FROM chunks WHERE NOT withheld")
            return lexical.differing(self._db, (lexical.IndexedText(*row) for row in rows))

    def _intend(self, action: str, ids: Iterable[str]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO intents VALUES (?, ?)", [(id_, action) for id_ in sorted(ids)]
        )

    def intended(self) -> int:
        """Return how many chunks the vector store still needs."""
        return int(self.rows("SELECT count(*) FROM intents WHERE action = 'write'")[0][0])

    def awaited(self, ids: Sequence[str]) -> set[str]:
        """Return which of these chunks the vector store still needs."""
        rows = self.rows_of("SELECT id FROM intents WHERE action = 'write' AND id IN", ids)
        return {str(row[0]) for row in rows}

    def intents(self, most: int | None = None) -> Intents:
        """Return the pending changes of the vector store, in order; at most `most`."""
        limit = -1 if most is None else most
        rows = self.rows("SELECT id, action FROM intents ORDER BY rowid LIMIT ?", (limit,))
        return Intents(
            write=tuple(row[0] for row in rows if row[1] == "write"),
            delete=tuple(row[0] for row in rows if row[1] == "delete"),
        )

    def clear_intents(self, ids: Iterable[str]) -> None:
        """Record that the vector store has been updated."""
        with self.transaction():
            self._db.executemany("DELETE FROM intents WHERE id = ?", [(id_,) for id_ in ids])

    def intend_writes(self, ids: Iterable[str]) -> None:
        """Schedule these chunks to be written to the vector store again. Call in a transaction."""
        self._intend("write", ids)

    def ids(self) -> set[str]:
        """Return the ids of all chunks."""
        return {row[0] for row in self.rows("SELECT id FROM chunks")}

    def count(self) -> int:
        """Return the number of chunks."""
        return int(self.rows("SELECT count(*) FROM chunks")[0][0])

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Return the chunks of these ids, unverified until found in `file`; unknown ids are left out."""
        return self._chunks(self.rows_of(f"SELECT {COLUMNS} FROM chunks WHERE id IN", ids))

    def file(self, path: str) -> SourceFile | None:
        """Return an indexed file, reassembled from its chunks.

        Raises StoreError if it was modified.
        """
        with self._snapshot():
            row = self._file_row(path)
            if row is None:
                return None
            chunks = self._chunks_of(row)
        text = "".join(chunk.text for chunk in chunks.values())
        from codeguard.corpus.chunking.grammars import (
            GAVE_UP,
        )  # imports grammars: not for an unchanged index

        notes = (GAVE_UP,) if row[5] == BY_INDENTATION else ()
        return SourceFile(path, text, row[3], row[4], tuple(chunks.values()), bool(row[5]), notes=notes)

    def chunks_of(self, path: str) -> dict[str, Chunk]:
        """Return the chunks of one file by id, in the file's order.

        Raises StoreError if they were modified.
        """
        with self._snapshot():
            row = self._file_row(path)
            return {} if row is None else self._chunks_of(row)

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read several rows from one consistent snapshot."""
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            with self._told("cannot be read"):
                self._db.execute("BEGIN")
                try:
                    yield
                finally:
                    self._db.execute("COMMIT")

    def _file_row(self, path: str) -> tuple[Any, ...] | None:
        rows = self.rows(f"SELECT {_FILE} FROM files WHERE path = ?", (path,))
        if not rows:
            return None
        self._check_file(rows[0])
        return rows[0]

    def _chunks_of(self, row: tuple[Any, ...]) -> dict[str, Chunk]:
        rows = self.rows(f"SELECT {COLUMNS} FROM chunks WHERE path = ? ORDER BY ordinal", (row[0],))
        chunks = self._chunks(rows)
        if content_digest(chunks) != row[7]:
            raise self.damaged(f"its text of {row[0]} was changed by another hand")
        return chunks

    def _chunks(self, rows: Iterable[tuple[Any, ...]]) -> dict[str, Chunk]:
        try:
            return {row[0]: chunk_of(row) for row in rows}
        except (AttributeError, TypeError, ValueError) as error:
            raise self.damaged(f"a chunk is unreadable: {error}".splitlines()[0][:200]) from None

    def analysis(self, key: str) -> dict[str, Any] | None:
        """Return a cached analysis, or None if there is none or its authentication fails."""
        rows = self.rows("SELECT value, mac FROM analyses WHERE key = ?", (key,))
        if not rows or not self._authentic(rows[0][1], "analysis", key, rows[0][0]):
            return None
        value = json.loads(rows[0][0])
        return value if isinstance(value, dict) else None

    def analysis_keys(self, prefix: str) -> list[str]:
        """Return the keys of cached analyses with this prefix, authentic or not."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return [
            str(row[0])
            for row in self.rows("SELECT key FROM analyses WHERE key >= ? AND key < ?", (prefix, end))
        ]

    def put_analyses(self, analyses: Mapping[str, Mapping[str, Any]]) -> None:
        """Cache analyses, authenticated under this installation's key."""
        rows = []
        for key, analysis in analyses.items():
            value = json.dumps(analysis, sort_keys=True)
            rows.append((key, value, self._mac("analysis", key, value)))
        with self.changing() as db:
            db.executemany("INSERT OR REPLACE INTO analyses VALUES (?, ?, ?)", rows)

    def forget_analyses(self, keys: Iterable[str]) -> None:
        """Drop cached analyses."""
        with self.changing() as db:
            db.executemany("DELETE FROM analyses WHERE key = ?", [(key,) for key in keys])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _pragma(db: sqlite3.Connection, name: str) -> Any:
    return db.execute(f"PRAGMA {name}").fetchone()[0]


COLUMNS = (
    "id, path, symbol, kind, start_line, end_line, start_byte, end_byte, text, sha256, language,"
    " CASE imports WHEN '' THEN (SELECT first.imports FROM chunks AS first"
    " WHERE first.path = chunks.path AND first.ordinal = 0) ELSE imports END, secrets, withheld"
)


@lru_cache(maxsize=256)
def _imports(value: str) -> tuple[str, ...]:
    """Return the imports, which all chunks of a file share."""
    return tuple(str(item) for item in json.loads(value))


def _places(chunk: Chunk) -> tuple[int, int, int, int]:
    span = chunk.span
    return span.start_line, span.end_line, span.start_byte, span.end_byte


def content_digest(chunks: Mapping[str, Chunk]) -> str:
    """Return a digest of the chunks of one file in order: ids, locations, texts and imports."""
    first = next((chunk.imports for chunk in chunks.values()), ())
    digest = hashlib.sha256(repr(first).encode("utf-8", "surrogatepass"))
    for id_, chunk in chunks.items():
        imports = None if chunk.imports == first else chunk.imports
        row = (
            id_, chunk.path, chunk.symbol, chunk.kind.value, *_places(chunk), chunk.sha256, chunk.language, imports,
            *((chunk.text_sha256, chunk.secrets, chunk.withheld) if chunk.secrets else ()),
        )  # fmt: skip
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def chunk_of(row: Sequence[Any]) -> Chunk:
    """Return the chunk of a row of COLUMNS."""
    # The digest is computed from the text, not read from its column: trust depends on what will be shown. That of a
    # masked text is authenticated with its file.
    rules = tuple(row[12].split())
    return Chunk(
        path=row[1],
        symbol=row[2],
        kind=ChunkKind(row[3]),
        span=Span(row[4], row[5], row[6], row[7]),
        text=row[8],
        sha256=str(row[9]) if rules else text_digest(row[8]),
        language=row[10],
        imports=_imports(row[11]),
        secrets=rules,
        withheld=bool(row[13]),
    )


def _parsed(file: SourceFile) -> int:
    from codeguard.corpus.chunking.grammars import gave_up

    return BY_INDENTATION if file.parsed and gave_up(file) else int(file.parsed)
