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
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding, LexicalEmbedding, Vectors, open_embedding, unit_rows
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.tokens import words

Floats = NDArray[np.float64]
POWER = 8.0  # of a neighbour's cosine in its weight
NEIGHBOUR_BLOCK = 512  # rows compared at once: 512 x 100,000 float32 similarities are 200 MB


class LabelledBase:
    """Vectors and labels of documents whose labels are taken to be right.

    `vectors` has shape (n, dimension) with rows of length 1, `labels` has n entries. The base is
    immutable.
    """

    def __init__(self, vectors: NDArray[np.float32], labels: Sequence[str], embedding: Embedding) -> None:
        """Take vectors and their labels; use `of` to embed documents.

        Raises:
            TextDefenseError: the counts differ, a label is empty, or a vector is not finite.
        """
        if len(vectors) != len(labels):
            raise TextDefenseError("labelled base", got=f"{len(labels)} labels", expected=f"{len(vectors)}")
        if not all(labels):
            raise TextDefenseError("a document of the labelled base has no label")
        if not np.isfinite(vectors).all():
            raise TextDefenseError("the embedding gave a value that is not finite")
        self.embedding = embedding
        self.vectors = vectors
        self.names: tuple[str, ...] = tuple(sorted(set(labels)))
        index = {name: position for position, name in enumerate(self.names)}
        self.codes: NDArray[np.intp] = np.array([index[label] for label in labels], dtype=np.intp)

    @classmethod
    def of(cls, documents: Sequence[Document], embedding: Embedding) -> LabelledBase:
        """Embed documents and return them as a base."""
        vectors = embedding.embed([document.text for document in documents])
        return cls(vectors, [document.label for document in documents], embedding)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def centroids(self) -> Floats:
        """Mean vector of each label in the order of `names`; shape (labels, dimension)."""
        return centroids(self.vectors.astype(np.float64), self.codes, len(self.names))

    @cached_property
    def metric(self) -> Floats:
        """Whitening matrix W of shape (dimension, dimension): x @ W has equal within-label spread in all directions.

        W is the inverse Cholesky factor of the within-label covariance. The covariance is shrunk as
        in Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices"
        (2004), so that W exists even with fewer documents than dimensions.
        """
        residuals = self.vectors.astype(np.float64) - self.centroids[self.codes]
        covariance = shrunk_covariance(residuals)
        return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)).T)

    def centroid_similarity(self, vectors: NDArray[np.floating], *, whitened: bool) -> Floats:
        """Return the cosine of each vector to each label's centroid; shape (n, labels).

        With `whitened`, vectors and centroids are first centred on the mean of the centroids and
        multiplied by `metric`. The nearest centroid is then the prediction of linear discriminant
        analysis with equal priors.
        """
        rows, centers = vectors.astype(np.float64), self.centroids
        if whitened:
            middle = centers.mean(axis=0)
            rows, centers = (rows - middle) @ self.metric, (centers - middle) @ self.metric
            # Nearest by distance, shown as a cosine-like figure: with two labels the
            # centroids lie opposite each other and both orders agree.
            if len(self.names) > 2:
                offsets = np.sum(centers * centers, axis=1) / 2
                scale = np.linalg.norm(rows, axis=1, keepdims=True) * np.linalg.norm(centers, axis=1).mean()
                return np.asarray((rows @ centers.T - offsets) / np.maximum(scale, 1e-12))
        cosines: Floats = _unit(rows) @ _unit(centers).T
        return cosines

    def neighbour_shares(self, vectors: NDArray[np.float32], k: int) -> Floats:
        """Return every label's share of the k nearest documents of each vector; shape (n, labels).

        A neighbour's weight is its cosine to the power `POWER`; negative cosines count as 0.
        """
        count = min(k, len(self))
        shares = np.zeros((len(vectors), len(self.names)))
        for start in range(0, len(vectors), NEIGHBOUR_BLOCK):
            block = vectors[start : start + NEIGHBOUR_BLOCK] @ self.vectors.T
            nearest = np.argpartition(-block, count - 1, axis=1)[:, :count]
            similarity = np.take_along_axis(block, nearest, axis=1).astype(np.float64)
            weight = np.maximum(similarity, 1e-9) ** POWER
            for code in range(len(self.names)):
                shares[start : start + len(block), code] = np.where(
                    self.codes[nearest] == code, weight, 0.0
                ).sum(axis=1)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def centroids(vectors: Floats, codes: NDArray[np.intp], count: int) -> Floats:
    """Return the mean vector of each code from 0 to count - 1; zeros for a code without vectors."""
    sums = np.zeros((count, vectors.shape[1]))
    np.add.at(sums, codes, vectors)
    sizes = np.bincount(codes, minlength=count)
    return np.asarray(sums / np.maximum(sizes, 1)[:, None])


def shrunk_covariance(residuals: Floats) -> Floats:
    """Return the Ledoit-Wolf estimate of the covariance of centred rows; shape (dimension, dimension)."""
    count, dimension = residuals.shape
    sample = residuals.T @ residuals / count
    level = max(float(np.trace(sample)) / dimension, 1e-12)
    identity = np.eye(dimension)
    spread = float(np.sum((sample - level * identity) ** 2))
    squares = residuals * residuals
    noise = float(np.sum(squares.T @ squares / count - sample * sample)) / count
    share = 1.0 if spread <= 0 else min(max(noise, 0.0), spread) / spread
    # A floor keeps the Cholesky factor defined where every document of a label is the same.
    share = max(share, 1e-6)
    return np.asarray((1 - share) * sample + share * level * identity)


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12))


class JoinedEmbedding:
    """Two embeddings side by side, so that a cosine is the mean of their two cosines.

    A sentence embedding places "you have won" and "you won the match" close together, and spam
    filters live on the spelling that tells them apart. A lexical embedding sees the spelling and
    misses the meaning.
    """

    def __init__(self, first: Embedding, second: Embedding) -> None:
        """Take two embeddings; each has half of the weight."""
        self._parts = (first, second)
        self.identity = f"{first.identity}+{second.identity}"
        self.dimension = first.dimension + second.dimension
        self.note = first.note or second.note

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension) with rows of length 1."""
        return unit_rows(np.hstack([part.embed(texts) for part in self._parts]))


def label_embedding(name: str = "auto") -> Embedding:
    """Open an embedding by name and join it with the lexical one, unless it is the lexical one.

    Raises:
        EmbeddingError: the name is unknown or its model is not installed.
    """
    chosen = open_embedding(name, prose=True)
    if isinstance(chosen, LexicalEmbedding):
        return chosen
    return JoinedEmbedding(chosen, LexicalEmbedding())


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
