"""Find a claim that some votes make and others turn round: "weekly" and "not weekly", more and less sugar.

A document that has to be believed against the others often repeats what they say and denies it ("not
because of a landslide", "certified scales are not required") or says the opposite of the same thing
("increases added sugars"). So it contradicts them, however alike or unlike its other words are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from codeguard.text.slots import Slot
from codeguard.text.tokens import content_words, sentences, words
from codeguard.text.votes import LEAST_VOTES, NEGATIONS, Floats, Rivalry, spelled, stem, voters

REACH = 2  # content words on one side of a negation, or of a word for more or less, that it applies to
HEARD = 0.4  # minimum share of the larger camp among the votes outside of the smaller one
ABOUT = 0.4  # minimum cosine to the question of a sentence, relative to the summaries' nearest sentence

Claim = tuple[str, str, str]  # a stem, and what is written before it where the claim is made and turned round
MADE, REVERSED, UNCLEAR = 1, -1, 0


def find_reversal(
    summaries: Sequence[str],
    texts: Sequence[str],
    query: str,
    vote: Floats,
    groups: Sequence[int],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> Rivalry | None:
    """Return the claim that votes make and others turn round, or None; the camp with more weight is first.

    At least `LEAST_VOTES` votes make it and at least as many turn it round, in sentences about the
    question. A vote that does both, in different sentences, counts for both: a true document into
    which a lie was put contradicts itself. Of several claims the one whose smaller camp is largest
    counts. A question with a slot is left to what fills the slot, and of one that is answered by yes
    or no nothing is returned.
    """
    # Yes or no is said of the question's own words, which are left out here.
    if Slot.of(query) or _AUXILIARIES.intersection(words(query)[:1]):
        return None
    question_stems = frozenset(map(stem, words(query)))
    members = voters(summaries, groups)
    said = {
        group: dict.fromkeys(
            part for index in own for text in (summaries[index], texts[index]) for part in sentences(text)
        )
        for group, own in members.items()
    }
    read = {part: claims(part, question_stems) for parts in said.values() for part in parts}
    turned = {claim for found in read.values() for claim, sign in found.items() if sign == REVERSED}
    near = _nearness([part for part, found in read.items() if turned & found.keys()], summaries, query, embed)
    camps: dict[Claim, tuple[set[int], set[int]]] = {claim: (set(), set()) for claim in turned}
    for group, parts in said.items():
        heard: dict[Claim, set[int]] = defaultdict(set)
        for part in parts:
            if near.get(part, 0.0) >= ABOUT:
                for claim in turned & read[part].keys():
                    heard[claim].add(read[part][claim])
        for claim, signs in heard.items():
            if REVERSED in signs:
                camps[claim][1].add(group)
            if MADE in signs and UNCLEAR not in signs:
                camps[claim][0].add(group)
    size = {claim: sorted(map(len, sides)) for claim, sides in sorted(camps.items())}
    usable = [
        claim
        for claim, (smaller, larger) in size.items()
        if smaller >= LEAST_VOTES and larger >= HEARD * (len(members) - smaller)
    ]
    if not usable:
        return None
    claim = max(usable, key=lambda key: size[key][0])
    key, *marks = claim
    sides = []
    for mark, camp in zip(marks, camps[claim], strict=True):
        documents = frozenset(index for group in camp for index in members[group])
        sides.append((float(vote[sorted(documents)].sum()), f"{mark}{spelled(key, texts)}", documents))
    (_, word, first), (less, rival, second) = sorted(sides, key=lambda side: -side[0])
    return Rivalry(word, rival, first - second, second, less / float(vote[sorted(first | second)].sum()))


def claims(sentence: str, question_stems: frozenset[str] = frozenset()) -> Mapping[Claim, int]:
    """Return what a sentence says of each content word beyond the question's, and how.

    A clause with an odd number of plain negations denies the words next to them, and turns more
    into less.

    >>> claims("They meet weekly, not monthly.")["month", "", "not "] == REVERSED
    True
    """
    found: dict[Claim, set[int]] = defaultdict(set)
    for tokens in _clauses(sentence):
        content = [
            place
            for place, word in enumerate(tokens)
            if content_words(word) and word not in NEGATIONS and not _denies(word)
        ]
        for claim, sign in (*_stated(tokens, content), *_changed(tokens, content)):
            if claim[0] not in question_stems:
                found[claim].add(sign)
    return {
        claim: next(sign for sign in (REVERSED, UNCLEAR, MADE) if sign in signs)
        for claim, signs in found.items()
    }


def _clauses(sentence: str) -> Iterator[list[str]]:
    """Yield the words of each clause; what an insertion interrupts goes on after it."""
    plain = sentence.lower().replace("’", "'")
    for pattern, replacement in _REWRITTEN:
        plain = pattern.sub(replacement, plain)
    for part in (_INSERTED.sub(" ", plain), *_INSERTED.findall(plain)):
        yield from map(words, _CLAUSE.split(part))


def _stated(tokens: Sequence[str], content: Sequence[int]) -> Iterator[tuple[Claim, int]]:
    """Yield each word as stated or denied, or as unclear where something else is denied, or banned, or avoided."""
    negations = [place for place, word in enumerate(tokens) if _denies(word)]
    indirect = any(word in NEGATIONS and not _denies(word) for word in tokens)
    denied: set[int] = set()
    if len(negations) % 2 and not indirect:
        for place in negations:
            denied.update(_next_to(place, content, before=_of_predicate(tokens, place)))
    for place in content:
        sign = REVERSED if place in denied else UNCLEAR if negations or indirect else MADE
        yield (stem(tokens[place]), "", "not "), sign


def _changed(tokens: Sequence[str], content: Sequence[int]) -> Iterator[tuple[Claim, int]]:
    """Yield each word that is said to become, or to be, more or less."""
    turned = -1 if sum(map(_denies, tokens)) % 2 else 1
    for place, word in enumerate(tokens):
        if direction := _directions().get(stem(word)):
            for other in _next_to(place, content, before=word in _ITSELF or _of_predicate(tokens, place)):
                if (key := stem(tokens[other])) not in _directions():
                    yield (key, "more ", "less "), turned * direction


def _next_to(place: int, content: Sequence[int], *, before: bool) -> list[int]:
    """Return the nearest content words after a place, and those before it."""
    after = [other for other in content if other > place][:REACH]
    return after + ([other for other in reversed(content) if other < place][:REACH] if before else [])


def _of_predicate(tokens: Sequence[str], place: int) -> bool:
    """Return whether a word is said of the words before it: "scales are not required", "sugar was reduced"."""
    return tokens[place].endswith("n't") or (place > 0 and tokens[place - 1] in _AUXILIARIES)


def _nearness(
    parts: Sequence[str],
    summaries: Sequence[str],
    query: str,
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> Mapping[str, float]:
    """Return the cosine of each sentence to the question, relative to that of the summaries' nearest one."""
    if not parts:
        return {}
    best = [part for summary in summaries for part in sentences(summary)]
    rows = embed([query, *parts, *best])
    near = (rows[1:] @ rows[0]).tolist()
    nearest = max(near[len(parts) :])
    return {part: own / nearest if nearest > 0 else 0.0 for part, own in zip(parts, near, strict=False)}


@cache
def _directions() -> Mapping[str, int]:
    """Return the stems that say that something is or becomes more, with 1, and those for less, with -1."""
    return {stem(word): sign for sign, text in ((1, _MORE), (-1, _LESS)) for word in text.split()}


def _denies(word: str) -> bool:
    return word in _PLAIN or word.endswith("n't")


_PLAIN_NEGATIONS = "no not never neither nor none cannot without"
_PLAIN = frozenset(_PLAIN_NEGATIONS.split())
_AUXILIARY_WORDS = """
    is are was were be been does do did can could will would has have had should may might must
"""
_AUXILIARIES = frozenset(_AUXILIARY_WORDS.split())
# In this order; a comma ends what is denied.
_REWRITTEN = [
    (re.compile(r"\b(?:rather than|instead of|as opposed to|in place of)\b"), ", not "),
    (re.compile(r"\bnot (?:only|just|merely|simply|necessarily)\b"), " "),
    (re.compile(r"\bno longer\b|\bnot (?:because(?: of)?|due to|caused by)\b"), "not "),
    (re.compile(r"\bnon?[-‑](\w+)"), r"not \1, "),
    (re.compile(r"\b(?:high|low)[-‑]"), ""),
]
_INSERTED = re.compile(r"\([^()]*\)|[—–][^—–]*[—–]")
_ITSELF_WORDS = """
    rise rises rose risen rising grow grows grew grown growing drop drops dropped dropping fall falls fell fallen
    falling decline declines declined declining shrink shrinks shrank shrunk shrinking
"""
_ITSELF = frozenset(_ITSELF_WORDS.split())
_CLAUSE = re.compile(
    r"[,;:—–().!?]|\b(?:and|if|but|while|although|though|whereas|however|since|which|who|that|when|where"
    r"|after|before)\b"
)
_MORE = """
    increase rise rose risen raise grow grew grown growth expand boost elevate strengthen lengthen widen
    high higher more greater larger bigger longer
"""
_LESS = """
    decrease reduce reduction lower low drop fall fell fallen decline shrink shrank shrunk cut weaken shorten narrow
    diminish lessen less fewer smaller shorter
"""
