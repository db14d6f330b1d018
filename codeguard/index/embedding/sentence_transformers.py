"""Any model of sentence-transformers, by its name or folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.errors import EmbeddingError, MissingExtraError
from codeguard.index.embedding.base import EmbeddingKind, Vectors, library_state, unit_rows


class SentenceTransformersEmbedding:
    """Embeds texts by a sentence-transformers model, with that model's own limit of tokens.

    The identity holds a digest of the model's weights, so another model under
    the same name is another embedding.
    """

    note = ""

    def __init__(self, model: str) -> None:
        """Load the model; code that comes with a model is never run. EmbeddingError where it cannot be had."""
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError(
                "sentence-transformers is not installed", extra="sentence-transformers"
            ) from error
        try:
            self._model = SentenceTransformer(model, trust_remote_code=False)
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else repr(error)
            raise EmbeddingError(f"cannot load the sentence-transformers model {model}: {reason}") from error
        self.dimension = len(self._encode(["dimension"])[0])
        digest = _weights_digest(self._model)[:12]
        self.identity = f"sentence-transformers:{Path(model).name}@{digest}/dim{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row a text."""
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return unit_rows(self._encode([text.encode("utf-8", "replace").decode() for text in texts]))

    def _encode(self, texts: list[str]) -> Vectors:
        rows: Vectors = self._model.encode(texts, show_progress_bar=False, convert_to_numpy=True)
        return rows


def _weights_digest(model: Any) -> str:
    """Return the sha256 over the bytes of all parameters, in the order of their names."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


KIND = EmbeddingKind(
    "sentence-transformers",
    open=lambda options: SentenceTransformersEmbedding(options.model),
    state=lambda options: library_state("sentence_transformers", "sentence-transformers", "any model"),
    takes_model=True,
)
