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
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.text.label_judge import LabelJudge
from codeguard.text.labels import Floats, LabelledBase, centroids
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, reject_all

Detector = Literal["centroid", "whitened", "knn-majority", "knn-weighted", "knn-threshold"]
Level = Literal["batch", "entry", "mixed", "auto"]
DETECTORS: tuple[Detector, ...] = get_args(Detector)
LEVELS: tuple[Level, ...] = get_args(Level)

SMALL_BATCH = 10  # below this, a share of flagged entries says little of the batch
UNDECIDED = 0.5  # of the best label's score: less between it and the second is undecided
CALIBRATION_SAMPLE = 2_000  # documents of the base that the usual share of alarms is measured on


@dataclass(frozen=True, slots=True)
class LabelFlipConfig:
    """How entries are judged.

    `centroid` compares cosines to the labels' centroids as they are,
    `whitened` after the base's own spread is evened out. The `knn` detectors
    ask the `neighbours` nearest documents: one vote each, a vote by cosine
    to the power `power`, or (threshold) the entry's own label has to have at
    least the share `agreement` of the weighted votes. `large_part` is the
    share of flagged entries from which `auto` judges the batch as a whole.
    `significance` is how improbable the number of flagged entries has to be,
    under the base's own rate of alarms, for `mixed` to look at entries.
    """

    detector: Detector = "knn-weighted"
    level: Level = "auto"
    neighbours: int = 11
    power: float = 8.0
    agreement: float = 0.6
    large_part: float = 0.5
    significance: float = 0.01

    def __post_init__(self) -> None:
        if self.detector not in DETECTORS:
            raise ConfigError("detector", got=repr(self.detector), expected=", ".join(DETECTORS))
        if self.level not in LEVELS:
            raise ConfigError("level", got=repr(self.level), expected=", ".join(LEVELS))
        if self.neighbours < 1:
            raise ConfigError("neighbours", got=self.neighbours, expected="1 or more")
        for name in ("agreement", "large_part", "significance"):
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
        known = [position for position, item in enumerate(documents) if item.label in self.base.names]
        judged = [documents[position] for position in known]
        notes: list[str] = []
        found: dict[int, Judgment] = {}
        if judged:
            judgments, notes = self._judge(judged)
            found = dict(zip(known, judgments, strict=True))
        unseen = len(documents) - len(known)
        if unseen:
            notes.append(f"{unseen} of {len(documents)} entries have a label the knowledge base has not seen")
        return Selection(
            tuple(found.get(index) or _unseen(document) for index, document in enumerate(documents)),
            tuple(notes),
        )

    def _judge(self, documents: Sequence[Document]) -> tuple[list[Judgment], list[str]]:
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
        notes = [note]
        if asked:
            notes.append(f"a second opinion was asked for {asked} entries that fit two labels about as well")
        if len(documents) == 1:
            notes.append("a batch of one: batch level and entry level ask the same question")
        whole = level == "batch" and (
            any(test.suspicious for test in tests) or flagged.mean() >= self.config.large_part
        )
        if whole:
            reason = _batch_reason(tests, float(flagged.mean()))
            return [Judgment(document, False, "batch", reason) for document in documents], notes
        if level in ("batch", "clean"):
            kept = "the batch as a whole agrees with the knowledge base"
            return [Judgment(document, True, "batch_ok", kept) for document in documents], notes
        return self._entries(documents, codes, scores, flagged), notes

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
    ) -> int:
        """Ask the judge about undecided entries, correct `flagged` in place, return how many were asked."""
        if self.judge is None:
            return 0
        best = np.sort(scores, axis=1)
        undecided = np.flatnonzero(best[:, -1] - best[:, -2] < UNDECIDED * np.abs(best[:, -1])).tolist()
        named = self.judge.name_labels([documents[index].text for index in undecided], self.base.names)
        for index, name in zip(undecided, named, strict=True):
            flagged[index] = name != documents[index].label
        return len(undecided)

    def scores(self, vectors: NDArray[np.float32]) -> Floats:
        """Return how well each label fits each vector; shape (n, labels), larger fits better."""
        config = self.config
        if config.detector in ("centroid", "whitened"):
            return self.base.centroid_similarity(vectors, whitened=config.detector == "whitened")
        power = 0.0 if config.detector == "knn-majority" else config.power
        return self.base.neighbour_shares(vectors, config.neighbours, power=power)

    def flagged(self, scores: Floats, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which entries fit another label better than the claimed one (`codes`)."""
        own = scores[np.arange(len(codes)), codes]
        if self.config.detector == "knn-threshold":
            result: NDArray[np.bool_] = own < self.config.agreement
            return result
        return np.asarray(scores.max(axis=1) > own, dtype=np.bool_)

    def batch_tests(
        self, vectors: NDArray[np.float32], codes: NDArray[np.intp], scores: Floats
    ) -> tuple[BatchTest, ...]:
        """Compare each label's entries, taken together, with the knowledge base."""
        count = len(self.base.names)
        if self.config.detector in ("centroid", "whitened"):
            together = centroids(vectors.astype(np.float64), codes, count)
            fits = self.base.centroid_similarity(together, whitened=self.config.detector == "whitened")
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
            if self.config.detector.startswith("knn"):
                power = 0.0 if self.config.detector == "knn-majority" else self.config.power
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
                f"{self.base.names[name]!r} {best:.3f}, {self.config.detector})"
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
