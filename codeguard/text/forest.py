"""A trained random forest as plain arrays: applied with numpy only, saved without pickle.

Training needs scikit-learn, applying does not. scikit-learn saves models as pickles, which run code
when loaded; skops would still need scikit-learn in the version of the training. A tree is five
arrays, so those are saved.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import MissingExtraError
from codeguard.text.model import TextDefenseError

Floats = NDArray[np.float64]
TREES, SMALLEST_LEAF = 150, 2


@dataclass(frozen=True, slots=True)
class Forest:
    """Concatenated trees; `roots` are the indices of their first nodes.

    A leaf has `left` -1 and its share of poisoned examples in `value`.
    """

    roots: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Floats
    value: Floats

    def predict(self, rows: Floats) -> Floats:
        """Return for each row the share of poison, averaged over the trees, 0 to 1."""
        # scikit-learn compares in float32; in float64 a row at a threshold could go the other way.
        rows = rows.astype(np.float32).astype(np.float64)
        node = np.repeat(self.roots[None, :], len(rows), axis=0)
        while True:
            inner = self.left[node] >= 0
            if not inner.any():
                break
            values = np.take_along_axis(rows, np.maximum(self.feature[node], 0), axis=1)
            step = np.where(values <= self.threshold[node], self.left[node], self.right[node])
            node = np.where(inner, step, node)
        result: Floats = self.value[node].mean(axis=1)
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for saving."""
        return {f"forest_{name}": getattr(self, name) for name in self.__slots__}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], features: int) -> Forest:
        """Rebuild a forest from the result of `arrays`.

        Raises:
            TextDefenseError: the arrays are not a valid forest.
        """
        try:
            whole = {name: np.asarray(arrays[f"forest_{name}"], dtype=np.int64) for name in cls.__slots__[:4]}
            real = {
                name: np.asarray(arrays[f"forest_{name}"], dtype=np.float64) for name in cls.__slots__[4:]
            }
            forest = cls(
                whole["roots"],
                whole["left"],
                whole["right"],
                whole["feature"],
                real["threshold"],
                real["value"],
            )
            forest._check(features)
        except (KeyError, TypeError, ValueError) as error:
            raise TextDefenseError(f"the saved forest is damaged ({error})", hint="train it again") from None
        return forest

    def _check(self, features: int) -> None:
        size = len(self.left)
        if not all(
            array.shape == (size,) for array in (self.right, self.feature, self.threshold, self.value)
        ):
            raise ValueError("arrays of different length")
        own = np.arange(size)
        inner = self.left >= 0
        forward = (self.left > own) & (self.right > own) & (self.left < size) & (self.right < size)
        if not forward[inner].all():  # otherwise `predict` could loop forever
            raise ValueError("a child does not come after its parent")
        if not ((self.feature[inner] >= 0) & (self.feature[inner] < features)).all():
            raise ValueError("unknown feature")
        if not len(self.roots) or self.roots.min() < 0 or self.roots.max() >= size:
            raise ValueError("a root is not a node")
        if not (np.isfinite(self.threshold[inner]).all() and ((self.value >= 0) & (self.value <= 1)).all()):
            raise ValueError("values out of range")


def train_forest(rows: Floats, poisoned: NDArray[np.bool_], seed: int = 0, trees: int = TREES) -> Forest:
    """Train a forest on labelled rows, with equal weight for both classes.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    try:
        ensemble = importlib.import_module("sklearn.ensemble")
    except ImportError:
        raise MissingExtraError("training a random forest needs scikit-learn", "text") from None
    model = ensemble.RandomForestClassifier(
        n_estimators=trees, min_samples_leaf=SMALLEST_LEAF, class_weight="balanced", random_state=seed
    ).fit(rows, poisoned)
    roots, parts, start = [], [], 0
    for estimator in model.estimators_:
        tree = estimator.tree_
        counts = tree.value[:, 0, :]
        share = (
            counts[:, 1] / counts.sum(axis=1) if counts.shape[1] == 2 else np.full(len(counts), poisoned[0])
        )
        inner = tree.children_left >= 0
        parts.append(
            (
                np.where(inner, tree.children_left + start, -1),
                np.where(inner, tree.children_right + start, -1),
                np.where(inner, tree.feature, 0),
                np.where(inner, tree.threshold, 0.0),
                share.astype(np.float64),
            )
        )
        roots.append(start)
        start += tree.node_count
    left, right, feature, threshold, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Forest(np.array(roots), left, right, feature, threshold, np.clip(value, 0.0, 1.0))
