"""A LangChain retriever over a guarded index (extra `langchain`)."""

from __future__ import annotations

import asyncio
from typing import Any

from codeguard.errors import MissingExtraError
from codeguard.integrations.documents import Retrieval, location_metadata, verdict_of

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import PrivateAttr
except ImportError as error:
    raise MissingExtraError("langchain-core is not installed", extra="langchain") from error


class CodeGuardRetriever(BaseRetriever):
    """Retrieves the chunks that pass, one per file; mode "drop" by default.

    `k` and `mode` may be given for a single call: `retriever.invoke("…", k=3)`.
    """

    guard: Any  # an open CodeGuard, which pydantic has no type for
    k: int = 5
    mode: str = "drop"
    _retrieval: Retrieval = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Create the object that queries the guard."""
        self._retrieval = Retrieval(self.guard)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        mode: str | None = None,
    ) -> list[Document]:
        found = self._retrieval.ask(query, self.k if k is None else k, mode or self.mode)
        return [
            Document(
                page_content=item.chunk.text, id=item.id, metadata=location_metadata(item) | verdict_of(item)
            )
            for item in found
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **chosen: Any
    ) -> list[Document]:
        """Query in a thread, so that the event loop is not blocked."""
        ask, manager = self._get_relevant_documents, run_manager.get_sync()
        return await asyncio.to_thread(ask, query, run_manager=manager, **chosen)
