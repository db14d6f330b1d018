"""Fast tests that decide whether a text is worth scoring."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from codeguard.analysis.rules.injection.features import concepts_of, ideographs, is_wide
from codeguard.analysis.rules.injection.lexicon import CONCEPTS
from codeguard.analysis.rules.injection.ngrams import number
from codeguard.corpus.patterns import lazy

FEWEST = 2  # minimum concepts of an instruction
BITS = 17  # bits of the index of a word or concept
STEP = 0.05  # step between two weights of the table

_BITS = {concept: 1 << index for index, concept in enumerate(CONCEPTS)}
_TEMPLATE = lazy(r"<\|\w|\[/?inst\]|<</?sys>>|<start_of|</?(?:system|assistant|user|tool|function)\b|\[tool")


@lru_cache(maxsize=50_000)
def _bits(token: str) -> int:
    bits = 0
    for concept in concepts_of(token):
        bits |= _BITS[concept]
    return bits


def concept_bits(tokens: list[str]) -> int:
    """Return the concepts in tokens as a set of bits, in the order of the lexicon."""
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
    """Return whether a text may contain an instruction; False also holds for every part of the text."""
    return concept_bits(tokens).bit_count() >= FEWEST or is_template(text)


@lru_cache(maxsize=50_000)
def concept_index(name: str) -> int:
    """Return the index of a word or concept in the table of a glance."""
    return number(name) & ((1 << BITS) - 1)


@dataclass(frozen=True, slots=True)
class Glance:
    """Weights of concepts and words by index, and the minimum score to pass."""

    weights: memoryview
    least: float

    def score(self, found: set[str]) -> float:
        """Return the sum of the weights, normalised like the model's."""
        known = self.weights
        return sum([known[concept_index(name)] for name in found]) * STEP / math.sqrt(max(1, len(found)))

    def lets_through(self, found: set[str]) -> bool:
        """Return whether a text with these features may be an instruction."""
        return self.score(found) >= self.least


def is_template(text: str) -> bool:
    """Return whether a text has markers of a chat template."""
    return ("<" in text or "[" in text) and _TEMPLATE.search(text.lower()) is not None
