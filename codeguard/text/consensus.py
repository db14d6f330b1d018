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
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.rules.injection import gives_order
from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.reading import Reader, ReaderAnswer, failures
from codeguard.text.spelling import Spelling
from codeguard.text.tokens import content_words, longest_echo, sentences, words
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
class ConsensusConfig:
    """The rule and its limits.

    Documents with a cosine of at least `duplicate` share one vote. A sentence of a summary with a
    cosine to the query below `floor` is off the task. `strictness` decides when a second camp makes
    the result abstain: never (`answer`), from a third of the votes (`balanced`), or from a fifth
    (`strict`). A group with a trusted document has the weight `trusted_weight`.
    """

    rule: Rule = "sound"
    duplicate: float = 0.95
    floor: float = 0.1
    strictness: Strictness = "answer"
    trusted_weight: float = 3.0

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ConfigError("rule", got=repr(self.rule), expected=", ".join(RULES))
        if self.strictness not in STRICTNESS:
            raise ConfigError("strictness", got=repr(self.strictness), expected=", ".join(STRICTNESS))
        for name in ("duplicate", "floor"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(name, got=getattr(self, name), expected="0 to 1")
        if self.trusted_weight < 1:
            raise ConfigError("trusted_weight", got=self.trusted_weight, expected="1 or more")


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


class _Judged(NamedTuple):
    """The selection, each document's summary and the number of its vote, the camps, and why no answer is safe."""

    selection: Selection
    summaries: tuple[str, ...]
    groups: list[int]
    spelling: Spelling = Spelling({})
    camps: tuple[Camp, ...] = ()
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
        judged = self._judge_or_reject(documents, query)
        selection, summaries, camps = judged.selection, judged.summaries, judged.camps
        if selection.error or judged.split:
            return ConsensusResult(selection, "", selection.error or judged.split, summaries, camps=camps)
        kept = [item.kept for item in selection.judgments]
        texts = self._answer_texts(judged, kept, query)
        if not texts:
            return ConsensusResult(selection, "", "no document was kept", summaries, camps=camps)
        reading = self.reader.answer(query, texts)
        selection = replace(selection, failures=(*selection.failures, *failures([reading])))
        confidence = self._confidence(judged, kept, query, reading.text) if reading.text else 0.0
        return ConsensusResult(selection, reading.text, reading.error, summaries, confidence, camps)

    def _core(self, judged: _Judged, counted: Sequence[bool], query: str) -> Core:
        """Return what the votes of the `counted` documents say."""
        documents = [item.document for item in judged.selection.judgments]
        vote = weights(judged.groups, [item.trusted for item in documents], self.config.trusted_weight)
        return Core.of(
            [
                judged.spelling(text) if own else ""
                for text, own in zip(judged.summaries, counted, strict=True)
            ],
            [judged.spelling(without_orders(item.text)) for item in documents],
            query,
            vote * np.array(counted),
        )

    def _answer_texts(self, judged: _Judged, kept: Sequence[bool], query: str) -> list[str]:
        """Return the texts to answer from: one summary per vote; the `sound` rule keeps only agreed sentences."""
        voted: dict[int, str] = {}
        for index, keep in enumerate(kept):
            if keep:
                voted.setdefault(judged.groups[index], judged.summaries[index])
        if self.config.rule == "original":
            return list(voted.values())
        core = self._core(judged, kept, query)
        parts = [
            [(sentence, core.agreement(judged.spelling(sentence))) for sentence in sentences(text)]
            for text in voted.values()
        ]
        best = max((agreed for group in parts for _, agreed in group), default=0.0)
        agreed = [[sentence for sentence, own in group if own >= AGREED * best] for group in parts]
        return [" ".join(group) for group in agreed if group]

    def _confidence(self, judged: _Judged, kept: Sequence[bool], query: str, answer: str) -> float:
        documents = [item.document for item in judged.selection.judgments]
        vote = weights(judged.groups, [item.trusted for item in documents], self.config.trusted_weight)
        question_stems = {stem(word) for word in words(query)}
        said = signed_words(judged.spelling(answer), question_stems)
        supporting = total = 0.0
        for index, document in enumerate(documents):
            if not judged.summaries[index]:
                continue
            total += float(vote[index])
            if kept[index]:
                text = judged.spelling(f"{judged.summaries[index]}\n{without_orders(document.text)}")
                own = signed_words(text, question_stems)
                supporting += float(vote[index]) * (len(said & own) >= SUPPORTED * len(said))
        return (supporting + 1) / (total + 2)

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
        texts = [text if words(text) else "" for text in texts]
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
        spelling = Spelling.of([query, *texts], self.embedding)
        rivalry = find_camps(
            list(map(spelling, voted)), list(map(spelling, texts)), query, vote, groups, self.embedding.embed
        )
        # Documents on another topic agree with each other as well, but contradict nothing.
        if rivalry and not _both_near(rivalry, near):
            rivalry = None
        notes = [f"{len(documents)} documents, {len({groups[index] for index in voting})} independent votes"]
        ordering = sum(text != document.text for text, document in zip(texts, documents, strict=True))
        if ordering:
            notes.append(f"orders to a model were taken out of {ordering} documents")
        abstains = rivalry is not None and rivalry.share >= STRICTNESS[self.config.strictness] - 1e-9
        split = ""
        if rivalry:
            notes.append(
                f"the documents contradict each other: {rivalry.word!r} or {rivalry.rival!r}, "
                f"{rivalry.share:.0%} of the votes for the second"
            )
            split = f"{notes.pop()}; at this strictness no answer is given" if abstains else ""
        judgments = [
            no_words(document)
            if not words(document.text)
            else _failed(document, failed[index])
            if index in failed
            else _verdict(index, document, bool(voted[index]), rivalry, abstains)
            for index, document in enumerate(documents)
        ]
        found = _Judged(Selection(tuple(judgments), tuple(notes)), tuple(voted), groups, spelling, (), split)
        return found._replace(camps=self._camps(found, query, rivalry)) if rivalry else found

    def _camps(self, judged: _Judged, query: str, rivalry: Rivalry) -> tuple[Camp, ...]:
        """Return both sides, each with the sentence that most of its votes agree with."""
        camps = []
        for members, share in ((rivalry.first, 1 - rivalry.share), (rivalry.second, rivalry.share)):
            own = [index in members for index in range(len(judged.groups))]
            core = self._core(judged, own, query)
            parts = [part for index in sorted(members) for part in sentences(judged.summaries[index])]
            claim = max(parts, key=lambda part: core.agreement(judged.spelling(part)), default="")
            ids = tuple(judged.selection.judgments[index].document.id for index in sorted(members))
            camps.append(Camp(claim, ids, share))
        return tuple(camps)

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
        best, floor = float(near.max()), self.config.floor
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
