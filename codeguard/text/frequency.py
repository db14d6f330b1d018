"""Freq-Density: the share of a text that repeats words of the question and of its answer to it.

From Edemacu et al., "Defending Against Knowledge Poisoning Attacks During Retrieval-Augmented
Generation" (2025): the sum of Freq(w, d) over the words w of d that match a word of the question or
of the answer, divided by the number of words of d. Each matching word counts once: the paper's
example has the density 8/11.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.text.model import TextDefenseError
from codeguard.text.tokens import words

SIMILAR = 0.6  # minimum cosine of two matching words, from the paper
MAX_WORDS = 1_000_000
MORE_PASSAGES = (
    "give more passages or promise a smaller share; a passage of one sentence counts only with its question"
)
LEAST = 1e-4  # replaces a density of 0 before taking the logarithm


@dataclass(frozen=True, slots=True)
class Frequency:
    """Word counts of a text: all words, unique words, unique matching words, occurrences of those."""

    total: int
    unique: int
    matching: int
    occurrences: int

    @property
    def density(self) -> float:
        """Return the Freq-Density, the share of distinct matching words; 0 for a text without words."""
        return self.matching / self.total if self.total else 0.0


class WordMatcher:
    """Counts the words of a text that match a word of a question or an answer.

    With an embedding, words match if their cosine is at least `least`. Without one, the fast mode,
    they match only if they are equal.
    """

    def __init__(self, embedding: Embedding | None = None, least: float = SIMILAR) -> None:
        """Take an embedding of words, or None for literal matching."""
        if not 0 < least <= 1:
            raise ConfigError("least similarity of words", got=least, expected="above 0, at most 1")
        self._embedding = embedding
        self._least = least

    def count(self, text: str, question: str, answer: str) -> Frequency:
        """Count the words of `text` that match a word of `question` or `answer`."""
        counts = Counter(words(text))
        wanted = list(dict.fromkeys(words(question) + words(answer)))
        known = set(wanted)
        matching = [word for word in counts if word in known]
        rest = [word for word in counts if word not in known]
        if self._embedding is not None and rest and wanted:
            near = self._embedding.embed(rest) @ self._embedding.embed(wanted).T
            matching += [word for word, row in zip(rest, near, strict=True) if row.max() >= self._least]
        return Frequency(
            sum(counts.values()), len(counts), len(matching), sum(counts[word] for word in matching)
        )


@dataclass(frozen=True, slots=True)
class LengthThreshold:
    """The density above which a text of a given length is unusual among clean texts.

    The threshold is exp(`level` + `slope` · log(words)), fitted to `pairs` clean texts of
    `shortest` to `longest` words. Short texts on the topic are dense by nature, and one constant
    for all lengths would drop them all. `keep` is the share of clean texts that should pass.
    """

    level: float
    slope: float
    pairs: int
    keep: float = 0.95
    shortest: int = 1
    longest: int = MAX_WORDS

    def at(self, length: int) -> float:
        """Return the threshold for a text of `length` words."""
        return math.exp(self.level + self.slope * math.log(max(length, 1)))

    def covers(self, length: int) -> bool:
        """Return whether a text of `length` words is within the fitted range of lengths."""
        return self.shortest <= length <= self.longest


def fit_threshold(densities: Sequence[float], lengths: Sequence[int], keep: float = 0.95) -> LengthThreshold:
    """Fit the threshold that keeps the share `keep` of clean texts, given their densities and word counts.

    The level is the conformal quantile of the residuals (Vovk et al., 2005), each taken from the
    slope that is fitted without its text (jackknife+, Barber et al., 2021): another clean text of
    the same kind passes with about that probability, for any number of texts.

    Raises:
        TextDefenseError: there are fewer than 20 texts, or too few for the share `keep`.
    """
    if not 0 < keep < 1:
        raise ConfigError("keep", got=keep, expected="between 0 and 1")
    least = max(20, math.ceil(keep / (1 - keep)))
    if len(densities) < least:
        raise TextDefenseError(
            "too few clean texts to calibrate on",
            got=len(densities),
            expected=f"{least} or more",
            hint=MORE_PASSAGES,
        )
    y = np.log(np.maximum(np.asarray(densities, dtype=np.float64), LEAST))
    x = np.log(np.maximum(np.asarray(lengths, dtype=np.float64), 1.0))
    middle = float(x.mean())
    x -= middle
    products, squares = x * y, x * x
    slope = float(products.sum() / squares.sum()) if squares.sum() > 1e-9 else 0.0
    # Without a text of the distance x from the middle, the others' sums lose its part and move their own middle.
    rest = len(x) - 1
    spread = squares.sum() - squares - squares / rest
    joint = products.sum() - products + x * (y.sum() - y) / rest
    slopes = np.divide(joint, spread, out=np.zeros_like(x), where=spread > 1e-9)
    level = conformal_quantile(y - slopes * x, keep) - slope * middle
    return LengthThreshold(level, slope, len(densities), keep, min(lengths), max(lengths))


def conformal_quantile(values: NDArray[np.float64], keep: float) -> float:
    """Return the value that another draw does not exceed with probability `keep`; inf for too few values."""
    rank = math.ceil((len(values) + 1) * keep - 1e-9)
    return float(np.sort(values)[rank - 1]) if rank <= len(values) else math.inf
