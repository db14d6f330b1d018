"""The retriever meets LangChain's own standard tests; k and mode may be given for one call, also asynchronously."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from guarded_texts import CLEAN, QUERY, TRUSTED, WRONG

from codeguard.api import CodeGuard

pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")

from langchain_tests.integration_tests import RetrieversIntegrationTests

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


def test_questions_at_once_get_their_own_answers(indexed: CodeGuard) -> None:
    retriever = CodeGuardRetriever(guard=indexed)

    async def ask() -> list[Any]:
        return await asyncio.gather(*(retriever.ainvoke(QUERY, k=k) for k in (1, 2, 1, 2)))

    assert [len(found) for found in asyncio.run(ask())] == [1, 2, 1, 2]
