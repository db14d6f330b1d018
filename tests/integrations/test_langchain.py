"""The retriever meets LangChain's own standard tests; k and mode may be given for one call, also asynchronously."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import chromadb
import pytest
from guarded_texts import CLEAN, QUERY, TRUSTED, WRONG

from codeguard.api import CodeGuard

pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")

from langchain_chroma import Chroma
from langchain_core.embeddings import FakeEmbeddings
from langchain_tests.integration_tests import RetrieversIntegrationTests

from codeguard.integrations.chroma import GuardedClient
from codeguard.integrations.langchain import CodeGuardRetriever


class TestStandard(RetrieversIntegrationTests):  # type: ignore[misc]
    """LangChain's standard tests of a retriever."""

    @pytest.fixture(autouse=True)
    def _guard(self, indexed: CodeGuard) -> None:
        self.guard = indexed

    @property
    def retriever_constructor(self) -> type[CodeGuardRetriever]:
        return CodeGuardRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {
            "guard": self.guard,
            "mode": "rerank",
        }  # the standard tests want three documents; one is wrong

    @property
    def retriever_query_example(self) -> str:
        return QUERY


def test_k_and_mode_of_one_call_and_what_documents_say(indexed: CodeGuard) -> None:
    retriever = CodeGuardRetriever(guard=indexed)
    assert [item.page_content for item in retriever.invoke(QUERY, k=1)] == [TRUSTED]
    assert [item.page_content for item in retriever.invoke(QUERY, mode="rerank")] == [TRUSTED, CLEAN, WRONG]
    first, second = asyncio.run(retriever.ainvoke(QUERY, k=2))
    assert first.metadata["score"] < second.metadata["score"]
    assert second.metadata["verdict"] == "pass"
    assert second.metadata["reasons"]


def test_a_vector_store_of_langchain_over_a_guarded_client(indexed: CodeGuard, tmp_path: Path) -> None:
    store = Chroma(
        client=GuardedClient(chromadb.PersistentClient(str(tmp_path)), indexed),
        collection_name="snippets",
        embedding_function=FakeEmbeddings(size=4),
    )
    said = [{"source": name} for name in ("trusted", "wrong", "clean")]
    store.add_texts([TRUSTED, WRONG, CLEAN], said, [item["source"] for item in said])
    for found in (store.similarity_search(QUERY, k=3), store.max_marginal_relevance_search(QUERY, k=3)):
        assert {item.page_content for item in found} == {TRUSTED, CLEAN}
    assert {item.page_content for item in store.get_by_ids(["wrong", "clean"])} == {CLEAN}
    with pytest.raises(AttributeError):
        store._client.reset()
    store.delete_collection()


def test_questions_at_once_get_their_own_answers(indexed: CodeGuard) -> None:
    retriever = CodeGuardRetriever(guard=indexed)

    async def ask() -> list[Any]:
        return await asyncio.gather(*(retriever.ainvoke(QUERY, k=k) for k in (1, 2, 1, 2)))

    assert [len(found) for found in asyncio.run(ask())] == [1, 2, 1, 2]
