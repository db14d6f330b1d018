"""Somebody rewrites the Chroma store behind codeguard's back: no trust is gained, rewritten text is told."""

import copy
import shutil
import sqlite3

import chromadb
import pytest
from chromadb.config import Settings as ChromaSettings
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.index.store import COLLECTION
from codeguard.index.workspace import VECTORS
from codeguard.models import Trust
from codeguard.trust.installation import installation_key, mark
from codeguard.trust.state_files import StateFolder

OURS = '''"""Arithmetic."""


def add(a, b):
    """Add two numbers.

    >>> add(2, 3)
    5
    """
    return a + b


def subtract(a, b):
    """Subtract two numbers.

    >>> subtract(5, 3)
    2
    """
    return a - b
'''
THEIRS = 'def add(a, b):\n    """How to add two numbers."""\n    return a - b\n'
QUERY = "how to add two numbers"


class Store:
    """An index of two files, closed, and its Chroma collection opened by somebody else."""

    def __init__(self, base):
        self.base, self.state = base, base / "state"
        for name, text in {"ours/m.py": OURS, "theirs/wrong.py": THEIRS}.items():
            place = base / "corpus" / name
            place.parent.mkdir(parents=True)
            place.write_text(text)
        with self.guard() as guard:
            guard.index([base / "corpus"])
            ranking = guard.query(QUERY)
        self.ids = {(item.chunk.path, item.chunk.symbol): item.id for item in ranking.ranking}
        self.ours = self.ids["ours/m.py", "add"]
        self.theirs = self.ids["theirs/wrong.py", "add"]

    @property
    def folder(self):
        return self.state / VECTORS

    def guard(self):
        settings = lexical_settings(self.base / "corpus", self.state)
        return CodeGuard.open(settings=settings, trust=[self.base / "corpus" / "ours"])

    def rewrite(self, change):
        settings = ChromaSettings(_env_file=None, anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(self.folder), settings=settings)
        change(client.get_collection(COLLECTION))
        client.clear_system_cache()

    def query(self):
        with self.guard() as guard:
            return guard.query(QUERY)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("config")
        patch.setenv("XDG_CONFIG_HOME", str(home))
        yield Store(tmp_path_factory.mktemp("store")), home


@pytest.fixture
def store(made, tmp_path, monkeypatch):
    """A copy of the index of its own for each test, under the same user."""
    original, home = made
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    mine = copy.copy(original)
    mine.state = tmp_path / "state"
    shutil.copytree(original.state, mine.state)
    with StateFolder(mine.state) as folder:
        mark(folder, installation_key())
    return mine


def vector_of(collection, id_):
    return collection.get(ids=[id_], include=["embeddings"])["embeddings"]


def metadata(store, collection):
    everything = {
        "trust": "trusted",
        "path": "ours/m.py",
        "trusted": True,
        "penalty": -9.0,
        "convicted": False,
    }
    collection.update(ids=[store.theirs], metadatas=[everything])


def write(collection, id_, text):
    """Exchange a document and leave its vector as it is."""
    collection.update(ids=[id_], documents=[text], embeddings=vector_of(collection, id_))


def document(store, collection):
    write(collection, store.ours, THEIRS)


def document_of_theirs(store, collection):
    write(collection, store.theirs, OURS)


def all_documents(store, collection):
    for id_ in collection.get()["ids"]:
        write(collection, id_, THEIRS)


def new_ids(store, collection):
    vector = vector_of(collection, store.theirs)
    for id_ in ("ours/m.py", "ours/m.py::add", "x" * 32):
        collection.add(ids=[id_], documents=[THEIRS], embeddings=vector, metadatas=[{"path": "ours/m.py"}])


def ids_swapped(store, collection):
    """The poison under the id of the trusted function, and the other way round."""
    one, two = vector_of(collection, store.ours), vector_of(collection, store.theirs)
    collection.delete(ids=[store.ours, store.theirs])
    collection.add(ids=[store.ours], documents=[THEIRS], embeddings=two, metadatas=[{"path": "ours/m.py"}])
    collection.add(ids=[store.theirs], documents=[OURS], embeddings=one, metadatas=[{"path": "ours/m.py"}])


def trusted_removed(store, collection):
    collection.delete(ids=[store.ours])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (metadata, None),
        (document, "text of ours/m.py:4 was rewritten"),
        (document_of_theirs, "text of theirs/wrong.py:1 was rewritten"),
        (all_documents, "text of ours/m.py:4 was rewritten"),
        (new_ids, "holds entries that codeguard did not write"),
        (ids_swapped, "text of ours/m.py:4 was rewritten"),
        (trusted_removed, None),
    ],
)
def test_a_rewritten_store_gains_no_trust(store, change, told):
    store.rewrite(lambda collection: change(store, collection))
    ranking = store.query()
    for item in ranking.ranking:
        is_ours = item.chunk.path == "ours/m.py"
        assert (item.trust is Trust.TRUSTED) is is_ours
        assert item.chunk.text in (OURS if is_ours else THEIRS)
    poison = [item for item in ranking.ranking if item.chunk.path == "theirs/wrong.py"]
    assert all(item.convicted for item in poison)
    if told is not None:
        assert any(told in line for line in ranking.warnings), ranking.warnings


@pytest.mark.parametrize("space", ["ip", "l2"])
def test_a_collection_with_another_measure_is_told_and_ranks_nothing_higher(store, space):
    """Under the inner product a vector a thousand times as long is nearer than any that codeguard writes."""

    def anew(client):
        old = client.get_collection(COLLECTION)
        rows = old.get(include=["documents", "metadatas", "embeddings"])
        lengths = [1000.0 if id_ == store.theirs else 1.0 for id_ in rows["ids"]]
        client.delete_collection(COLLECTION)
        made = client.create_collection(
            COLLECTION, embedding_function=None, configuration={"hnsw": {"space": space}}
        )
        made.add(
            ids=rows["ids"],
            documents=rows["documents"],
            metadatas=rows["metadatas"],
            embeddings=[row * length for row, length in zip(rows["embeddings"], lengths, strict=True)],
        )

    before = {item.id: item.distance for item in store.query().ranking}
    settings = ChromaSettings(_env_file=None, anonymized_telemetry=False)
    client = chromadb.PersistentClient(path=str(store.folder), settings=settings)
    anew(client)
    client.clear_system_cache()
    ranking = store.query()
    assert any("distances that are not those of its vectors" in line for line in ranking.warnings)
    assert {item.id: item.distance for item in ranking.ranking}[store.theirs] == pytest.approx(
        before[store.theirs], abs=1e-4
    )


def test_a_document_rewritten_in_the_files_of_the_store_is_told(store):
    """Not even by way of Chroma: a row of its SQLite database is exchanged."""
    with sqlite3.connect(store.folder / "chroma.sqlite3") as database:
        changed = database.execute(
            "update embedding_metadata set string_value = ? where key = 'chroma:document' and string_value like ?",
            (THEIRS, "def add(a, b):%Add two numbers%>>>%"),
        )
        assert changed.rowcount == 1
    database.close()
    ranking = store.query()
    assert any("text of ours/m.py:4 was rewritten" in line for line in ranking.warnings)
    assert next(item for item in ranking.ranking if item.id == store.ours).trust is Trust.TRUSTED
    assert THEIRS not in {item.chunk.text for item in ranking.ranking if item.trust is Trust.TRUSTED}
