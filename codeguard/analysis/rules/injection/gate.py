"""Cheap looks at a text, which tell whether it is worth weighing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from codeguard.analysis.rules.injection.features import concepts_of, ideographs, is_wide
from codeguard.analysis.rules.injection.lexicon import CONCEPTS
from codeguard.analysis.rules.injection.ngrams import number
from codeguard.corpus.patterns import lazy

FEWEST = 2  # concepts that an instruction names
BITS = 17  # of the number of a word or concept
STEP = 0.05  # between two weights of the table

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


def may_order(text: str, tokens: list[str]) -> bool:
    """Return whether a text with these tokens may hold an instruction; what stops a text stops every part of it."""
    return named(tokens).bit_count() >= FEWEST or is_template(text)


@lru_cache(maxsize=50_000)
def place(name: str) -> int:
    """Return the place of a word or concept in the table of a glance."""
    return number(name) & ((1 << BITS) - 1)


@dataclass(frozen=True, slots=True)
class Glance:
    """Weights of concepts and words by their places, and the least score that is let through."""

    weights: memoryview
    least: float

    def score(self, found: set[str]) -> float:
        """Return the sum of the weights, divided as that of the model is."""
        known = self.weights
        return sum([known[place(name)] for name in found]) * STEP / math.sqrt(max(1, len(found)))

    def lets_through(self, found: set[str]) -> bool:
        """Return whether a stretch of text with these features may be an instruction."""
        return self.score(found) >= self.least


def is_template(text: str) -> bool:
    """Return whether a text carries marks of a chat template."""
    return ("<" in text or "[" in text) and _TEMPLATE.search(text.lower()) is not None
