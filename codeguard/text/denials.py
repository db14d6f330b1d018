"""Find a word that some votes state and others deny: "weekly" against "not weekly".

A document that has to be believed against the others often repeats what they say and denies it: "not
because of a landslide", "certified scales are not required". So it contradicts them, however alike or
unlike its other words are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from codeguard.text.slots import Slot
from codeguard.text.tokens import content_words, sentences, words
from codeguard.text.votes import LEAST_VOTES, NEGATIONS, Floats, Rivalry, stem

REACH = 3  # content words on one side that a negation denies
COMMON = 0.4  # minimum share of the votes that do not deny a word that state it
ABOUT = 0.4  # minimum cosine to the question of a sentence, relative to the summaries' nearest sentence

# "unclear" is a word of a clause in which something else is denied, or banned, or avoided.
Stance = Literal["stated", "denied", "unclear"]


def find_denial(
    summaries: Sequence[str],
    texts: Sequence[str],
    query: str,
    vote: Floats,
    groups: Sequence[int],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> Rivalry | None:
    """Return the word that votes state and others deny, or None; the camp with more weight is first.

    At least `LEAST_VOTES` votes only state it and at least as many deny it, in sentences about the
    question. Of several words the one whose smaller camp is largest counts. A question with a slot
    is left to what fills the slot.
    """
    if Slot.of(query):
        return None
    question_stems = frozenset(map(stem, words(query)))
    members: dict[int, list[int]] = defaultdict(list)
    for index, summary in enumerate(summaries):
        if summary:
            members[groups[index]].append(index)
    said = {
        group: {part for index in own for text in (summaries[index], texts[index]) for part in sentences(text)}
        for group, own in members.items()
    }
    read = {part: stances(part) for parts in said.values() for part in parts}
    spoken = {word for found in read.values() for word, stance in found.items() if "denied" in stance}
    spoken -= question_stems
    if not spoken:
        return None
    near = _nearness([part for part, found in read.items() if spoken & found.keys()], summaries, query, embed)
    camps: dict[str, tuple[set[int], set[int]]] = {word: (set(), set()) for word in spoken}
    for group, parts in said.items():
        heard: dict[str, set[Stance]] = defaultdict(set)
        for part in parts:
            if near.get(part, 0.0) >= ABOUT:
                for word in spoken & read[part].keys():
                    heard[word] |= read[part][word]
        for word, stance in heard.items():
            if "denied" in stance:
                camps[word][1].add(group)
            elif stance == {"stated"}:
                camps[word][0].add(group)

    def weight(camp: set[int]) -> float:
        return sum(float(vote[members[group]].sum()) for group in camp)

    smaller = {
        word: min(map(weight, sides))
        for word, sides in sorted(camps.items())
        if min(map(len, sides)) >= LEAST_VOTES and len(sides[0]) >= COMMON * (len(members) - len(sides[1]))
    }
    if not smaller:
        return None
    word = max(smaller, key=lambda key: smaller[key])
    stated, denied = camps[word]
    sides = [(word, stated), (f"not {word}", denied)]
    sides.sort(key=lambda side: -weight(side[1]))
    (first, most), (second, fewest) = sides
    return Rivalry(
        first,
        second,
        frozenset(index for group in most for index in members[group]),
        frozenset(index for group in fewest for index in members[group]),
        weight(fewest) / (weight(most) + weight(fewest)),
    )


def stances(sentence: str) -> Mapping[str, frozenset[Stance]]:
    """Return the stems of a sentence's content words with how they are said.

    A clause with an odd number of plain negations denies the words next to them.

    >>> sorted(stances("It moved weekly, not monthly.").items())
    [('month', frozenset({'denied'})), ('move', frozenset({'stated'})), ('week', frozenset({'stated'}))]
    """
    found: dict[str, set[Stance]] = defaultdict(set)
    plain = _INSTEAD.sub(" , not ", sentence.lower().replace("’", "'"))
    plain = _CAUSE.sub("not ", _ONLY.sub(" ", plain))
    for clause in _CLAUSE.split(plain):
        tokens = words(clause)
        negations = [place for place, word in enumerate(tokens) if _denies(word)]
        indirect = [word for word in tokens if word in NEGATIONS and not _denies(word)]
        denied: set[int] = set()
        if len(negations) % 2 and not indirect:
            denied = {place for negation in negations for place in _reached(tokens, negation)}
        for place, word in enumerate(tokens):
            if content_words(word) and word not in NEGATIONS and not _denies(word):
                stance: Stance = (
                    "denied" if place in denied else "unclear" if negations or indirect else "stated"
                )
                found[stem(word)].add(stance)
    return {word: frozenset(stance) for word, stance in found.items()}


def _reached(tokens: Sequence[str], negation: int) -> list[int]:
    """Return the places of the content words next to a negation; before it, too, where it denies a predicate."""
    after = [place for place in range(negation + 1, len(tokens)) if content_words(tokens[place])]
    before: list[int] = []
    if tokens[negation].endswith("n't") or (negation and tokens[negation - 1] in _AUXILIARIES):
        before = [place for place in range(negation - 1, -1, -1) if content_words(tokens[place])]
    return [*after[:REACH], *before[:REACH]]


def _nearness(
    parts: Sequence[str],
    summaries: Sequence[str],
    query: str,
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> Mapping[str, float]:
    """Return the cosine of each sentence to the question, relative to that of the summaries' nearest one."""
    best = [part for summary in summaries for part in sentences(summary)]
    rows = embed([query, *parts, *best])
    near = (rows[1:] @ rows[0]).tolist()
    nearest = max(near[len(parts) :])
    return {part: own / nearest if nearest > 0 else 0.0 for part, own in zip(parts, near, strict=False)}


def _denies(word: str) -> bool:
    return word in _PLAIN or word.endswith("n't")


_PLAIN = frozenset("no not never neither nor none cannot without".split())
_AUXILIARIES = frozenset(
    "is are was were be been do does did can could will would has have had should may might must".split()
)
_INSTEAD = re.compile(r"\b(?:rather than|instead of|as opposed to|in place of)\b")
_ONLY = re.compile(r"\bnot (?:only|just|merely|simply|necessarily)\b")
_CAUSE = re.compile(r"\bno longer\b|\bnot (?:because(?: of)?|due to|caused by)\b")
_CLAUSE = re.compile(
    r"[,;:—–().!?]|\b(?:and|if|but|while|although|though|whereas|however|because|since|which|who|that|when|where"
    r"|after|before)\b"
)
