"""What words mean, as vectors: a word that no example has gets its weight from words that mean nearly the same.

The vectors are the word embeddings of all-MiniLM-L6-v2, which the index uses
too. They serve in training alone: what is written is one number a word.
"""

from __future__ import annotations

import json
import re

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.rules.injection.features import STEM
from codeguard.index.embedding.minilm import first_loaded

DIMENSIONS = 96
_WORD = re.compile("[a-z]{2,}")


def senses() -> dict[str, NDArray[np.float32]]:
    """Return a vector of `DIMENSIONS` for each stem of an English word, the mean over its words."""
    loaded = first_loaded()
    table = next(tensor for name, tensor in loaded.tensors.items() if "word_embeddings" in name)
    vocabulary = json.loads(loaded.tokenizer)["model"]["vocab"]
    words = {word: number for word, number in vocabulary.items() if _WORD.fullmatch(word)}
    vectors = np.asarray(table)[list(words.values())].astype(np.float32)
    vectors -= vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors[::4], full_matrices=False)
    vectors = vectors @ axes[:DIMENSIONS].T
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stems: dict[str, list[NDArray[np.float32]]] = {}
    for word, vector in zip(words, vectors, strict=True):
        stems.setdefault(word[:STEM], []).append(vector)
    return {stem: np.mean(found, axis=0) for stem, found in stems.items()}
