"""A LangChain retriever over a guarded index (extra `langchain`)."""

from __future__ import annotations

from typing import Any

from codeguard.errors import MissingExtraError
from codeguard.guard import CodeGuard
from codeguard.rerank import Ranked

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise MissingExtraError("langchain-core is not installed", extra="langchain") from error


class CodeGuardRetriever(BaseRetriever):
    """Retrieves the chunks that hold, one a file; in mode "drop" unless told otherwise."""

    guard: Any  # an open CodeGuard; pydantic knows no such type
    k: int = 5
    mode: str = "drop"

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        guard: CodeGuard = self.guard
        return [_document(item) for item in guard.query(query, self.k, mode=self.mode).results]


def _document(item: Ranked) -> Document:
    facts = item.to_json()
    text = facts.pop("text")
    kept = (
        "path",
        "symbol",
        "kind",
        "start_line",
        "end_line",
        "sha256",
        "trust",
        "verdict",
        "penalty",
        "score",
    )
    return Document(page_content=text, id=item.id, metadata={key: facts[key] for key in kept})
