"""Map-reduce consensus: summarise each document alone, keep those that agree, answer from them.

The original rule drops summaries whose mean similarity to the others is more than one standard
deviation below the mean. Every document has a vote there, so copies of one poisoned text outvote
the rest, and a poisoned majority removes the clean texts. The `sound` rule counts independent
votes, drops what does not concern the question, and abstains if the votes split into two camps.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.rules.injection import gives_order
from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, reject_all
from codeguard.text.polarity import find_reversal
from codeguard.text.reading import Reader, ReaderAnswer, failures
from codeguard.text.slots import find_slot_rivalry
from codeguard.text.tokens import longest_echo, sentences, words
from codeguard.text.votes import (
    Core,
    Floats,
    Rivalry,
    dependent_groups,
    find_camps,
    find_rivalry,
    weights,
)

Rule = Literal["sound", "original"]
RULES: tuple[Rule, ...] = get_args(Rule)
FEWEST = 4  # summaries; with fewer the original rule drops none
ECHO = 0.6  # a sentence with a run of this share of the question's words repeats the question
FEWEST_ADDED = 3  # words; fewer are too little to be judged alone
ECHO_FLOOR = 0.25  # minimum cosine of what such a sentence adds, relative to the best sentence's
SYNONYM = 0.6  # minimum cosine of two words that count as one claim
AGREED = 0.9  # minimum agreement with most votes, relative to the best sentence's, to answer from it
NEAR = 0.2  # minimum ratio of the cosines to the query of two camps' nearest sentences if both answer it
FARTHER = 0.3  # added to `NEAR` per unit of log(`Rivalry.apart`): rivals have their subject in common
REPEATED_FLOOR = 0.5  # minimum cosine of a sentence in several documents, relative to the best sentence's


@dataclass(frozen=True, slots=True)
class ConsensusConfig:
    """The rule and its limits.

    Documents with a cosine of at least `duplicate` share one vote. A sentence of a summary with a
    cosine to the query below `floor` is off the task. A second camp with at least the share
    `dissent` of the votes makes the result abstain. A group with a trusted document has the weight
    `trusted_weight`.
    """

    rule: Rule = "sound"
    duplicate: float = 0.95
    floor: float = 0.1
    dissent: float = 0.2
    trusted_weight: float = 3.0

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ConfigError("rule", got=repr(self.rule), expected=", ".join(RULES))
        for name in ("duplicate", "floor", "dissent"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(name, got=getattr(self, name), expected="0 to 1")
        if self.trusted_weight < 1:
            raise ConfigError("trusted_weight", got=self.trusted_weight, expected="1 or more")


@dataclass(frozen=True, slots=True)
class ConsensusResult:
    """The selection and the answer, or in `abstained` the reason why there is none.

    `summaries` are in the order of the documents, empty for a failed call.
    """

    selection: Selection
    answer: str
    abstained: str
    summaries: tuple[str, ...]


class _Judged(NamedTuple):
    """The selection, each document's summary and the number of its vote, and in `split` why no answer is safe."""

    selection: Selection
    summaries: tuple[str, ...]
    groups: list[int]
    split: str = ""


@dataclass(frozen=True, slots=True)
class Consensus:
    """Keeps the documents whose summaries agree, and answers from them."""

    reader: Reader
    embedding: Embedding
    config: ConsensusConfig = ConsensusConfig()

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge retrieved documents; a failure rejects all of them."""
        judged = self._judge_or_reject(documents, query)
        notes = (*judged.selection.notes, judged.split) if judged.split else judged.selection.notes
        return replace(judged.selection, notes=notes)

    def answer(self, documents: Sequence[Document], query: str) -> ConsensusResult:
        """Judge the documents and answer the query from the summaries of those that were kept.

        The answer uses one summary of each independent vote, because repetition is no confirmation.
        """
        selection, summaries, groups, split = self._judge_or_reject(documents, query)
        if selection.error or split:
            return ConsensusResult(selection, "", selection.error or split, summaries)
        texts = self._answer_texts(selection, summaries, groups, query)
        if not texts:
            return ConsensusResult(selection, "", "no document was kept", summaries)
        reading = self.reader.answer(query, texts)
        selection = replace(selection, failures=(*selection.failures, *failures([reading])))
        return ConsensusResult(selection, reading.text, reading.error, summaries)

    def _answer_texts(
        self, selection: Selection, summaries: Sequence[str], groups: Sequence[int], query: str
    ) -> list[str]:
        """Return the texts to answer from: one summary per vote; the `sound` rule keeps only agreed sentences."""
        voted: dict[int, str] = {}
        for index, judgment in enumerate(selection.judgments):
            if judgment.kept:
                voted.setdefault(groups[index], summaries[index])
        if self.config.rule == "original":
            return list(voted.values())
        kept = [item.kept for item in selection.judgments]
        trusted = [item.document.trusted for item in selection.judgments]
        vote = weights(groups, trusted, self.config.trusted_weight) * np.array(kept)
        core = Core.of(
            [text if keep else "" for text, keep in zip(summaries, kept, strict=True)],
            [without_orders(item.document.text) for item in selection.judgments],
            query,
            vote,
        )
        parts = [sentences(text) for text in voted.values()]
        best = max((core.agreement(sentence) for group in parts for sentence in group), default=0.0)
        parts = [[item for item in group if core.agreement(item) >= AGREED * best] for group in parts]
        return [" ".join(group) for group in parts if group]

    def _judge_or_reject(self, documents: Sequence[Document], query: str) -> _Judged:
        try:
            return self._judge(documents, query)
        except Exception as error:  # fail closed
            reason = f"the consensus failed, so nothing is kept: {type(error).__name__}: {error}"
            selection = reject_all(documents, "detector_error", reason, error=reason)
            return _Judged(selection, ("",) * len(documents), list(range(len(documents))))

    def _judge(self, documents: Sequence[Document], query: str) -> _Judged:
        if not documents:
            return _Judged(Selection(()), (), [])
        texts = [document.text for document in documents]
        if self.config.rule == "sound":
            texts = [without_orders(text) for text in texts]
        present = [text for text in texts if text]
        found = self.reader.summarise_each(query, present) if present else []
        if len(found) != len(present):
            raise TextDefenseError("the reader lost a summary", got=len(found), expected=len(present))
        summarised = iter(found)
        readings = [next(summarised) if text else ReaderAnswer("") for text in texts]
        failed = {index: reading.error for index, reading in enumerate(readings) if reading.error}
        summaries = [reading.text for reading in readings]
        judged = (
            self._judge_original(documents, summaries, failed)
            if self.config.rule == "original"
            else self._judge_sound(documents, texts, query, summaries, failed)
        )
        return judged._replace(selection=replace(judged.selection, failures=failures(readings)))

    def _judge_original(
        self, documents: Sequence[Document], summaries: Sequence[str], failed: dict[int, str]
    ) -> _Judged:
        present = [index for index in range(len(documents)) if index not in failed]
        similarity = mean_similarity(self.embedding.embed([summaries[index] for index in present]))
        limit = -np.inf
        if len(present) >= FEWEST:
            limit = float(similarity.mean() - similarity.std())
        score = dict(zip(present, similarity.tolist(), strict=True))
        judgments = []
        for index, document in enumerate(documents):
            if index in failed:
                judgments.append(_failed(document, failed[index]))
                continue
            low = score[index] < limit
            reason = f"mean similarity to the other summaries {score[index]:.3f}, limit {limit:.3f}"
            figures = {"similarity": score[index], "limit": limit}
            rule = "outlier" if low else "agrees"
            judgments.append(Judgment(document, not low, rule, reason, figures if np.isfinite(limit) else {}))
        return _Judged(Selection(tuple(judgments)), tuple(summaries), list(range(len(documents))))

    def _judge_sound(
        self,
        documents: Sequence[Document],
        texts: Sequence[str],
        query: str,
        summaries: Sequence[str],
        failed: dict[int, str],
    ) -> _Judged:
        vectors = self.embedding.embed([document.text for document in documents])
        groups = dependent_groups(documents, vectors, query, self.config.duplicate)
        cleaned = self._on_task(query, summaries)
        vote = weights(groups, [document.trusted for document in documents], self.config.trusted_weight)
        voting = [index for index in range(len(documents)) if index not in failed and cleaned[index]]
        voted = [cleaned[index] if index in voting else "" for index in range(len(documents))]
        near = self._nearest(query, voted)
        compared = (voted, texts, query, vote, groups, self.embedding.embed)
        apart = (find_rivalry(voted, query, vote, groups, self._same_word), find_camps(*compared))
        found = (
            find_slot_rivalry(*compared),
            find_reversal(*compared),
            # Documents on another topic agree with each other as well, but contradict nothing.
            *(item for item in apart if item and _both_near(item, near)),
        )
        rivalries = [item for item in found if item]
        # A conflict too small to abstain for must not hide one that is not.
        large = [item for item in rivalries if item.share >= self.config.dissent]
        rivalry = next(iter(large or rivalries), None)
        notes = [f"{len(documents)} documents, {len({groups[index] for index in voting})} independent votes"]
        ordering = sum(text != document.text for text, document in zip(texts, documents, strict=True))
        if ordering:
            notes.append(f"orders to a model were taken out of {ordering} documents")
        split = ""
        if rivalry:
            camps = (
                f"{rivalry.word!r} and {rivalry.rival!r} ({rivalry.share:.0%} of the votes for the second)"
            )
            if rivalry.share >= self.config.dissent:
                split = f"the documents split over {camps}: no answer is safe"
            else:
                notes.append(f"two camps: {camps}")
        judgments = [
            _failed(document, failed[index])
            if index in failed
            else self._verdict(index, document, bool(voted[index]), rivalry)
            for index, document in enumerate(documents)
        ]
        return _Judged(Selection(tuple(judgments), tuple(notes)), tuple(voted), groups, split)

    def _nearest(self, query: str, summaries: Sequence[str]) -> Floats:
        """Return the cosine to the query of each summary's nearest sentence; 0 for an empty summary."""
        parts = [sentences(summary) for summary in summaries]
        rows = self.embedding.embed([query, *(sentence for group in parts for sentence in group)])
        near = iter((rows[1:] @ rows[0]).tolist())
        return np.array([max((next(near) for _ in group), default=0.0) for group in parts])

    def _same_word(self, one: str, other: str) -> bool:
        rows = self.embedding.embed([one, other])
        return bool(rows[0] @ rows[1] >= SYNONYM)

    def _verdict(self, index: int, document: Document, on_task: bool, rivalry: Rivalry | None) -> Judgment:
        if not on_task:
            return Judgment(document, False, "off_task", "its summary is not about the question")
        if rivalry is None:
            return Judgment(document, True, "agrees", "no rival claim among the summaries")
        if rivalry.share >= self.config.dissent:
            sides = ((rivalry.first, rivalry.word), (rivalry.second, rivalry.rival))
            own = next(
                (f"in the camp of {word!r}" for camp, word in sides if index in camp), "in neither camp"
            )
            return Judgment(document, False, "two_camps", own)
        if index in rivalry.second:
            return Judgment(
                document,
                False,
                "rival_claim",
                f"says {rivalry.rival!r} where the others say {rivalry.word!r}",
            )
        return Judgment(document, True, "agrees", f"does not contradict {rivalry.word!r}")

    def _on_task(self, query: str, summaries: Sequence[str]) -> list[str]:
        """Return each summary with only the sentences that concern the query; may be empty."""
        parts = [sentences(summary) for summary in summaries]
        flat = [sentence for group in parts for sentence in group]
        if not flat:
            return [""] * len(summaries)
        judged = [added(query, sentence) for sentence in flat]
        rows = self.embedding.embed([query, *judged])
        near = rows[1:] @ rows[0]
        best, floor = float(near.max()), self.config.floor
        repeated = Counter(" ".join(words(sentence)) for group in parts for sentence in set(group))
        # Several documents with the same sentence suggest a planted one, unless it answers the question.
        limit = [
            max(
                floor,
                REPEATED_FLOOR * best if repeated[" ".join(words(sentence))] > 1 else 0.0,
                ECHO_FLOOR * best if sentence != rest else 0.0,
            )
            for sentence, rest in zip(flat, judged, strict=True)
        ]
        on_task = iter((near >= np.array(limit)).tolist())
        return [" ".join(sentence for sentence in group if next(on_task)) for group in parts]


def without_orders(text: str) -> str:
    """Return a text without the sentences that give orders to a model; the same text if it has none."""
    parts = sentences(text)
    kept = [part for part in parts if not gives_order(part)]
    return text if len(kept) == len(parts) else " ".join(kept)


def added(query: str, sentence: str) -> str:
    """Return what a sentence adds to the question if it repeats the question, else the sentence.

    An off-task sentence looks relevant if it starts with the question. An answer has no need to
    repeat it.
    """
    question_words = words(query)
    if longest_echo(question_words, words(sentence)) < ECHO:
        return sentence
    rest = [word for word in words(sentence) if word not in set(question_words)]
    return " ".join(rest) if len(rest) >= FEWEST_ADDED else sentence


def _both_near(rivalry: Rivalry, near: Floats) -> bool:
    # The nearest sentence of each camp, not the mean: a camp that answers may hold a stray one on another topic.
    low, high = sorted(float(near[sorted(camp)].max()) for camp in (rivalry.first, rivalry.second))
    return low >= (NEAR + FARTHER * math.log(rivalry.apart)) * high


def mean_similarity(vectors: NDArray[np.float32]) -> Floats:
    """Return each row's mean cosine to the other rows; 1 for a single row."""
    count = len(vectors)
    if count < 2:
        return np.ones(count)
    cosines = (vectors @ vectors.T).astype(np.float64)
    result: Floats = (cosines.sum(axis=1) - np.diagonal(cosines)) / (count - 1)
    return result


def _failed(document: Document, error: str) -> Judgment:
    return Judgment(document, False, "call_failed", f"no summary, no vote: {error}")
