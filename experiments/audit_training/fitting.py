"""Logistic regressions over features by their numbers, and how their weights are written."""

from __future__ import annotations

import base64
import math
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from codeguard.analysis.rules.injection import model, ngrams
from codeguard.analysis.rules.injection.ngrams import number
from experiments.audit_training.senses import DIMENSIONS

STRENGTH = 30.0  # inverse of the regularisation
FEWEST = 3  # stretches that have a feature
STOPPED = 0.002  # share of injected texts that the cheap look may stop

Vectors = Mapping[str, NDArray[np.float32]]
Table = NDArray[np.int8]


class Row(NamedTuple):
    """A stretch of text: what it says, by names, and how it is worded, by numbers."""

    named: tuple[str, ...]
    worded: NDArray[np.int32]


def row_of(named: Iterable[str], worded: Iterable[int]) -> Row:
    """Return a row; names are kept once for all rows."""
    return Row(tuple(sorted(map(sys.intern, named))), _cells(worded))


def _cells(places: Iterable[int]) -> NDArray[np.int32]:
    return np.array(sorted(set(places)), dtype=np.int32)


def fitted(
    rows: Sequence[Row],
    injected: int,
    weights: Sequence[float],
    vectors: Vectors,
    strength: float = STRENGTH,
    step: float = model.STEP,
) -> tuple[Table, float]:
    """Return a table of weights in steps, and a bias; the first `injected` rows are bad, `weights` are those of rows.

    The weight of a word is its own plus what its sense is worth; words that
    no row has get the latter.
    """
    size = 1 << ngrams.BITS
    named = _matrix([_cells(map(number, row.named)) for row in rows], size)
    matrix = named + _matrix([row.worded for row in rows], size)
    counted = np.bincount(matrix.indices, minlength=size) >= FEWEST
    matrix = matrix.multiply(counted.astype(np.float32)[None, :]).tocsr()
    learned, bias, sense = _regression(
        matrix, [row.named for row in rows], injected, weights, vectors, strength
    )
    return _steps(learned, sense, vectors, number, step), bias


def glance_of(injected: Sequence[Row], honest: Sequence[Row], vectors: Vectors) -> tuple[memoryview, float]:
    """Return weights of the features that need no order, and the score that nearly all injected texts reach."""
    names = [_glimpsed(row) for row in (*injected, *honest)]
    counts = Counter(name for row in names for name in row)
    places = [_cells(model.concept_index(name) for name in row if counts[name] >= FEWEST) for row in names]
    matrix = _matrix(places, 1 << model.GLANCE_BITS, [len(row) for row in names])
    learned, _, sense = _regression(matrix, names, len(injected), [1.0] * len(names), vectors)
    table = _steps(learned, sense, vectors, model.concept_index, model.GLANCE_STEP)
    weights = memoryview(table.tobytes()).cast("b")
    scores = [model.glance(weights, _glimpsed(row)) for row in injected]
    return weights, round(float(np.quantile(scores, STOPPED)), 2)


def _glimpsed(row: Row) -> set[str]:
    return {name for name in row.named if name[0] in "cw"}


def _matrix(cells: Sequence[NDArray[np.int32]], width: int, sizes: Sequence[int] | None = None) -> csr_matrix:
    """Return rows whose cells are one over the square root of how many there are (or of `sizes`)."""
    lengths = np.array([len(row) for row in cells])
    scale = 1 / np.sqrt(np.maximum(1, lengths if sizes is None else np.array(sizes)))
    values = np.repeat(scale.astype(np.float32), lengths)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return csr_matrix((values, np.concatenate(cells), ends), shape=(len(cells), width))


def _regression(
    matrix: csr_matrix,
    named: Sequence[Collection[str]],
    injected: int,
    weights: Sequence[float],
    vectors: Vectors,
    strength: float = STRENGTH,
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """Return the weights of the columns, the bias, and the weights of the dimensions of senses."""
    meant = np.zeros((len(named), DIMENSIONS), dtype=np.float32)
    for at, names in enumerate(named):
        stems = sorted(name[2:] for name in names if name[0] == "w")
        known = [vectors[stem] for stem in stems if stem in vectors]
        if known:
            meant[at] = np.sum(known, axis=0) / math.sqrt(len(names))
    truth = np.arange(len(named)) < injected
    whole = hstack([matrix, csr_matrix(meant)]).tocsr()
    with threadpool_limits(1):
        learned = LogisticRegression(C=strength, max_iter=120).fit(whole, truth, weights)
    found = learned.coef_[0]
    width = matrix.shape[1]
    return found[:width], round(float(learned.intercept_[0]), 4), found[width:]


def _steps(
    learned: NDArray[np.float64],
    sense: NDArray[np.float64],
    vectors: Vectors,
    place: Callable[[str], int],
    step: float,
) -> Table:
    table = learned.copy()
    for stem, vector in vectors.items():
        table[place(f"w:{stem}")] += float(vector @ sense)
    return np.clip(np.round(table / step), -127, 127).astype(np.int8)


def packed(table: memoryview) -> str:
    """Return a table compressed, in base64."""
    return base64.b64encode(zlib.compress(table.tobytes(), 9)).decode("ascii")
