"""Map-reduce consensus: summarise each document alone, keep what agrees, answer from that.

The original rule drops summaries whose mean similarity to the others is one
standard deviation below the mean. It counts heads, so copies of one poison
outvote the rest, and a poison in the majority drops the clean. The sound
rule counts independent votes, asks whether a summary is about the question
at all, and abstains where the votes split into two camps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, reject_all
from codeguard.text.reading import Reader, failures
from codeguard.text.tokens import longest_echo, sentences, words
from codeguard.text.votes import (
    Core,
    Floats,
    Rivalry,
    dependent_groups,
    find_camps,
    find_dissent,
    find_rivalry,
    weights,
)

Rule = Literal["sound", "original"]
RULES: tuple[Rule, ...] = get_args(Rule)
FEWEST = 4  # below this many summaries the original rule drops none
ECHO = 0.6  # share of the question's words, in a row, from which a sentence repeats it
FEWEST_ADDED = 3  # words; less says too little to be judged alone
ECHO_FLOOR = 0.25  # of the best sentence's cosine to the query, for what such a sentence adds
SYNONYM = 0.6  # cosine of two words from which they are one claim
AGREED = 0.7  # of the best sentence's agreement with what most votes say, for a sentence to be answered from
NEAR = 0.75  # of the other camp's cosine to the query, for a camp that answers the same question
REPEATED_FLOOR = 0.5  # of the best sentence's cosine to the query, for a sentence of several documents


@dataclass(frozen=True, slots=True)
class ConsensusConfig:
    """How votes are counted.

    `duplicate` is the cosine from which two documents are one vote, `floor`
    the cosine to the query below which a sentence of a summary is off the
    task, `dissent` the share of the votes from which a second camp makes the
    result abstain. A group with a trusted document weighs `trusted_weight`.
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
    """The selection, the answer made from what was kept, and why there is none where there is none.

    `summaries` are in the documents' order, empty where the call failed.
    """

    selection: Selection
    answer: str
    abstained: str
    summaries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Consensus:
    """Keeps the documents whose summaries agree, and answers from those."""

    reader: Reader
    embedding: Embedding
    config: ConsensusConfig = ConsensusConfig()

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge retrieved documents; a failure rejects all of them."""
        return self._judged(documents, query)[0]

    def answer(self, documents: Sequence[Document], query: str) -> ConsensusResult:
        """Judge the documents and answer the query from the summaries of those that were kept.

        One summary of each independent vote goes into the answer: what is
        said twice by one voice is not said by two.
        """
        selection, summaries, groups = self._judged(documents, query)
        if selection.error:
            return ConsensusResult(selection, "", selection.error, summaries)
        split = [item for item in selection.judgments if item.rule == "two_camps"]
        if split:
            return ConsensusResult(selection, "", split[0].reason, summaries)
        texts = self._agreed(selection, summaries, groups, query)
        if not texts:
            return ConsensusResult(selection, "", "no document was kept", summaries)
        reading = self.reader.answer(query, texts)
        selection = replace(selection, failures=(*selection.failures, *failures([reading])))
        return ConsensusResult(selection, reading.text, reading.error, summaries)

    def _agreed(
        self, selection: Selection, summaries: Sequence[str], groups: Sequence[int], query: str
    ) -> list[str]:
        """Return what is to be answered from: one summary a vote, by the sound rule what most votes say of it."""
        heard: dict[int, str] = {}
        for index, judgment in enumerate(selection.judgments):
            if judgment.kept:
                heard.setdefault(groups[index], summaries[index])
        if self.config.rule == "original":
            return list(heard.values())
        kept = [item.kept for item in selection.judgments]
        trusted = [item.document.trusted for item in selection.judgments]
        vote = weights(groups, trusted, self.config.trusted_weight) * np.array(kept)
        core = Core.of(
            [text if keep else "" for text, keep in zip(summaries, kept, strict=True)], query, vote
        )
        parts = [sentences(text) for text in heard.values()]
        best = max((core.agreement(sentence) for group in parts for sentence in group), default=0.0)
        parts = [[item for item in group if core.agreement(item) >= AGREED * best] for group in parts]
        return [" ".join(group) for group in parts if group]

    def _judged(
        self, documents: Sequence[Document], query: str
    ) -> tuple[Selection, tuple[str, ...], list[int]]:
        try:
            return self._judge(documents, query)
        except Exception as error:  # fail closed
            reason = f"the consensus failed, so nothing is kept: {type(error).__name__}: {error}"
            return (
                reject_all(documents, "detector_error", reason, error=reason),
                ("",) * len(documents),
                list(range(len(documents))),
            )

    def _judge(
        self, documents: Sequence[Document], query: str
    ) -> tuple[Selection, tuple[str, ...], list[int]]:
        if not documents:
            return Selection(()), (), []
        readings = self.reader.summarise_each(query, [document.text for document in documents])
        if len(readings) != len(documents):
            raise TextDefenseError("the reader lost a summary", got=len(readings), expected=len(documents))
        failed = {index: reading.error for index, reading in enumerate(readings) if reading.error}
        summaries = [reading.text for reading in readings]
        if self.config.rule == "original":
            found = self._original(documents, summaries, failed)
            selection = Selection(tuple(found), failures=failures(readings))
            return selection, tuple(summaries), list(range(len(documents)))
        selection, heard, groups = self._sound(documents, query, summaries, failed)
        return replace(selection, failures=failures(readings)), heard, groups

    def _original(
        self, documents: Sequence[Document], summaries: Sequence[str], failed: dict[int, str]
    ) -> list[Judgment]:
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
        return judgments

    def _sound(
        self, documents: Sequence[Document], query: str, summaries: Sequence[str], failed: dict[int, str]
    ) -> tuple[Selection, tuple[str, ...], list[int]]:
        vectors = self.embedding.embed([document.text for document in documents])
        groups = dependent_groups(documents, vectors, query, self.config.duplicate)
        cleaned = self._on_task(query, summaries)
        vote = weights(groups, [document.trusted for document in documents], self.config.trusted_weight)
        voting = [index for index in range(len(documents)) if index not in failed and cleaned[index]]
        heard = [cleaned[index] if index in voting else "" for index in range(len(documents))]
        texts = [document.text for document in documents]
        near = vectors @ self.embedding.embed([query])[0]
        found = (
            find_rivalry(heard, query, vote, groups, self._same_word),
            find_dissent(heard, texts, query, vote, groups),
            find_camps(heard, texts, query, vote, groups, self.embedding.embed),
        )
        # Documents on another matter agree with each other too, and contradict nothing.
        rivalry = next((item for item in found if item and _both_near(item, near)), None)
        notes = [f"{len(documents)} documents, {len({groups[index] for index in voting})} independent votes"]
        if rivalry:
            notes.append(
                f"two camps: {rivalry.word!r} against {rivalry.rival!r}, "
                f"the second with {rivalry.share:.0%} of the votes"
            )
        judgments = [
            _failed(document, failed[index])
            if index in failed
            else self._verdict(index, document, bool(heard[index]), rivalry)
            for index, document in enumerate(documents)
        ]
        return Selection(tuple(judgments), tuple(notes)), tuple(heard), groups

    def _same_word(self, one: str, other: str) -> bool:
        rows = self.embedding.embed([one, other])
        return bool(rows[0] @ rows[1] >= SYNONYM)

    def _verdict(self, index: int, document: Document, on_task: bool, rivalry: Rivalry | None) -> Judgment:
        if not on_task:
            return Judgment(document, False, "off_task", "its summary is not about the question")
        if rivalry is None:
            return Judgment(document, True, "agrees", "no rival claim among the summaries")
        if rivalry.share >= self.config.dissent:
            return Judgment(
                document,
                False,
                "two_camps",
                f"the documents split over {rivalry.word!r} and {rivalry.rival!r} "
                f"({rivalry.share:.0%} of the votes for the second): no answer is safe",
            )
        if index in rivalry.second:
            return Judgment(
                document,
                False,
                "rival_claim",
                f"says {rivalry.rival!r} where the others say {rivalry.word!r}",
            )
        return Judgment(document, True, "agrees", f"does not contradict {rivalry.word!r}")

    def _on_task(self, query: str, summaries: Sequence[str]) -> list[str]:
        """Return the summaries with only those sentences that concern the query; empty where none does."""
        parts = [sentences(summary) for summary in summaries]
        flat = [sentence for group in parts for sentence in group]
        if not flat:
            return [""] * len(summaries)
        judged = [added(query, sentence) for sentence in flat]
        rows = self.embedding.embed([query, *judged])
        near = rows[1:] @ rows[0]
        best, floor = float(near.max()), self.config.floor
        repeated = Counter(" ".join(words(sentence)) for group in parts for sentence in set(group))
        # A sentence that several documents bring word for word is a forced one, unless it answers the question.
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


def added(query: str, sentence: str) -> str:
    """Return a sentence, or, where it repeats the question, what it adds to it.

    Anyone who wants an off-task sentence to look relevant puts the question in
    front; nobody who answers has to.
    """
    asked = words(query)
    if longest_echo(asked, words(sentence)) < ECHO:
        return sentence
    rest = [word for word in words(sentence) if word not in set(asked)]
    return " ".join(rest) if len(rest) >= FEWEST_ADDED else sentence


def _both_near(rivalry: Rivalry, near: NDArray[np.float32]) -> bool:
    low, high = sorted(float(near[sorted(camp)].mean()) for camp in (rivalry.first, rivalry.second))
    return low >= NEAR * high


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
