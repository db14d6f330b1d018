"""ML-FilterRAG: two classifiers over the features of retrieved texts, trained on labelled examples.

Trees and a regression err on different texts, and the sum of their scores errs less than either. What
poison does to a feature, in units of the clean texts' spread, carries over to another corpus better than
the feature's values do: the regression's features are on that scale, and `recalibrate` learns it anew from
clean texts alone.
"""

from __future__ import annotations

import importlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.perplexity import NgramModel
from codeguard.errors import CodeguardError, MissingExtraError
from codeguard.index.embedding import Embedding
from codeguard.text.features import FEATURES, Background, FeatureExtractor
from codeguard.text.filterrag import CleanPair, finish, imitations, refuse_weak
from codeguard.text.frequency import MORE_PASSAGES, WordMatcher, conformal_quantile
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.reading import Reader, failures
from codeguard.text.tokens import words
from codeguard.trust.local import open_regular, write_atomically

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]

SCHEMA = "codeguard.text.filter/4"
MAX_BYTES = 512 * 1024 * 1024  # of a saved filter, unpacked
MOST_EXAMPLES = 20_000  # of a saved filter, which is trained again when it is loaded
FOLDS = 5
KEPT = 0.99  # of the clean examples, by the threshold of a trained filter
TREES, SMALLEST_LEAF = 150, 2
FOLD_TREES = 60  # enough to place the threshold
INVERSE_PENALTY = 3.0  # weight of the examples' losses against half the sum of the squared weights
MOST_STEPS = 5_000
FARTHEST = 6.0  # spreads from the median; features farther away count as that far
SMALLEST = 1e-6  # a feature with less spread is constant and is not scaled
CALIBRATION_FOLDS = 20  # each scored on the scale and levels of the others
FEWEST_CLEAN = 20
LOGARITHMIC = ("perplexity", "matching_frequency", "sentence_length")  # positive, over orders of magnitude
# Of the clean texts' scores by trees and by regression, against division by next to 0.
LEAST_RANGE = (0.02, 0.5)
LIMITED = ("echo", "unknown_words")  # features whose limits can be learned from clean texts only


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A retrieved text labelled as clean or poisoned, for training."""

    query: str
    text: str
    poisoned: bool


class Classifiers(NamedTuple):
    """A random forest and a logistic regression of scikit-learn."""

    forest: Any
    regression: Any

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
        scaled = _scaled(rows, _scale(rows[~poisoned]))
        return cls(forest.fit(rows, poisoned), regression.fit(scaled, poisoned))

    def scores(self, rows: Floats, scale: Floats) -> Floats:
        """Return the forest's probability of poison and the regression's log-odds, in two columns."""
        odds = self.regression.decision_function(_scaled(rows, scale))
        return np.column_stack([self.forest.predict_proba(rows)[:, 1], odds])


@dataclass(frozen=True, slots=True)
class TrainedFilter:
    """The examples with which two classifiers were trained, the threshold, and the domain's background.

    `rows` has the columns `features`, with the logarithm of those in `LOGARITHMIC`. `scale` is the median and
    the spread of each feature among clean texts, `levels` the median and the 95th percentile of each
    classifier's scores of them, by which the two are made comparable. A text that exceeds one of `limits` is
    rejected regardless of both. `recalibrate` learns scale, levels and limits from clean texts.
    """

    features: tuple[str, ...]
    rows: Floats
    poisoned: Labels
    threshold: float
    background: Background
    scale: Floats
    levels: Floats
    classifiers: Classifiers = field(repr=False, compare=False)
    limits: Mapping[str, float] = field(default_factory=dict)

    def predict(self, rows: Floats) -> Floats:
        """Return a score of poison for each row of `FEATURES`, 0 to 1, about 0.5 for common clean texts."""
        scores = self.classifiers.scores(_chosen(rows, self.features), self.scale)
        joint = _joint(scores, self.levels)
        for name, limit in self.limits.items():
            joint[rows[:, FEATURES.index(name)] > limit] = 1.0
        return joint

    def adapted(self, clean: Floats) -> TrainedFilter:
        """Return the filter with the scale, the levels and the limits of other clean texts' rows."""
        limits = {name: float(clean[:, FEATURES.index(name)].max()) for name in LIMITED}
        chosen = _chosen(clean, self.features)
        scale = _scale(chosen)
        levels = _levels(self.classifiers.scores(chosen, scale))
        return replace(self, limits=limits, scale=scale, levels=levels)

    def save(self, path: Path) -> None:
        """Write the filter as a numpy archive of plain arrays.

        The classifiers are not in it: scikit-learn saves pickles, which run code when they are loaded. A write
        that fails or is interrupted leaves a filter that was there as it is.

        Raises:
            TextDefenseError: the file cannot be written.
        """
        meta = {
            "schema": SCHEMA,
            "features": list(self.features),
            "threshold": self.threshold,
            "limits": dict(self.limits),
            "order": self.background.characters.order,
            "words": dict(self.background.counts),
        }
        arrays: dict[str, NDArray[Any]] = {
            "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
            "keys": self.background.characters.keys,
            "counts": self.background.characters.counts,
            **{name: getattr(self, name) for name in ("rows", "poisoned", "scale", "levels")},
        }
        packed = io.BytesIO()
        np.savez_compressed(packed, allow_pickle=False, **arrays)
        try:
            write_atomically(path, packed.getvalue())
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
                with ZipFile(file) as parts:
                    size = sum(part.file_size for part in parts.infolist())
                if size > MAX_BYTES:
                    raise ValueError(f"{size} bytes unpacked, the limit is {MAX_BYTES}")
                file.seek(0)
                with np.load(file, allow_pickle=False) as archive:
                    arrays = {name: archive[name] for name in archive.files}
            meta = json.loads(arrays["meta"].tobytes())
            if meta["schema"] != SCHEMA:
                raise ValueError(f"schema {meta['schema']!r}")
            return _from_archive(meta, arrays)
        except CodeguardError:
            raise
        except FileNotFoundError:
            raise TextDefenseError(f"no such file: {path}", hint="--train EXAMPLES makes a filter") from None
        except Exception as error:  # numpy and zipfile raise many kinds over a damaged file
            raise TextDefenseError(
                f"{path} is not a trained filter ({type(error).__name__}: {error})", hint="train it again"
            ) from None


def _from_archive(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TrainedFilter:
    features = tuple(str(name) for name in meta["features"])
    if not features or not set(features) <= set(FEATURES):
        raise ValueError("unknown features")
    counts = {str(word): int(count) for word, count in meta["words"].items()}
    model = NgramModel(int(meta["order"]), arrays["keys"], arrays["counts"])
    poisoned = np.asarray(arrays["poisoned"], dtype=np.bool_)
    rows, scale, levels = (np.asarray(arrays[name], dtype=np.float64) for name in ("rows", "scale", "levels"))
    shapes = {"rows": (len(poisoned), len(features)), "scale": (2, len(features)), "levels": (2, 2)}
    for name, array in (("rows", rows), ("scale", scale), ("levels", levels)):
        if array.shape != shapes[name] or not np.isfinite(array).all():
            raise ValueError(f"{name} out of range")
    if poisoned.ndim != 1 or len(poisoned) > MOST_EXAMPLES or not (scale[1] > 0).all():
        raise ValueError("examples out of range")
    return TrainedFilter(
        features,
        rows,
        poisoned,
        float(meta["threshold"]),
        Background(model, counts, sum(counts.values())),
        scale,
        levels,
        Classifiers.fitted(rows, poisoned),
        {name: float(meta["limits"][name]) for name in LIMITED if name in meta["limits"]},
    )


@dataclass(frozen=True, slots=True)
class Recalibration:
    """A filter fitted to another corpus with clean texts of that corpus only.

    `kept_before` is the share of those texts that the filter accepted before, `caught` the share of
    each kind of imitated poison that the recalibrated filter catches.
    """

    model: TrainedFilter
    pairs: int
    kept_before: float
    caught: Mapping[str, float]
    keep: float

    @property
    def notes(self) -> tuple[str, ...]:
        """What was learned."""
        shares = ", ".join(f"{kind} {share:.0%}" for kind, share in self.caught.items())
        return (
            f"recalibrated on {self.pairs} clean passages: at least {self.keep:.0%} of further ones like them pass "
            f"(as trained {self.kept_before:.0%} would have); the classifier catches of imitated poison: {shares}",
        )

    def require_useful(self) -> None:
        """Raise a TextDefenseError if some kind of imitated poison mostly passes."""
        refuse_weak(self.caught)


def recalibrate(
    model: TrainedFilter,
    pairs: Sequence[CleanPair],
    embedding: Embedding,
    reader: Reader,
    *,
    matcher: WordMatcher | None = None,
    keep: float = 0.95,
) -> Recalibration:
    """Fit a trained filter to another corpus, from clean passages of that corpus only.

    The new threshold is the conformal quantile of their scores, each by a filter that was fitted
    without the passage (cross-conformal prediction, Vovk, 2015). The trees and the regression's
    weights are not changed, but its features are put on the scale of these passages. For the
    features in `LIMITED`, the largest value among the clean passages becomes a limit: the run
    of the question's words that a text repeats, and the share of words unknown to clean texts.
    Attacks with the question as a prefix or with misspelt words exceed these in every corpus, even
    if their other features do not transfer.

    Raises:
        TextDefenseError: there are too few passages for the share `keep`.
    """
    least = max(FEWEST_CLEAN, math.ceil(keep / (1 - keep)))
    examples = [LabelledText(pair.query, pair.text, False) for pair in dict.fromkeys(pairs)]
    if len(examples) < least:
        raise TextDefenseError(
            "too few clean passages", got=len(examples), expected=f"{least} or more", hint=MORE_PASSAGES
        )
    extractor = FeatureExtractor(embedding, reader, matcher or WordMatcher(), model.background)
    rows = _complete_rows(example_rows(extractor, examples))
    fold = np.arange(len(rows)) % CALIBRATION_FOLDS
    scores = np.zeros(len(rows))
    for part in np.unique(fold):
        others = replace(model.adapted(rows[fold != part]), limits={})
        scores[fold == part] = others.predict(rows[fold == part])
    fitted = replace(model.adapted(rows), threshold=conformal_quantile(scores, keep))
    kept_before = float((model.predict(rows) <= model.threshold).mean())
    # Without the limits, which catch one kind of these imitations by construction.
    bare = replace(fitted, limits={})
    caught = {}
    for kind, made in imitations(pairs, reader).items():
        poison = [LabelledText(pair.query, pair.text, True) for pair in made]
        scored = bare.predict(_complete_rows(example_rows(extractor, poison)))
        caught[kind] = float((scored > fitted.threshold).mean())
    return Recalibration(fitted, len(rows), kept_before, caught, keep)


def _chosen(rows: Floats, features: Sequence[str]) -> Floats:
    """Return the columns `features` of rows of `FEATURES`, with the logarithm of those in `LOGARITHMIC`."""
    found: Floats = rows[:, [FEATURES.index(name) for name in features]]
    for place in (place for place, name in enumerate(features) if name in LOGARITHMIC):
        found[:, place] = np.log(np.maximum(found[:, place], 1e-9))
    return found


def _scale(clean: Floats) -> Floats:
    """Return the median and half the middle 68 % of each column, one row each."""
    low, middle, high = np.quantile(clean, [0.16, 0.5, 0.84], axis=0)
    spread = (high - low) / 2
    return np.stack([middle, np.where(spread < SMALLEST, 1.0, spread)])


def _scaled(rows: Floats, scale: Floats) -> Floats:
    found: Floats = np.clip((rows - scale[0]) / scale[1], -FARTHEST, FARTHEST)
    return found


def _levels(parts: Floats) -> Floats:
    """Return the median and the 95th percentile of each classifier's scores of clean texts, one row each."""
    low, high = np.quantile(parts, [0.5, 0.95], axis=0)
    return np.stack([low, np.maximum(high, low + LEAST_RANGE)])


def _joint(parts: Floats, levels: Floats) -> Floats:
    """Return the sum of two classifiers' scores, each in units of the clean texts' range, mapped to 0 to 1."""
    total = ((parts - levels[0]) / (levels[1] - levels[0])).sum(axis=1)
    result: Floats = 0.5 + 0.5 * total / (1 + np.abs(total))
    return result


def _complete_rows(rows: Floats) -> Floats:
    found: Floats = rows[~np.isnan(rows).any(axis=1)]
    if not len(found):
        raise TextDefenseError("the reader gave no answer to any of the passages")
    return found


def _folds(examples: Sequence[LabelledText]) -> NDArray[np.intp]:
    """Return the fold of each example; examples with the same question share one."""
    questions = list(dict.fromkeys(example.query for example in examples))
    group = {question: number % FOLDS for number, question in enumerate(questions)}
    return np.array([group[example.query] for example in examples], dtype=np.intp)


def _cross_fitted(
    examples: Sequence[LabelledText], embedding: Embedding, reader: Reader, matcher: WordMatcher
) -> Floats:
    """Return the feature rows; the background of each is learned without its text and its question."""
    fold = _folds(examples)
    rows = np.zeros((len(examples), len(FEATURES)))
    for part in range(FOLDS):
        inside = [examples[index] for index in np.flatnonzero(fold == part).tolist()]
        # One clean passage may answer several questions; its words must not be part of its own background.
        held = {example.text for example in inside}
        clean = [item.text for item in examples if not item.poisoned and item.text not in held]
        background = Background.train(list(dict.fromkeys(clean)))
        extractor = FeatureExtractor(embedding, reader, matcher, background)
        rows[fold == part] = example_rows(extractor, inside)
    return rows


def train_filter(
    examples: Sequence[LabelledText],
    embedding: Embedding,
    reader: Reader,
    *,
    features: Sequence[str] = FEATURES,
    matcher: WordMatcher | None = None,
) -> TrainedFilter:
    """Train a filter on labelled texts; use one model per data set.

    The threshold accepts the share `KEPT` of the clean examples when each is scored by a model that
    was trained without its question (five folds by question). A text is never part of the
    background that it is compared with.

    Raises:
        MissingExtraError: scikit-learn is not installed.
        TextDefenseError: there are fewer than ten examples of a class, fewer than five questions, or more
            than `MOST_EXAMPLES` examples.
    """
    poisoned = np.array([example.poisoned for example in examples], dtype=np.bool_)
    questions = list(dict.fromkeys(example.query for example in examples))
    few = min(poisoned.sum(), (~poisoned).sum()) < 10 or len(questions) < FOLDS
    if few or len(examples) > MOST_EXAMPLES:
        raise TextDefenseError(
            "too few examples" if few else "too many examples",
            got=f"{poisoned.sum()} poisoned, {(~poisoned).sum()} clean, {len(questions)} questions",
            expected=f"10 of each, {FOLDS} questions, at most {MOST_EXAMPLES}",
        )
    fold = _folds(examples)
    rows = _cross_fitted(examples, embedding, reader, matcher or WordMatcher())
    known = ~np.isnan(rows).any(axis=1)
    chosen = _chosen(rows, features)
    held_out = np.zeros((len(examples), 2))
    for part in range(FOLDS):
        inside, outside = known & (fold == part), known & (fold != part)
        if inside.any():
            fitted = Classifiers.fitted(chosen[outside], poisoned[outside], FOLD_TREES)
            held_out[inside] = fitted.scores(chosen[inside], _scale(chosen[outside & ~poisoned]))
    clean = held_out[known & ~poisoned]
    levels = _levels(clean)
    return TrainedFilter(
        tuple(features),
        chosen[known],
        poisoned[known],
        float(np.quantile(_joint(clean, levels), KEPT)),
        Background.train(list(dict.fromkeys(item.text for item in examples if not item.poisoned))),
        _scale(chosen[known & ~poisoned]),
        levels,
        Classifiers.fitted(chosen[known], poisoned[known]),
    )


def example_rows(extractor: FeatureExtractor, examples: Sequence[LabelledText]) -> Floats:
    """Return the feature rows of examples, in order.

    Raises:
        TextDefenseError: a call of the reader failed; incomplete rows would bias the training.
    """
    rows = np.zeros((len(examples), len(FEATURES)))
    by_question: dict[str, list[int]] = {}
    for index, example in enumerate(examples):
        by_question.setdefault(example.query, []).append(index)
    for question, places in by_question.items():
        texts = [examples[index].text for index in places]
        readings = extractor.read(question, texts)
        for failure in failures(readings):
            raise TextDefenseError(f"the examples cannot be read: {failure}")
        rows[places] = extractor.rows(question, texts, readings)
    return rows


@dataclass(frozen=True, slots=True)
class MLFilterRAG:
    """Sorts the retrieved texts of a query, nearest first, by a trained filter."""

    model: TrainedFilter
    embedding: Embedding
    reader: Reader
    matcher: WordMatcher
    top: int = 4
    keep: int = 2

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge retrieved documents; one without an answer is rejected, and a failure rejects all."""
        judged_documents = documents[: self.top]
        extractor = FeatureExtractor(self.embedding, self.reader, self.matcher, self.model.background)
        try:
            texts = [document.text for document in judged_documents]
            readings = extractor.read(query, texts)
            rows = extractor.rows(query, texts, readings)
            known = ~np.asarray(np.isnan(rows).any(axis=1))
            likely = np.ones(len(rows))
            if known.any():
                likely[known] = self.model.predict(rows[known])
        except Exception as error:  # fail closed, as FilterRAG does
            reason = f"the filter failed, so nothing is handed on: {type(error).__name__}: {error}"
            return reject_all(documents, "detector_error", reason, error=reason)
        judgments = [
            _judgment(document, chance, seen, self.model.threshold)
            for document, chance, seen in zip(judged_documents, likely.tolist(), known.tolist(), strict=True)
        ]
        return finish(judgments, documents, self.top, self.keep, failures(readings))


def _judgment(document: Document, chance: float, seen: bool, threshold: float) -> Judgment:
    if not words(document.text):
        return no_words(document)
    if not seen:
        return Judgment(document, False, "no_answer", "no answer could be had from the text")
    over = chance > threshold
    reason = f"poison score {chance:.2f}, {'above' if over else 'within'} {threshold:.2f}"
    scores = {"score": chance, "threshold": threshold}
    return Judgment(document, not over, "classified" if over else "classifier_ok", reason, scores)
