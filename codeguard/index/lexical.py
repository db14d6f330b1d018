"""Lexical search: BM25 over split identifiers, in FTS5 tables of the catalog's own file and transactions.

The index holds words, not texts: to remove a chunk, its words are derived from its text again. It contains
symbols and texts, never paths, so that renaming a file changes no score.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from codeguard.models import Chunk

SYMBOL_WEIGHT = 4.0  # a word of the name relative to one of the text; tuned with `fusion.MODEL_WEIGHT`
MAX_WORD = 64  # characters of one word: longer blobs are not words
MAX_QUERY_WORDS = 32
# Rows that the words of one query may match together: frequent words say little and cost most.
MAX_MATCHES = 20_000

SCHEMA = """
CREATE TABLE lexical_ids (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE VIRTUAL TABLE lexical USING fts5(
    symbol, body, content='', tokenize="porter unicode61 remove_diacritics 0 tokenchars '_'"
);
"""

# Words that questions are phrased in, and words that nearly every function contains.
STOP_WORDS = frozenset(
    """
    a an the of to in on at for and or is are be if this that it its with as by from into given how what
    which when where do does not no all any than then def return returns self none true false
    """.split()  # noqa: SIM905
)

_TOKEN = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FOREIGN_PART = re.compile(r"[^\W\d_]+|\d+")  # not every script has case


@dataclass(frozen=True, slots=True)
class IndexedText:
    """The indexed parts of a chunk."""

    id: str
    symbol: str
    text: str


@lru_cache(maxsize=1 << 15)
def _split(token: str) -> str:
    """Return the words of one identifier, lower-case, and the identifier itself if it has several."""
    pattern = _PART if token.isascii() else _FOREIGN_PART
    parts = [part.lower() for part in pattern.findall(token)]
    if len(parts) > 1:
        parts.append(token.lower())
    return " ".join(parts)


def index_words(text: str) -> list[str]:
    """Return the words of a text, identifiers split at case, underscore and digits, and whole as well.

    >>> words("parseHTTPResponse(raw)")
    ['parse', 'http', 'response', 'parsehttpresponse', 'raw']
    """
    return " ".join([_split(token) for token in _TOKEN.findall(text) if len(token) <= MAX_WORD]).split()


def query_words(query: str) -> list[str]:
    """Return the words a query is searched by, without repetition: the longest ones if there are many."""
    found = list(dict.fromkeys(index_words(query)))
    informative = [word for word in found if word not in STOP_WORDS] or found
    return sorted(informative, key=len, reverse=True)[:MAX_QUERY_WORDS]


def add(db: sqlite3.Connection, documents: Iterable[IndexedText]) -> None:
    """Index documents whose ids are not indexed yet. Call in a transaction."""
    for document in documents:
        body = index_words(document.text)
        if body:
            number = db.execute("INSERT INTO lexical_ids (id) VALUES (?)", (document.id,)).lastrowid
            db.execute(
                "INSERT INTO lexical (rowid, symbol, body) VALUES (?, ?, ?)",
                (number, " ".join(index_words(document.symbol)), " ".join(body)),
            )


def remove(db: sqlite3.Connection, documents: Iterable[IndexedText]) -> None:
    """Remove documents, given as they were indexed. Call in a transaction."""
    for document in documents:
        row = db.execute("SELECT number FROM lexical_ids WHERE id = ?", (document.id,)).fetchone()
        if row is not None:
            db.execute(
                "INSERT INTO lexical (lexical, rowid, symbol, body) VALUES ('delete', ?, ?, ?)",
                (row[0], " ".join(index_words(document.symbol)), " ".join(index_words(document.text))),
            )
            db.execute("DELETE FROM lexical_ids WHERE number = ?", (row[0],))


def search(db: sqlite3.Connection, query: str, count: int) -> dict[str, float]:
    """Return the BM25 scores of the `count` best documents, best first; more is better, all are above 0.

    No query syntax reaches FTS5: the query is split into words, and each is quoted.
    """
    chosen = _affordable(db, query_words(query))
    if not chosen:
        return {}
    rows = db.execute(
        "SELECT id, score FROM (SELECT rowid AS number, -bm25(lexical, ?, 1.0) AS score FROM lexical"
        " WHERE lexical MATCH ? ORDER BY score DESC LIMIT ?) JOIN lexical_ids USING (number)"
        " ORDER BY score DESC, id",
        (SYMBOL_WEIGHT, " OR ".join(map(_quoted, chosen)), count),
    )
    return {str(id_): float(score) for id_, score in rows}


def differing(db: sqlite3.Connection, documents: Iterable[IndexedText]) -> set[str]:
    """Return the ids of wrongly indexed documents, and of index entries without a document."""
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        for statement in SCHEMA.split(";"):
            fresh.execute(statement)
        add(fresh, documents)
        due = _postings(fresh)
    held = _postings(db)
    return {id_ for id_ in due.keys() | held.keys() if due.get(id_) != held.get(id_)}


def _postings(db: sqlite3.Connection) -> dict[str, int]:
    """Return, by id, a sum over the words of a document and their positions."""
    db.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.lexical_words USING fts5vocab(main, lexical, instance)"
    )
    found: dict[str, int] = {}
    rows = db.execute(
        "SELECT coalesce(id, 'row ' || doc), term, col, offset FROM lexical_words"
        " LEFT JOIN lexical_ids ON number = doc"
    )
    for id_, *place in rows:
        found[id_] = found.get(id_, 0) + hash(tuple(place))
    return found


def _affordable(db: sqlite3.Connection, found: list[str]) -> list[str]:
    """Return the rarest words that match at most MAX_MATCHES rows together."""
    total = db.execute("SELECT max(number) FROM lexical_ids").fetchone()[0] or 0
    if total * len(found) <= MAX_MATCHES:
        return found
    counted = sorted((_matches(db, word), word) for word in found)
    chosen, room = [], MAX_MATCHES
    for matches, word in counted:
        room -= matches
        if room <= 0:
            break
        chosen.append(word)
    return chosen


def _matches(db: sqlite3.Connection, word: str) -> int:
    row = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM lexical WHERE lexical MATCH ? LIMIT ?)",
        (_quoted(word), MAX_MATCHES),
    ).fetchone()
    return int(row[0])


def _quoted(word: str) -> str:
    doubled = word.replace('"', '""')
    return f'"{doubled}"'


_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+")


def retrievable(chunk: Chunk) -> bool:
    """Return whether a chunk may be a result: not withheld, and at least one word."""
    return not chunk.withheld and any(char.isalnum() for char in chunk.text)


def retrieval_text(chunk: Chunk) -> str:
    """Return the symbol in words, then the text.

    The path is left out because the attacker chooses it: renaming an untrusted file must change no distance
    and so no penalty.
    """
    words = in_words(chunk.symbol)
    return f"{words}\n{chunk.text}" if words else chunk.text


def in_words(symbol: str) -> str:
    """Return a symbol cut at case, underscore and anything that is no letter."""
    return " ".join(part for part in _WORD_BORDER.split(symbol) if part)
