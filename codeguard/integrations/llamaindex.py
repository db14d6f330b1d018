"""For LlamaIndex: a retriever over a guarded index, and a postprocessor for the nodes of other retrievers.

Extra `llamaindex`. Nodes carry the results about them in metadata keys that begin with `codeguard_`.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from codeguard.api import CodeGuard
from codeguard.errors import MissingExtraError
from codeguard.integrations.documents import (
    DocumentJudge,
    Retrieval,
    StoredText,
    location_metadata,
    verdict_of,
)
from codeguard.ranking.reranking import Ranked

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtraError("llama-index-core is not installed", extra="llamaindex") from error

PREFIX = "codeguard_"


class CodeGuardPostprocessor(BaseNodePostprocessor):
    """Reorders nodes by the evidence about their texts and, in mode "drop", removes those that fail.

    Let the retriever fetch about three times as many nodes as needed; `top_n` trims the rest.
    """

    top_n: int | None = None
    mode: str = "drop"
    _judge: DocumentJudge = PrivateAttr()
    _alone: Any = PrivateAttr(default_factory=threading.Lock)  # LlamaIndex calls from several threads

    def __init__(
        self, guard: CodeGuard | None = None, *, judge: DocumentJudge | None = None, **fields: Any
    ) -> None:
        super().__init__(**fields)
        self._judge = judge or DocumentJudge(guard, mode=self.mode)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex serializes."""
        return "CodeGuardPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        documents = [
            StoredText(
                id=str(place),  # two nodes may share an id
                text=node.node.get_content(metadata_mode=MetadataMode.NONE),
                distance=None if node.score is None else -float(node.score),
                metadata=node.node.metadata,
            )
            for place, node in enumerate(nodes)
        ]
        with self._alone:
            retained = self._judge.judge(documents).retained
        kept = [(nodes[int(item.id)].model_copy(deep=True), item) for item in retained[: self.top_n]]
        for node, item in kept:
            _judged(node.node, item)
        return [node for node, _ in kept]


class CodeGuardRetriever(BaseRetriever):
    """Retrieves the chunks of a guarded index that pass, one per file; mode "drop" by default."""

    def __init__(self, guard: CodeGuard, *, k: int = 5, mode: str = "drop", **fields: Any) -> None:
        super().__init__(**fields)
        self._retrieval, self._k, self._mode = Retrieval(guard), k, mode

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._retrieval.ask(query_bundle.query_str, self._k, self._mode)
        return [
            # LlamaIndex expects the best node to have the highest score.
            NodeWithScore(node=_judged(TextNode(id_=item.id, text=item.chunk.text), item), score=-item.score)
            for item in found
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _judged(node: BaseNode, item: Ranked) -> BaseNode:
    """Return the node with the results in metadata that reach neither a prompt nor an embedding."""
    chunk = item.chunk
    if chunk.masked:
        node.set_content(chunk.text)
    # Values that a node already has under these names are not ours.
    node.metadata = {key: value for key, value in node.metadata.items() if not key.startswith(PREFIX)}
    said = verdict_of(item) | {"masked": chunk.masked} | (location_metadata(item) if chunk.path else {})
    named = {f"{PREFIX}{key}": value for key, value in said.items()}
    node.metadata |= named
    node.excluded_llm_metadata_keys = [*node.excluded_llm_metadata_keys, *named]
    node.excluded_embed_metadata_keys = [*node.excluded_embed_metadata_keys, *named]
    return node
