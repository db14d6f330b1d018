"""Secrets in a store that codeguard did not write are masked in what the drop-ins return."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from codeguard.integrations.documents import MASKED, DocumentJudge, StoredText

TOKEN = "ghp_" + "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=36))
TEXT = f'TOKEN = "{TOKEN}"\n\n\ndef twice(number):\n    return 2 * number\n'


def test_a_judged_document() -> None:
    (kept,) = DocumentJudge(mode="rerank").judge([StoredText("1", TEXT)]).retained
    assert TOKEN not in kept.chunk.text
    assert kept.chunk.masked
    assert kept.to_json()["masked"] is True


def test_a_guarded_collection(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    from codeguard.integrations.chroma import GuardedCollection

    client = chromadb.PersistentClient(tmp_path / "chroma")
    collection = client.create_collection("masked", embedding_function=None)
    collection.add(ids=["a", "b"], embeddings=[[1.0, 0.0], [0.0, 1.0]], documents=[TEXT, "twice two\n"])
    guarded = GuardedCollection(collection, mode="rerank")
    for answer in (guarded.get(), guarded.peek()):
        assert TOKEN not in str(answer)
    shown = guarded.query(query_embeddings=[[1.0, 0.0]], n_results=2)
    assert TOKEN not in str(shown)
    assert [bool((row or {}).get(MASKED)) for row in shown["metadatas"][0]] == [True, False]
    client.delete_collection("masked")


def test_a_llamaindex_node() -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeWithScore, TextNode

    from codeguard.integrations.llamaindex import CodeGuardPostprocessor

    node = NodeWithScore(node=TextNode(text=TEXT), score=0.5)
    (shown,) = CodeGuardPostprocessor(mode="rerank").postprocess_nodes([node])
    assert TOKEN not in shown.node.get_content()
    assert shown.node.metadata[MASKED] is True
    assert TOKEN in node.node.get_content()  # the store's own object is left as it is
