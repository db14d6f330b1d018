"""Freq-Density: how much of a text is made of the words of the question and of the answer it gives.

From Edemacu and others, "Defending Against Knowledge Poisoning Attacks During
Retrieval-Augmented Generation" (2025): the sum of Freq(w, d) over the words
w of d that match a word of the question or of the answer, divided by the
number of unique words of d, Freq being how often w occurs ("count"). Two
other readings of Freq are options; they differ by a factor of thirty (see
docs/text.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.text.model import TextDefenseError
from codeguard.text.tokens import words

DensityReading = Literal["count", "share", "distinct"]
READINGS: tuple[DensityReading, ...] = get_args(DensityReading)
SIMILAR = 0.6  # cosine from which two words match, the paper's value
MAX_WORDS = 1_000_000
LEAST = 1e-4  # stands for a density of 0 where a logarithm is taken


@dataclass(frozen=True, slots=True)
class Frequency:
    """Counts behind the three readings: of words in all, unique ones, matching ones, their occurrences."""

    total: int
    unique: int
    matching: int
    occurrences: int

    def density(self, reading: DensityReading = "count") -> float:
        """Return the Freq-Density; 0 for a text without words.

        `count`: occurrences of matching words by unique words. `share`: the
        same with each occurrence counted as its share of the text.
        `distinct`: distinct matching words by all words.
        """
        if not self.total:
            return 0.0
        if reading == "count":
            return self.occurrences / self.unique
        if reading == "share":
            return self.occurrences / self.total / self.unique
        return self.matching / self.total


class WordMatcher:
    """Counts the words of a text that match a question or an answer.

    With an embedding two words match from a cosine of `least` on; without
    one, the fast mode, only where they are the same.
    """

    def __init__(self, embedding: Embedding | None = None, least: float = SIMILAR) -> None:
        """Take the embedding for words, or None for literal matching."""
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
    """The density above which a text of a given length is unusual among clean ones.

    exp(`level` + `slope` · log(words)), fitted to `pairs` clean texts of
    `shortest` to `longest` words: a short text on the topic is dense by
    nature, and one constant for all lengths would drop every short clean
    text. `keep` is the promised share of clean texts that pass.
    """

    level: float
    slope: float
    pairs: int
    keep: float = 0.95
    shortest: int = 1
    longest: int = MAX_WORDS

    def at(self, length: int) -> float:
        """Return the threshold for a text of that many words."""
        return math.exp(self.level + self.slope * math.log(max(length, 1)))

    def covers(self, length: int) -> bool:
        """Return whether a text of that many words is within the lengths that were fitted."""
        return self.shortest <= length <= self.longest


def fit_threshold(densities: Sequence[float], lengths: Sequence[int], keep: float = 0.95) -> LengthThreshold:
    """Fit the threshold that keeps a share `keep` of clean texts, given their densities and word counts.

    The level is the conformal quantile of the residuals (Vovk and others,
    2005): a further clean text of the same kind passes with at least that
    probability, however few there were to learn from.

    Raises:
        TextDefenseError: too few texts to promise that share, or fewer than 20.
    """
    if not 0 < keep < 1:
        raise ConfigError("keep", got=keep, expected="between 0 and 1")
    least = max(20, math.ceil(keep / (1 - keep)))
    if len(densities) < least:
        raise TextDefenseError(
            "too few clean texts to calibrate on", got=len(densities), expected=f"{least} or more"
        )
    y = np.log(np.maximum(np.asarray(densities, dtype=np.float64), LEAST))
    x = np.log(np.maximum(np.asarray(lengths, dtype=np.float64), 1.0))
    spread = float(np.var(x))
    slope = float(np.mean((x - x.mean()) * (y - y.mean())) / spread) if spread > 1e-9 else 0.0
    level = conformal_quantile(y - slope * x, keep)
    return LengthThreshold(level, slope, len(densities), keep, min(lengths), max(lengths))


def conformal_quantile(values: NDArray[np.float64], keep: float) -> float:
    """Return the value that a further draw stays within with probability at least `keep`; inf for too few."""
    rank = math.ceil((len(values) + 1) * keep - 1e-9)
    return float(np.sort(values)[rank - 1]) if rank <= len(values) else math.inf
