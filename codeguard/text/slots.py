"""Find what each vote puts in the slot that a question asks for: a number, a year, a name, one of two things.

Two votes that fill one slot differently contradict each other, however alike their words are: a
long document in which one word was replaced is the true one in all but that word, and the answer to
a comparison has no word that the question lacks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codeguard.text.tokens import sentences, words
from codeguard.text.votes import LEAST_VOTES, Floats, Rivalry, is_number, stem, voters

NEAREST = 5  # sentences of a vote, the nearest to the question, in which its filler is looked for
AROUND = 6  # words on either side of a filler that are compared with the question
AFTER = 3  # words after a number, compared with what the question counts
ABOUT = 0.6  # minimum cosine to the question of a camp's nearest sentence, relative to the nearest of all

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Filler:
    """What a sentence offers for the slot, the words around it, and for a number the words after it.

    A name goes by its last word; `also` has all of its words.
    """

    value: str
    around: str
    after: str = ""
    also: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Slot:
    """What a question asks for: its kind, the stems of the question, and the word that it counts.

    Of a comparison, `choices` are the two things, each with the stems that only it has, `ahead` the
    words that say what is asked for, and `behind` their opposites.
    """

    kind: str
    question_stems: frozenset[str]
    counted: str = ""
    choices: tuple[tuple[str, frozenset[str]], ...] = ()
    ahead: frozenset[str] = frozenset()
    behind: frozenset[str] = frozenset()

    @classmethod
    def of(cls, query: str) -> Slot | None:
        """Return the slot of a question, or None if it asks for something else."""
        question_stems = frozenset(map(stem, words(query)))
        if either := _EITHER.search(query):
            things = [part.strip() for part in either.groups() if part]
            one, other = (frozenset(map(stem, words(thing))) for thing in things)
            ahead, behind = _degrees(words(query))
            if ahead and one - other and other - one:
                choices = ((things[0], one - other), (things[1], other - one))
                return cls("choice", question_stems, choices=choices, ahead=ahead, behind=behind)
        lowered = query.lower()
        asked = _ASKED.search(lowered)
        kind = next((kind for kind, found in asked.groupdict().items() if found), "") if asked else ""
        counted = _COUNTED.search(lowered)
        return cls(kind, question_stems, counted[1] if counted else "") if kind else None

    def fillers(self, sentence: str, lower: Collection[str], upper: Collection[str]) -> Iterator[Filler]:
        """Yield what a sentence offers.

        Words that are written in `lower` case anywhere are no names, and a word that begins a
        sentence is one only if it is among those that are capitalised elsewhere, `upper`.
        """
        found = list(_TOKEN.finditer(sentence))
        tokens = [match.group() for match in found]

        def around(start: int, end: int) -> str:
            return " ".join(tokens[max(0, start - AROUND) : start] + tokens[end : end + AROUND])

        if self.kind == "choice":
            if winner := self._winner([word.lower() for word in tokens]):
                yield Filler(winner, sentence)
        elif self.kind == "name":
            for start, end in _names(sentence, found, upper):
                own = [_bare(word) for word in tokens[start:end]]
                if not self.question_stems.intersection(map(stem, own)) and own[-1] not in lower:
                    yield Filler(own[-1], around(start, end), also=frozenset(own))
        else:
            for place, word in enumerate(tokens):
                value = _numeral(word)
                if value and is_year(word) == (self.kind == "year") and value not in self.question_stems:
                    after = " ".join(tokens[place + 1 : place + 1 + AFTER])
                    yield Filler(value, around(place, place + 1), after)

    def _winner(self, tokens: Sequence[str]) -> str:
        """Return which of the two things has more (or less) of what the question asks for by a sentence.

        It is the one that is named first, or not after `than`, unless the sentence compares the
        other way round.
        """
        stems = [stem(word) for word in tokens]
        degrees = [place for place, word in enumerate(tokens) if word in self.ahead | self.behind]
        named = [[place for place, key in enumerate(stems) if key in own] for _, own in self.choices]
        if not degrees or not any(named):
            return ""
        than = tokens.index("than") if "than" in tokens else len(tokens)
        first = [min(places, default=len(tokens)) for places in named]
        below = [min((place for place in places if place > than), default=len(tokens)) for places in named]
        subject = int(below[0] < below[1]) if below[0] != below[1] else int(first[1] < first[0])
        said = ([place for place in degrees if place < than] or degrees[:1])[-1]
        return self.choices[subject if tokens[said] in self.ahead else 1 - subject][0]


def find_slot_rivalry(
    summaries: Sequence[str],
    texts: Sequence[str],
    query: str,
    vote: Floats,
    groups: Sequence[int],
    embed: Embed,
) -> Rivalry | None:
    """Return the two largest camps that fill the slot of the question differently, or None.

    Each vote names one filler: the one whose sentence and surroundings are nearest to the question,
    times the sum of that nearness over all votes that have it. At least `LEAST_VOTES` votes have
    to name a camp's filler, and unless it has half of all votes, one of them has to be about the question.
    """
    slot = Slot.of(query)
    if slot is None:
        return None
    members = voters(summaries, groups)
    lower = {word for text in (*summaries, *texts) for word in _LOWER.findall(text)} | _CALENDAR
    upper = {_bare(word) for text in (*summaries, *texts) for word in _UPPER.findall(text)}
    offers: dict[int, Mapping[str, float]] = {}
    also: dict[int, Mapping[str, frozenset[str]]] = {}
    near: dict[int, float] = {}
    for group, own in members.items():
        parts = [
            part for index in own for text in (summaries[index], texts[index]) for part in sentences(text)
        ]
        offers[group], also[group], near[group] = _offers(
            slot, list(dict.fromkeys(parts)), query, lower, upper, embed
        )
    strength: dict[str, float] = defaultdict(float)
    for offered in offers.values():
        for value, score in offered.items():
            strength[value] += score
    named = {
        group: max(sorted(offered), key=lambda value: offered[value] * strength[value])
        for group, offered in offers.items()
        if offered
    }
    camps: dict[str, set[int]] = defaultdict(set)
    for group, value in named.items():
        # A full name stands for each name in it that other votes give alone.
        same = also[group][value].intersection(named.values()) | {value}
        camps[max(sorted(same), key=lambda key: strength[key])].add(group)

    def weight(value: str) -> float:
        return sum(float(vote[members[group]].sum()) for group in camps[value])

    # A majority needs no nearness: a camp that repeats the question would make it look far from it.
    nearest = max(near.values(), default=0.0)
    rivals = [
        value
        for value, camp in sorted(camps.items())
        if len(camp) >= LEAST_VOTES
        and (2 * len(camp) >= len(members) or max(near[group] for group in camp) >= ABOUT * nearest)
    ]
    if len(rivals) < 2:
        return None
    leader, rival = sorted(rivals, key=weight, reverse=True)[:2]
    first, second = (
        frozenset(index for group in camps[value] for index in members[group]) for value in (leader, rival)
    )
    return Rivalry(leader, rival, first, second, weight(rival) / (weight(leader) + weight(rival)))


def _offers(
    slot: Slot,
    parts: Sequence[str],
    query: str,
    lower: Collection[str],
    upper: Collection[str],
    embed: Embed,
) -> tuple[Mapping[str, float], Mapping[str, frozenset[str]], float]:
    """Return how near each filler of a vote comes to the question, its words, and how near the vote itself does."""
    rows = embed([query, *parts])
    near = rows[1:] @ rows[0]
    nearest = float(near.max(initial=0.0))
    best = np.argsort(-near, kind="stable")[:NEAREST].tolist()
    found = [
        (item, float(near[place])) for place in best for item in slot.fillers(parts[place], lower, upper)
    ]
    if not found:
        return {}, {}, nearest
    around = embed([item.around or query for item, _ in found]) @ rows[0]
    if slot.counted:
        after = embed([item.after or query for item, _ in found]) @ embed([slot.counted])[0]
        around = (around + after) / 2
    offered: dict[str, float] = defaultdict(float)
    also: dict[str, frozenset[str]] = defaultdict(frozenset)
    for (item, own), beside in zip(found, around.tolist(), strict=True):
        offered[item.value] = max(offered[item.value], (own + beside) / 2)
        also[item.value] |= item.also
    return offered, also, nearest


def _bare(word: str) -> str:
    """Return a word in lower case without the possessive."""
    return re.sub(r"['’]s$", "", word.lower())


def _names(
    sentence: str, found: Sequence[re.Match[str]], upper: Collection[str]
) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run of capitalised words; a single one that begins the sentence if in `upper`."""
    start = 0
    while start < len(found):
        end = start
        while end < len(found) and _CAPITALISED.match(found[end].group()):
            if end > start and sentence[found[end - 1].end() : found[end].start()] != " ":
                break
            end += 1
        if end > start + (start == 0) or (end > start and _bare(found[0].group()) in upper):
            yield start, end
        start = max(end, start + 1)


def _numeral(token: str) -> str:
    """Return a numeral as digits, or an empty string: twenty-two is 22; `one` is more often a pronoun."""
    parts = [stem(part) for part in token.lower().split("-")]
    if token.lower() == "one" or not all(map(is_number, parts)):
        return ""
    if len(parts) == 2 and len(parts[0]) == 2 and len(parts[1]) == 1:
        return parts[0][0] + parts[1]
    return parts[0] if len(parts) == 1 else ""


def is_year(token: str) -> bool:
    """Return whether a token can be a year; 1,300 is none."""
    return len(token) == 4 and token.isdigit() and "1000" <= token <= "2100"


def _degrees(question: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words for what the first comparative of a question asks for, and their opposites.

    Words of size in general serve every dimension, but `older` says nothing of what is taller.
    """
    size = _DIMENSIONS[0]
    for word in question:
        rows = [row for row in _DIMENSIONS if word in row[0] | row[1]]
        if rows:
            more, less = (size[side].union(*(row[side] for row in rows)) for side in (0, 1))
            return (more, less) if word in more else (less, more)
    return frozenset(), frozenset()


_TOKEN = re.compile(r"\d[\d.,]*\d|\d|[^\W_]+(?:[-'’][^\W\d_]+)*")
_CAPITALISED = re.compile(r"[A-Z][^\W\d_A-Z]+(?:['’-]|$)")
_LOWER = re.compile(r"\b[a-z]+\b")
_UPPER = re.compile(r"(?<=[a-z,] )[A-Z][^\W\d_A-Z]+(?:['’-][^\W\d_]+)*")
# The first question word is what is asked: "how do bees tell where flowers are" does not ask for a place.
_ASKED = re.compile(
    r"\b(?:(?P<number>how (?:many|much|long|old|far|high|tall|deep|wide|large|big|heavy|fast)"
    r"|what (?:number|share|percentage|distance|height|weight|length|age|price|amount))"
    r"|(?P<year>when|(?:what|which) year)|(?P<name>who|whom|whose|where)|what|which|why|how)\b"
)
_COUNTED = re.compile(r"\bhow (?:many|much) (\w+)")
_EITHER = re.compile(
    r"[,:]\s*([^,:]+?)\s+or\s+([^,:]+?)\s*\??\s*$|\s((?:[A-Z]\S*\s+)+)or\s+((?:[A-Z][^\s?]*\s*)+)\?*\s*$"
)
_CALENDAR_WORDS = """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
"""
_CALENDAR = frozenset(_CALENDAR_WORDS.split())
_DIMENSION_WORDS = """
    more most larger largest greater greatest bigger biggest higher highest exceed exceeds exceeded / less least fewer
    fewest lesser smaller smallest lower lowest rarer rarest
    | taller tallest / shorter shortest | longer longest / shorter shortest
    | older oldest earlier earliest / younger youngest newer newest later latest
    | heavier heaviest / lighter lightest | deeper deepest / shallower shallowest
    | wider widest broader broadest / narrower narrowest | faster fastest / slower slowest
    | hotter hottest warmer warmest / colder coldest cooler coolest | stronger strongest / weaker weakest
    | richer richest / poorer poorest | dearer dearest / cheaper cheapest
"""
_DIMENSIONS = [
    (frozenset(more.split()), frozenset(less.split()))
    for more, less in (row.split("/") for row in _DIMENSION_WORDS.split("|"))
]
