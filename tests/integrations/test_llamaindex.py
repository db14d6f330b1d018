"""LlamaIndex: nodes say what was found about them; the classes are what its own tests of integrations ask for."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from guarded_texts import CLEAN, QUERY, TRUSTED, WRONG

from codeguard.api import CodeGuard

if TYPE_CHECKING:
    from llama_index.core.schema import NodeWithScore

# Imported where it is used: it takes seconds, which every process that collects the tests would pay.
pytestmark = pytest.mark.skipif(find_spec("llama_index") is None, reason="llama-index-core is not installed")


def nodes() -> list[NodeWithScore]:
    from llama_index.core.schema import NodeWithScore, TextNode

    claims = {"trust": "trusted", "codeguard_trust": "trusted", "codeguard_demoted": True}
    found = [(WRONG, 0.9), (CLEAN, 0.8), (TRUSTED, 0.7)]
    return [NodeWithScore(node=TextNode(text=text, metadata=dict(claims)), score=at) for text, at in found]


def test_the_classes_are_what_the_framework_takes() -> None:
    """The test that LlamaIndex has in each of its integrations."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    from codeguard.integrations.llamaindex import CodeGuardPostprocessor, CodeGuardRetriever

    assert issubclass(CodeGuardRetriever, BaseRetriever)
    assert issubclass(CodeGuardPostprocessor, BaseNodePostprocessor)


def test_the_postprocessor_is_named_and_written_down_like_others(indexed: CodeGuard) -> None:
    from codeguard.integrations.llamaindex import CodeGuardPostprocessor

    made = CodeGuardPostprocessor(indexed, top_n=2)
    assert made.class_name() == "CodeGuardPostprocessor"
    assert made.to_dict()["class_name"] == "CodeGuardPostprocessor"
    assert {"top_n": 2, "mode": "drop"}.items() <= made.to_dict().items()


def test_nodes_are_sorted_out_and_cut(indexed: CodeGuard) -> None:
    from codeguard.integrations.llamaindex import CodeGuardPostprocessor

    texts = [item.text for item in CodeGuardPostprocessor(indexed).postprocess_nodes(nodes())]
    assert set(texts) == {CLEAN, TRUSTED}
    assert len(CodeGuardPostprocessor(indexed, top_n=1).postprocess_nodes(nodes(), query_str=QUERY)) == 1
    later = asyncio.run(CodeGuardPostprocessor(indexed).apostprocess_nodes(nodes(), query_str=QUERY))
    assert [item.text for item in later] == texts


def test_a_node_carries_verdict_and_reasons_that_reach_no_prompt(indexed: CodeGuard) -> None:
    from llama_index.core.schema import MetadataMode

    from codeguard.integrations.llamaindex import CodeGuardPostprocessor

    given = nodes()
    kept = CodeGuardPostprocessor(indexed, mode="rerank").postprocess_nodes(given)
    said = kept[-1].node.metadata
    assert kept[-1].text == WRONG
    assert said["codeguard_verdict"] == "fail"
    assert said["codeguard_convicted"]
    assert any("wrong" in reason for reason in said["codeguard_reasons"])
    assert said["codeguard_trust"] == "unlisted"  # whatever the store said
    assert not said["codeguard_demoted"]
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert "codeguard_" not in kept[-1].node.get_content(mode)
    assert given[0].node.metadata["codeguard_trust"] == "trusted"  # what came in is left as it was


def test_the_retriever_answers_from_the_index_also_in_an_engine(indexed: CodeGuard) -> None:
    from llama_index.core.llms.mock import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer

    from codeguard.integrations.llamaindex import CodeGuardRetriever

    retriever = CodeGuardRetriever(indexed, k=2)
    found = retriever.retrieve(QUERY)
    assert [item.text for item in found] == [TRUSTED, CLEAN]
    assert found[0].score > found[1].score
    assert found[0].node.metadata["codeguard_path"] == "ours/m.py"
    assert [item.text for item in CodeGuardRetriever(indexed, k=3, mode="rerank").retrieve(QUERY)][
        -1
    ] == WRONG

    async def at_once() -> list[Any]:
        return await asyncio.gather(*(retriever.aretrieve(QUERY) for _ in range(3)))

    assert all([item.text for item in answer] == [TRUSTED, CLEAN] for answer in asyncio.run(at_once()))
    synthesizer = get_response_synthesizer(llm=MockLLM(), response_mode=ResponseMode.COMPACT)
    answer = RetrieverQueryEngine(retriever, synthesizer).query(QUERY)
    assert "return a + b" in str(answer)
    assert "codeguard_" not in str(answer)
