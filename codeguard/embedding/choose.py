"""Open an embedding by name, and list which can be opened here."""

from __future__ import annotations

from pathlib import Path

from codeguard.embedding.base import Embedding, EmbeddingInfo
from codeguard.embedding.lexical import LexicalEmbedding
from codeguard.errors import EmbeddingError


def open_embedding(name: str = "auto", *, model_dir: Path | None = None) -> Embedding:
    """Return the embedding of that name; EmbeddingError where it is unknown or cannot be used."""
    if name in {"auto", "lexical"}:
        return LexicalEmbedding()
    raise EmbeddingError("unknown embedding", got=repr(name), expected="auto or lexical")


def available_embeddings() -> tuple[EmbeddingInfo, ...]:
    """Return every kind of embedding, with where it was found or why it cannot be used."""
    return (EmbeddingInfo("lexical", True, "built in"),)
