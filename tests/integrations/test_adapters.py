"""LangChain, LlamaIndex and MCP: what is wrong does not reach the model; a missing package is named."""

import importlib
import sys

import pytest
from guarded_texts import CLEAN, QUERY, TRUSTED, WRONG

from codeguard.api import CodeGuard
from codeguard.errors import MissingExtraError


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
    with pytest.raises(MissingExtraError, match=rf"codeguard-rag\[{module}\]"):
        importlib.import_module(f"codeguard.integrations.{module}")


def test_langchain_retrieves_what_holds(indexed: CodeGuard) -> None:
    pytest.importorskip("langchain_core")
    from codeguard.integrations.langchain import CodeGuardRetriever

    found = CodeGuardRetriever(guard=indexed, k=3).invoke(QUERY)
    assert [item.page_content for item in found] == [TRUSTED, CLEAN]
    assert found[0].metadata["trust"] == "trusted"
    kept = CodeGuardRetriever(guard=indexed, k=3, mode="rerank").invoke(QUERY)
    assert kept[-1].page_content == WRONG
