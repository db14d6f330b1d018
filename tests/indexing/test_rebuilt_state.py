"""The local state is lost, the server's store is not: it is rebuilt from the files, and the store is not believed."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.errors import StoreError
from codeguard.index.maintenance import verify
from codeguard.index.report import IndexReport
from codeguard.index.store import Row
from codeguard.index.store.chroma import ChromaServer
from codeguard.index.workspace import Workspace

pytestmark = pytest.mark.ci

OURS = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
THEIRS = "def multiply(a, b):\n    return a * b\n"
LIE = "def add(a, b):\n    return 'a rewritten text'\n"


@pytest.fixture
def settings(chroma_port: int, tmp_path: Path) -> Settings:
    corpus = tmp_path / "corpus"
    for name, text in (("ours/m.py", OURS), ("theirs/n.py", THEIRS)):
        (corpus / name).parent.mkdir(parents=True)
        (corpus / name).write_text(text)
    url = f"http://127.0.0.1:{chroma_port}"
    store = ChromaServer(url)
    store.delete(sorted(store.ids()))
    return Settings(
        store=url, state_dir=str(tmp_path / "state"), root=str(corpus), embedding="lexical",
        fixed_seed=b"x" * 32, jobs=1,
    )  # fmt: skip


def index(settings: Settings) -> IndexReport:
    assert settings.root is not None
    with CodeGuard.open(settings=settings, trust=[Path(settings.root, "ours")]) as guard:
        return guard.index([settings.root])


def query(settings: Settings) -> dict[str, object]:
    with CodeGuard.open(settings=settings, create=False) as guard:
        return guard.query("add two numbers").to_json()


def rewrite(settings: Settings) -> None:
    """Do what somebody does who may write the store: another text, and an entry of no file."""
    store = ChromaServer(settings.store)
    rows = store._collection.get(include=["metadatas"])
    metadatas = dict(zip(rows["ids"], rows["metadatas"], strict=True))
    (victim,) = [id_ for id_, found in metadatas.items() if found["symbol"] == "add"]
    vector = store.embeddings([victim])[victim]
    store.add(
        [
            Row(victim, LIE, metadatas[victim]),
            Row("f" * 32, LIE, {**metadatas[victim], "path": "ours/more.py"}),
        ],
        np.stack([vector, vector]),
    )


def test_a_lost_state_is_rebuilt_and_nothing_in_the_store_is_believed(settings: Settings) -> None:
    assert index(settings).warnings == ()
    before = query(settings)
    rewrite(settings)
    shutil.rmtree(settings.state)
    with pytest.raises(StoreError, match="rebuild it from the files with: codeguard index") as caught:
        query(settings)
    assert "\n" not in str(caught.value)
    report = index(settings)
    assert report.warnings == ()
    after = query(settings)
    assert after["results"] == before["results"]
    assert LIE not in str(after)
    workspace = Workspace(settings)
    found = verify(workspace, all_vectors=True)
    workspace.close()
    assert (found.clean, found.foreign) == (True, 1)


def test_a_lost_catalog_is_made_again(settings: Settings) -> None:
    index(settings)
    before = query(settings)
    for path in settings.state.glob("catalog.sqlite3*"):
        path.unlink()
    index(settings)
    assert query(settings)["results"] == before["results"]


def test_a_rebuild_with_a_server_believes_nothing_of_it_either(settings: Settings) -> None:
    index(settings)
    before = query(settings)
    rewrite(settings)
    with CodeGuard.open(settings=settings) as guard:
        report = guard.index(rebuild=True)
    assert report.warnings == ()
    after = query(settings)
    assert after["results"] == before["results"]
    assert LIE not in str(after)


@pytest.mark.slow
def test_where_no_key_can_be_kept_an_index_that_is_there_is_not_believed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    index(settings)
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "a file"))
    assert settings.root is not None
    with (
        CodeGuard.open(settings=settings, trust=[Path(settings.root, "ours")]) as guard,
        pytest.raises(StoreError, match="not of this installation"),
    ):
        guard.index([settings.root])
