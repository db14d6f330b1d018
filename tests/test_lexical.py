"""Lexical search: words in, BM25 out, and nothing of a query reaches FTS5 as syntax."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.corpus.chunking import chunk_file
from codeguard.index import lexical
from codeguard.index.catalog import Catalog, FileState
from codeguard.index.lexical import IndexedText

KEY = b"k" * 32
PARSE = 'def parseHTTPResponse(raw):\n    return decode_header(raw, "utf8")\n'
OTHER = "def render_page(title):\n    return title.upper()\n"


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(lexical.SCHEMA)
    lexical.add(
        connection, [IndexedText("p", "parseHTTPResponse", PARSE), IndexedText("o", "render_page", OTHER)]
    )
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("parse response", ["p"]),
        ("parsing responses", ["p"]),  # stems
        ("parseHTTPResponse", ["p"]),
        ("UnicodeDecodeError: 'utf8' codec can't decode", ["p"]),
        ("title = render_page(x)", ["o"]),
        ("nothing of the kind", []),
        ("", []),
        ("()", []),
    ],
)
def test_questions_identifiers_errors_and_code(db: sqlite3.Connection, query: str, found: list[str]) -> None:
    assert list(lexical.search(db, query, 5)) == found


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "raw*",
        "symbol : raw",
        "NEAR(raw header)",
        "raw AND",
        "NOT raw",
        "^raw",
        "-raw",
        "{symbol} : raw",
        "raw\0x",
    ],
)
def test_syntax_of_fts5_is_text(db: sqlite3.Connection, query: str) -> None:
    assert set(lexical.search(db, query, 5)) <= {"p"}


@given(st.text(max_size=200))
def test_no_query_is_an_error(query: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(lexical.SCHEMA)
    lexical.add(connection, [IndexedText("d", query, f"{query} anchor")])
    assert list(lexical.search(connection, "anchor", 5)) == ["d"]
    lexical.search(connection, query, 5)
    lexical.remove(connection, [IndexedText("d", query, f"{query} anchor")])
    assert lexical.search(connection, "anchor", 5) == {}
    connection.close()


def test_a_name_counts_more_than_a_text(db: sqlite3.Connection) -> None:
    lexical.add(
        db, [IndexedText("x", "other", "render_page(render_page) and much besides that matters little")]
    )
    scores = lexical.search(db, "render page", 5)
    assert list(scores) == ["o", "x"]
    assert all(score > 0 for score in scores.values())


def test_words_that_most_documents_hold_are_left_out(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexical.add(db, [IndexedText(f"n{n}", "f", f"common number{n}") for n in range(50)])
    monkeypatch.setattr(lexical, "MAX_MATCHES", 20)
    assert list(lexical.search(db, "common parse", 100)) == ["p"]
    assert lexical.search(db, "common", 100) == {}


def catalog_with(path: Path, text: str) -> Catalog:
    catalog = Catalog(path, KEY)
    put(catalog, text)
    return catalog


def put(catalog: Catalog, text: str) -> None:
    file = chunk_file("a.py", text.encode())
    with catalog.transaction():
        catalog.put_file(file, FileState(len(text), "1", file.sha256))


def symbols(catalog: Catalog, query: str) -> list[str]:
    found = catalog.lexical_scores(query, 10)
    return [catalog.chunks([id_])[id_].symbol for id_ in found]


def test_the_index_follows_the_files(tmp_path: Path) -> None:
    with catalog_with(tmp_path / "c", f"{PARSE}\n\n{OTHER}") as catalog:
        assert symbols(catalog, "parse response") == ["parseHTTPResponse"]
        put(catalog, f"{OTHER}\n\n{PARSE.replace('Response', 'Request')}")
        assert symbols(catalog, "parse response") == ["parseHTTPRequest"]
        assert symbols(catalog, "response") == []
        with catalog.transaction():
            catalog.remove_file("a.py")
        assert symbols(catalog, "parse") == []


def test_a_rolled_back_file_leaves_no_word(tmp_path: Path) -> None:
    with catalog_with(tmp_path / "c", OTHER) as catalog:
        file = chunk_file("b.py", PARSE.encode())
        with pytest.raises(KeyboardInterrupt), catalog.transaction():
            catalog.put_file(file, FileState(1, "1", file.sha256))
            raise KeyboardInterrupt
        assert symbols(catalog, "parse response") == []
