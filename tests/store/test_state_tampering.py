"""Somebody rewrites what an index keeps: each change is refused, told, found or made good, none is believed.

REFUSED   the query ends with one line that says what is damaged and what to do
TOLD      the query answers with what it knows, and its first lines say what is wrong
UNMOVED   the query answers as before: what was changed is computed anew, or nobody believes it
FOUND     the query believes nothing of it, and `store verify` finds it
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

from codeguard.api import CodeGuard
from codeguard.config import CATALOG, Settings
from codeguard.errors import CodeguardError
from codeguard.index.maintenance import verify
from codeguard.index.workspace import Workspace
from codeguard.models import Trust, text_digest
from codeguard.ranking.reranking import Ranking
from codeguard.trust.acceptances import accept
from codeguard.trust.installation import installation_key, mark
from codeguard.trust.state_files import StateFolder

pytestmark = pytest.mark.ci

OURS = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'
OTHER = "def twice(a):\n    return 2 * a\n"
FILES = {"ours/m.py": OURS, "theirs/wrong.py": WRONG, "theirs/other.py": OTHER}
QUERY = "how to add two numbers"
LAST = "not the last one written"
ONE_TIME = "settings are not of one time"


class Outcome(Enum):
    REFUSED = "refused"
    TOLD = "told"
    UNMOVED = "unmoved"
    FOUND = "found"


REFUSED, TOLD, UNMOVED, FOUND = Outcome


@dataclass
class Index:
    """The state directory of an index of three files, one trusted and one wrong."""

    base: Path
    state: Path
    answer: list[tuple[object, ...]]

    @property
    def corpus(self) -> Path:
        return self.base / "corpus"

    def settings(self) -> Settings:
        return Settings(
            store=str(self.state),
            root=str(self.corpus),
            embedding="lexical",
            fixed_seed=None,
            jobs=1,
        )

    def guard(self) -> CodeGuard:
        return CodeGuard.open(settings=self.settings(), trust=[self.corpus / "ours"])

    def index(self, *, rebuild: bool = False) -> None:
        with self.guard() as guard:
            guard.index([self.corpus], rebuild=rebuild)

    def query(self) -> Ranking:
        with CodeGuard.open(settings=self.settings(), create=False) as guard:
            return guard.query(QUERY)

    def sql(self, *statements: str) -> None:
        with contextlib.closing(sqlite3.connect(self.state / CATALOG)) as db, db:
            for statement in statements:
                assert db.execute(statement).rowcount != 0, statement


def facts(ranking: Ranking) -> list[tuple[object, ...]]:
    return [(i.chunk.path, i.chunk.text, i.trust, i.verdict, i.convicted, i.penalty) for i in ranking.ranking]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Index, Path, Path]]:
    base = tmp_path_factory.mktemp("tampering")
    for name, text in FILES.items():
        (base / "corpus" / name).parent.mkdir(parents=True, exist_ok=True)
        (base / "corpus" / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(base / "config"))
        patch.setenv("XDG_STATE_HOME", str(base / "user-state"))
        made = Index(base, base / "state", [])
        made.index()
        accept(made.state, text_digest(OTHER), "looked at")
        shutil.copytree(made.state, base / "earlier")
        # A second generation, so that there is an earlier one of everything.
        (made.corpus / "ours" / "n.py").write_text("def zero():\n    return 0\n")
        (made.corpus / "theirs" / "other.py").write_text(OTHER + "\n\ndef thrice(a):\n    return 3 * a\n")
        made.index()
        made.answer = facts(made.query())
        other = Index(base, base / "another", [])
        with CodeGuard.open(settings=other.settings()) as guard:
            guard.index([made.corpus / "theirs"])
        yield made, base / "earlier", other.state


@pytest.fixture
def index(original: tuple[Index, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    made = original[0]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(made.base / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(made.base / "user-state"))
    shutil.copytree(made.state, tmp_path / "state")
    with StateFolder(tmp_path / "state") as folder:
        mark(folder, installation_key())
    return Index(made.base, tmp_path / "state", made.answer)


Tamper = Callable[[Index], None]


# --- the catalog, by table and column ----------------------------------------


def sql(*statements: str) -> Tamper:
    return lambda index: index.sql(*statements)


def meta(key: str, value: str) -> Tamper:
    return sql(f"UPDATE meta SET value = '{value}' WHERE key = '{key}'")


def chunk(change: str, path: str = "theirs/wrong.py") -> Tamper:
    return sql(f"UPDATE chunks SET {change} WHERE path = '{path}'")


def file(change: str, path: str = "theirs/wrong.py") -> Tamper:
    return sql(f"UPDATE files SET {change} WHERE path = '{path}'")


def quoted(text: str) -> str:
    return text.replace("'", "''")


def text_with_its_digest(index: Index) -> None:
    """The text of a trusted function, every digest that belongs to it, and the manifest's own file beside."""
    index.sql(
        f"UPDATE chunks SET text = '{quoted(WRONG)}', sha256 = '{text_digest(WRONG)}' WHERE path = 'ours/m.py'",
        f"UPDATE files SET sha256 = '{text_digest(WRONG)}' WHERE path = 'ours/m.py'",
    )


def mac_of_another_file(index: Index) -> None:
    index.sql(
        "UPDATE files SET mac = (SELECT mac FROM files WHERE path = 'ours/m.py') WHERE path = 'theirs/wrong.py'"
    )


def a_file_more(index: Index) -> None:
    index.sql(
        "INSERT INTO files SELECT 'theirs/more.py', size, stamp, sha256, language, parsed, vectors, content, mac"
        " FROM files WHERE path = 'theirs/wrong.py'"
    )


def a_chunk_more(index: Index) -> None:
    index.sql(
        "CREATE TEMP TABLE more AS SELECT * FROM chunks WHERE path = 'theirs/wrong.py'",
        "UPDATE more SET id = 'f' || id, ordinal = ordinal + 9",
        "INSERT INTO chunks SELECT * FROM more",
    )


def chunks_swapped(index: Index) -> None:
    """Two chunks of one file exchange their texts and digests."""
    one, two = "ordinal = 0", "ordinal = (SELECT max(ordinal) FROM chunks WHERE path = 'theirs/other.py')"
    index.sql(
        "CREATE TEMP TABLE both_chunks AS SELECT ordinal, text FROM chunks WHERE path = 'theirs/other.py'",
        f"UPDATE chunks SET text = (SELECT b.text FROM both_chunks AS b WHERE b.{two}) "
        f"WHERE path = 'theirs/other.py' AND {one}",
    )


def file_removed(index: Index) -> None:
    index.sql(
        "DELETE FROM chunks WHERE path = 'theirs/wrong.py'",
        "DELETE FROM files WHERE path = 'theirs/wrong.py'",
    )


def file_of_an_earlier_time(index: Index) -> None:
    """Rows of an earlier index, each authentic in itself."""
    earlier = index.base / "earlier" / CATALOG
    index.sql(
        f"ATTACH '{earlier}' AS earlier",
        "DELETE FROM chunks WHERE path = 'theirs/other.py'",
        "DELETE FROM files WHERE path = 'theirs/other.py'",
        "INSERT INTO files SELECT * FROM earlier.files WHERE path = 'theirs/other.py'",
        "INSERT INTO chunks SELECT * FROM earlier.chunks WHERE path = 'theirs/other.py'",
    )


def setting_of_an_earlier_time(index: Index, *more: str) -> None:
    earlier, keys = index.base / "earlier" / CATALOG, str(("totals", *more)).rstrip(",)") + ")"
    index.sql(
        f"ATTACH '{earlier}' AS earlier",
        f"INSERT OR REPLACE INTO meta SELECT * FROM earlier.meta WHERE key IN {keys}",
    )


def setting_and_head_of_an_earlier_time(index: Index) -> None:
    setting_of_an_earlier_time(index, "head")


def analyses(change: str) -> Tamper:
    return sql(f"UPDATE analyses SET {change} WHERE key != 'unsigned'")


def in_manifest(before: str, after: str) -> Tamper:
    return sql(f"UPDATE analyses SET value = replace(value, '{before}', '{after}') WHERE key = 'unsigned'")


def manifest_of_an_earlier_time(index: Index) -> None:
    index.sql(
        f"ATTACH '{index.base / 'earlier' / CATALOG}' AS earlier",
        "INSERT OR REPLACE INTO analyses SELECT * FROM earlier.analyses WHERE key = 'unsigned'",
    )


CATALOG_CASES: list[tuple[str, Tamper, Outcome, str]] = [
    ("the text of an untrusted chunk", chunk(f"text = '{quoted(OURS)}'"), REFUSED, "text of theirs/wrong.py"),
    (
        "the text of a trusted chunk",
        chunk(f"text = '{quoted(WRONG)}'", "ours/m.py"),
        REFUSED,
        "text of ours/m.py",
    ),
    ("a trusted text with every digest", text_with_its_digest, REFUSED, "entry of ours/m.py"),
    ("no text", chunk("text = ''"), REFUSED, "text of theirs/wrong.py"),
    ("a text that is bytes", chunk("text = x'ff00'"), REFUSED, "damaged"),
    ("the digest of a chunk", chunk(f"sha256 = '{text_digest(OURS)}'"), FOUND, "not as its digest says"),
    ("the path of a chunk", chunk("path = 'ours/m.py'"), REFUSED, "text of ours/m.py"),
    ("the symbol", chunk("symbol = 'safe_add'"), REFUSED, "text of theirs/wrong.py"),
    ("the kind", chunk("kind = 'module'"), REFUSED, "text of theirs/wrong.py"),
    ("a kind that does not exist", chunk("kind = 'saint'"), REFUSED, "unreadable"),
    ("the first line", chunk("start_line = 99"), REFUSED, "text of theirs/wrong.py"),
    ("a line that is no number", chunk("start_line = 'first'"), REFUSED, "damaged"),
    ("the span in bytes", chunk("end_byte = 1"), REFUSED, "text of theirs/wrong.py"),
    ("the order", chunk("ordinal = 7 - ordinal", "theirs/other.py"), REFUSED, "damaged"),
    ("the language of a chunk", chunk("language = 'text'"), REFUSED, "text of theirs/wrong.py"),
    ("the imports", chunk("imports = '[\"import os\"]'"), REFUSED, "text of theirs/wrong.py"),
    ("imports that are no JSON", chunk("imports = '{'"), REFUSED, "unreadable"),
    ("imports of another form", chunk("imports = '7'"), REFUSED, "damaged"),
    ("the id of a chunk", chunk("id = 'f' || substr(id, 2)"), TOLD, "did not write"),
    ("two chunks exchanged", chunks_swapped, REFUSED, "text of theirs/other.py"),
    ("a chunk removed", sql("DELETE FROM chunks WHERE path = 'theirs/wrong.py'"), REFUSED, "missing"),
    ("a chunk added", a_chunk_more, REFUSED, "missing, added"),
    ("all chunks removed", sql("DELETE FROM chunks"), REFUSED, "missing"),
    ("the table of chunks dropped", sql("DROP TABLE chunks"), REFUSED, "no such table"),
    ("the digest of a file", file(f"sha256 = '{text_digest(OURS)}'"), REFUSED, "entry of theirs/wrong.py"),
    ("the size of a file", file("size = 1"), REFUSED, "entry of theirs/wrong.py"),
    ("the time of a file", file("stamp = 1"), REFUSED, "entry of theirs/wrong.py"),
    ("the language of a file", file("language = 'text'"), REFUSED, "entry of theirs/wrong.py"),
    ("whether a file was parsed", file("parsed = 0"), REFUSED, "entry of theirs/wrong.py"),
    ("how many vectors a file has", file("vectors = 0"), REFUSED, "entry of theirs/wrong.py"),
    ("the digest of a file's chunks", file(f"content = '{'0' * 64}'"), REFUSED, "entry of theirs/wrong.py"),
    ("the code of a file", file("mac = x'00'"), REFUSED, "missing, added, or of an earlier time"),
    ("the code of another file", mac_of_another_file, REFUSED, "of an earlier time"),
    ("a file removed", file_removed, REFUSED, "missing"),
    ("a file added", a_file_more, REFUSED, "added"),
    ("a file of an earlier index", file_of_an_earlier_time, REFUSED, "of an earlier time"),
    ("the name of a file", file("path = 'ours/wrong.py'"), REFUSED, "damaged"),
    ("the chunker", meta("chunker", "another/9"), REFUSED, ONE_TIME),
    ("the store", meta("store", "http://127.0.0.1:1"), REFUSED, ONE_TIME),
    ("the embedding", meta("embedding", "minilm"), REFUSED, ONE_TIME),
    ("the name of the embedding", meta("embedding_name", "minilm"), REFUSED, ONE_TIME),
    ("the root", meta("root", "/"), REFUSED, ONE_TIME),
    ("the sandbox level", meta("sandbox_level", "L0"), REFUSED, ONE_TIME),
    ("where signed manifests lie", meta("signed_trees", "[]  "), REFUSED, ONE_TIME),
    ("signed manifests that are no JSON", meta("signed_trees", "{"), REFUSED, ONE_TIME),
    ("what is trusted", meta("trusted_paths", "[]"), REFUSED, ONE_TIME),
    ("what was indexed", meta("indexed_paths", '["/"]'), REFUSED, ONE_TIME),
    ("what the model was trained on", meta("trained_on", ""), REFUSED, ONE_TIME),
    ("the totals", meta("totals", '[0, 0, 0, "0"]'), REFUSED, ONE_TIME),
    ("the mark of the manifest", meta("unsigned", ""), REFUSED, ONE_TIME),
    ("no mark of the manifest", sql("DELETE FROM meta WHERE key = 'unsigned'"), REFUSED, ONE_TIME),
    ("no manifest", sql("DELETE FROM analyses WHERE key = 'unsigned'"), REFUSED, LAST),
    ("a path in the manifest", in_manifest("ours/m.py", "ours/x.py"), REFUSED, LAST),
    ("a digest in the manifest", in_manifest(text_digest(OURS), text_digest(WRONG)), REFUSED, LAST),
    ("the manifest of an earlier index", manifest_of_an_earlier_time, REFUSED, LAST),
    ("no head", sql("DELETE FROM meta WHERE key = 'head'"), REFUSED, ONE_TIME),
    ("a setting of an earlier index", setting_of_an_earlier_time, REFUSED, ONE_TIME),
    ("a setting and the head of an earlier index", setting_and_head_of_an_earlier_time, REFUSED, ONE_TIME),
    ("who made it", meta("maker", "0" * 64), REFUSED, "made by another user"),
    ("nobody made it", sql("DELETE FROM meta WHERE key = 'maker'"), REFUSED, "made by another user"),
    ("no settings", sql("DELETE FROM meta"), REFUSED, "made by another user"),
    ("cached analyses emptied", analyses("value = '{}'"), UNMOVED, ""),
    ("cached convictions taken away", analyses("value = replace(value, 'fail', 'pass')"), UNMOVED, ""),
    ("cached analyses that are no JSON", analyses("value = '{'"), UNMOVED, ""),
    ("cached analyses without codes", analyses("mac = x''"), UNMOVED, ""),
    ("codes of cached analyses that are numbers", analyses("mac = 5"), UNMOVED, ""),
    (
        "one analysis under the names of all",
        analyses("value = (SELECT value FROM analyses LIMIT 1), mac = (SELECT mac FROM analyses LIMIT 1)"),
        UNMOVED,
        "",
    ),
    ("cached analyses removed", sql("DELETE FROM analyses WHERE key != 'unsigned'"), UNMOVED, ""),
    (
        "a write that nobody intended",
        sql("INSERT INTO intents SELECT id, 'write' FROM chunks"),
        UNMOVED,
        "",
    ),
    (
        "a deletion that nobody intended",
        sql("INSERT INTO intents SELECT id, 'delete' FROM chunks WHERE path = 'theirs/other.py'"),
        TOLD,
        "lacks",
    ),
    (
        "the words of the index exchanged",
        sql("UPDATE lexical_ids SET id = id || 'x' WHERE number = 1"),
        FOUND,
        "words of a chunk",
    ),
    (
        "the words of a chunk removed",
        sql("DELETE FROM lexical_ids WHERE number = 1"),
        FOUND,
        "words of a chunk",
    ),
    (
        "words added",
        sql("INSERT INTO lexical (rowid, symbol, body) VALUES (1, 'add', 'add two numbers')"),
        FOUND,
        "words of a chunk",
    ),
    ("the index of words dropped", sql("DROP TABLE lexical"), REFUSED, "no such table"),
    ("a version of the future", sql("PRAGMA user_version = 99"), REFUSED, "another version"),
    ("a version of the past", sql("PRAGMA user_version = 3"), REFUSED, "another version"),
]


# --- files of the state directory ---------------------------------------------


def written(name: str, data: bytes) -> Tamper:
    return lambda index: (index.state / name).write_bytes(data) and None


def cut(name: str, share: float) -> Tamper:
    def tamper(index: Index) -> None:
        data = (index.state / name).read_bytes()
        (index.state / name).write_bytes(data[: int(len(data) * share)])

    return tamper


def removed(name: str) -> Tamper:
    return lambda index: (index.state / name).unlink()


def acceptance(index: Index) -> None:
    row = {
        "digest": text_digest(WRONG),
        "reason": "fine",
        "by": "boss",
        "date": "2026-01-01",
        "mac": "0" * 64,
    }
    with (index.state / "accepted.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def folder_for(name: str) -> Tamper:
    def tamper(index: Index) -> None:
        (index.state / name).unlink(missing_ok=True)
        (index.state / name).mkdir()

    return tamper


def log_of_another(index: Index) -> None:
    (index.state / f"{CATALOG}-wal").write_bytes(b"7\x7f\x06\x82" + b"\xff" * 5000)


FILE_CASES: list[tuple[str, Tamper, Outcome, str]] = [
    ("the catalog emptied", written(CATALOG, b""), REFUSED, "no index"),
    ("the catalog garbage", written(CATALOG, b"garbage " * 999), REFUSED, "damaged"),
    ("the catalog zeros", written(CATALOG, b"\0" * 8192), REFUSED, "damaged"),
    ("the catalog cut off", cut(CATALOG, 0.5), REFUSED, "damaged"),
    ("the catalog removed", removed(CATALOG), REFUSED, "no index"),
    ("a write-ahead log of somebody else", log_of_another, UNMOVED, ""),
    ("an acceptance without a code", acceptance, TOLD, "1 acceptances do not verify"),
    ("acceptances garbage", written("accepted.jsonl", b"\xff\0\n"), TOLD, "acceptances do not verify"),
    ("acceptances removed", removed("accepted.jsonl"), UNMOVED, ""),
    ("the lock of the index garbage", written("index.lock", b"99999"), UNMOVED, ""),
]


# --- the vectors ---------------------------------------------------------------

OF_WRONG = "id IN (SELECT id FROM chunks WHERE path = 'theirs/wrong.py')"


def vectors(*statements: str) -> Tamper:
    return sql(*statements, "UPDATE vector_changes SET count = count + 1")


VECTOR_CASES: list[tuple[str, Tamper, Outcome, str]] = [
    (
        "a vector",
        vectors(f"UPDATE vectors SET vector = (SELECT max(vector) FROM vectors) WHERE {OF_WRONG}"),
        FOUND,
        "vector rewritten",
    ),
    ("a vector cut off", vectors("UPDATE vectors SET vector = x'00' WHERE " + OF_WRONG), REFUSED, "damaged"),
    ("vectors of another model", vectors("UPDATE vectors SET vector = zeroblob(12)"), REFUSED, "damaged"),
    (
        "a row added",
        vectors(f"INSERT INTO vectors SELECT 'f' || id, vector, change FROM vectors WHERE {OF_WRONG}"),
        TOLD,
        "did not write",
    ),
    ("a row removed", vectors(f"DELETE FROM vectors WHERE {OF_WRONG}"), TOLD, "lacks 1 of"),
    ("all rows removed", vectors("DELETE FROM vectors"), REFUSED, "is empty"),
    (
        "rows of somebody else",
        vectors("UPDATE vectors SET id = 'x' || id"),
        REFUSED,
        "not the one of this index",
    ),
    ("the table dropped", sql("DROP TABLE vectors"), REFUSED, "no such table"),
]

CASES = CATALOG_CASES + FILE_CASES + VECTOR_CASES


def nothing_was_believed(index: Index, ranking: Ranking) -> None:
    for item in ranking.ranking:
        text = (index.corpus / item.chunk.path).read_text()
        assert item.chunk.text in text
        assert (item.trust is Trust.TRUSTED) <= item.chunk.path.startswith("ours/")
        assert item.convicted == (item.chunk.path == "theirs/wrong.py")


@pytest.mark.parametrize(
    ("tamper", "outcome", "says"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_tampering_is_not_believed(index: Index, tamper: Tamper, outcome: Outcome, says: str) -> None:
    tamper(index)
    if outcome is REFUSED:
        with pytest.raises(CodeguardError, match=says.replace("(", r"\(")) as caught:
            index.query()
        assert "\n" not in str(caught.value)
        assert "internal" not in str(caught.value)
        assert caught.value.hint or caught.value.got is not None
        return
    ranking = index.query()
    nothing_was_believed(index, ranking)
    if outcome is TOLD:
        assert says in " ".join(ranking.warnings)
        return
    if outcome is not FOUND:
        assert facts(ranking) == index.answer
        assert ranking.warnings == ()
    if outcome is FOUND:
        with contextlib.closing(Workspace(index.settings())) as workspace:
            assert any(says in kind for kind in verify(workspace, all_vectors=True).found)


def test_what_nobody_tampered_with_is_answered_without_a_word(index: Index) -> None:
    ranking = index.query()
    assert (facts(ranking), ranking.warnings) == (index.answer, ())
    assert {item.trust for item in ranking.ranking if item.chunk.path == "ours/m.py"} == {Trust.TRUSTED}
    with contextlib.closing(Workspace(index.settings())) as workspace:
        assert verify(workspace, all_vectors=True).clean


def test_the_kinds_of_tampering_are_many_and_distinct() -> None:
    names = [case[0] for case in CASES]
    assert len(names) == len(set(names)) >= 60


@pytest.mark.parametrize(
    "tamper",
    [
        written(CATALOG, b"garbage " * 999),
        removed(CATALOG),
        chunk("imports = '{'"),
        text_with_its_digest,
        meta("maker", "0" * 64),
        sql("DELETE FROM analyses WHERE key = 'unsigned'"),
        vectors("DELETE FROM vectors"),
    ],
)
def test_a_rebuild_makes_it_good(index: Index, tamper: Tamper) -> None:
    tamper(index)
    index.index(rebuild=True)
    ranking = index.query()
    assert facts(ranking) == index.answer
    assert ranking.warnings == ()
    with contextlib.closing(Workspace(index.settings())) as workspace:
        assert verify(workspace, all_vectors=True).clean
