"""Find entries whose claimed label is not what their text says, before they enter a knowledge base.

Batch level asks of each label of the batch whether its entries, taken
together, lie nearer to another label's part of the knowledge base; entry
level asks it of each entry. What cannot be judged is rejected: an empty
base, a label the base has never seen, a base with one label only, and
everything when the detector itself fails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.text.label_judge import LabelJudge
from codeguard.text.labels import Floats, LabelledBase, centroids
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, reject_all
from codeguard.text.reading import Reading, failures

Detector = Literal["centroid", "whitened", "knn-majority", "knn-weighted", "knn-threshold"]
Choice = Literal["auto", "centroid", "whitened", "knn-majority", "knn-weighted", "knn-threshold"]
Level = Literal["batch", "entry", "mixed", "auto"]
DETECTORS: tuple[Detector, ...] = get_args(Detector)
CHOICES: tuple[Choice, ...] = get_args(Choice)
LEVELS: tuple[Level, ...] = get_args(Level)

SMALL_BATCH = 10  # below this, a share of flagged entries says little of the batch
UNDECIDED = 0.5  # of the best label's score: less between it and the second is undecided
CALIBRATION_SAMPLE = 2_000  # documents of the base that the detectors are measured on
FOLDS = 5
FEWEST_MEASURED = 40  # documents of the base below which a share of 5 % cannot be measured
FEWEST_OF_LABEL = 40  # documents of a label from which it gets a margin of its own


@dataclass(frozen=True, slots=True)
class LabelFlipConfig:
    """How entries are judged.

    `auto` cross-validates the knowledge base, takes the detector that would
    find most flips while it rejects at most `most_rejected` of right
    entries, and refuses to judge where that finds fewer than `least_found`.

    `centroid` compares cosines to the labels' centroids as they are,
    `whitened` after the base's own spread is evened out. The `knn` detectors
    ask the `neighbours` nearest documents: one vote each, a vote by cosine
    to the power `power`, or (threshold) the entry's own label has to have at
    least the share `agreement` of the weighted votes. `large_part` is the
    share of flagged entries from which the level `auto` rejects the batch as
    a whole.
    `significance` is how improbable the number of flagged entries has to be,
    under the base's own rate of alarms, for `mixed` to look at entries.
    """

    detector: Choice = "auto"
    level: Level = "entry"
    neighbours: int = 11
    power: float = 8.0
    agreement: float = 0.6
    large_part: float = 0.5
    significance: float = 0.01
    most_rejected: float = 0.04  # what is measured on new texts stays within 5 %
    least_found: float = 0.5

    def __post_init__(self) -> None:
        if self.detector not in CHOICES:
            raise ConfigError("detector", got=repr(self.detector), expected=", ".join(CHOICES))
        if self.level not in LEVELS:
            raise ConfigError("level", got=repr(self.level), expected=", ".join(LEVELS))
        if self.neighbours < 1:
            raise ConfigError("neighbours", got=self.neighbours, expected="1 or more")
        for name in ("agreement", "large_part", "significance", "most_rejected", "least_found"):
            if not 0 < getattr(self, name) < 1:
                raise ConfigError(name, got=getattr(self, name), expected="between 0 and 1")


@dataclass(frozen=True, slots=True)
class BatchTest:
    """What the batch level found about one label: nearer to `nearest` than to itself, or not."""

    label: str
    nearest: str
    own: float
    other: float
    entries: int

    @property
    def suspicious(self) -> bool:
        """Whether the label's entries lie nearer to another label."""
        return self.nearest != self.label


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a detector does on the knowledge base itself, each document judged by the others.

    `found` is the share of flipped labels that it would reject (TPR),
    `rejected` the share of right ones (FPR). An entry is rejected where the
    score of its label is below the best other one's by more than the label's
    margin: 0 is the rule as it stands, a negative one is more lenient.
    """

    detector: Detector
    found: float
    rejected: float
    margins: tuple[float, ...]
    documents: int

    @property
    def note(self) -> str:
        """The figures in one line."""
        lenient = ", only where the other label fits clearly better" if min(self.margins) < 0 else ""
        return (
            f"{self.detector}{lenient}: expected to find {self.found:.0%} of flipped labels and to reject "
            f"{self.rejected:.1%} of right ones (cross-validated on {self.documents} documents of the base)"
        )


def assess(base: LabelledBase, config: LabelFlipConfig, *, limited: bool = True) -> tuple[Expectation, ...]:
    """Cross-validate every detector on the knowledge base, the most useful one first.

    With `limited` each label's margin is lowered to where at most
    `most_rejected` of its right documents are rejected (a conformal
    quantile); otherwise all margins are 0, the rules as they stand.

    Raises:
        TextDefenseError: the base is too small to measure anything on.
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
    held: dict[Detector, Floats] = {}
    for detector in DETECTORS:
        scores = np.zeros((len(order), len(base.names)))
        for part in range(FOLDS):
            outside = fold != part
            rest = LabelledBase(
                vectors[outside], [base.names[code] for code in codes[outside]], base.embedding
            )
            known = [base.names.index(name) for name in rest.names]
            found = LabelFlipDefense(rest, replace(config, detector=detector)).scores(vectors[~outside])
            scores[np.ix_(~outside, known)] = found
        held[detector] = scores
    results = [_expectation(detector, scores, codes, config, limited) for detector, scores in held.items()]
    # Ties go to the detector that is named first, the one the method describes.
    return tuple(sorted(results, key=lambda item: item.rejected - item.found))


def _expectation(
    detector: Detector, scores: Floats, codes: NDArray[np.intp], config: LabelFlipConfig, limited: bool
) -> Expectation:
    labels = scores.shape[1]
    margin = np.stack(
        [
            _margins(detector, scores, np.full(len(codes), code, dtype=np.intp), config)
            for code in range(labels)
        ],
        axis=1,
    )
    own = margin[np.arange(len(codes)), codes]
    limits = np.zeros(labels)
    if limited:
        for code in range(labels):
            chosen = own[codes == code]
            sample = chosen if len(chosen) >= FEWEST_OF_LABEL else own
            # At most this many of the right ones may lie below: rank k of n + 1, from below.
            rank = math.floor(config.most_rejected * (len(sample) + 1))
            limits[code] = min(0.0, float(np.sort(sample)[rank - 1]) if rank else -np.inf)
    below = margin < limits[None, :]
    right = np.zeros_like(below)
    right[np.arange(len(codes)), codes] = True
    return Expectation(
        detector, float(below[~right].mean()), float(below[right].mean()), tuple(limits.tolist()), len(codes)
    )


def _margins(detector: Detector, scores: Floats, codes: NDArray[np.intp], config: LabelFlipConfig) -> Floats:
    """Return by how much the claimed label fits better than the best other one; negative where it does not."""
    rows = np.arange(len(codes))
    own = scores[rows, codes]
    if detector == "knn-threshold":
        return np.asarray(own - config.agreement)
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(own - others.max(axis=1))


@dataclass(slots=True)
class LabelFlipDefense:
    """Judges batches of labelled documents against a base that is taken to be right.

    With `judge` a language model names the label of entries that fit two
    labels about as well; where it gives no usable answer, the entry is
    rejected.
    """

    base: LabelledBase
    config: LabelFlipConfig = LabelFlipConfig()
    judge: LabelJudge | None = None
    _usual: float | None = field(default=None, init=False, repr=False)
    _expected: Expectation | None = field(default=None, init=False, repr=False)

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge a batch; the query is not used.

        Any failure, the embedding's too, rejects the whole batch and is
        reported in `Selection.error`.
        """
        try:
            return self._select(documents)
        except Exception as error:  # fail closed: an unjudged batch is not a clean one
            reason = f"the detector failed, so nothing is accepted: {type(error).__name__}: {error}"
            return reject_all(documents, "detector_error", reason, error=reason)

    def _select(self, documents: Sequence[Document]) -> Selection:
        if not documents:
            return Selection(())
        if len(self.base) == 0:
            return reject_all(documents, "empty_base", "the knowledge base is empty: nothing to compare with")
        if len(self.base.names) == 1:
            only = self.base.names[0]
            return reject_all(
                documents,
                "one_label",
                f"the knowledge base knows only the label {only!r}: nothing to compare",
            )
        if self.config.detector == "auto":
            expected = self.expectation()
            if expected.found < self.config.least_found:
                reason = (
                    f"the knowledge base cannot tell its own labels apart: with at most "
                    f"{self.config.most_rejected:.0%} of right labels rejected, the best detector "
                    f"({expected.detector}) would find {expected.found:.0%} of flipped ones"
                )
                return reject_all(documents, "cannot_tell", reason, error=reason)
        known = [position for position, item in enumerate(documents) if item.label in self.base.names]
        judged = [documents[position] for position in known]
        notes: list[str] = []
        failed: tuple[str, ...] = ()
        found: dict[int, Judgment] = {}
        if judged:
            judgments, notes, failed = self._judge(judged)
            found = dict(zip(known, judgments, strict=True))
        unseen = len(documents) - len(known)
        if unseen:
            notes.append(f"{unseen} of {len(documents)} entries have a label the knowledge base has not seen")
        return Selection(
            tuple(found.get(index) or _unseen(document) for index, document in enumerate(documents)),
            tuple(notes),
            failures=failed,
        )

    def _judge(self, documents: Sequence[Document]) -> tuple[list[Judgment], list[str], tuple[str, ...]]:
        vectors = self.base.embedding.embed([document.text for document in documents])
        if vectors.shape != (len(documents), self.base.vectors.shape[1]) or not np.isfinite(vectors).all():
            raise TextDefenseError(
                "the embedding gave rows of another shape, or values that are not finite",
                got=vectors.shape,
                expected=(len(documents), self.base.vectors.shape[1]),
            )
        codes = np.array([self.base.names.index(document.label) for document in documents], dtype=np.intp)
        scores = self.scores(vectors)
        flagged = self.flagged(scores, codes)
        asked = self._second_opinion(documents, scores, codes, flagged)
        tests = self.batch_tests(vectors, codes, scores)
        level, note = self._choose(flagged, tests)
        notes = [self.expectation().note] if self.config.detector == "auto" else []
        notes.append(note)
        if asked:
            notes.append(
                f"a second opinion was asked for {len(asked)} entries that fit two labels about as well"
            )
        failed = failures(asked)
        if len(documents) == 1:
            notes.append("a batch of one: batch level and entry level ask the same question")
        whole = level == "batch" and (
            any(test.suspicious for test in tests) or flagged.mean() >= self.config.large_part
        )
        if whole:
            reason = _batch_reason(tests, float(flagged.mean()))
            return [Judgment(document, False, "batch", reason) for document in documents], notes, failed
        if level in ("batch", "clean"):
            kept = "the batch as a whole agrees with the knowledge base"
            return [Judgment(document, True, "batch_ok", kept) for document in documents], notes, failed
        return self._entries(documents, codes, scores, flagged), notes, failed

    def _choose(self, flagged: NDArray[np.bool_], tests: Sequence[BatchTest]) -> tuple[str, str]:
        """Return the level to judge at ("clean": keep all) and the reason."""
        config, count, share = self.config, len(flagged), float(flagged.mean())
        if config.level == "auto":
            if count >= SMALL_BATCH and share >= config.large_part:
                return "batch", (
                    f"batch level: {share:.0%} of {count} entries disagree with their label, "
                    f"at least {config.large_part:.0%}"
                )
            return "entry", f"entry level: {share:.0%} of {count} entries disagree with their label"
        if config.level == "mixed":
            usual = self.usual_alarms()
            tail = binomial_tail(int(flagged.sum()), count, usual)
            if any(test.suspicious for test in tests) or tail < config.significance:
                return "entry", (
                    f"mixed: suspicious batch, {int(flagged.sum())} of {count} entries disagree where "
                    f"{usual:.1%} is usual; judged entry by entry"
                )
            return (
                "clean",
                f"mixed: nothing unusual about the batch ({share:.0%} of {count} disagree); kept whole",
            )
        return config.level, f"{config.level} level, as configured"

    def _second_opinion(
        self,
        documents: Sequence[Document],
        scores: Floats,
        codes: NDArray[np.intp],
        flagged: NDArray[np.bool_],
    ) -> Sequence[Reading]:
        """Ask the judge about undecided entries, correct `flagged` in place, return what it said."""
        if self.judge is None:
            return ()
        best = np.sort(scores, axis=1)
        undecided = np.flatnonzero(best[:, -1] - best[:, -2] < UNDECIDED * np.abs(best[:, -1])).tolist()
        named = self.judge.name_labels([documents[index].text for index in undecided], self.base.names)
        for index, reading in zip(undecided, named, strict=True):
            flagged[index] = reading.text != documents[index].label
        return named

    def expectation(self) -> Expectation:
        """Return what the detector in use is expected to find and to reject wrongly, measured once.

        Raises:
            TextDefenseError: the base is too small to measure anything on.
        """
        if self._expected is None:
            automatic = self.config.detector == "auto"
            found = assess(self.base, self.config, limited=automatic)
            own = [item for item in found if item.detector == self.config.detector]
            self._expected = found[0] if automatic else own[0]
        return self._expected

    @property
    def detector(self) -> Detector:
        """The detector in use: the one configured, or the one that was chosen."""
        return self.expectation().detector if self.config.detector == "auto" else self.config.detector

    def scores(self, vectors: NDArray[np.float32]) -> Floats:
        """Return how well each label fits each vector; shape (n, labels), larger fits better."""
        config, detector = self.config, self.detector
        if detector in ("centroid", "whitened"):
            return self.base.centroid_similarity(vectors, whitened=detector == "whitened")
        power = 0.0 if detector == "knn-majority" else config.power
        return self.base.neighbour_shares(vectors, config.neighbours, power=power)

    def flagged(self, scores: Floats, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which entries fit another label better than the claimed one (`codes`)."""
        limits = np.zeros(len(self.base.names))
        if self.config.detector == "auto":
            limits = np.array(self.expectation().margins)
        return np.asarray(_margins(self.detector, scores, codes, self.config) < limits[codes], dtype=np.bool_)

    def batch_tests(
        self, vectors: NDArray[np.float32], codes: NDArray[np.intp], scores: Floats
    ) -> tuple[BatchTest, ...]:
        """Compare each label's entries, taken together, with the knowledge base."""
        count = len(self.base.names)
        if self.detector in ("centroid", "whitened"):
            together = centroids(vectors.astype(np.float64), codes, count)
            fits = self.base.centroid_similarity(together, whitened=self.detector == "whitened")
        else:
            fits = centroids(scores, codes, count)
        return tuple(
            BatchTest(
                label=self.base.names[code],
                nearest=self.base.names[int(np.argmax(fits[code]))],
                own=float(fits[code, code]),
                other=float(np.max(np.delete(fits[code], code))),
                entries=int(np.sum(codes == code)),
            )
            for code in sorted(set(codes.tolist()))
        )

    def usual_alarms(self) -> float:
        """Return the share of the base's own documents that the detector flags, at least 0.1 %.

        Neighbours are asked with the document itself left out. Measured
        once, on an evenly spaced sample.
        """
        if self._usual is None:
            vectors, codes = self.base.vectors, self.base.codes
            if self.detector.startswith("knn"):
                power = 0.0 if self.detector == "knn-majority" else self.config.power
                step = max(1, len(codes) // CALIBRATION_SAMPLE)
                sample = LabelledBase(
                    vectors[::step], [self.base.names[code] for code in codes[::step]], self.base.embedding
                )
                scores = sample.neighbour_shares(
                    sample.vectors, self.config.neighbours, power=power, exclude_self=True
                )
                flags = self.flagged(scores, sample.codes)
            else:
                flags = self.flagged(self.scores(vectors), codes)
            self._usual = max(float(flags.mean()), 0.001)
        return self._usual

    def _entries(
        self,
        documents: Sequence[Document],
        codes: NDArray[np.intp],
        scores: Floats,
        flagged: NDArray[np.bool_],
    ) -> list[Judgment]:
        rows = np.arange(len(codes))
        own = scores[rows, codes]
        others = scores.copy()
        others[rows, codes] = -np.inf
        rival = others.argmax(axis=1)
        judgments = []
        for document, bad, fit, best, name in zip(
            documents,
            flagged.tolist(),
            own.tolist(),
            others[rows, rival].tolist(),
            rival.tolist(),
            strict=True,
        ):
            reason = (
                f"the text {'does not fit' if bad else 'fits'} its label {document.label!r} ({fit:.3f}, "
                f"{self.base.names[name]!r} {best:.3f}, {self.detector})"
            )
            rule = "flipped" if bad else "label_ok"
            judgments.append(Judgment(document, not bad, rule, reason, {"own": fit, "other": best}))
        return judgments


def binomial_tail(successes: int, trials: int, probability: float) -> float:
    """Return the probability of at least that many successes."""
    if successes <= 0:
        return 1.0
    log_p, log_q = math.log(probability), math.log1p(-probability) if probability < 1 else -math.inf
    total = 0.0
    for hits in range(successes, trials + 1):
        ways = math.lgamma(trials + 1) - math.lgamma(hits + 1) - math.lgamma(trials - hits + 1)
        misses = trials - hits
        total += math.exp(ways + hits * log_p + (misses * log_q if misses else 0.0))
    return min(total, 1.0)


def _unseen(document: Document) -> Judgment:
    reason = (
        f"the knowledge base has no label {document.label!r}: nothing to compare with"
        if document.label
        else "the entry has no label"
    )
    return Judgment(document, False, "unseen_label", reason)


def _batch_reason(tests: Sequence[BatchTest], share: float) -> str:
    worst = [test for test in tests if test.suspicious]
    if not worst:
        return f"the batch is rejected as a whole: {share:.0%} of its entries disagree with their label"
    counts = Counter({test.label: test.entries for test in worst})
    named = ", ".join(
        f"{test.label!r} ({counts[test.label]} entries) lies nearer to {test.nearest!r} "
        f"({test.other:.3f}) than to its own ({test.own:.3f})"
        for test in worst
    )
    return f"the batch is rejected as a whole: {named}"
