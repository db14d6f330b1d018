"""Somebody rewrites the collection on a Chroma server: no trust is gained, rewritten text is told."""

from contextlib import suppress

import chromadb
import pytest
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.index.store.chroma import COLLECTION
from codeguard.models import Trust

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
    """An index of two files, closed, and its collection opened by somebody else."""

    def __init__(self, base, port):
        self.base = base
        self.client = chromadb.HttpClient(port=port)
        with suppress(Exception):  # of the test before
            self.client.delete_collection(COLLECTION)
        self.settings = lexical_settings(base / "corpus", base / "state").replace(
            store=f"http://127.0.0.1:{port}", state_dir=str(base / "state")
        )
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

    def guard(self):
        return CodeGuard.open(settings=self.settings, trust=[self.base / "corpus" / "ours"])

    def rewrite(self, change):
        change(self.client.get_collection(COLLECTION))

    def query(self):
        with self.guard() as guard:
            return guard.query(QUERY)


@pytest.fixture
def store(tmp_path, chroma_port):
    return Store(tmp_path, chroma_port)


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
    anew(store.client)
    ranking = store.query()
    assert any("distances that are not those of its vectors" in line for line in ranking.warnings)
    assert {item.id: item.distance for item in ranking.ranking}[store.theirs] == pytest.approx(
        before[store.theirs], abs=1e-4
    )
