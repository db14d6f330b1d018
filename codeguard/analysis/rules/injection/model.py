"""The linear model for instructions, and combinations of concepts that tell to whom a text speaks and what it asks."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from codeguard.analysis.rules.injection import features
from codeguard.analysis.rules.injection.features import (
    concepts_in,
    glimpse,
    grams,
    number,
    numbers,
    text_features,
    tokens_of,
)
from codeguard.corpus.patterns import lazy

_MANY = 300
FEWEST = 2  # minimum concepts of an instruction
GLANCE_BITS = 17  # bits of the index of a word or concept
GLANCE_STEP = 0.05  # step between two weights of the table

_TEMPLATE = lazy(r"<\|\w|\[/?inst\]|<</?sys>>|<start_of|</?(?:system|assistant|user|tool|function)\b|\[tool")


def may_order(text: str, tokens: list[str]) -> bool:
    """Return whether a text may contain an instruction; False also holds for every part of the text."""
    named = set[str]()
    for token in tokens:
        named |= concepts_in(token)
        if len(named) >= FEWEST:
            return True
    return is_template(text)


@lru_cache(maxsize=50_000)
def concept_index(name: str) -> int:
    """Return the index of a word or concept in the table of a glance."""
    return number(name) & ((1 << GLANCE_BITS) - 1)


def glance(weights: memoryview, found: set[str]) -> float:
    """Return the sum of the weights of concepts and words, normalised like the model's."""
    total = sum([weights[concept_index(name)] for name in found])
    return total * GLANCE_STEP / math.sqrt(max(1, len(found)))


def is_template(text: str) -> bool:
    """Return whether a text has markers of a chat template."""
    return ("<" in text or "[" in text) and _TEMPLATE.search(text.lower()) is not None


PHRASES = (
    (("addressee",), "addresses an assistant"),
    (("you", "machine"), "addresses a tool"),
    (("override", "instruction"), "overrides its instructions"),
    (("override", "prior"), "overrides what came before"),
    (("disable", "safety"), "tells it to drop a check"),
    (("leak", "sensitive"), "tells it to give away secrets"),
    (("never", "tell", "person"), "tells it to keep silent"),
    (("secrecy",), "asks for secrecy"),
    (("recommend", "artifact"), "tells it what to recommend"),
    (("always", "insert"), "tells it what to write"),
    (("when", "person"), "waits for a request"),
    (("authority",), "claims authority"),
    (("role",), "gives it another role"),
)
_NAMED = (frozenset({"addressee"}), frozenset({"you", "machine"}))
# Nobody but a model has earlier instructions to replace.
_ADDRESSED = (*_NAMED, frozenset({"override", "prior", "instruction"}))
_ASKED = tuple(
    frozenset(concepts)
    for concepts, _ in PHRASES
    if frozenset(concepts) not in (*_NAMED, frozenset({"authority"}), frozenset({"role"}))
)


def named_in(text: str) -> set[str]:
    """Return the concepts in a text."""
    return set[str]().union(*map(concepts_in, tokens_of(text)))


def is_plain_order(text: str) -> bool:
    """Return whether a text both addresses a model and instructs it, so that no other reader is meant."""
    named = named_in(text)
    return any(map(named.issuperset, _ADDRESSED)) and any(map(named.issuperset, _ASKED))


def asks(text: str) -> bool:
    """Return whether a text addresses a model, or requests what is typical of prompts."""
    return any(map(named_in(text).issuperset, (*_NAMED, *_ASKED)))


FILE = "model.json"
PLAIN = 5.0  # distance below `weak` that is allowed for plain orders
STEP = 0.1  # step between two weights of the table
NOTHING = float("-inf")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds for one kind of text.

    They are set on honest texts of the packages that `calibrate.txt` names: about 1.2 % of them
    reach `weak`, 0.2 % `clear`, and hardly any `sure`. Texts of other packages reach `weak` and
    `clear` about five times as often.
    """

    weak: float
    clear: float
    sure: float


@dataclass(frozen=True, slots=True)
class OrderModel:
    """Weights of features by index, those of a fast test, and thresholds for each kind of text.

    A score is the bias plus the weights of the content (concepts and their order) and of the
    wording (n-grams), each divided by the square root of their number, so that long texts do not
    score higher.
    """

    weights: memoryview
    bias: float
    glances: memoryview
    least: float  # of a glance at a text that is scored
    limits: Mapping[str, Thresholds]

    def score(self, text: str, limits: Thresholds) -> float:
        """Return a text's score as an instruction to a model.

        A plain order counts as `sure` from `weak` on and as `clear` below it: honest texts quote the shortest
        ones, so that the weights alone say little of them.
        """
        tokens = tokens_of(text)
        if len(tokens) < 3 and (len(text) < 8 or text.isascii()):
            return NOTHING
        glimpsed = glimpse(tokens)
        if sum([name[0] == "c" for name in glimpsed]) < FEWEST:
            return NOTHING
        if glance(self.glances, glimpsed) < self.least and not is_template(text):
            return NOTHING
        found = text_features(text, tokens)
        score = self.bias + weighed(self.weights, STEP, found, grams(text))
        if limits.weak - PLAIN <= score < limits.sure and is_plain_order(text):
            return limits.sure if score >= limits.weak else max(score, limits.clear)
        return score


def weighed(weights: memoryview, step: float, named: set[str], worded: set[int]) -> float:
    """Return the weights of what a text says and of how it is worded, each over the square root of their number."""
    return sum(
        sum([weights[place] for place in found]) * step / math.sqrt(max(1, len(found)))
        for found in (numbers(named), worded)
    )


def by_chance(weighed: int, usual: int) -> float:
    """Return the logarithm of how many times as many parts a text has as a usual one, at most 300 parts.

    From then on a text needs no higher score: nobody shall hide an order behind many others.
    """
    return math.log(min(max(weighed, usual), _MANY) / usual)


def read_model(text: str) -> OrderModel:
    """Return the model in a JSON text."""
    stored = json.loads(text)
    limits = {kind: Thresholds(*found) for kind, found in stored["limits"].items()}
    weights, glances = unpacked(stored["weights"], features.BITS), unpacked(stored["glance"], GLANCE_BITS)
    return OrderModel(weights, stored["bias"], glances, stored["least"], limits)


def unpacked(text: str, bits: int) -> memoryview:
    """Return a compressed, base64-encoded table of signed bytes."""
    table = memoryview(zlib.decompress(base64.b64decode(text))).cast("b")
    if len(table) != 1 << bits:
        raise ValueError(
            f"{FILE}: a table of weights has {len(table)} entries, expected {1 << bits}; train it again"
        )
    return table


@cache
def load_model() -> OrderModel:
    """Return the model that is shipped with the package."""
    return read_model((resources.files(__package__) / FILE).read_text(encoding="utf-8"))
