"""A linear model over the features of a text: plain numbers in a JSON file, trained by experiments/audit_training."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from codeguard.signals.injection.features import features, tokens_of
from codeguard.signals.injection.grammar import is_order

FILE = "model.json"
NEARLY = 1.0  # below the weak threshold
_CONCEPTS = 2  # at least, or a bare address would do
_TELLING = frozenset({"c:override", "c:recommend", "c:insert", "c:disable", "c:leak", "c:role", "c:never", "c:always",
                      "c:tell", "c:secrecy", "c:polite", "m:chat", "m:tool"})  # fmt: skip
SCALE = 100  # weights are stored as whole hundredths


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of features and two thresholds.

    A score is the bias plus the sum of the weights of a text's features,
    divided by the square root of their number so that long texts do not
    score by length. `weak` is the score that about one in a hundred honest
    comments about prompts, rules and users reaches, `clear` one that very
    few do.
    """

    weights: Mapping[str, float]
    bias: float
    weak: float
    clear: float

    def score(self, text: str) -> float:
        """Return how much a stretch of text reads like an instruction to a model.

        An open order (see `is_order`) that is nearly weak counts as clear.
        """
        tokens = tokens_of(text)
        if len(tokens) < 3 and (len(text) < 8 or text.isascii()):
            return float("-inf")
        found = features(text, tokens)
        if not found & _TELLING or sum(name.startswith("c:") for name in found) < _CONCEPTS:
            return float("-inf")
        score = self.score_of(found)
        if self.weak - NEARLY <= score < self.clear and is_order(text, found):
            return self.clear
        return score

    def score_of(self, found: set[str]) -> float:
        """Return the score of a set of features."""
        known = self.weights
        return self.bias + sum(known.get(name, 0.0) for name in found) * 10 / math.sqrt(max(1, len(found)))


@cache
def load_model() -> Model:
    """Return the model that ships with the package."""
    stored = json.loads((resources.files(__package__) / FILE).read_text(encoding="utf-8"))
    weights = {
        f"{sort}:{name}": value / SCALE
        for sort, values in stored["weights"].items()
        for name, value in values.items()
    }
    return Model(weights, stored["bias"], stored["weak"], stored["clear"])
