"""What an embedding is: texts in, unit rows out, under a name that the index remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@runtime_checkable
class Embedding(Protocol):
    """Turns texts into vectors whose dot product says how near they are.

    `identity` is what the index remembers, for example `lexical@2/dim512`. It changes whenever the vector of any
    text may: an index made under one identity refuses another. `dimension` is the length of a row. `note` is one
    line for the user where something better could be had, else empty.
    """

    @property
    def identity(self) -> str: ...  # noqa: D102

    @property
    def dimension(self) -> int: ...  # noqa: D102

    @property
    def note(self) -> str: ...  # noqa: D102

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension), every row of length 1.

        A text without content, the empty one too, gets a fixed unit row of
        its own, so that no row is ever zero.
        """
        ...


class EmbeddingInfo(NamedTuple):
    """One kind of embedding: its name, whether it can be used here, and where it was found or what to do."""

    name: str
    available: bool
    detail: str


def unit_rows(rows: NDArray[np.floating]) -> Vectors:
    """Scale rows to length 1 in float32; a zero row becomes the first basis vector."""
    result = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(result, axis=1, keepdims=True)
    zero = lengths[:, 0] == 0
    if zero.any():
        result = result.copy()
        result[zero] = 0
        result[zero, 0] = 1
        lengths[zero] = 1
    scaled: Vectors = result / lengths
    return scaled
