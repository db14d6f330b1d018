"""A linear model over the features of a text: plain numbers in a JSON file, trained by experiments/audit_training."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from codeguard.signals.injection.features import features, glimpse, tokens_of
from codeguard.signals.injection.gate import Gate, Glance
from codeguard.signals.injection.grammar import is_order

FILE = "model.json"
NEARLY = 1.0  # below the threshold of what is clear, for texts that name few concepts
OPEN = 2.0  # below the weak threshold, for open orders
FEWEST = 2  # concepts, or a bare address would do
ENOUGH = 5  # concepts of what is clear; a word may name several
SCALE = 100  # weights are stored as whole hundredths
NOTHING = float("-inf")


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds for one kind of text.

    `weak` is the score that about two in a hundred honest texts about
    prompts, rules and users reach, `clear` one that four in a thousand
    do, `sure` one that hardly any does.
    """

    weak: float
    clear: float
    sure: float


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of features, what is looked at, and thresholds for each kind of text.

    A score is the bias plus the sum of the weights of a text's features,
    divided by the square root of their number so that long texts do not
    score by length.
    """

    weights: Mapping[str, float]
    bias: float
    gate: Gate
    glance: Glance
    limits: Mapping[str, Limits]

    def score(self, text: str, limits: Limits) -> float:
        """Return how much a stretch of text reads like an instruction to a model.

        An open order (see `is_order`) that is not far below weak counts as clear.
        """
        tokens = tokens_of(text)
        if len(tokens) < 3 and (len(text) < 8 or text.isascii()):
            return NOTHING
        glimpsed = glimpse(tokens)
        concepts = sum([name[0] == "c" for name in glimpsed])
        if concepts < FEWEST or not self.glance.lets_through(text, glimpsed):
            return NOTHING
        found = features(text, tokens, glimpsed)
        score = self.score_of(found)
        if limits.weak - OPEN <= score < limits.clear and is_order(text, found):
            return limits.clear
        return score if concepts >= ENOUGH else min(score, max(limits.weak, limits.clear - NEARLY))

    def score_of(self, found: set[str]) -> float:
        """Return the score of a set of features."""
        known = self.weights
        return self.bias + sum([known.get(name, 0.0) for name in found]) * 10 / math.sqrt(max(1, len(found)))


def read_model(text: str) -> Model:
    """Return the model that a JSON text holds."""
    stored = json.loads(text)
    weights = {
        f"{sort}:{name}": value / SCALE
        for sort, values in stored["weights"].items()
        for name, value in values.items()
    }
    limits = {kind: Limits(*found) for kind, found in stored["limits"].items()}
    return Model(weights, stored["bias"], Gate(**stored["gate"]), _glance(stored["glance"]), limits)


def _glance(stored: dict[str, Any]) -> Glance:
    weights = {f"{sort}:{name}": value / SCALE for sort in "cw" for name, value in stored[sort].items()}
    return Glance(weights, stored["least"])


@cache
def load_model() -> Model:
    """Return the model that ships with the package."""
    return read_model((resources.files(__package__) / FILE).read_text(encoding="utf-8"))
