"""Chroma's default embedding function, for stores that were made with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codeguard.errors import EmbeddingError, MissingExtraError
from codeguard.index.chroma_import import import_chromadb
from codeguard.index.embedding.base import EmbeddingKind, Vectors, library_state, unit_rows

DIMENSION = 384
BATCH = 256  # texts handed over at a time


class ChromaEmbedding:
    """Embeds texts the way Chroma does where it is given no embedding function.

    Chroma downloads its model into its own cache when it is first used.
    """

    dimension = DIMENSION
    note = "chroma's function pads every text to 256 tokens: minilm gives the same vectors faster"

    def __init__(self) -> None:
        """Load Chroma; EmbeddingError where it is not installed."""
        try:
            import_chromadb()
            from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2
        except ImportError as error:
            raise MissingExtraError("chromadb is not installed", "index") from error
        self._function = ONNXMiniLM_L6_V2(preferred_providers=["CPUExecutionProvider"])
        self.identity = f"chroma:{self._function.name()}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row a text; EmbeddingError where Chroma cannot get its model."""
        rows = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            batch = [text.encode("utf-8", "replace").decode() for text in texts[start : start + BATCH]]
            try:
                rows[start : start + len(batch)] = self._function(batch)
            except Exception as error:
                reason = str(error).splitlines()[0] if str(error) else repr(error)
                raise EmbeddingError(
                    f"Chroma's embedding function failed: {reason}",
                    hint="it downloads its model when first used; use minilm or lexical offline",
                ) from error
        return unit_rows(rows)


KIND = EmbeddingKind(
    "chroma",
    open=lambda options: ChromaEmbedding(),
    state=lambda options: library_state(
        "chromadb", "index", "its own function, which downloads a model when first used"
    ),
)
