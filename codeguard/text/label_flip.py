"""Detect documents whose claimed label does not match their text, before they enter a knowledge base.

The batch level tests each label of the batch as a whole: do its documents, taken together, lie
nearer to another label of the knowledge base? The entry level tests each document. What cannot be
judged is rejected: documents with an unknown label, everything if the base is empty or has only one
label, and everything if the detector fails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.text.labels import Floats, LabelledBase, centroids
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.tokens import words

Detector = Literal["centroid", "whitened", "knn"]
Choice = Literal["auto", "centroid", "whitened", "knn"]
Level = Literal["entry", "batch"]
DETECTORS: tuple[Detector, ...] = get_args(Detector)
CHOICES: tuple[Choice, ...] = get_args(Choice)
LEVELS: tuple[Level, ...] = get_args(Level)

LARGE_PART = 0.5  # share of flagged documents from which the batch level rejects the whole batch
MOST_REJECTED = 0.04  # of right labels, by the detector that `auto` takes; below 5 % on new texts
LEAST_FOUND = 0.5  # of flipped labels, or `auto` refuses to judge
CALIBRATION_SAMPLE = 2_000  # documents of the base that the detectors are measured on
FOLDS = 5
FEWEST_MEASURED = 40  # documents; a share of 5 % cannot be measured on fewer
FEWEST_OF_LABEL = 40  # documents; a label with fewer uses the margin of all labels together


@dataclass(frozen=True, slots=True)
class Expectation:
    """Error rates of a detector, cross-validated on the knowledge base.

    `found` is the share of flipped labels that it rejects (true positives), `rejected` the share of
    right labels that it rejects (false positives). A document is rejected if its label's score is
    below the best other score by more than the label's margin. A margin of 0 is the plain rule, a
    negative one is more lenient.
    """

    detector: Detector
    found: float
    rejected: float
    margins: tuple[float, ...]
    documents: int

    @property
    def note(self) -> str:
        """The error rates in one line."""
        lenient = ", only where the other label fits clearly better" if min(self.margins) < 0 else ""
        return (
            f"{self.detector}{lenient}: expected to find {self.found:.0%} of flipped labels and to reject "
            f"{self.rejected:.1%} of right ones (cross-validated on {self.documents} documents of the base)"
        )


def assess(base: LabelledBase, neighbours: int = 11) -> tuple[Expectation, ...]:
    """Cross-validate every detector on the knowledge base and return the best first.

    Each label's margin is lowered until at most the share `MOST_REJECTED` of its right documents is
    rejected (a conformal quantile).

    Raises:
        TextDefenseError: the base is too small.
    """
    if len(base) < FEWEST_MEASURED or len(base.names) < 2:
        raise TextDefenseError(
            "the knowledge base is too small to cross-validate a detector on",
            got=f"{len(base)} documents, {len(base.names)} labels",
            expected=f"{FEWEST_MEASURED} documents, 2 labels",
            hint="add documents, or name a detector yourself",
        )
    order = np.random.default_rng(0).permutation(len(base))[:CALIBRATION_SAMPLE]
    vectors, codes = base.vectors[order], base.codes[order]
    fold = np.arange(len(order)) % FOLDS
    results = []
    for detector in DETECTORS:
        scores = np.zeros((len(order), len(base.names)))
        for part in range(FOLDS):
            outside = fold != part
            labels = [base.names[code] for code in codes[outside]]
            rest = LabelledBase(vectors[outside], labels, base.embedding)
            known = [base.names.index(name) for name in rest.names]
            found = LabelFlipDefense(rest, detector, neighbours=neighbours).scores(vectors[~outside])
            scores[np.ix_(~outside, known)] = found
        results.append(_expectation(detector, scores, codes))
    # The sort is stable: in a tie the first detector wins, the one that the method describes.
    return tuple(sorted(results, key=lambda item: item.rejected - item.found))


def _expectation(detector: Detector, scores: Floats, codes: NDArray[np.intp]) -> Expectation:
    count, labels = scores.shape
    margin = np.stack(
        [
            scores[:, code] - _best_other(scores, np.full(count, code, dtype=np.intp))
            for code in range(labels)
        ],
        axis=1,
    )
    own = margin[np.arange(count), codes]
    limits = np.zeros(labels)
    for code in range(labels):
        chosen = own[codes == code]
        sample = chosen if len(chosen) >= FEWEST_OF_LABEL else own
        # The conformal quantile: rank k of n + 1, counted from below.
        rank = math.floor(MOST_REJECTED * (len(sample) + 1))
        limits[code] = min(0.0, float(np.sort(sample)[rank - 1]) if rank else -np.inf)
    below = margin < limits[None, :]
    right = np.zeros_like(below)
    right[np.arange(count), codes] = True
    return Expectation(
        detector, float(below[~right].mean()), float(below[right].mean()), tuple(limits.tolist()), count
    )


def _best_other(scores: Floats, codes: NDArray[np.intp]) -> Floats:
    """Return the best score of another label than the claimed one; shape (n,)."""
    others = scores.copy()
    others[np.arange(len(codes)), codes] = -np.inf
    return np.asarray(others.max(axis=1))


@dataclass(slots=True)
class LabelFlipDefense:
    """Judges batches of labelled documents against a base whose labels are taken to be right.

    The detector `centroid` compares cosines to the labels' centroids, `whitened` does so after the
    within-label spread is evened out, `knn` takes a vote of the `neighbours` nearest documents,
    weighted by cosine. `auto` cross-validates all of them on the knowledge base and takes the one
    that finds the most flips while it rejects at most the share `MOST_REJECTED` of right labels. It
    refuses to judge if that one finds less than `LEAST_FOUND` of the flips.
    """

    base: LabelledBase
    detector: Choice = "auto"
    level: Level = "entry"
    neighbours: int = 11
    _expected: Expectation | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.detector not in CHOICES:
            raise ConfigError("detector", got=repr(self.detector), expected=", ".join(CHOICES))
        if self.level not in LEVELS:
            raise ConfigError("level", got=repr(self.level), expected=", ".join(LEVELS))
        if self.neighbours < 1:
            raise ConfigError("neighbours", got=self.neighbours, expected="1 or more")

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge a batch; the query is not used.

        Any failure, including one of the embedding, rejects the whole batch and is reported in
        `Selection.error`.
        """
        try:
            return self._select(documents)
        except Exception as error:  # fail closed: an unjudged batch is not a clean one
            reason = f"the detector failed, so nothing is accepted: {type(error).__name__}: {error}"
            return reject_all(documents, "detector_error", reason, error=reason)

    def _select(self, documents: Sequence[Document]) -> Selection:
        names = self.base.names
        if not documents:
            return Selection(())
        if not names:
            return reject_all(documents, "empty_base", "the knowledge base is empty: nothing to compare with")
        if len(names) == 1:
            reason = f"the knowledge base has only the label {names[0]!r}: nothing to compare with"
            return reject_all(documents, "one_label", reason)
        notes: list[str] = []
        if self.detector == "auto":
            expected = self.expectation()
            if expected.found < LEAST_FOUND:
                reason = (
                    f"the knowledge base cannot tell its own labels apart: with at most {MOST_REJECTED:.0%} of right "
                    f"labels rejected, the best detector ({expected.detector}) would find {expected.found:.0%} of "
                    "flipped ones"
                )
                return reject_all(documents, "cannot_tell", reason, error=reason)
            notes.append(expected.note)
        judgments: dict[int, Judgment] = {}
        known = []
        for index, document in enumerate(documents):
            if not words(document.text):
                judgments[index] = no_words(document)
            elif document.label in names:
                known.append(index)
            else:
                judgments[index] = _unknown_label(document)
        if known:
            found = self._judge([documents[index] for index in known])
            judgments |= dict(zip(known, found, strict=True))
        return Selection(tuple(judgments[index] for index in range(len(documents))), tuple(notes))

    def _judge(self, documents: Sequence[Document]) -> list[Judgment]:
        vectors = self.base.embedding.embed([document.text for document in documents])
        shape = (len(documents), self.base.vectors.shape[1])
        if vectors.shape != shape or not np.isfinite(vectors).all():
            raise TextDefenseError(
                "the embedding returned an array of the wrong shape, or values that are not finite",
                got=vectors.shape,
                expected=shape,
            )
        codes = np.array([self.base.names.index(document.label) for document in documents], dtype=np.intp)
        scores = self.scores(vectors)
        flagged = self.flagged(scores, codes)
        if self.level == "batch":
            named = self._suspicious_labels(vectors, codes, scores)
            share = float(flagged.mean())
            if named or share >= LARGE_PART:
                reason = named or f"{share:.0%} of its entries disagree with their label"
                reason = f"the batch is rejected as a whole: {reason}"
                return [Judgment(document, False, "batch", reason) for document in documents]
            reason = "the batch as a whole agrees with the knowledge base"
            return [Judgment(document, True, "batch_ok", reason) for document in documents]
        return self._entries(documents, codes, scores, flagged)

    def expectation(self) -> Expectation:
        """Return the measured error rates of the detector that `auto` takes; measured once.

        Raises:
            TextDefenseError: the base is too small to measure on.
        """
        if self._expected is None:
            self._expected = assess(self.base, self.neighbours)[0]
        return self._expected

    @property
    def _used(self) -> Detector:
        return self.expectation().detector if self.detector == "auto" else self.detector

    def scores(self, vectors: NDArray[np.float32]) -> Floats:
        """Return the score of each label for each vector, larger is better; shape (n, labels)."""
        if self._used == "knn":
            return self.base.neighbour_shares(vectors, self.neighbours)
        return self.base.centroid_similarity(vectors, whitened=self._used == "whitened")

    def flagged(self, scores: Floats, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return a mask of the documents that fit another label better than their own, given by `codes`."""
        limits = np.zeros(len(self.base.names))
        if self.detector == "auto":
            limits = np.array(self.expectation().margins)
        margins = scores[np.arange(len(codes)), codes] - _best_other(scores, codes)
        return np.asarray(margins < limits[codes], dtype=np.bool_)

    def _suspicious_labels(
        self, vectors: NDArray[np.float32], codes: NDArray[np.intp], scores: Floats
    ) -> str:
        """Name the labels whose documents, taken together, lie nearer to another label than to their own."""
        names = self.base.names
        if self._used == "knn":
            fits = centroids(scores, codes, len(names))
        else:
            together = centroids(vectors.astype(np.float64), codes, len(names))
            fits = self.base.centroid_similarity(together, whitened=self._used == "whitened")
        return ", ".join(
            f"{names[code]!r} ({np.sum(codes == code)} entries) lies nearer to {names[nearest]!r} "
            f"({fits[code, nearest]:.3f}) than to its own ({fits[code, code]:.3f})"
            for code in sorted(set(codes.tolist()))
            if (nearest := int(np.argmax(fits[code]))) != code
        )

    def _entries(
        self,
        documents: Sequence[Document],
        codes: NDArray[np.intp],
        scores: Floats,
        flagged: NDArray[np.bool_],
    ) -> list[Judgment]:
        judgments = []
        for document, code, row, bad in zip(documents, codes.tolist(), scores, flagged.tolist(), strict=True):
            own = float(row[code])
            rival = max((other for other in range(len(row)) if other != code), key=lambda other: row[other])
            best = float(row[rival])
            reason = (
                f"the text {'does not fit' if bad else 'fits'} its label {document.label!r} ({own:.3f}, "
                f"{self.base.names[rival]!r} {best:.3f}, {self._used})"
            )
            rule = "flipped" if bad else "label_ok"
            judgments.append(Judgment(document, not bad, rule, reason, {"own": own, "other": best}))
        return judgments


def _unknown_label(document: Document) -> Judgment:
    reason = (
        f"the knowledge base has no label {document.label!r}: nothing to compare with"
        if document.label
        else "the entry has no label"
    )
    return Judgment(document, False, "unseen_label", reason)
