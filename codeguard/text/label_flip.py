"""Detect documents whose claimed label does not match their text, before they enter a knowledge base.

The batch level tests each label of the batch as a whole: do its documents, taken together, lie
nearer to another label of the knowledge base? The entry level tests each document. What cannot be
judged is rejected: documents with an unknown label, everything if the base is empty or has only one
label, and everything if the detector fails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.text.labels import Floats, LabelledBase, centroids
from codeguard.text.llm import LLMClient, LLMError
from codeguard.text.llm_reader import prompt
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.reading import ReaderAnswer, failures
from codeguard.text.tokens import words

Detector = Literal["centroid", "whitened", "knn-majority", "knn-weighted", "knn-threshold"]
Choice = Literal["auto", "centroid", "whitened", "knn-majority", "knn-weighted", "knn-threshold"]
Level = Literal["batch", "entry", "mixed", "auto"]
DETECTORS: tuple[Detector, ...] = get_args(Detector)
CHOICES: tuple[Choice, ...] = get_args(Choice)
LEVELS: tuple[Level, ...] = get_args(Level)

SMALL_BATCH = 10  # below this, the share of flagged entries is too noisy to judge the batch by
UNDECIDED = 0.5  # a lead over the second label of less than this part of the best score is undecided
CALIBRATION_SAMPLE = 2_000  # documents of the base that the detectors are measured on
FOLDS = 5
FEWEST_MEASURED = 40  # documents; a share of 5 % cannot be measured on fewer
FEWEST_OF_LABEL = 40  # documents; a label with fewer uses the margin of all labels together


@dataclass(frozen=True, slots=True)
class LabelFlipConfig:
    """Detector and level of the judgment, with their limits.

    The detector `auto` cross-validates all detectors on the knowledge base and takes the one that
    finds the most flips while it rejects at most the share `most_rejected` of right labels. It
    refuses to judge if that one finds less than `least_found` of the flips.

    `centroid` compares cosines to the labels' centroids, `whitened` does so after the within-label
    spread is evened out. The `knn` detectors take a vote of the `neighbours` nearest documents: one
    vote each (majority), votes weighted by cosine to the power `power` (weighted), or a minimum
    share `agreement` of the weighted votes for the claimed label (threshold).

    The level `auto` rejects the whole batch if at least the share `large_part` of its documents is
    flagged. The level `mixed` judges single documents only if the number of flagged documents is
    less probable than `significance` under the false-positive rate of the base.
    """

    detector: Choice = "auto"
    level: Level = "entry"
    neighbours: int = 11
    power: float = 8.0
    agreement: float = 0.6
    large_part: float = 0.5
    significance: float = 0.01
    most_rejected: float = 0.04  # keeps the rate on new texts below 5 %
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
    """Similarity of one label's documents to their own label (`own`) and to the best other one (`other`)."""

    label: str
    nearest: str
    own: float
    other: float
    entries: int

    @property
    def suspicious(self) -> bool:
        """Whether the documents lie nearer to another label than to their own."""
        return self.nearest != self.label


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


def assess(base: LabelledBase, config: LabelFlipConfig, *, limited: bool = True) -> tuple[Expectation, ...]:
    """Cross-validate every detector on the knowledge base and return the best first.

    With `limited`, each label's margin is lowered until at most the share `most_rejected` of its
    right documents is rejected (a conformal quantile). Otherwise all margins are 0.

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
    # The sort is stable: in a tie the first detector wins, the one that the method describes.
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
            # The conformal quantile: rank k of n + 1, counted from below.
            rank = math.floor(config.most_rejected * (len(sample) + 1))
            limits[code] = min(0.0, float(np.sort(sample)[rank - 1]) if rank else -np.inf)
    below = margin < limits[None, :]
    right = np.zeros_like(below)
    right[np.arange(len(codes)), codes] = True
    return Expectation(
        detector, float(below[~right].mean()), float(below[right].mean()), tuple(limits.tolist()), len(codes)
    )


def _margins(detector: Detector, scores: Floats, codes: NDArray[np.intp], config: LabelFlipConfig) -> Floats:
    """Return the score of the claimed label minus the best other score; shape (n,)."""
    rows = np.arange(len(codes))
    own = scores[rows, codes]
    if detector == "knn-threshold":
        return np.asarray(own - config.agreement)
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(own - others.max(axis=1))


@runtime_checkable
class LabelJudge(Protocol):
    """Assigns labels to texts."""

    def name_labels(self, texts: Sequence[str], names: Sequence[str]) -> list[ReaderAnswer]:
        """Return for each text a reading whose text is one of `names`, or empty without a usable answer."""
        ...


class LLMLabelJudge:
    """A second opinion from a language model, for texts that fit two labels about equally well."""

    def __init__(self, client: LLMClient) -> None:
        """Use `client` for all calls."""
        self._client = client

    def name_labels(self, texts: Sequence[str], names: Sequence[str]) -> list[ReaderAnswer]:
        """Return the model's label for each text, with an error for a failed call or an unknown label."""
        task = f"Answer with one of these labels and nothing else: {', '.join(names)}."
        prompts = [prompt(task, "Which label fits the document?", [text]) for text in texts]
        known = {name.lower(): name for name in names}
        readings = []
        for answer in self._client.complete_all(prompts):
            if isinstance(answer, LLMError):
                readings.append(ReaderAnswer("", error=str(answer), failed=True))
                continue
            name = known.get(answer.text.strip(" .'\"\n").lower(), "")
            readings.append(ReaderAnswer(name, error="" if name else "the model named no label of the base"))
        return readings


@dataclass(slots=True)
class LabelFlipDefense:
    """Judges batches of labelled documents against a base whose labels are taken to be right.

    With `judge`, a language model assigns labels to documents that fit two labels about equally
    well. A document for which it gives no usable answer is rejected.
    """

    base: LabelledBase
    config: LabelFlipConfig = LabelFlipConfig()
    judge: LabelJudge | None = None
    _false_positive_rate: float | None = field(default=None, init=False, repr=False)
    _expected: Expectation | None = field(default=None, init=False, repr=False)

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
        if not documents:
            return Selection(())
        if len(self.base) == 0:
            return reject_all(documents, "empty_base", "the knowledge base is empty: nothing to compare with")
        if len(self.base.names) == 1:
            only = self.base.names[0]
            return reject_all(
                documents,
                "one_label",
                f"the knowledge base has only the label {only!r}: nothing to compare with",
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
        wordless = {position for position, item in enumerate(documents) if not words(item.text)}
        known = [
            position
            for position, item in enumerate(documents)
            if item.label in self.base.names and position not in wordless
        ]
        judged = [documents[position] for position in known]
        notes: list[str] = []
        failed: tuple[str, ...] = ()
        found: dict[int, Judgment] = {}
        if judged:
            judgments, notes, failed = self._judge(judged)
            found = dict(zip(known, judgments, strict=True))
        found |= {position: no_words(documents[position]) for position in wordless}
        unknown = len(documents) - len(found)
        if unknown:
            notes.append(
                f"{unknown} of {len(documents)} entries have a label the knowledge base has not seen"
            )
        return Selection(
            tuple(found.get(index) or _unknown_label(document) for index, document in enumerate(documents)),
            tuple(notes),
            failures=failed,
        )

    def _judge(self, documents: Sequence[Document]) -> tuple[list[Judgment], list[str], tuple[str, ...]]:
        vectors = self.base.embedding.embed([document.text for document in documents])
        if vectors.shape != (len(documents), self.base.vectors.shape[1]) or not np.isfinite(vectors).all():
            raise TextDefenseError(
                "the embedding returned an array of the wrong shape, or values that are not finite",
                got=vectors.shape,
                expected=(len(documents), self.base.vectors.shape[1]),
            )
        codes = np.array([self.base.names.index(document.label) for document in documents], dtype=np.intp)
        scores = self.scores(vectors)
        flagged = self.flagged(scores, codes)
        opinions = self._second_opinion(documents, scores, codes, flagged)
        tests = self.batch_tests(vectors, codes, scores)
        level, note = self._choose(flagged, tests)
        notes = [self.expectation().note] if self.config.detector == "auto" else []
        notes.append(note)
        if opinions:
            notes.append(
                f"a second opinion was sought on {len(opinions)} entries that fit two labels about equally well"
            )
        failed = failures(opinions)
        if len(documents) == 1:
            notes.append("a batch of one entry: batch level and entry level are the same test")
        reject_batch = level == "batch" and (
            any(test.suspicious for test in tests) or flagged.mean() >= self.config.large_part
        )
        if reject_batch:
            reason = _batch_reason(tests, float(flagged.mean()))
            return [Judgment(document, False, "batch", reason) for document in documents], notes, failed
        if level in ("batch", "clean"):
            reason_kept = "the batch as a whole agrees with the knowledge base"
            return (
                [Judgment(document, True, "batch_ok", reason_kept) for document in documents],
                notes,
                failed,
            )
        return self._entries(documents, codes, scores, flagged), notes, failed

    def _choose(self, flagged: NDArray[np.bool_], tests: Sequence[BatchTest]) -> tuple[str, str]:
        """Return the level at which to judge ("clean" keeps everything) and the reason for it."""
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
    ) -> Sequence[ReaderAnswer]:
        """Ask the judge about undecided documents, update `flagged` in place and return its answers."""
        if self.judge is None:
            return ()
        best = np.sort(scores, axis=1)
        undecided = np.flatnonzero(best[:, -1] - best[:, -2] < UNDECIDED * np.abs(best[:, -1])).tolist()
        named = self.judge.name_labels([documents[index].text for index in undecided], self.base.names)
        for index, reading in zip(undecided, named, strict=True):
            flagged[index] = reading.text != documents[index].label
        return named

    def expectation(self) -> Expectation:
        """Return the measured error rates of the detector in use; measured once.

        Raises:
            TextDefenseError: the base is too small to measure on.
        """
        if self._expected is None:
            automatic = self.config.detector == "auto"
            found = assess(self.base, self.config, limited=automatic)
            own = [item for item in found if item.detector == self.config.detector]
            self._expected = found[0] if automatic else own[0]
        return self._expected

    @property
    def detector(self) -> Detector:
        """The configured detector, or the one that `auto` selected."""
        return self.expectation().detector if self.config.detector == "auto" else self.config.detector

    def scores(self, vectors: NDArray[np.float32]) -> Floats:
        """Return the score of each label for each vector, larger is better; shape (n, labels)."""
        config, detector = self.config, self.detector
        if detector in ("centroid", "whitened"):
            return self.base.centroid_similarity(vectors, whitened=detector == "whitened")
        power = 0.0 if detector == "knn-majority" else config.power
        return self.base.neighbour_shares(vectors, config.neighbours, power=power)

    def flagged(self, scores: Floats, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return a mask of the documents that fit another label better than their own, given by `codes`."""
        limits = np.zeros(len(self.base.names))
        if self.config.detector == "auto":
            limits = np.array(self.expectation().margins)
        return np.asarray(_margins(self.detector, scores, codes, self.config) < limits[codes], dtype=np.bool_)

    def batch_tests(
        self, vectors: NDArray[np.float32], codes: NDArray[np.intp], scores: Floats
    ) -> tuple[BatchTest, ...]:
        """Compare the documents of each label, taken together, with the knowledge base."""
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
        """Return the false-positive rate on the base's own documents, at least 0.001.

        It is measured once, on an evenly spaced sample; a document is not its own neighbour.
        """
        if self._false_positive_rate is None:
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
            self._false_positive_rate = max(float(flags.mean()), 0.001)
        return self._false_positive_rate

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
    """Return the probability of at least `successes` successes in `trials` trials."""
    if successes <= 0:
        return 1.0
    log_p, log_q = math.log(probability), math.log1p(-probability) if probability < 1 else -math.inf
    total = 0.0
    for hits in range(successes, trials + 1):
        ways = math.lgamma(trials + 1) - math.lgamma(hits + 1) - math.lgamma(trials - hits + 1)
        misses = trials - hits
        total += math.exp(ways + hits * log_p + (misses * log_q if misses else 0.0))
    return min(total, 1.0)


def _unknown_label(document: Document) -> Judgment:
    reason = (
        f"the knowledge base has no label {document.label!r}: nothing to compare with"
        if document.label
        else "the entry has no label"
    )
    return Judgment(document, False, "unseen_label", reason)


def _batch_reason(tests: Sequence[BatchTest], share: float) -> str:
    suspicious_tests = [test for test in tests if test.suspicious]
    if not suspicious_tests:
        return f"the batch is rejected as a whole: {share:.0%} of its entries disagree with their label"
    counts = Counter({test.label: test.entries for test in suspicious_tests})
    named = ", ".join(
        f"{test.label!r} ({counts[test.label]} entries) lies nearer to {test.nearest!r} "
        f"({test.other:.3f}) than to its own ({test.own:.3f})"
        for test in suspicious_tests
    )
    return f"the batch is rejected as a whole: {named}"
