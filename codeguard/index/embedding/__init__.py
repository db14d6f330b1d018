"""Embeddings: texts to unit vectors, by MiniLM, or by words alone. Opened by name; which of them can be opened here.

Importing this package loads no model library: each is imported when an
embedding that needs it is opened.
"""

from __future__ import annotations

from importlib.util import find_spec

from codeguard.errors import EmbeddingError, MissingExtraError
from codeguard.extras import installation, requirement
from codeguard.index.embedding.base import Embedding, EmbeddingInfo
from codeguard.index.embedding.lexical import LexicalEmbedding

__all__ = ["Embedding", "LexicalEmbedding", "available_embeddings", "open_embedding"]

DEFAULT = "static"  # what `auto` is for code
LOCAL = (DEFAULT, "minilm", "lexical")


def open_embedding(name: str = "auto", *, prose: bool = False) -> Embedding:
    """Return the embedding of that name; EmbeddingError where it is unknown or cannot be used.

    `auto` is `static`, which was trained on code. For `prose` it is `minilm`
    where its weights and tokenizers are found, else `lexical` with a note on
    how to get the other.
    """
    if name == "auto" and prose:
        try:
            return open_embedding("minilm")
        except (EmbeddingError, MissingExtraError) as error:
            return LexicalEmbedding(note=f"embedding by words alone: {error}")
    match DEFAULT if name == "auto" else name:  # no other one's libraries are imported
        case "static":
            from codeguard.index.embedding.static import StaticEmbedding

            return StaticEmbedding()
        case "minilm":
            from codeguard.index.embedding.minilm import MiniLMEmbedding

            return MiniLMEmbedding()
        case "lexical":
            return LexicalEmbedding()
    known = ", ".join(("auto", *LOCAL))
    raise EmbeddingError("unknown embedding", got=repr(name), expected=f"one of {known}")


def available_embeddings() -> tuple[EmbeddingInfo, ...]:
    """Return every kind of embedding, with where it was found or why it cannot be used.

    MiniLM's files are read and verified for it (90 MB); no model is started.
    """
    from codeguard.index.embedding.weights import first_loaded

    try:
        minilm, detail = True, f"weights in {first_loaded().place}"
    except EmbeddingError as error:
        minilm, detail = False, str(error)
    if minilm and find_spec("tokenizers") is None:
        minilm, detail = False, f"{detail}, but tokenizers is missing; {installation(requirement('minilm'))}"
    return (
        EmbeddingInfo("static", True, "ours, trained on code; part of the package"),
        EmbeddingInfo("minilm", minilm, detail),
        EmbeddingInfo("lexical", True, "built in, needs no model"),
    )
