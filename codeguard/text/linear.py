"""A logistic regression on features that are put on the scale of a corpus's clean texts.

What poison does to a feature, in units of the clean texts' spread, carries over to another corpus
better than the feature's values do. So `rescale` needs only clean texts of the other corpus.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import MissingExtraError
from codeguard.text.model import TextDefenseError

Floats = NDArray[np.float64]
INVERSE_PENALTY = 3.0  # weight of the examples' losses against half the sum of the squared weights
MOST_STEPS = 5_000
FARTHEST = 6.0  # spreads from the median; features farther away count as that far
SMALLEST = 1e-6  # a feature with less spread is constant and is not scaled


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Weights of the scaled features, the last one of the constant, with the scale of each feature."""

    weights: Floats
    middle: Floats
    spread: Floats

    def predict(self, rows: Floats) -> Floats:
        """Return the log-odds of poison for each row."""
        result: Floats = self._scaled(rows) @ self.weights[:-1] + self.weights[-1]
        return result

    def rescale(self, clean: Floats) -> LinearModel:
        """Return the model on the scale of other clean texts: median, and half the middle 68 %."""
        low, middle, high = np.quantile(clean, [0.16, 0.5, 0.84], axis=0)
        spread = (high - low) / 2
        return replace(self, middle=middle, spread=np.where(spread < SMALLEST, 1.0, spread))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for saving."""
        return {f"linear_{name}": getattr(self, name) for name in self.__slots__}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], features: int) -> LinearModel:
        """Rebuild a model from the result of `arrays`.

        Raises:
            TextDefenseError: the arrays are not a valid model.
        """
        try:
            found = [np.asarray(arrays[f"linear_{name}"], dtype=np.float64) for name in cls.__slots__]
        except (KeyError, TypeError, ValueError) as error:
            raise TextDefenseError(
                f"the saved regression is damaged ({error})", hint="train it again"
            ) from None
        shapes = [array.shape for array in found] == [(features + 1,), (features,), (features,)]
        if not (shapes and all(np.isfinite(array).all() for array in found) and (found[2] > 0).all()):
            raise TextDefenseError("the saved regression is damaged", hint="train it again")
        return cls(*found)

    def _scaled(self, rows: Floats) -> Floats:
        scaled: Floats = np.clip((rows - self.middle) / self.spread, -FARTHEST, FARTHEST)
        return scaled


def train_linear(rows: Floats, poisoned: NDArray[np.bool_]) -> LinearModel:
    """Fit the weights with a ridge penalty, both classes with equal weight, on the scale of the clean rows.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    try:
        models = importlib.import_module("sklearn.linear_model")
    except ImportError:
        raise MissingExtraError("training a regression needs scikit-learn", "text") from None
    count = rows.shape[1]
    empty = LinearModel(np.zeros(count + 1), np.zeros(count), np.ones(count)).rescale(rows[~poisoned])
    model = models.LogisticRegression(C=INVERSE_PENALTY, class_weight="balanced", max_iter=MOST_STEPS)
    model.fit(empty._scaled(rows), poisoned)
    return replace(empty, weights=np.append(model.coef_[0], model.intercept_))
