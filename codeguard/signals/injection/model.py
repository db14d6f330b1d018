"""A linear model over the features of a text: whole numbers in a JSON file, trained by experiments/audit_training."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from codeguard.signals.injection import gate, ngrams
from codeguard.signals.injection.features import features, glimpse, tokens_of
from codeguard.signals.injection.gate import FEWEST, Glance, is_template
from codeguard.signals.injection.grammar import is_order
from codeguard.signals.injection.ngrams import grams, numbers

FILE = "model.json"
OPEN = 2.0  # below the weak threshold, for open orders
STEP = 0.1  # between two weights of the table
NOTHING = float("-inf")


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds for one kind of text.

    Set on honest texts of the packages that `calibrate.txt` names: `weak` is
    the score that about twelve in a thousand of them reach, `clear` one that
    two do, `sure` one that hardly any does. Texts of other packages reached
    `weak` and `clear` about five times as often.
    """

    weak: float
    clear: float
    sure: float


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of features by their numbers, what is looked at, and thresholds for each kind of text.

    A score is the bias plus the weights of what a text says (concepts and
    their order) and of how it is worded (n-grams), each divided by the square
    root of their number so that long texts do not score by length.
    """

    weights: memoryview
    bias: float
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
        if sum([name[0] == "c" for name in glimpsed]) < FEWEST:
            return NOTHING
        if not self.glance.lets_through(glimpsed) and not is_template(text):
            return NOTHING
        found = features(text, tokens, glimpsed)
        score = self.bias + self._mean(numbers(found)) + self._mean(grams(text))
        if limits.weak - OPEN <= score < limits.clear and is_order(text, found):
            return limits.clear
        return score

    def _mean(self, found: set[int]) -> float:
        """Return the sum of the weights over the square root of their number."""
        known = self.weights
        return sum([known[place] for place in found]) * STEP / math.sqrt(max(1, len(found)))


def read_model(text: str) -> Model:
    """Return the model that a JSON text holds."""
    stored = json.loads(text)
    limits = {kind: Limits(*found) for kind, found in stored["limits"].items()}
    glance = Glance(_unpacked(stored["glance"], gate.BITS), stored["least"])
    return Model(_unpacked(stored["weights"], ngrams.BITS), stored["bias"], glance, limits)


def _unpacked(text: str, bits: int) -> memoryview:
    """Return a table of signed bytes that was compressed and written in base64."""
    table = memoryview(zlib.decompress(base64.b64decode(text))).cast("b")
    if len(table) != 1 << bits:
        raise ValueError(
            f"{FILE}: a table of weights has {len(table)} entries, expected {1 << bits}; train it again"
        )
    return table


@cache
def load_model() -> Model:
    """Return the model that ships with the package."""
    return read_model((resources.files(__package__) / FILE).read_text(encoding="utf-8"))
