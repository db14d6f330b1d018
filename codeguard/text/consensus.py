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
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.rules.injection import gives_order
from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.reading import Reader, ReaderAnswer, failures
from codeguard.text.tokens import TABLE, content_words, longest_echo, sentences, without_accents, words

LEAST_VOTES = 2  # groups that support the smaller of two rival claims
PASSAGE = 9  # consecutive words; lists in answers often have six to eight
CONTRAST = 0.29  # minimum contrast times the square root of the number of votes
GRAM = 4  # characters
LEAST_SIMILAR = 0.01  # replaces a mean similarity of 0 or less before dividing by it

Floats = NDArray[np.float64]


def dependent_groups(
    documents: Sequence[Document], vectors: NDArray[np.float32], query: str, duplicate: float
) -> list[int]:
    """Return the group number of each document; documents of one group share a vote.

    A group joins documents of one source (if known), documents whose vectors have a cosine of at
    least `duplicate`, and documents that share a passage of `PASSAGE` consecutive words that does
    not occur in the query.
    """
    parent = list(range(len(documents)))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    first: dict[object, int] = {}
    question_stems = set(word_runs(query))
    for index, document in enumerate(documents):
        marks: set[object] = {
            ("passage", item) for item in word_runs(document.text) if item not in question_stems
        }
        if document.source:
            marks.add(("source", document.source))
        marks.add(("text", " ".join(words(document.text))))
        for mark in marks:
            other = first.setdefault(mark, index)
            parent[root(index)] = root(other)
    for left, right in np.argwhere(np.triu(vectors @ vectors.T >= duplicate, 1)).tolist():
        parent[root(right)] = root(left)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(index), len(numbers)) for index in range(len(documents))]


def word_runs(text: str) -> Iterable[tuple[str, ...]]:
    """Return every run of `PASSAGE` words of a text."""
    found = words(text)
    return zip(*(found[start:] for start in range(PASSAGE)), strict=False)


def weights(groups: Sequence[int], trusted: Sequence[bool], trusted_weight: float) -> Floats:
    """Return the weight of each document.

    The members of a group share its weight, 1 or `trusted_weight` if one of them is trusted.
    """
    sizes = Counter(groups)
    raised = {group for group, trust in zip(groups, trusted, strict=True) if trust}
    return np.array(
        [(trusted_weight if group in raised else 1.0) / sizes[group] for group in groups], dtype=np.float64
    )


def voters(summaries: Sequence[str], groups: Sequence[int]) -> dict[int, list[int]]:
    """Return the documents of each group that have a summary, by the group's number."""
    members: dict[int, list[int]] = defaultdict(list)
    for index, summary in enumerate(summaries):
        if summary:
            members[groups[index]].append(index)
    return dict(members)


@dataclass(frozen=True, slots=True)
class Rivalry:
    """Two camps of documents, the one with more weight first, and the share of the votes in the second.

    `word` and `rival` are what one camp says more often than the other; may be empty. `apart` is the
    contrast of the camps relative to how similar they are to each other.
    """

    word: str
    rival: str
    first: frozenset[int]
    second: frozenset[int]
    share: float
    apart: float


@dataclass(frozen=True, slots=True)
class Core:
    """The share of the votes that say each word: the mean of the share in summaries and in whole texts."""

    shares: Mapping[str, float]
    question_stems: frozenset[str]

    @classmethod
    def of(cls, summaries: Sequence[str], texts: Sequence[str], query: str, vote: Floats) -> Core:
        """Count the words beyond the question's; without a summary there is no vote."""
        question_stems = frozenset(stem(word) for word in words(query))
        weight: dict[str, float] = defaultdict(float)
        total = 0.0
        for summary, text, share in zip(summaries, texts, vote.tolist(), strict=True):
            said = signed_words(summary, question_stems)
            total += share if summary else 0.0
            for key in said | signed_words(text, question_stems) if summary else ():
                weight[key] += share if key in said else share / 2
        return cls({key: share / total for key, share in weight.items()}, question_stems)

    def agreement(self, text: str) -> float:
        """Return how much of what most votes say a text says, for its length.

        It is the sum of the cubes of its words' shares, since what few say should not add up, by
        the root of the number of its words.
        """
        stems = signed_words(text, self.question_stems)
        return sum(self.shares.get(key, 0.0) ** 3 for key in stems) / math.sqrt(max(1, len(stems)))


def find_camps(
    summaries: Sequence[str],
    texts: Sequence[str],
    query: str,
    vote: Floats,
    groups: Sequence[int],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> Rivalry | None:
    """Return the two camps that are similar within and dissimilar to each other, or None.

    The similarity of two votes is the mean of four figures: the cosines of the embeddings and of the
    sets of character n-grams of the whole texts, the root of the cosine of their word sets, and the
    share of the words of one's summary that the other's text or summary has; all without the
    question's words. A camp is a vote with its nearest ones. Both camps have to be more similar
    within than to each other.
    """
    question_stems = frozenset(stem(word) for word in words(query))
    members = voters(summaries, groups)
    count = len(members)
    if count < 2 * LEAST_VOTES:
        return None
    short, whole = (
        [" ".join(dict.fromkeys(source[index] for index in camp)) for camp in members.values()]
        for source in (summaries, texts)
    )
    alike = _similarities(short, whole, question_stems, embed)
    contrast, inside = max(
        ((_contrast(alike, mask), mask) for mask in _splits(alike, LEAST_VOTES)), key=lambda found: found[0]
    )
    contrast *= math.sqrt(count)
    if contrast < CONTRAST:
        return None
    camps = [
        frozenset(
            index for place, camp in enumerate(members.values()) if inside[place] == side for index in camp
        )
        for side in (True, False)
    ]
    camps.sort(key=lambda camp: -float(vote[sorted(camp)].sum()))
    stems = [
        Counter(key for index in camp for key in signed_words(texts[index], question_stems)) for camp in camps
    ]
    share = [
        {key: held / len(camp) for key, held in known.items()}
        for known, camp in zip(stems, camps, strict=True)
    ]
    own = [
        max(sorted(mine), key=lambda key: mine[key] - other.get(key, 0.0), default="")
        for mine, other in (share, share[::-1])
    ]
    smaller = float(vote[sorted(camps[1])].sum())
    return Rivalry(
        spelled(own[0], texts),
        spelled(own[1], texts),
        camps[0],
        camps[1],
        smaller / (smaller + float(vote[sorted(camps[0])].sum())),
        apart=contrast / max(float(alike[inside][:, ~inside].mean()), LEAST_SIMILAR),
    )


def _similarities(
    summaries: Sequence[str],
    texts: Sequence[str],
    question_stems: frozenset[str],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> Floats:
    """Return how similar each two votes are, the mean of the four figures of `find_camps`.

    Of the cosine of word sets the root is taken, since two ways to say the same thing share few
    words. What a text says beside the answer lowers the cosines, not the share of the summary.
    """
    rest = [
        " ".join(word for word in text.split() if not question_stems.issuperset(map(stem, words(word))))
        for text in texts
    ]
    rows = embed([left or text for left, text in zip(rest, texts, strict=True)]).astype(np.float64)
    short, long = ([signed_words(text, question_stems) for text in source] for source in (summaries, texts))
    grams = [
        {word[start : start + GRAM] for word in found for start in range(max(1, len(word) - GRAM + 1))}
        for found in ({key.removeprefix("-") for key in signed} for signed in long)
    ]
    held = np.array(
        [
            [len(said & (one | other)) / max(1, len(said)) for one, other in zip(short, long, strict=True)]
            for said in short
        ]
    )
    return np.asarray((rows @ rows.T + _shared(grams) + np.sqrt(_shared(long)) + (held + held.T) / 2) / 4)


def _shared(sets: Sequence[set[str]]) -> Floats:
    """Return the cosine of each two sets."""
    return np.array(
        [[len(one & other) / math.sqrt(max(1, len(one) * len(other))) for other in sets] for one in sets]
    )


def _splits(alike: Floats, least: int) -> Iterable[NDArray[np.bool_]]:
    """Yield a mask for each camp of a vote and its nearest ones, up to half of the votes."""
    count = len(alike)
    for row in np.argsort(-(alike + np.eye(count) * count), kind="stable"):
        for size in range(least, count // 2 + 1):
            yield np.isin(np.arange(count), row[:size])


def _contrast(alike: Floats, inside: NDArray[np.bool_]) -> float:
    """Return how much closer two camps are within than to each other; 0 if one of them is not.

    The result is the geometric mean over both camps.
    """
    between = alike[inside][:, ~inside].mean()
    closer = [
        alike[camp][:, camp][~np.eye(int(camp.sum()), dtype=np.bool_)].mean() - between
        for camp in (inside, ~inside)
    ]
    return math.sqrt(max(0.0, closer[0]) * max(0.0, closer[1]))


def spelled(key: str, texts: Iterable[str]) -> str:
    """Return the word of the texts that has a stem, the most frequent one, after "not" if the stem has a minus sign."""
    bare = key.removeprefix("-")
    found = Counter(word.removesuffix("'s") for text in texts for word in words(text) if stem(word) == bare)
    word = max(found, key=lambda item: found[item], default=bare)
    return f"not {word}" if key != bare else word


def signed_words(text: str, question_stems: Collection[str]) -> set[str]:
    """Return the stems of a text beyond the question's, with a minus sign if their clause is negated."""
    found: set[str] = set()
    for sentence in sentences(text):
        for clause in _CLAUSE.split(sentence):
            tokens = words(clause)
            sign = "-" if _negated(tokens) else ""
            found |= {
                f"{sign}{stem(word)}"
                for word in tokens
                if content_words(word) and stem(word) not in question_stems
            }
    return found - {sign + word for sign in ("", "-") for word in NEGATIONS}


def _negated(tokens: Sequence[str]) -> bool:
    return sum(word in NEGATIONS or word.endswith("n't") for word in tokens) % 2 == 1


@cache
def _stemmer() -> Any:
    from nltk.stem.snowball import EnglishStemmer  # half a second: only when used

    return EnglishStemmer()


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word without possessive, numerals as digits: reduces, reduced → reduc."""
    word = word.removesuffix("'s").removesuffix("’s")
    if word in _NUMERALS:
        return _NUMERALS[word]
    return word.replace(",", "") if word[:1].isdigit() else str(_stemmer().stem(word))


_CLAUSE = re.compile(r"[,;:—–()]|\.\s|\b(?:and|or|but|while|although|because|which|however|though|whereas)\b")
NEGATIONS = frozenset(TABLE["negations"].split())
_NUMERALS: Mapping[str, str] = {
    word: str(value) for value, word in enumerate(TABLE["numerals"].split())
} | TABLE["numbers"]


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
    return np.asarray((cosines.sum(axis=1) - np.diagonal(cosines)) / (count - 1))


def _failed(document: Document, error: str) -> Judgment:
    return Judgment(document, False, "call_failed", f"no summary, no vote: {error}")
