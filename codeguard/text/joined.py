"""Two embeddings side by side: what a text means, and which words and spellings it is made of.

A sentence embedding puts "you have won" and "you won the match" close
together; spam filters live on the spelling that tells them apart. Joined,
each makes good what the other misses (measured in docs/text.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codeguard.index.embedding import Embedding, LexicalEmbedding, open_embedding
from codeguard.index.embedding.base import Vectors, unit_rows


class JoinedEmbedding:
    """The rows of two embeddings next to each other, so that cosines are the mean of the two cosines."""

    def __init__(self, first: Embedding, second: Embedding) -> None:
        """Take the two embeddings; each counts for one half."""
        self._parts = (first, second)
        self.identity = f"{first.identity}+{second.identity}"
        self.dimension = first.dimension + second.dimension
        self.note = first.note or second.note

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension), every row of length 1."""
        return unit_rows(np.hstack([part.embed(texts) for part in self._parts]))


def label_embedding(name: str = "auto") -> Embedding:
    """Open an embedding by name, joined with the lexical one unless it is that one already.

    Raises:
        EmbeddingError: the name is unknown or its model is not installed.
    """
    chosen = open_embedding(name)
    if isinstance(chosen, LexicalEmbedding):
        return chosen
    return JoinedEmbedding(chosen, LexicalEmbedding())
