"""Count independent votes among documents, what most of them say, and two camps on which they split."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.text.model import Document
from codeguard.text.tokens import content_words, sentences, words

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
    result: Floats = (rows @ rows.T + _shared(grams) + np.sqrt(_shared(long)) + (held + held.T) / 2) / 4
    return result


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
_NEGATION_WORDS = """
    no not never neither nor without none nothing cannot hardly non prohibit prohibits prohibited prohibiting ban
    bans banned banning forbid forbids forbidden avoid avoids avoided avoiding prevent prevents prevented exclude
    excludes excluded lack lacks lacking absent absence free eliminate eliminates eliminated refuse refuses refused
"""
NEGATIONS = frozenset(_NEGATION_WORDS.split())
_SMALL_NUMERALS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty
"""
_TENS = {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80"}
_LARGE = {"ninety": "90", "hundred": "100", "thousand": "1000", "million": "1000000"}
_NUMERALS = {word: str(value) for value, word in enumerate(_SMALL_NUMERALS.split())} | _TENS | _LARGE
