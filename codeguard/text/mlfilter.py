"""ML-FilterRAG: a classifier over the features of retrieved texts, trained on labelled examples."""

from __future__ import annotations

import importlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.perplexity import NgramModel
from codeguard.errors import MissingExtraError
from codeguard.index.embedding import Embedding
from codeguard.text.features import FEATURES, Background, FeatureExtractor
from codeguard.text.filterrag import CleanPair, finish, imitations, refuse_weak
from codeguard.text.forest import Floats, Forest, train_forest
from codeguard.text.frequency import MORE_PASSAGES, WordMatcher, conformal_quantile
from codeguard.text.linear import LinearModel, train_linear
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.reading import Reader, failures
from codeguard.text.tokens import words
from codeguard.trust.local import open_regular, write_atomically

Kind = Literal["forest", "xgboost"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SCHEMA = "codeguard.text.filter/4"
MAX_BYTES = 512 * 1024 * 1024  # of a saved filter, unpacked
FOLDS = 5
KEPT = 0.99  # of the clean examples, by the threshold of a trained filter
FOLD_TREES = 60  # enough to place the threshold
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


@dataclass(frozen=True, slots=True)
class TrainedFilter:
    """Two classifiers with their features, the threshold and the background of their domain.

    Trees and a regression err on different texts, and the sum of their scores errs less than
    either. `levels` are the median and the 95th percentile of each one's scores of clean texts, by
    which the two are made comparable. A text that exceeds one of `limits` is rejected regardless of
    them. `recalibrate` learns levels and limits from clean texts.
    """

    kind: Kind
    features: tuple[str, ...]
    threshold: float
    background: Background
    linear: LinearModel
    levels: Floats
    forest: Forest | None = None
    booster: bytes = b""
    limits: Mapping[str, float] = field(default_factory=dict)

    def predict(self, rows: Floats) -> Floats:
        """Return a score of poison for each row of `FEATURES`, 0 to 1, about 0.5 for common clean texts."""
        joint = _joint(self.parts(rows), self.levels)
        for name, limit in self.limits.items():
            joint[rows[:, FEATURES.index(name)] > limit] = 1.0
        return joint

    def parts(self, rows: Floats) -> Floats:
        """Return the scores of the trees (a probability) and of the regression (log-odds), in two columns."""
        chosen = rows[:, [FEATURES.index(name) for name in self.features]]
        trees = (
            self.forest.predict(chosen) if self.forest is not None else _predict_boosted(self.booster, chosen)
        )
        return np.column_stack([trees, self.linear.predict(_logarithmic(chosen, self.features))])

    def save(self, path: Path) -> None:
        """Write the filter as a numpy archive of plain arrays, without pickle.

        A write that fails or is interrupted leaves a filter that was there as it is.

        Raises:
            TextDefenseError: the file cannot be written.
        """
        meta = {
            "schema": SCHEMA,
            "kind": self.kind,
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
            "booster": np.frombuffer(self.booster, dtype=np.uint8),
            "levels": self.levels,
            **self.linear.arrays(),
            **(self.forest.arrays() if self.forest else {}),
        }
        packed = io.BytesIO()
        np.savez_compressed(packed, allow_pickle=False, **arrays)
        try:
            write_atomically(path, packed.getvalue())
        except OSError as error:
            raise TextDefenseError(f"{path} cannot be written: {error.strerror or error}") from None

    @classmethod
    def load(cls, path: Path) -> TrainedFilter:
        """Read a filter that `save` wrote.

        Raises:
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
        except TextDefenseError:
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
    kind: Kind = "forest" if meta["kind"] == "forest" else "xgboost"
    levels = np.asarray(arrays["levels"], dtype=np.float64)
    if levels.shape != (2, 2) or not np.isfinite(levels).all():
        raise ValueError("levels out of range")
    return TrainedFilter(
        kind,
        features,
        float(meta["threshold"]),
        Background(model, counts, sum(counts.values())),
        LinearModel.of_arrays(arrays, len(features)),
        levels,
        Forest.of_arrays(arrays, len(features)) if kind == "forest" else None,
        arrays["booster"].tobytes(),
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
        others = replace(_adapted(model, rows[fold != part]), limits={})
        scores[fold == part] = others.predict(rows[fold == part])
    fitted = replace(_adapted(model, rows), threshold=conformal_quantile(scores, keep))
    kept_before = float((model.predict(rows) <= model.threshold).mean())
    # Without the limits, which catch one kind of these imitations by construction.
    bare = replace(fitted, limits={})
    caught = {}
    for kind, made in imitations(pairs, reader).items():
        poison = [LabelledText(pair.query, pair.text, True) for pair in made]
        scored = bare.predict(_complete_rows(example_rows(extractor, poison)))
        caught[kind] = float((scored > fitted.threshold).mean())
    return Recalibration(fitted, len(rows), kept_before, caught, keep)


def _adapted(model: TrainedFilter, clean: Floats) -> TrainedFilter:
    """Return the filter with the scale, the levels and the limits of other clean texts."""
    limits = {name: float(clean[:, FEATURES.index(name)].max()) for name in LIMITED}
    chosen = clean[:, [FEATURES.index(name) for name in model.features]]
    found = replace(model, limits=limits, linear=model.linear.rescale(_logarithmic(chosen, model.features)))
    return replace(found, levels=_levels(found.parts(clean)))


def _logarithmic(rows: Floats, features: Sequence[str]) -> Floats:
    """Return the rows with the logarithm of `LOGARITHMIC` features; `rows` has the columns `features`."""
    found = rows.copy()
    for place in (place for place, name in enumerate(features) if name in LOGARITHMIC):
        found[:, place] = np.log(np.maximum(found[:, place], 1e-9))
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
    kind: Kind = "forest",
    features: Sequence[str] = FEATURES,
    matcher: WordMatcher | None = None,
) -> TrainedFilter:
    """Train a filter on labelled texts; use one model per data set.

    The threshold accepts the share `KEPT` of the clean examples when each is scored by a model that
    was trained without its question (five folds by question). A text is never part of the
    background that it is compared with.

    Raises:
        MissingExtraError: scikit-learn (or xgboost) is not installed.
        TextDefenseError: there are fewer than ten examples of a class, or fewer than five questions.
    """
    poisoned = np.array([example.poisoned for example in examples], dtype=np.bool_)
    questions = list(dict.fromkeys(example.query for example in examples))
    if min(poisoned.sum(), (~poisoned).sum()) < 10 or len(questions) < FOLDS:
        raise TextDefenseError(
            "too few examples",
            got=f"{poisoned.sum()} poisoned, {(~poisoned).sum()} clean, {len(questions)} questions",
            expected=f"10 of each, {FOLDS} questions",
        )
    matcher = matcher or WordMatcher()
    fold = _folds(examples)
    rows = _cross_fitted(examples, embedding, reader, matcher)
    known = ~np.isnan(rows).any(axis=1)
    columns = [FEATURES.index(name) for name in features]
    chosen = rows[:, columns]
    scaled = _logarithmic(chosen, features)
    held_out = np.zeros((len(examples), 2))
    for part in range(FOLDS):
        inside, outside = known & (fold == part), known & (fold != part)
        if inside.any():
            trees = _fit_predictor(kind, chosen[outside], poisoned[outside])
            linear = train_linear(scaled[outside], poisoned[outside])
            held_out[inside] = np.column_stack([trees(chosen[inside]), linear.predict(scaled[inside])])
    clean = held_out[known & ~poisoned]
    levels = _levels(clean)
    threshold = float(np.quantile(_joint(clean, levels), KEPT))
    background = Background.train(list(dict.fromkeys(item.text for item in examples if not item.poisoned)))
    forest = train_forest(chosen[known], poisoned[known]) if kind == "forest" else None
    booster = _train_booster(chosen[known], poisoned[known]) if kind == "xgboost" else b""
    linear = train_linear(scaled[known], poisoned[known])
    return TrainedFilter(kind, tuple(features), threshold, background, linear, levels, forest, booster)


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


def _fit_predictor(kind: Kind, rows: Floats, poisoned: NDArray[np.bool_]) -> Any:
    if kind == "forest":
        return train_forest(rows, poisoned, trees=FOLD_TREES).predict
    booster = _train_booster(rows, poisoned)
    return lambda rows: _predict_boosted(booster, rows)


def _xgboost() -> Any:
    try:
        return importlib.import_module("xgboost")
    except ImportError:
        raise MissingExtraError("this filter needs xgboost", "xgboost") from None


def _train_booster(rows: Floats, poisoned: NDArray[np.bool_]) -> bytes:
    """Train gradient-boosted trees and return them as XGBoost's JSON."""
    xgboost = _xgboost()
    weight = np.where(poisoned, 0.5 / max(poisoned.mean(), 1e-9), 0.5 / max((~poisoned).mean(), 1e-9))
    data = xgboost.DMatrix(rows, label=poisoned.astype(np.float64), weight=weight)
    settings = {
        "objective": "binary:logistic", "max_depth": 4, "eta": 0.1, "subsample": 0.8,
        "min_child_weight": 2, "seed": 0, "nthread": 2, "verbosity": 0,
    }  # fmt: skip
    return bytes(xgboost.train(settings, data, num_boost_round=120).save_raw(raw_format="json"))


def _predict_boosted(booster: bytes, rows: Floats) -> Floats:
    result: Floats = np.asarray(_open_booster(booster).predict(_xgboost().DMatrix(rows)), dtype=np.float64)
    return result


@lru_cache(maxsize=4)  # parsing the trees takes longer than a prediction
def _open_booster(booster: bytes) -> Any:
    model = _xgboost().Booster({"nthread": 1})
    model.load_model(bytearray(booster))
    return model
