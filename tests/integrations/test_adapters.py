"""LangChain, LlamaIndex and MCP: what is wrong does not reach the model; a missing package is named."""

import asyncio
import importlib
import sys

import pytest
from guarded_texts import CLEAN, QUERY, TRUSTED, WRONG

from codeguard.errors import MissingExtraError
from codeguard.guard import CodeGuard


@pytest.fixture
def fresh_modules(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in [name for name in sys.modules if name.startswith("codeguard.integrations.")]:
        monkeypatch.delitem(sys.modules, name)
    return monkeypatch


@pytest.mark.parametrize(
    ("module", "package"), [("langchain", "langchain_core"), ("llamaindex", "llama_index"), ("mcp", "mcp")]
)
def test_a_missing_package_is_named_with_its_extra(
    fresh_modules: pytest.MonkeyPatch, module: str, package: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        fresh_modules.delitem(sys.modules, name)
    fresh_modules.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"codeguard\[{module}\]"):
        importlib.import_module(f"codeguard.integrations.{module}")


def test_langchain_retrieves_what_holds(indexed: CodeGuard) -> None:
    pytest.importorskip("langchain_core")
    from codeguard.integrations.langchain import CodeGuardRetriever

    found = CodeGuardRetriever(guard=indexed, k=3).invoke(QUERY)
    assert [item.page_content for item in found] == [TRUSTED, CLEAN]
    assert found[0].metadata["trust"] == "trusted"
    kept = CodeGuardRetriever(guard=indexed, k=3, mode="rerank").invoke(QUERY)
    assert kept[-1].page_content == WRONG


def test_llamaindex_postprocesses_nodes(indexed: CodeGuard) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeWithScore, TextNode

    from codeguard.integrations.llamaindex import CodeGuardPostprocessor

    nodes = [
        NodeWithScore(node=TextNode(text=text, metadata={"trust": "trusted"}), score=score)
        for text, score in ((WRONG, 0.9), (CLEAN, 0.8), (TRUSTED, 0.7))
    ]
    texts = [item.text for item in CodeGuardPostprocessor(indexed).postprocess_nodes(nodes)]
    assert WRONG not in texts
    assert set(texts) == {CLEAN, TRUSTED}
    assert len(CodeGuardPostprocessor(indexed, top_n=1).postprocess_nodes(nodes)) == 1
    kept = CodeGuardPostprocessor(indexed, mode="rerank").postprocess_nodes(nodes)
    assert [item.text for item in kept][-1] == WRONG


def test_mcp_serves_what_holds(indexed: CodeGuard) -> None:
    pytest.importorskip("mcp.server.mcpserver")
    from mcp import Client

    from codeguard.integrations.mcp import make_server

    async def ask() -> list[object]:
        async with Client(make_server(indexed)) as client:
            tools = await client.list_tools()
            answer = await client.call_tool("search_code", {"query": QUERY, "k": 5})
            refused = await client.call_tool("search_code", {"query": " "})
            return [tools, answer, refused]

    tools, answer, refused = asyncio.run(ask())
    assert [tool.name for tool in tools.tools] == ["search_code"]  # type: ignore[attr-defined]
    content = answer.structured_content  # type: ignore[attr-defined]
    assert [item["text"] for item in content["results"]] == [TRUSTED, CLEAN]
    assert content["left_out"] == 1
    assert content["results"][0]["trust"] == "trusted"
    assert refused.is_error  # type: ignore[attr-defined]
    assert "1 to" in refused.content[0].text  # type: ignore[attr-defined]
