"""Freq-Density: how much of a text is made of the words of the question and of the answer it gives.

From Edemacu and others, "Defending Against Knowledge Poisoning Attacks During
Retrieval-Augmented Generation" (2025): the sum of Freq(w, d) over the words
w of d that match a word of the question or of the answer, divided by the
number of unique words of d. The paper leaves open what Freq is; three
readings are in use, and they differ by a factor of thirty (see docs/text.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from codeguard.embedding import Embedding
from codeguard.errors import ConfigError
from codeguard.text.model import TextDefenseError
from codeguard.text.tokens import words

DensityReading = Literal["count", "share", "distinct"]
READINGS: tuple[DensityReading, ...] = get_args(DensityReading)
SIMILAR = 0.6  # cosine from which two words match, the paper's value
LEAST = 1e-4  # stands for a density of 0 where a logarithm is taken


@dataclass(frozen=True, slots=True)
class Frequency:
    """Counts behind the three readings: of words in all, unique ones, matching ones, their occurrences."""

    total: int
    unique: int
    matching: int
    occurrences: int

    def density(self, reading: DensityReading = "distinct") -> float:
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

    exp(`level` + `slope` · log(words)), fitted to clean texts of many
    lengths: a short text on the topic is dense by nature, and one constant
    for all lengths would drop every short clean text.
    """

    level: float
    slope: float
    pairs: int

    def at(self, length: int) -> float:
        """Return the threshold for a text of that many words."""
        return math.exp(self.level + self.slope * math.log(max(length, 1)))

    def to_json(self) -> dict[str, Any]:
        """Return the fit as plain values."""
        return {"level": self.level, "slope": self.slope, "pairs": self.pairs}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> LengthThreshold:
        """Rebuild a fit; KeyError, TypeError or ValueError where the value is not one."""
        level, slope = float(value["level"]), float(value["slope"])
        if not (math.isfinite(level) and math.isfinite(slope)):
            raise ValueError("level and slope have to be finite")
        return cls(level, slope, int(value["pairs"]))


def fit_threshold(densities: Sequence[float], lengths: Sequence[int], keep: float = 0.95) -> LengthThreshold:
    """Fit the threshold that keeps a share `keep` of clean texts, given their densities and word counts.

    Raises:
        TextDefenseError: fewer than 20 texts.
    """
    if len(densities) < 20:
        raise TextDefenseError(
            "too few clean texts to calibrate on", got=len(densities), expected="20 or more"
        )
    y = np.log(np.maximum(np.asarray(densities, dtype=np.float64), LEAST))
    x = np.log(np.maximum(np.asarray(lengths, dtype=np.float64), 1.0))
    spread = float(np.var(x))
    slope = float(np.mean((x - x.mean()) * (y - y.mean())) / spread) if spread > 1e-9 else 0.0
    level = float(np.quantile(y - slope * x, keep))
    return LengthThreshold(level, slope, len(densities))
