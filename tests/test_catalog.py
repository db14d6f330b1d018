"""The catalog gives back what was put in, tells the store what to do, and refuses what is not its own."""

import contextlib
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from codeguard.errors import StoreError
from codeguard.index.catalog import Catalog, FileState, chunk_ids
from codeguard.models import Chunk, ChunkKind, SourceFile, Span, text_digest

KEY = b"k" * 32


def source(path: str, *functions: str) -> SourceFile:
    chunks, byte, line = [], 0, 1
    for text in functions:
        size, lines = len(text.encode()), text.count("\n")
        span = Span(line, line + lines - 1, byte, byte + size)
        symbol = text.split("(")[0].removeprefix("def ")
        chunks.append(
            Chunk(path, symbol, ChunkKind.FUNCTION, span, text, text_digest(text), "python", ("import a",))
        )
        byte, line = byte + size, line + lines
    text = "".join(functions)
    return SourceFile(path, text, text_digest(text), "python", tuple(chunks))


ADD = "def add(a, b):\n    return a + b\n"
SUB = "def sub(a, b):\n    return a - b\n"
STATE = FileState(10, "20", "d" * 64)


@pytest.fixture
def catalog(tmp_path: Path):  # type: ignore[no-untyped-def]
    with Catalog(tmp_path / "catalog.sqlite3", KEY) as opened:
        yield opened


def put(catalog: Catalog, *files: SourceFile) -> None:
    with catalog.transaction():
        for file in files:
            catalog.put_file(file, STATE)


def test_a_file_comes_back_as_it_was(catalog: Catalog) -> None:
    file = source("m/é.py", ADD, SUB, "def emoji():\n    return '🙂'\n")
    put(catalog, file)
    back = catalog.file("m/é.py")
    assert back is not None
    assert (back.text, back.chunks) == (file.text, file.chunks)
    assert catalog.files() == {"m/é.py": STATE}
    assert catalog.file("other.py") is None


def test_an_edit_tells_the_store_only_what_changed(catalog: Catalog) -> None:
    before = source("m.py", ADD, SUB)
    put(catalog, before)
    catalog.clear_intents(catalog.intents().write)
    after = source("m.py", "def new():\n    pass\n", ADD)
    put(catalog, after)
    intents = catalog.intents()
    assert intents.write == (chunk_ids(after.chunks)[0],)
    assert intents.delete == (chunk_ids(before.chunks)[1],)


def test_the_same_text_twice_in_a_file_has_two_ids() -> None:
    assert len(set(chunk_ids(source("m.py", ADD, ADD).chunks))) == 2


def test_removing_a_file_removes_its_chunks(catalog: Catalog) -> None:
    put(catalog, source("m.py", ADD), source("n.py", ADD))
    with catalog.transaction():
        catalog.remove_file("m.py")
    assert catalog.ids() == set(chunk_ids(source("n.py", ADD).chunks))
    assert catalog.intents().delete == tuple(chunk_ids(source("m.py", ADD).chunks))


def test_an_interrupted_transaction_leaves_nothing(catalog: Catalog) -> None:
    with pytest.raises(RuntimeError), catalog.transaction():
        catalog.put_file(source("m.py", ADD), STATE)
        raise RuntimeError
    assert catalog.files() == {}
    assert not catalog.intents()


def test_intents_survive_until_they_are_cleared(tmp_path: Path) -> None:
    with Catalog(tmp_path / "c", KEY) as first:
        put(first, source("m.py", ADD))
    with Catalog(tmp_path / "c", KEY) as second:
        assert second.intents().write == tuple(chunk_ids(source("m.py", ADD).chunks))


def test_an_analysis_under_another_key_or_name_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with Catalog(path, KEY) as ours:
        ours.put_analyses({"mine": {"verdict": "pass"}, "other": {"verdict": "fail"}})
        assert ours.analysis("mine") == {"verdict": "pass"}
    with pytest.raises(StoreError, match=r"another user .*codeguard index --rebuild"):
        Catalog(path, b"x" * 32)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE analyses SET value = replace(value, 'fail', 'pass') WHERE key = 'other'")
        db.execute("INSERT INTO analyses SELECT 'moved', value, mac FROM analyses WHERE key = 'mine'")
    with Catalog(path, KEY) as ours:
        assert ours.analysis("other") is None
        assert ours.analysis("moved") is None
        assert ours.analysis("mine") == {"verdict": "pass"}


@pytest.mark.parametrize("damage", ["garbage", "truncated", "version"])
def test_a_damaged_or_foreign_catalog_is_one_clear_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "c"
    with Catalog(path, KEY) as catalog:
        put(catalog, source("m.py", ADD))
    if damage == "garbage":
        path.write_bytes(b"not a database at all" * 100)
    elif damage == "truncated":
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
    else:
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError) as caught, Catalog(path, KEY) as catalog:
        catalog.file("m.py")
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_many_processes_may_make_a_catalog_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from codeguard.index.catalog import Catalog\n"
        "catalog = Catalog(Path(sys.argv[1]), b'k' * 32); catalog.set_meta(sys.argv[2], ''); catalog.close()"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "c.sqlite3"), str(number)])
        for number in range(5)
    ]
    assert [process.wait(timeout=120) for process in started] == [0] * 5
    with Catalog(tmp_path / "c.sqlite3", b"k" * 32) as catalog:
        assert all(catalog.meta(str(number)) is not None for number in range(5))


def test_the_imports_of_a_file_are_kept_once_and_read_with_each_chunk(tmp_path: Path) -> None:
    file = source("m.py", ADD, SUB, "def last():\n    return 0\n")
    other = replace(file.chunks[2], imports=())
    file = SourceFile(file.path, file.text, file.sha256, file.language, (*file.chunks[:2], other))
    path = tmp_path / "catalog.sqlite3"
    with Catalog(path, KEY) as catalog:
        put(catalog, file)
        assert tuple(catalog.chunks_of("m.py").values()) == file.chunks
        assert set(catalog.chunks(chunk_ids(file.chunks)).values()) == set(file.chunks)
    with contextlib.closing(sqlite3.connect(path)) as db:
        kept = [row[0] for row in db.execute("SELECT imports FROM chunks ORDER BY ordinal")]
        assert kept == ['["import a"]', "", "[]"]
