"""Who votes together, and for what: dependent documents, claims that exclude each other, two camps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codeguard.text.model import Document
from codeguard.text.tokens import content_words, words

PASSAGE = 6  # consecutive words that two authors do not share by chance
COVERED = 0.85  # of the votes that two rival claims have to hold together
SHARED = 0.34  # of the smaller claim's votes that may hold both: who argues names the other view

Floats = NDArray[np.float64]


def dependent_groups(
    documents: Sequence[Document], vectors: NDArray[np.float32], query: str, duplicate: float
) -> list[int]:
    """Return a group number a document: those of one group vote once.

    Together are documents of one source (where it is known), documents whose
    vectors have a cosine of at least `duplicate`, and documents that share a
    passage of `PASSAGE` consecutive words that is not the query's own.
    """
    parent = list(range(len(documents)))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    first: dict[object, int] = {}
    asked = set(passages(query))
    for index, document in enumerate(documents):
        marks: set[object] = {("passage", item) for item in passages(document.text) if item not in asked}
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


def passages(text: str) -> Iterable[tuple[str, ...]]:
    """Return every run of `PASSAGE` words of a text."""
    found = words(text)
    return zip(*(found[start:] for start in range(PASSAGE)), strict=False)


def weights(groups: Sequence[int], trusted: Sequence[bool], trusted_weight: float) -> Floats:
    """Return each document's weight: a group's vote is shared by its members; a trusted member raises it."""
    sizes = Counter(groups)
    raised = {group for group, trust in zip(groups, trusted, strict=True) if trust}
    return np.array(
        [(trusted_weight if group in raised else 1.0) / sizes[group] for group in groups], dtype=np.float64
    )


@dataclass(frozen=True, slots=True)
class Rivalry:
    """Two claims that exclude each other: the word of each, the documents of each, the smaller one's share."""

    word: str
    rival: str
    first: frozenset[int]
    second: frozenset[int]
    share: float


def find_rivalry(
    summaries: Sequence[str], query: str, vote: Floats, groups: Sequence[int], least_votes: int = 2
) -> Rivalry | None:
    """Find the two words that split the summaries best, the heavier camp first; None where nothing does.

    Two words are rivals where nearly every vote holds one of them and few
    both, where both are numbers or neither is, and where at least
    `least_votes` groups stand behind the lesser one. Of several pairs the
    one that covers most wins. Where one word is in every summary there is
    no rivalry: whoever disagrees would not use it.
    """
    asked = claim_words(query)
    holders: dict[str, set[int]] = defaultdict(set)
    for index, summary in enumerate(summaries):
        for word in claim_words(summary):
            if word not in asked:
                holders[word].add(index)
    present = [index for index, summary in enumerate(summaries) if summary]
    total = float(vote[present].sum())
    weight = {word: float(vote[list(who)].sum()) for word, who in holders.items()}
    usable = [word for word, who in holders.items() if len({groups[index] for index in who}) >= least_votes]
    best: tuple[float, float, str, str] | None = None
    for number, one in enumerate(usable):
        for other in usable[number + 1 :]:
            if is_number(one) != is_number(other):
                continue
            both = float(vote[list(holders[one] & holders[other])].sum())
            smaller = min(weight[one], weight[other])
            covered = weight[one] + weight[other] - both
            if covered < COVERED * total or both > SHARED * smaller:
                continue
            if best is None or (covered, smaller) > best[:2]:
                pair = (one, other) if weight[one] >= weight[other] else (other, one)
                best = (covered, smaller, *pair)
    if best is None:
        return None
    _, smaller, one, other = best
    return Rivalry(
        one, other, frozenset(holders[one]), frozenset(holders[other] - holders[one]), smaller / total
    )


def claim_words(summary: str) -> set[str]:
    """Return the content words of a summary, without a possessive or plural s."""
    return {word.removesuffix("'s").removesuffix("s") for word in content_words(summary)} - {""}


def is_number(word: str) -> bool:
    """Say whether a word is a number, in digits or spelled out."""
    return any(char.isdigit() for char in word) or word in _NUMERALS


_NUMBER_WORDS = """
    one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty
    seventy eighty ninety hundred thousand million billion first second third half twice once
"""
_NUMERALS = frozenset(word.removesuffix("s") for word in _NUMBER_WORDS.split())
