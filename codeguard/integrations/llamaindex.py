"""A LlamaIndex postprocessor that judges whatever a retriever found (extra `llamaindex`)."""

from __future__ import annotations

from typing import Any

from codeguard.errors import MissingExtraError
from codeguard.guard import CodeGuard
from codeguard.integrations.documents import Document, DocumentJudge

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError as error:
    raise MissingExtraError("llama-index-core is not installed", extra="llamaindex") from error


class CodeGuardPostprocessor(BaseNodePostprocessor):
    """Reorders nodes by the evidence about their texts and, in mode "drop", leaves out what does not hold.

    Have the retriever fetch some three times the nodes that are wanted:
    `top_n` cuts the rest off again.
    """

    top_n: int | None = None
    mode: str = "drop"
    _judge: DocumentJudge = PrivateAttr()

    def __init__(
        self, guard: CodeGuard | None = None, *, judge: DocumentJudge | None = None, **fields: Any
    ) -> None:
        super().__init__(**fields)
        self._judge = judge or DocumentJudge(guard, mode=self.mode)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex writes down."""
        return "CodeGuardPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        documents = [
            Document(
                id=str(place),  # two nodes may have one id
                text=node.node.get_content(metadata_mode=MetadataMode.NONE),
                distance=None if node.score is None else -float(node.score),
                metadata=node.node.metadata,
            )
            for place, node in enumerate(nodes)
        ]
        retained = self._judge.judge(documents).retained
        return [nodes[int(item.id)] for item in retained[: self.top_n]]
