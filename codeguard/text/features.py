"""Features of ML-FilterRAG: the four of the paper, and others for attacks that invert those four."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.perplexity import NgramModel
from codeguard.index.embedding import Embedding
from codeguard.text.frequency import WordMatcher
from codeguard.text.model import TextDefenseError
from codeguard.text.reading import Reader, ReaderAnswer
from codeguard.text.tokens import content_words, longest_echo, sentences, words

PAPER_FEATURES = ("frequency_density", "perplexity", "log_probability", "matching_frequency")
FEATURES = (
    *PAPER_FEATURES,
    "echo",
    "coverage",
    "similarity",
    "answer_similarity",
    "bits",
    "worst_bits",
    "unknown_words",
    "digits",
    "capitals",
    "commas",
    "brackets",
    "word_length",
    "short_words",
    "variety",
    "sentence_length",
)
ORDER = 5  # characters of the n-gram model
SMOOTHING = 0.1  # added to each word count
VOCABULARY = 50_000  # words assumed by the smoothing
OWN_SHARE = 0.7  # weight of the text's own words in a word's probability, the rest is the background
_FOOTNOTE = re.compile(r"\[\d+\]|[*_#`]+")


@dataclass(frozen=True, slots=True)
class Background:
    """Clean texts of a domain as a character model and word counts."""

    characters: NgramModel
    counts: Mapping[str, int]
    total: int

    @classmethod
    def train(cls, texts: Sequence[str]) -> Background:
        """Learn from clean texts.

        Raises:
            TextDefenseError: the texts hold no word.
        """
        plain = [plain_text(text) for text in texts]
        counts = Counter(word for text in plain for word in words(text))
        if not counts:
            raise TextDefenseError("no clean text to learn from")
        return cls(NgramModel.train(plain, ORDER), dict(counts), sum(counts.values()))

    def log_probability(self, word: str) -> float:
        """Return the natural logarithm of a word's smoothed share of the clean texts."""
        count = self.counts.get(word, 0) + SMOOTHING
        return math.log(count / (self.total + SMOOTHING * VOCABULARY))


@dataclass(frozen=True, slots=True)
class FeatureExtractor:
    """Computes the row of `FEATURES` for a question and each retrieved text."""

    embedding: Embedding
    reader: Reader
    matcher: WordMatcher
    background: Background

    def read(self, query: str, texts: Sequence[str]) -> list[ReaderAnswer]:
        """Return the reader's answer to the question from each text alone."""
        return self.reader.answer_each(query, [plain_text(text) for text in texts])

    def rows(self, query: str, texts: Sequence[str], readings: Sequence[ReaderAnswer]) -> NDArray[np.float64]:
        """Return an array of shape (texts, features); the row of a text without an answer is NaN."""
        plain = [plain_text(text) for text in texts]
        vectors = self.embedding.embed([query, *plain, *(reading.text or " " for reading in readings)])
        near = (vectors[1:] @ vectors[0]).astype(np.float64)
        rows = np.full((len(texts), len(FEATURES)), np.nan)
        for index, (text, reading) in enumerate(zip(plain, readings, strict=True)):
            if not reading.error and words(text):
                rows[index] = self._row(query, text, reading, near[index], near[len(texts) + index])
        return rows

    def _row(
        self, query: str, text: str, reading: ReaderAnswer, near: float, answer_near: float
    ) -> list[float]:
        present = Counter(words(text))
        frequency = self.matcher.count(text, query, reading.text)
        question_words = set(content_words(query))
        bits = self.background.characters.bits_per_character(text)
        perplexity = reading.perplexity
        if perplexity is None:
            mean = sum(self.background.log_probability(word) * n for word, n in present.items())
            perplexity = math.exp(min(-mean / frequency.total, 700.0))
        log_probability = reading.log_probability
        if log_probability is None:
            log_probability = self._answer_log_probability(reading.text, present, frequency.total)
        unknown = sum(n for word, n in present.items() if word not in self.background.counts)
        return [
            # By occurrences, which tells poison from clean text better here than distinct words do.
            frequency.occurrences / frequency.unique,
            perplexity,
            log_probability,
            float(frequency.occurrences),
            longest_echo(words(query), words(text)),
            len(question_words & set(present)) / max(1, len(question_words)),
            near,
            answer_near,
            bits,
            self.background.characters.worst_window(text),
            unknown / frequency.total,
            *style(text, present),
        ]

    def _answer_log_probability(self, answer: str, present: Counter[str], total: int) -> float:
        """Return the log-probability of the answer under a mixture of the text's and the background's words."""
        return sum(
            math.log(
                OWN_SHARE * present[word] / total
                + (1 - OWN_SHARE) * math.exp(self.background.log_probability(word))
            )
            for word in words(answer)
        )


def style(text: str, present: Counter[str]) -> list[float]:
    """Return features of style, independent of content: shares of characters and words, mean lengths.

    Generated prose and encyclopedic prose differ here even if all words are on the topic. Whether a
    text ends in mid-sentence is left out: that depends on how a data set was cut.
    """
    total = max(1, sum(present.values()))
    size = max(1, len(text))
    short = total - sum(present[word] for word in content_words(" ".join(present)))
    return [
        sum(char.isdigit() for char in text) / size,
        sum(char.isupper() for char in text) / size,
        text.count(",") / total,
        (text.count("(") + text.count('"')) / total,
        sum(len(word) * count for word, count in present.items()) / total,
        short / total,
        len(present) / total**0.8,
        total / max(1, len(sentences(text))),
    ]


def plain_text(text: str) -> str:
    """Return a text without footnote marks and markup, which identify data sets and not poison."""
    return _FOOTNOTE.sub("", text)
