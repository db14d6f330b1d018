"""all-MiniLM-L6-v2 in numpy: BERT (Devlin et al., 2019) with six layers and mean pooling.

As sentence-transformers runs it. Every text of a batch has the same number of tokens, so there is no padding, no
attention mask, and nothing that one text could do to another. The tensors have the names and the layout of the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

GRAPH_VERSION = 1  # raise it whenever a result may change by more than rounding
LAYERS, HIDDEN, HEADS = 6, 384, 12
HEAD = HIDDEN // HEADS
EPSILON = 1e-12

Array = NDArray[np.float32]


def run_bert(weights: Mapping[str, Array], ids: NDArray[np.int64]) -> Array:
    """Return the mean of the last layer's tokens, shape (batch, 384), for token numbers of shape (batch, length)."""
    batch, length = ids.shape
    tokens = weights["embeddings.word_embeddings.weight"][ids]
    tokens += weights["embeddings.position_embeddings.weight"][:length]
    tokens += weights["embeddings.token_type_embeddings.weight"][0]  # every token is of the first segment
    tokens = _normalised(tokens.reshape(-1, HIDDEN), weights, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        attended = _attention(tokens, weights, f"{name}attention.self.", batch)
        attended = _linear(attended, weights, f"{name}attention.output.dense")
        tokens = _normalised(attended + tokens, weights, f"{name}attention.output.LayerNorm")
        wide = _gelu(_linear(tokens, weights, f"{name}intermediate.dense"))
        narrow = _linear(wide, weights, f"{name}output.dense")
        tokens = _normalised(narrow + tokens, weights, f"{name}output.LayerNorm")
    means: Array = tokens.reshape(batch, length, HIDDEN).mean(axis=1)
    return means


def _linear(rows: Array, weights: Mapping[str, Array], name: str) -> Array:
    return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _normalised(rows: Array, weights: Mapping[str, Array], name: str) -> Array:
    centred: Array = rows - rows.mean(axis=1, keepdims=True)
    centred /= np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(EPSILON))
    centred *= weights[f"{name}.weight"]
    centred += weights[f"{name}.bias"]
    return centred


def _attention(tokens: Array, weights: Mapping[str, Array], name: str, batch: int) -> Array:
    query, key, value = (
        _linear(tokens, weights, name + part).reshape(batch, -1, HEADS, HEAD).transpose(0, 2, 1, 3)
        for part in ("query", "key", "value")
    )
    query = query * np.float32(1 / math.sqrt(HEAD))
    shares: Array = query @ key.transpose(0, 1, 3, 2)
    shares -= shares.max(axis=-1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed: Array = (shares @ value).transpose(0, 2, 1, 3).reshape(-1, HIDDEN)
    return mixed


def _gelu(values: Array) -> Array:
    """Return x * Phi(x), with the error function by Abramowitz and Stegun's 7.1.26, right to 1.5e-7."""
    size = np.abs(values) * np.float32(math.sqrt(0.5))
    part = 1 / (1 + np.float32(0.3275911) * size)
    series = np.full_like(part, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series *= part
        series += np.float32(factor)
    series *= part
    size *= size
    series *= np.exp(-size)  # what erf lacks to 1
    series *= np.float32(0.5)
    result: Array = values * np.where(values < 0, series, 1 - series)
    return result
