"""Count independent votes among documents and find claims on which the votes split.

Two claims are compared only if they can fill the same slot: two numbers of one kind, two names, two
opposites, a word and its negation, or two words in the same context. Paraphrases alone produce many
words that only few summaries share. So a pair counts only if a split as clean as the observed one
is improbable by chance, given the number of pairs compared.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.text.model import Document
from codeguard.text.tokens import content_words, sentences, words

LEAST_VOTES = 2  # groups that support the smaller of two rival claims
PASSAGE = 9  # consecutive words; lists in answers often have six to eight
COVERED = 0.85  # minimum share of the votes that two rival claims have together
SHARED = 0.2  # maximum share of the smaller claim's votes with both: an argument names the other view
CHANCE = 0.1  # maximum probability of a split as clean by chance, over all compared pairs
SAME_SLOT = 0.3  # minimum cosine of the contexts of two words that fill the same slot
SURROUNDING = 3  # words of context on either side of a word
SLIP = 0.15  # share of summaries in which a negation is misread
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


@dataclass(frozen=True, slots=True)
class Rivalry:
    """Two claims that exclude each other, with the documents of each and the share of the smaller one.

    `apart` is the contrast of two camps relative to how similar they are to each other. For two
    words, which do not show it, it is that of camps with little in common.
    """

    word: str
    rival: str
    first: frozenset[int]
    second: frozenset[int]
    share: float
    apart: float = 4.5


@dataclass(slots=True)
class Claims:
    """Words that summaries add to the question: which summaries have them, and in which context."""

    holders: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    near: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    display: dict[str, str] = field(default_factory=dict)
    lower: set[str] = field(default_factory=set)
    upper: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, summaries: Sequence[str], query: str) -> Claims:
        """Collect the claims of summaries."""
        question_stems = {stem(word) for word in words(query)}
        found = cls()
        for index, summary in enumerate(summaries):
            for sentence in sentences(summary):
                for clause in _CLAUSE.split(sentence):
                    found._add(index, clause, question_stems)
        return found

    def _add(self, index: int, clause: str, question_stems: set[str]) -> None:
        tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(clause)]
        negated = _negated(words(clause))
        stems = [(stem(word.lower()), word) for word, _ in tokens if content_words(word)]
        for place, (key, word) in enumerate(stems):
            plain = re.sub(r"['’]s$", "", word.lower())
            around = [other for other, _ in stems[max(0, place - SURROUNDING) : place + SURROUNDING + 1]]
            if key in _NEGATIONS:
                continue
            for name in (f"{'-' if negated else '+'}{key}", key):
                if key in question_stems and name == key:
                    continue
                self.holders[name].add(index)
                self.display.setdefault(name, f"not {plain}" if name[0] == "-" else plain)
            self.near[key].update(other for other in around if other != key)
            if place:
                (self.upper if word[:1].isupper() else self.lower).add(key)

    def names(self) -> set[str]:
        """Words that are capitalised inside sentences and never written in lower case."""
        return {key for key in self.upper - self.lower if not is_number(key)}


def find_rivalry(
    summaries: Sequence[str],
    query: str,
    vote: Floats,
    groups: Sequence[int],
    same: Callable[[str, str], bool] = operator.eq,
) -> Rivalry | None:
    """Return the two claims that split the summaries best, or None; the camp with more weight is first.

    Two claims are rivals if nearly every vote has one of them and few have both, if at least
    `LEAST_VOTES` groups support the smaller one, and if the split is cleaner than chance explains
    (`CHANCE`, divided among all compared pairs). `same` decides whether two words are synonyms.
    """
    claims = Claims.of(summaries, query)
    voters = sorted({group for group, summary in zip(groups, summaries, strict=True) if summary})
    total = float(vote[[index for index, summary in enumerate(summaries) if summary]].sum())
    camps = {name: {groups[index] for index in who} for name, who in claims.holders.items()}
    usable = {name for name, camp in camps.items() if LEAST_VOTES <= len(camp) <= len(voters) - LEAST_VOTES}
    kinds = [pairs for pairs in _slots(claims, usable, camps, len(voters)) if pairs]
    best: tuple[float, float, str, str] | None = None
    for pairs in kinds:
        for one, other in pairs:
            chance = _chance(one, camps[one], camps[other], len(voters)) * len(pairs) * len(kinds)
            weight = [float(vote[list(claims.holders[name])].sum()) for name in (one, other)]
            both = float(vote[list(claims.holders[one] & claims.holders[other])].sum())
            smaller, covered = min(weight), sum(weight) - both
            if chance > CHANCE or covered < COVERED * total or both > SHARED * smaller:
                continue
            if one[0] not in "+-" and not is_number(one) and same(claims.display[one], claims.display[other]):
                continue
            if best is None or (-chance, smaller) > (-best[0], best[1]):
                first, second = (one, other) if weight[0] >= weight[1] else (other, one)
                best = (chance, smaller, first, second)
    if best is None:
        return None
    _, smaller, one, other = best
    holders = claims.holders
    return Rivalry(
        claims.display[one],
        claims.display[other],
        frozenset(holders[one]),
        frozenset(holders[other] - holders[one]),
        smaller / total,
    )


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
    members: dict[int, list[int]] = defaultdict(list)
    for index, summary in enumerate(summaries):
        if summary:
            members[groups[index]].append(index)
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
        _readable(own[0]),
        _readable(own[1]),
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


def _readable(key: str) -> str:
    return f"not {key[1:]}" if key.startswith("-") else key


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
    return found - {sign + word for sign in ("", "-") for word in _NEGATIONS}


def _negated(tokens: Sequence[str]) -> bool:
    return sum(word in _NEGATIONS or word.endswith("n't") for word in tokens) % 2 == 1


def _slots(
    claims: Claims, usable: set[str], camps: dict[str, set[int]], voters: int
) -> list[list[tuple[str, str]]]:
    """Return the pairs that can fill one slot, as a list for each kind of slot.

    Words in different contexts can be rivals only if they split the votes exactly in two. The test
    uses only the number of votes of each claim. Testing here whether they exclude each other would
    bias the probability of chance.
    """
    least = COVERED * voters
    plain = sorted(name for name in usable if name[0] not in "+-")
    names = claims.names()
    kinds: dict[str, list[tuple[str, str]]] = {
        kind: [] for kind in ("number", "name", "opposite", "word", "halves")
    }
    for one, other in combinations(plain, 2):
        if len(camps[one]) + len(camps[other]) < least:
            continue
        kind = _slot_kind(one, other, names, claims)
        if kind or (len(camps[one]) + len(camps[other]) == voters and is_number(one) == is_number(other)):
            kinds[kind or "halves"].append((one, other))
    signs = [
        (f"+{name[1:]}", name)
        for name in sorted(usable)
        if name[0] == "-"
        and not is_number(name)
        and f"+{name[1:]}" in usable
        and len(camps[name]) + len(camps[f"+{name[1:]}"]) >= least
    ]
    return [*kinds.values(), signs]


def _slot_kind(one: str, other: str, names: set[str], claims: Claims) -> str:
    if is_number(one) or is_number(other):
        return "number" if is_number(one) and is_number(other) and _is_year(one) == _is_year(other) else ""
    if frozenset((one, other)) in _opposites():
        return "opposite"
    if (one in names) != (other in names) or one[:4] == other[:4]:
        return ""
    if one in names:
        return "name"
    return "word" if _cosine(claims.near[one], claims.near[other]) >= SAME_SLOT else ""


def _chance(name: str, one: set[int], other: set[int], voters: int) -> float:
    """Return the probability that camps of these sizes share so few voters by chance.

    For two words it is hypergeometric (drawing without replacement). A word and its negation
    exclude each other anyway; there the smaller camp has to be larger than misread negations
    explain (binomial).
    """
    if name[0] == "+":
        size, small = len(one | other), min(len(one), len(other))
        return sum(
            math.comb(size, hits) * SLIP**hits * (1 - SLIP) ** (size - hits)
            for hits in range(small, size + 1)
        )
    ways = sum(
        math.comb(len(one), hits) * math.comb(voters - len(one), len(other) - hits)
        for hits in range(len(one & other) + 1)
    )
    return ways / math.comb(voters, len(other))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    lengths = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
    return sum(count * other[word] for word, count in one.items()) / lengths if lengths else 0.0


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


def is_number(word: str) -> bool:
    """Return whether a stem is a number."""
    return any(char.isdigit() for char in word)


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit() and "1000" <= word <= "2100"


_TOKEN = re.compile(r"\d[\d.,]*\d|[^\W_]+(?:['’][^\W\d_]+)?")
_CLAUSE = re.compile(r"[,;:—–()]|\.\s|\b(?:and|or|but|while|although|because|which|however|though|whereas)\b")
_NEGATION_WORDS = """
    no not never neither nor without none nothing cannot hardly non prohibit prohibits prohibited prohibiting ban
    bans banned banning forbid forbids forbidden avoid avoids avoided avoiding prevent prevents prevented exclude
    excludes excluded lack lacks lacking absent absence free eliminate eliminates eliminated refuse refuses refused
"""
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_SMALL_NUMERALS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty
"""
_TENS = {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80"}
_LARGE = {"ninety": "90", "hundred": "100", "thousand": "1000", "million": "1000000"}
_NUMERALS = {word: str(value) for value, word in enumerate(_SMALL_NUMERALS.split())} | _TENS | _LARGE
_OPPOSITES = """
    required optional | mandatory voluntary | allowed prohibited | allowed banned | allowed forbidden
    permitted prohibited | permitted banned | permitted forbidden | legal illegal | safe dangerous
    safe unsafe | safe harmful | safe toxic | rise fall | rises falls | rising falling | increase decrease
    increased decreased | increased reduced | increase reduce | grow shrink | grew shrank | higher lower
    high low | more less | above below | before after | early late | open closed | opened closed
    true false | yes no | always never | success failure | succeeded failed | approved rejected
    accepted rejected | confirmed denied | confirmed refuted | present absent | possible impossible
    effective ineffective | north south | east west | hot cold | warm cool | fast slow | old new
    outdated modern | larger smaller | longer shorter | first last | profit loss | gain loss | won lost
    male female | left right | inside outside | public private | elevated normal | elevated low
"""


@cache
def _opposites() -> frozenset[frozenset[str]]:
    pairs = (pair.split() for line in _OPPOSITES.split("\n") for pair in line.split("|"))
    return frozenset(frozenset(stem(word) for word in pair) for pair in pairs if pair)
