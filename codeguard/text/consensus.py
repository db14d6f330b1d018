"""Map-reduce consensus: summarise each document alone, keep those that agree, answer from them.

The original rule drops summaries whose mean similarity to the others is more than one standard
deviation below the mean. Every document has a vote there, so copies of one poisoned text outvote
the rest, and a poisoned majority removes the clean texts. The `sound` rule counts independent
votes, drops what does not concern the question, and answers from the sentences that most votes
agree with. If the documents contradict each other it shows both camps, answers from the larger one
and states its confidence; at a higher strictness it abstains.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.rules.injection import gives_order
from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.reading import Reader, ReaderAnswer, failures
from codeguard.text.tokens import content_words, longest_echo, sentences, without_accents, words
from codeguard.text.votes import (
    Core,
    Floats,
    Rivalry,
    dependent_groups,
    find_camps,
    signed_words,
    stem,
    weights,
)

Rule = Literal["sound", "original"]
RULES: tuple[Rule, ...] = get_args(Rule)
Strictness = Literal["answer", "balanced", "strict"]
# Smallest share of the votes in a second camp that makes the result abstain; no share is above 1/2.
STRICTNESS: Mapping[Strictness, float] = {"answer": 1.0, "balanced": 1 / 3, "strict": 0.2}
DUPLICATE = 0.95  # minimum cosine of documents that share one vote
FEWEST = 4  # summaries; with fewer the original rule drops none
ECHO = 0.6  # a sentence with a run of this share of the question's words repeats the question
FEWEST_ADDED = 3  # words; fewer are too little to be judged alone
ECHO_FLOOR = 0.25  # minimum cosine of what such a sentence adds, relative to the best sentence's
SUPPORTED = 0.5  # share of the answer's words in a document that supports it
AGREED = 0.9  # minimum agreement with most votes, relative to the best sentence's, to answer from it
NEAR = 0.2  # minimum ratio of the cosines to the query of two camps' nearest sentences if both answer it
FARTHER = 0.3  # added to `NEAR` per unit of log(`Rivalry.apart`): rivals have their subject in common
REPEATED_FLOOR = 0.5  # minimum cosine of a sentence in several documents, relative to the best sentence's


@dataclass(frozen=True, slots=True)
class Camp:
    """A claim, the ids of the documents that make it, and their share of the votes, 0 to 1."""

    claim: str
    documents: tuple[str, ...]
    share: float

    def to_json(self) -> dict[str, Any]:
        """Return the camp as plain values."""
        return {"claim": self.claim, "documents": list(self.documents), "share": round(self.share, 6)}


@dataclass(frozen=True, slots=True)
class ConsensusResult:
    """The selection and the answer, or in `abstained` the reason why there is none.

    `confidence` is the expected share of further independent documents that support the answer,
    0 to 1 (rule of succession: 8 of 10 votes give 0.75, one of one 0.67). `camps` are the two sides
    if the documents contradict each other, the larger one first. `summaries` are in the order of
    the documents, empty for a failed call.
    """

    selection: Selection
    answer: str
    abstained: str
    summaries: tuple[str, ...]
    confidence: float = 0.0
    camps: tuple[Camp, ...] = ()


@dataclass(frozen=True, slots=True)
class _Votes:
    """Documents with their summaries, the number of each one's vote and its weight."""

    query: str
    documents: Sequence[Document]
    summaries: Sequence[str]
    groups: list[int]
    weight: Floats

    def core(self, counted: Sequence[bool]) -> Core:
        """Return what the votes of the `counted` documents say."""
        return Core.of(
            [without_accents(text) if own else "" for text, own in zip(self.summaries, counted, strict=True)],
            [without_accents(without_orders(item.text)) for item in self.documents],
            self.query,
            self.weight * np.array(counted),
        )

    def agreed(self, kept: Sequence[bool]) -> list[str]:
        """Return of each vote the sentences that agree about best with all of those that were kept."""
        core = self.core(kept)
        parts = [
            [(sentence, core.agreement(without_accents(sentence))) for sentence in sentences(text)]
            for text in self.one_each(kept)
        ]
        best = max((agreed for group in parts for _, agreed in group), default=0.0)
        agreed = [[sentence for sentence, own in group if own >= AGREED * best] for group in parts]
        return [" ".join(group) for group in agreed if group]

    def one_each(self, kept: Sequence[bool]) -> list[str]:
        """Return one summary of each vote: repetition is no confirmation."""
        voted: dict[int, str] = {}
        for index in np.flatnonzero(kept).tolist():
            voted.setdefault(self.groups[index], self.summaries[index])
        return list(voted.values())

    def confidence(self, kept: Sequence[bool], answer: str) -> float:
        """Return the expected share of further votes that support an answer, by the rule of succession."""
        question_stems = {stem(word) for word in words(self.query)}
        said = signed_words(without_accents(answer), question_stems)
        supporting = total = 0.0
        for index, document in enumerate(self.documents):
            if not self.summaries[index]:
                continue
            total += float(self.weight[index])
            if kept[index]:
                text = without_accents(f"{self.summaries[index]}\n{without_orders(document.text)}")
                own = signed_words(text, question_stems)
                supporting += float(self.weight[index]) * (len(said & own) >= SUPPORTED * len(said))
        return (supporting + 1) / (total + 2)

    def camp(self, members: frozenset[int], share: float) -> Camp:
        """Return a side with the sentence that most of its votes agree with."""
        core = self.core([index in members for index in range(len(self.documents))])
        parts = [part for index in sorted(members) for part in sentences(self.summaries[index])]
        claim = max(parts, key=lambda part: core.agreement(without_accents(part)), default="")
        return Camp(claim, tuple(self.documents[index].id for index in sorted(members)), share)


@dataclass(frozen=True, slots=True)
class Consensus:
    """Keeps the documents whose summaries agree, and answers from them.

    `strictness` decides when a second camp makes the result abstain: never (`answer`), from a third
    of the votes (`balanced`), or from a fifth (`strict`). A sentence of a summary with a cosine to
    the query below `floor` is off the task. A group with a trusted document has the weight
    `trusted_weight`.
    """

    reader: Reader
    embedding: Embedding
    rule: Rule = "sound"
    strictness: Strictness = "answer"
    floor: float = 0.1
    trusted_weight: float = 3.0

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ConfigError("rule", got=repr(self.rule), expected=", ".join(RULES))
        if self.strictness not in STRICTNESS:
            raise ConfigError("strictness", got=repr(self.strictness), expected=", ".join(STRICTNESS))
        if not 0 <= self.floor <= 1:
            raise ConfigError("floor", got=self.floor, expected="0 to 1")
        if self.trusted_weight < 1:
            raise ConfigError("trusted_weight", got=self.trusted_weight, expected="1 or more")

    def answer(self, documents: Sequence[Document], query: str) -> ConsensusResult:
        """Judge the documents and answer the query from the summaries of those that were kept.

        A failure rejects all of them.
        """
        try:
            return self._answer(documents, query)
        except Exception as error:  # fail closed
            reason = f"the consensus failed, so nothing is kept: {type(error).__name__}: {error}"
            selection = reject_all(documents, "detector_error", reason, error=reason)
            return ConsensusResult(selection, "", reason, ("",) * len(documents))

    def _answer(self, documents: Sequence[Document], query: str) -> ConsensusResult:
        texts = [item.text if self.rule == "original" else without_orders(item.text) for item in documents]
        texts = [text if words(text) else "" for text in texts]
        present = [text for text in texts if text]
        found = self.reader.summarise_each(query, present) if present else []
        if len(found) != len(present):
            raise TextDefenseError("the reader lost a summary", got=len(found), expected=len(present))
        summarised = iter(found)
        readings = [next(summarised) if text else ReaderAnswer("") for text in texts]
        judge = self._judge_original if self.rule == "original" else self._judge_sound
        votes, selection, rivalry = judge(documents, texts, query, readings)
        camps: tuple[Camp, ...] = ()
        split = ""
        if rivalry:
            sides = (rivalry.first, 1 - rivalry.share), (rivalry.second, rivalry.share)
            camps = tuple(votes.camp(members, share) for members, share in sides)
            if self._abstains(rivalry):
                split = f"{_contradiction(rivalry)}; at this strictness no answer is given"
        kept = [item.kept for item in selection.judgments]
        parts = votes.one_each(kept) if self.rule == "original" else [] if split else votes.agreed(kept)
        summaries, failed = tuple(votes.summaries), failures(readings)
        if split or not parts:
            selection = replace(selection, failures=failed)
            return ConsensusResult(selection, "", split or "no document was kept", summaries, camps=camps)
        reading = self.reader.answer(query, parts)
        selection = replace(selection, failures=(*failed, *failures([reading])))
        confidence = votes.confidence(kept, reading.text) if reading.text else 0.0
        return ConsensusResult(selection, reading.text, reading.error, summaries, confidence, camps)

    def _abstains(self, rivalry: Rivalry) -> bool:
        return rivalry.share >= STRICTNESS[self.strictness] - 1e-9

    def _weights(self, groups: Sequence[int], documents: Sequence[Document]) -> Floats:
        return weights(groups, [document.trusted for document in documents], self.trusted_weight)

    def _judge_original(
        self,
        documents: Sequence[Document],
        texts: Sequence[str],
        query: str,
        readings: Sequence[ReaderAnswer],
    ) -> tuple[_Votes, Selection, Rivalry | None]:
        present = [index for index, reading in enumerate(readings) if not reading.error]
        similarity = mean_similarity(self.embedding.embed([readings[index].text for index in present]))
        limit = float(similarity.mean() - similarity.std()) if len(present) >= FEWEST else -math.inf
        score = dict(zip(present, similarity.tolist(), strict=True))
        judgments = []
        for index, document in enumerate(documents):
            if index not in score:
                judgments.append(_failed(document, readings[index].error))
                continue
            low = score[index] < limit
            reason = f"mean similarity to the other summaries {score[index]:.3f}, limit {limit:.3f}"
            figures = {"similarity": score[index], "limit": limit} if math.isfinite(limit) else {}
            judgments.append(Judgment(document, not low, "outlier" if low else "agrees", reason, figures))
        groups = list(range(len(documents)))
        summaries = [reading.text for reading in readings]
        votes = _Votes(query, documents, summaries, groups, self._weights(groups, documents))
        return votes, Selection(tuple(judgments)), None

    def _judge_sound(
        self,
        documents: Sequence[Document],
        texts: Sequence[str],
        query: str,
        readings: Sequence[ReaderAnswer],
    ) -> tuple[_Votes, Selection, Rivalry | None]:
        if not documents:
            return _Votes(query, (), (), [], np.zeros(0)), Selection(()), None
        vectors = self.embedding.embed([document.text for document in documents])
        groups = dependent_groups(documents, vectors, query, DUPLICATE)
        voted = self._on_task(query, [reading.text for reading in readings])
        weight = self._weights(groups, documents)
        rivalry = find_camps(
            list(map(without_accents, voted)),
            list(map(without_accents, texts)),
            query,
            weight,
            groups,
            self.embedding.embed,
        )
        # Documents on another topic agree with each other as well, but contradict nothing.
        if rivalry and not _both_near(rivalry, self._nearest(query, voted)):
            rivalry = None
        independent = len({group for group, text in zip(groups, voted, strict=True) if text})
        notes = [f"{len(documents)} documents, {independent} independent votes"]
        ordering = sum(text != document.text for text, document in zip(texts, documents, strict=True))
        if ordering:
            notes.append(f"orders to a model were taken out of {ordering} documents")
        abstains = rivalry is not None and self._abstains(rivalry)
        if rivalry and not abstains:
            notes.append(_contradiction(rivalry))
        judgments = tuple(
            no_words(document)
            if not words(document.text)
            else _failed(document, readings[index].error)
            if readings[index].error
            else _verdict(index, document, bool(voted[index]), rivalry, abstains)
            for index, document in enumerate(documents)
        )
        votes = _Votes(query, documents, voted, groups, weight)
        return votes, Selection(judgments, tuple(notes)), rivalry

    def _nearest(self, query: str, summaries: Sequence[str]) -> Floats:
        """Return the cosine to the query of each summary's nearest sentence; 0 for an empty summary."""
        parts = [sentences(summary) for summary in summaries]
        rows = self.embedding.embed([query, *(sentence for group in parts for sentence in group)])
        near = iter((rows[1:] @ rows[0]).tolist())
        return np.array([max((next(near) for _ in group), default=0.0) for group in parts])

    def _on_task(self, query: str, summaries: Sequence[str]) -> list[str]:
        """Return each summary with only the sentences that concern the query; may be empty."""
        parts = [sentences(summary) for summary in summaries]
        flat = [sentence for group in parts for sentence in group]
        if not flat:
            return [""] * len(summaries)
        judged = [added(query, sentence) for sentence in flat]
        rows = self.embedding.embed([query, *judged])
        near = rows[1:] @ rows[0]
        best, floor = float(near.max()), self.floor
        plain = [" ".join(words(sentence)) for sentence in flat]
        repeated = Counter(" ".join(words(sentence)) for group in parts for sentence in set(group))
        # Several documents with the same sentence suggest a planted one, unless it is near to the question or
        # says only what such a sentence says too: "Harper Lee." beside "It was written by Harper Lee."
        close = near >= REPEATED_FLOOR * best
        answering = [set(content_words(text)) for text, own in zip(plain, close.tolist(), strict=True) if own]
        planted = {
            text
            for text, count in repeated.items()
            if count > 1 and not any(set(content_words(text)) < other for other in answering)
        }
        limit = [
            max(
                floor,
                REPEATED_FLOOR * best if text in planted else 0.0,
                ECHO_FLOOR * best if sentence != rest else 0.0,
            )
            for sentence, rest, text in zip(flat, judged, plain, strict=True)
        ]
        on_task = iter((near >= np.array(limit)).tolist())
        return [" ".join(sentence for sentence in group if next(on_task)) for group in parts]


def _verdict(
    index: int, document: Document, on_task: bool, rivalry: Rivalry | None, abstains: bool
) -> Judgment:
    if not on_task:
        return Judgment(document, False, "off_task", "its summary is not about the question")
    if rivalry is None:
        return Judgment(document, True, "agrees", "no rival claim among the summaries")
    if abstains:
        own = rivalry.word if index in rivalry.first else rivalry.rival
        return Judgment(document, False, "two_camps", f"in the camp of {own!r}")
    if index in rivalry.second:
        reason = f"says {rivalry.rival!r} where the others say {rivalry.word!r}"
        return Judgment(document, False, "rival_claim", reason)
    return Judgment(document, True, "agrees", f"does not contradict {rivalry.word!r}")


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


def _contradiction(rivalry: Rivalry) -> str:
    return (
        f"the documents contradict each other: {rivalry.word!r} or {rivalry.rival!r}, "
        f"{rivalry.share:.0%} of the votes for the second"
    )


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
