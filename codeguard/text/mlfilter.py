"""ML-FilterRAG: two classifiers over the features of retrieved texts, trained on labelled examples.

The features are the four of the paper, and others for attacks that invert those four. Trees and a
regression err on different texts, and the sum of their scores errs less than either. What poison does to
a feature, in units of the clean texts' spread, carries over to another corpus better than the feature's
values do: the regression's features are on that scale.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.perplexity import NgramModel
from codeguard.errors import CodeguardError, MissingExtraError
from codeguard.index.embedding import Embedding
from codeguard.text.filterrag import count_matches, filter_documents
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words
from codeguard.text.reading import Reader, ReaderAnswer, failures
from codeguard.text.tokens import content_words, longest_echo, sentences, words
from codeguard.trust.state_files import open_regular, write_atomically

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]

PAPER_FEATURES = ("frequency_density", "perplexity", "log_probability", "matching_frequency")
_OTHERS = """
    echo coverage similarity answer_similarity bits worst_bits unknown_words digits capitals commas brackets
    word_length short_words variety sentence_length
"""
FEATURES = (*PAPER_FEATURES, *_OTHERS.split())
SCHEMA = "codeguard.text.filter/5"
MAX_BYTES = 512 * 1024 * 1024  # of a saved filter
MOST_EXAMPLES = 20_000  # of a saved filter, which is trained again when it is loaded
FOLDS = 5
KEPT = 0.99  # of the clean examples, by the threshold of a trained filter
TREES, SMALLEST_LEAF = 150, 2
FOLD_TREES = 60  # enough to place the threshold
INVERSE_PENALTY = 3.0  # weight of the examples' losses against half the sum of the squared weights
MOST_STEPS = 5_000
FARTHEST = 6.0  # spreads from the median; features farther away count as that far
SMALLEST = 1e-6  # a feature with less spread is constant and is not scaled
LOGARITHMIC = ("perplexity", "matching_frequency", "sentence_length")  # positive, over orders of magnitude
# Of the clean texts' scores by trees and by regression, against division by next to 0.
LEAST_RANGE = (0.02, 0.5)
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
    background: Background

    def rows(self, query: str, texts: Sequence[str]) -> tuple[Floats, list[ReaderAnswer]]:
        """Return an array of shape (texts, features) and the reader's answers to the question from each text alone.

        The row of a text without an answer is NaN.
        """
        plain = [plain_text(text) for text in texts]
        readings = self.reader.answer_each(query, plain)
        vectors = self.embedding.embed([query, *plain, *(reading.text or " " for reading in readings)])
        near = (vectors[1:] @ vectors[0]).astype(np.float64)
        rows = np.full((len(texts), len(FEATURES)), np.nan)
        for index, (text, reading) in enumerate(zip(plain, readings, strict=True)):
            if not reading.error and words(text):
                rows[index] = self._row(query, text, reading, near[index], near[len(texts) + index])
        return rows, readings

    def _row(
        self, query: str, text: str, reading: ReaderAnswer, near: float, answer_near: float
    ) -> list[float]:
        present = Counter(words(text))
        frequency = count_matches(text, query, reading.text)
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


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A retrieved text labelled as clean or poisoned, for training."""

    query: str
    text: str
    poisoned: bool


class Classifiers(NamedTuple):
    """A random forest and a logistic regression of scikit-learn, and the clean rows' medians and spreads."""

    forest: Any
    regression: Any
    scale: Floats

    @classmethod
    def fitted(cls, rows: Floats, poisoned: Labels, trees: int = TREES) -> Classifiers:
        """Fit both, each class with equal weight; the regression on the scale of the clean rows.

        Raises:
            MissingExtraError: scikit-learn is not installed.
        """
        try:
            ensemble, linear = map(importlib.import_module, ("sklearn.ensemble", "sklearn.linear_model"))
        except ImportError:
            raise MissingExtraError("a trained filter needs scikit-learn", "text") from None
        forest = ensemble.RandomForestClassifier(
            n_estimators=trees, min_samples_leaf=SMALLEST_LEAF, class_weight="balanced", random_state=0
        )
        regression = linear.LogisticRegression(
            C=INVERSE_PENALTY, class_weight="balanced", max_iter=MOST_STEPS
        )
        # The spread is half the middle 68 % of a column.
        low, middle, high = np.quantile(rows[~poisoned], [0.16, 0.5, 0.84], axis=0)
        spread = (high - low) / 2
        scale = np.stack([middle, np.where(spread < SMALLEST, 1.0, spread)])
        return cls(forest.fit(rows, poisoned), regression.fit(_scaled(rows, scale), poisoned), scale)

    def scores(self, rows: Floats) -> Floats:
        """Return the forest's probability of poison and the regression's log-odds, in two columns."""
        odds = self.regression.decision_function(_scaled(rows, self.scale))
        return np.column_stack([self.forest.predict_proba(rows)[:, 1], odds])


def _scaled(rows: Floats, scale: Floats) -> Floats:
    return np.asarray(np.clip((rows - scale[0]) / scale[1], -FARTHEST, FARTHEST))


@dataclass(frozen=True, slots=True)
class TrainedFilter:
    """The examples with which two classifiers were trained, the threshold, and the domain's clean texts.

    `rows` has the columns `features`, with the logarithm of those in `LOGARITHMIC`. `levels` are the
    median and the 95th percentile of each classifier's scores of clean texts, by which the two are
    made comparable.
    """

    features: tuple[str, ...]
    rows: Floats
    poisoned: Labels
    threshold: float
    levels: Floats
    clean: tuple[str, ...]
    background: Background = field(init=False, repr=False, compare=False)
    classifiers: Classifiers = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "background", Background.train(self.clean))
        object.__setattr__(self, "classifiers", Classifiers.fitted(self.rows, self.poisoned))

    def predict(self, rows: Floats) -> Floats:
        """Return a score of poison for each row of `FEATURES`, 0 to 1, about 0.5 for common clean texts."""
        return _joint(self.classifiers.scores(_chosen(rows, self.features)), self.levels)

    def save(self, path: Path) -> None:
        """Write the filter as JSON: its examples' features and its clean texts.

        The classifiers are not in it: scikit-learn saves pickles, which run code when they are loaded. A write
        that fails or is interrupted leaves a filter that was there as it is.

        Raises:
            TextDefenseError: the file cannot be written.
        """
        value = {
            "schema": SCHEMA,
            "features": self.features,
            "threshold": self.threshold,
            "clean": self.clean,
        }
        value |= {name: getattr(self, name).tolist() for name in ("rows", "poisoned", "levels")}
        try:
            write_atomically(path, json.dumps(value, allow_nan=False).encode())
        except OSError as error:
            raise TextDefenseError(f"{path} cannot be written: {error.strerror or error}") from None

    @classmethod
    def load(cls, path: Path) -> TrainedFilter:
        """Read a filter that `save` wrote, and train it again.

        Raises:
            MissingExtraError: scikit-learn is not installed.
            TextDefenseError: the file is missing, damaged or of another version.
        """
        try:
            with open_regular(path) as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise ValueError(f"larger than {MAX_BYTES} bytes")
            return cls._from_json(json.loads(data))
        except CodeguardError:
            raise
        except FileNotFoundError:
            raise TextDefenseError(f"no such file: {path}", hint="--train EXAMPLES makes a filter") from None
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise TextDefenseError(
                f"{path} is not a trained filter ({type(error).__name__}: {error})", hint="train it again"
            ) from None

    @classmethod
    def _from_json(cls, value: Mapping[str, Any]) -> TrainedFilter:
        if value["schema"] != SCHEMA:
            raise ValueError(f"schema {value['schema']!r}")
        features, clean = tuple(value["features"]), tuple(value["clean"])
        if not features or not set(features) <= set(FEATURES) or not all(isinstance(t, str) for t in clean):
            raise ValueError("unknown features, or clean texts that are no texts")
        poisoned = np.array(value["poisoned"], dtype=np.bool_)
        rows, levels = (np.array(value[name], dtype=np.float64) for name in ("rows", "levels"))
        threshold = float(value["threshold"])
        right = (
            math.isfinite(threshold)
            and (len(poisoned),) == poisoned.shape
            and rows.shape == (len(poisoned), len(features))
            and levels.shape == (2, 2)
            and len(poisoned) <= MOST_EXAMPLES
            and poisoned.any()
            and not poisoned.all()
        )
        if not right or not np.isfinite(rows).all() or not np.isfinite(levels).all():
            raise ValueError("examples out of range")
        return cls(features, rows, poisoned, threshold, levels, clean)


def _chosen(rows: Floats, features: Sequence[str]) -> Floats:
    """Return the columns `features` of rows of `FEATURES`, with the logarithm of those in `LOGARITHMIC`."""
    found: Floats = rows[:, [FEATURES.index(name) for name in features]]
    for place in (place for place, name in enumerate(features) if name in LOGARITHMIC):
        found[:, place] = np.log(np.maximum(found[:, place], 1e-9))
    return found


def _joint(parts: Floats, levels: Floats) -> Floats:
    """Return the sum of two classifiers' scores, each in units of the clean texts' range, mapped to 0 to 1."""
    total = ((parts - levels[0]) / (levels[1] - levels[0])).sum(axis=1)
    return np.asarray(0.5 + 0.5 * total / (1 + np.abs(total)))


def train_filter(
    examples: Sequence[LabelledText],
    embedding: Embedding,
    reader: Reader,
    *,
    features: Sequence[str] = FEATURES,
) -> TrainedFilter:
    """Train a filter on labelled texts; use one model per data set.

    The threshold accepts the share `KEPT` of the clean examples when each is scored by a model that
    was trained without its question (five folds by question). A text is never part of the
    background that it is compared with.

    Raises:
        MissingExtraError: scikit-learn is not installed.
        TextDefenseError: there are fewer than ten examples of a class, fewer than five questions, or more
            than `MOST_EXAMPLES` examples, or a call of the reader failed.
    """
    poisoned = np.array([example.poisoned for example in examples], dtype=np.bool_)
    questions = {example.query: 0 for example in examples}
    few = min(poisoned.sum(), (~poisoned).sum()) < 10 or len(questions) < FOLDS
    if few or len(examples) > MOST_EXAMPLES:
        raise TextDefenseError(
            "too few examples" if few else "too many examples",
            got=f"{poisoned.sum()} poisoned, {(~poisoned).sum()} clean, {len(questions)} questions",
            expected=f"10 of each, {FOLDS} questions, at most {MOST_EXAMPLES}",
        )
    fold_of = {question: number % FOLDS for number, question in enumerate(questions)}
    fold = np.array([fold_of[example.query] for example in examples], dtype=np.intp)
    rows = np.zeros((len(examples), len(FEATURES)))
    for part in range(FOLDS):
        inside = [examples[index] for index in np.flatnonzero(fold == part).tolist()]
        # One clean passage may answer several questions; its words must not be part of its own background.
        held = {example.text for example in inside}
        background = Background.train(_clean_texts(examples, held))
        rows[fold == part] = _example_rows(FeatureExtractor(embedding, reader, background), inside)
    known = ~np.isnan(rows).any(axis=1)
    chosen = _chosen(rows, features)
    held_out = np.zeros((len(examples), 2))
    for part in range(FOLDS):
        tested, others = known & (fold == part), known & (fold != part)
        if tested.any():
            fitted = Classifiers.fitted(chosen[others], poisoned[others], FOLD_TREES)
            held_out[tested] = fitted.scores(chosen[tested])
    clean = held_out[known & ~poisoned]
    low, high = np.quantile(clean, [0.5, 0.95], axis=0)
    levels = np.stack([low, np.maximum(high, low + LEAST_RANGE)])
    threshold = float(np.quantile(_joint(clean, levels), KEPT))
    texts = _clean_texts(examples, set())
    return TrainedFilter(tuple(features), chosen[known], poisoned[known], threshold, levels, tuple(texts))


def _clean_texts(examples: Sequence[LabelledText], without: set[str]) -> list[str]:
    return list(dict.fromkeys(e.text for e in examples if not e.poisoned and e.text not in without))


def _example_rows(extractor: FeatureExtractor, examples: Sequence[LabelledText]) -> Floats:
    """Return the feature rows of examples, in order; incomplete ones would bias the training."""
    rows = np.zeros((len(examples), len(FEATURES)))
    by_question: dict[str, list[int]] = {}
    for index, example in enumerate(examples):
        by_question.setdefault(example.query, []).append(index)
    for question, places in by_question.items():
        rows[places], readings = extractor.rows(question, [examples[index].text for index in places])
        for failure in failures(readings):
            raise TextDefenseError(f"the examples cannot be read: {failure}")
    return rows


@dataclass(frozen=True, slots=True)
class MLFilterRAG:
    """Sorts the retrieved texts of a query, nearest first, by a trained filter."""

    model: TrainedFilter
    embedding: Embedding
    reader: Reader
    top: int = 4
    keep: int = 2

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge retrieved documents; one without an answer is rejected, and a failure rejects all."""

        def judge(judged: Sequence[Document]) -> tuple[list[Judgment], list[ReaderAnswer]]:
            extractor = FeatureExtractor(self.embedding, self.reader, self.model.background)
            rows, readings = extractor.rows(query, [document.text for document in judged])
            known = ~np.isnan(rows).any(axis=1)
            scores = np.full(len(rows), np.nan)
            if known.any():
                scores[known] = self.model.predict(rows[known])
            pairs = zip(judged, scores.tolist(), strict=True)
            return [self._judgment(document, score) for document, score in pairs], readings

        return filter_documents(documents, self.top, self.keep, judge)

    def _judgment(self, document: Document, score: float) -> Judgment:
        if not words(document.text):
            return no_words(document)
        if math.isnan(score):
            return Judgment(document, False, "no_answer", "the text gives no answer")
        threshold = self.model.threshold
        over = score > threshold
        reason = f"poison score {score:.2f}, {'above' if over else 'within'} {threshold:.2f}"
        scores = {"score": score, "threshold": threshold}
        return Judgment(document, not over, "classified" if over else "classifier_ok", reason, scores)
