"""What an embedding is: texts in, unit rows out, under a name that the index remembers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from codeguard.extras import installation, requirement

Vectors = NDArray[np.float32]


@runtime_checkable
class Embedding(Protocol):
    """Turns texts into vectors whose dot product says how near they are.

    `identity` changes whenever the vector of any text may: an index made
    under one identity refuses another. `dimension` is the length of a row.
    `note` is one line for the user where something better could be had, else
    empty.
    """

    @property
    def identity(self) -> str:
        """What the index remembers, for example `lexical@2/dim512`."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a row."""
        ...

    @property
    def note(self) -> str:
        """One line on how to get a better embedding; empty where there is nothing to say."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension), every row of length 1.

        A text without content, the empty one too, gets a fixed unit row of
        its own, so that no row is ever zero.
        """
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingInfo:
    """One kind of embedding as `doctor` shows it.

    `name` is what `open_embedding` takes. `detail` says where the weights
    were found, or why the embedding cannot be used and what to do about it.
    """

    name: str
    available: bool
    detail: str


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """What an embedding may be opened with.

    `model` is what follows the colon of the name. `model_dir` is a folder
    with MiniLM's files. `base_url` and `api_key` are those of a service.
    """

    model: str = ""
    model_dir: Path | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class EmbeddingKind:
    """One kind of embedding; each module of this package that defines `KIND` brings one.

    `name` is what the user writes, with a dash where the module's name has an
    underscore; with `takes_model` a colon and a model follow. `open` raises
    EmbeddingError where it cannot be used. `state` says whether it can, and
    where its weights are or what to do; it starts no model. With
    `by_workers` the machines of a cluster may open it themselves.
    """

    name: str
    open: Callable[[EmbeddingOptions], Embedding]
    state: Callable[[EmbeddingOptions], tuple[bool, str]]
    takes_model: bool = False
    by_workers: bool = False

    @property
    def shown(self) -> str:
        """The name as a user may write it."""
        return f"{self.name}:MODEL" if self.takes_model else self.name


def library_state(library: str, extra: str, what: str) -> tuple[bool, str]:
    """Return that an optional library is there, with what it gives, or how to install it."""
    there = find_spec(library) is not None
    return there, what if there else installation(requirement(extra))


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
