"""Embeddings: texts to unit vectors, by MiniLM, or by words alone.

Importing this package loads no model library: each is imported when an
embedding that needs it is opened.
"""

from codeguard.index.embedding.base import Embedding
from codeguard.index.embedding.choose import available_embeddings, open_embedding
from codeguard.index.embedding.lexical import LexicalEmbedding

__all__ = ["Embedding", "LexicalEmbedding", "available_embeddings", "open_embedding"]
