"""Two cheap looks at a text, which tell whether it is worth weighing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from codeguard.reading.patterns import lazy
from codeguard.signals.injection.features import concepts_of, ideographs, is_wide
from codeguard.signals.injection.lexicon import CONCEPTS

_BITS = {concept: 1 << index for index, concept in enumerate(CONCEPTS)}
_TEMPLATE = lazy(r"<\|\w|\[/?inst\]|<</?sys>>|<start_of|</?(?:system|assistant|user|tool|function)\b|\[tool")


@lru_cache(maxsize=50_000)
def _bits(token: str) -> int:
    bits = 0
    for concept in concepts_of(token):
        bits |= _BITS[concept]
    return bits


def named(tokens: list[str]) -> int:
    """Return the concepts that tokens name as a set of bits, in the order of the lexicon."""
    bits = 0
    for token in tokens:
        if is_wide(token):
            for place in ideographs(token):
                for concept in place:
                    bits |= _BITS[concept]
        else:
            bits |= _bits(token)
    return bits


@dataclass(frozen=True, slots=True)
class Gate:
    """Weights of concepts, none below 0, and the least sum that is let through.

    Since no weight is negative, what stops a text stops every part of it.
    """

    weights: Mapping[str, float]
    least: float
    _known: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)

    def lets_through(self, text: str, tokens: list[str]) -> bool:
        """Tell whether a text with these tokens may hold an instruction."""
        bits = named(tokens)
        known = self._known.get(bits)
        if known is None:
            total = sum(self.weights.get(concept, 0.0) for concept, bit in _BITS.items() if bits & bit)
            known = self._known[bits] = total >= self.least
        return known or is_template(text)


@dataclass(frozen=True, slots=True)
class Glance:
    """Weights of concepts and words, and the least score that is let through."""

    weights: Mapping[str, float]
    least: float

    def score(self, found: set[str]) -> float:
        """Return the sum of the weights, divided as that of the model is."""
        known = self.weights
        return sum([known.get(name, 0.0) for name in found]) * 10 / math.sqrt(max(1, len(found)))

    def lets_through(self, text: str, found: set[str]) -> bool:
        """Tell whether a stretch of text with these features may be an instruction."""
        return self.score(found) >= self.least or is_template(text)


def is_template(text: str) -> bool:
    """Tell whether a text carries marks of a chat template."""
    return ("<" in text or "[" in text) and _TEMPLATE.search(text.lower()) is not None
