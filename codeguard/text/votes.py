"""Who votes together, and for what: dependent documents, claims that exclude each other, two camps.

Two claims are compared only where they fill the same slot: two numbers of
one kind, two names, two words that are opposites, a word and its negation,
or two words in the same surroundings. Paraphrase alone makes many pairs of
words that few summaries share, so a pair counts only where a split as clean
as the one found would hardly come about by chance among all the pairs that
were compared.
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

PASSAGE = 9  # consecutive words; a list that answers the question is often six to eight of them
COVERED = 0.85  # of the votes that two rival claims have to hold together
SHARED = 0.2  # of the smaller claim's votes that may hold both: who argues names the other view
CHANCE = 0.1  # largest probability, over all pairs compared, of a split as clean among unrelated words
SAME_SLOT = 0.3  # cosine of the surroundings of two words from which they fill the same slot
SURROUNDING = 3  # words on either side that are a word's surroundings
CORE = 0.5  # of the votes from which a word belongs to what the summaries have in common
APART = 0.2  # of the core: who says less of it speaks of something else, or contradicts
JOINT = 0.75  # of a second camp that has to say one word for it to be a camp
SLIP = 0.15  # share of summaries in which a negation is read wrongly
CONTRAST = 0.33  # of two camps, by the root of the number of votes: the fewer, the more is chance

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
    """Two claims that exclude each other: the word of each, the documents of each, the smaller one's share.

    `chance` bounds the probability of such a split where nothing is rival.
    """

    word: str
    rival: str
    first: frozenset[int]
    second: frozenset[int]
    share: float
    chance: float = 0.0


@dataclass(slots=True)
class Claims:
    """What the summaries say beyond the question's words: who says it, and in which surroundings."""

    holders: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    near: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    shown: dict[str, str] = field(default_factory=dict)
    lower: set[str] = field(default_factory=set)
    upper: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, summaries: Sequence[str], query: str) -> Claims:
        """Collect the claims of summaries."""
        asked = {stem(word) for word in words(query)}
        found = cls()
        for index, summary in enumerate(summaries):
            for sentence in sentences(summary):
                for clause in _CLAUSE.split(sentence):
                    found._add(index, clause, asked)
        return found

    def _add(self, index: int, clause: str, asked: set[str]) -> None:
        tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(clause)]
        negated = _negated(words(clause))
        said = [(stem(word.lower()), word) for word, _ in tokens if content_words(word)]
        for place, (key, word) in enumerate(said):
            plain = re.sub(r"['’]s$", "", word.lower())
            around = [other for other, _ in said[max(0, place - SURROUNDING) : place + SURROUNDING + 1]]
            if key in _NEGATIONS:
                continue
            for name in (f"{'-' if negated else '+'}{key}", key):
                if key in asked and name == key:
                    continue
                self.holders[name].add(index)
                self.shown.setdefault(name, f"not {plain}" if name[0] == "-" else plain)
            self.near[key].update(other for other in around if other != key)
            if place:
                (self.upper if word[:1].isupper() else self.lower).add(key)

    def names(self) -> set[str]:
        """The words that are written with a capital inside sentences, and never without."""
        return {key for key in self.upper - self.lower if not is_number(key)}


def find_rivalry(
    summaries: Sequence[str],
    query: str,
    vote: Floats,
    groups: Sequence[int],
    same: Callable[[str, str], bool] = operator.eq,
    least_votes: int = 2,
) -> Rivalry | None:
    """Find the two claims that split the summaries best, the heavier camp first; None where nothing does.

    Two claims are rivals where nearly every vote holds one of them and few
    both, where at least `least_votes` groups stand behind the lesser one,
    and where the split is cleaner than chance explains (`CHANCE`, shared
    out over all the pairs that fill a slot together). `same` says whether
    two words mean the same.
    """
    claims = Claims.of(summaries, query)
    voters = sorted({group for group, summary in zip(groups, summaries, strict=True) if summary})
    total = float(vote[[index for index, summary in enumerate(summaries) if summary]].sum())
    camps = {name: {groups[index] for index in who} for name, who in claims.holders.items()}
    usable = {name for name, camp in camps.items() if least_votes <= len(camp) <= len(voters) - least_votes}
    kinds = [pairs for pairs in _slots(claims, usable, camps, len(voters)) if pairs]
    best: tuple[float, float, float, str, str] | None = None
    for pairs in kinds:
        for one, other in pairs:
            chance = _chance(one, camps[one], camps[other], len(voters)) * len(pairs) * len(kinds)
            weight = [float(vote[list(claims.holders[name])].sum()) for name in (one, other)]
            both = float(vote[list(claims.holders[one] & claims.holders[other])].sum())
            smaller, covered = min(weight), sum(weight) - both
            if chance > CHANCE or covered < COVERED * total or both > SHARED * smaller:
                continue
            if one[0] not in "+-" and not is_number(one) and same(claims.shown[one], claims.shown[other]):
                continue
            if best is None or (-chance, smaller) > (-best[0], best[1]):
                first, second = (one, other) if weight[0] >= weight[1] else (other, one)
                best = (chance, smaller, covered, first, second)
    if best is None:
        return None
    chance, smaller, _, one, other = best
    holders = claims.holders
    return Rivalry(
        claims.shown[one],
        claims.shown[other],
        frozenset(holders[one]),
        frozenset(holders[other] - holders[one]),
        smaller / total,
        chance,
    )


@dataclass(frozen=True, slots=True)
class Core:
    """What the summaries have in common: the words at least half of the votes say, each with its share of them."""

    shares: Mapping[str, float]
    asked: frozenset[str]

    @classmethod
    def of(cls, summaries: Sequence[str], query: str, vote: Floats) -> Core:
        """Count the words beyond the question's; an empty summary has no vote."""
        asked = frozenset(stem(word) for word in words(query))
        total = float(vote[[index for index, summary in enumerate(summaries) if summary]].sum())
        weight: dict[str, float] = defaultdict(float)
        for summary, share in zip(summaries, vote.tolist(), strict=True):
            for key in signed_words(summary, asked):
                weight[key] += share / total
        return cls({key: share for key, share in weight.items() if share >= CORE}, asked)

    def said_by(self, text: str) -> float:
        """Return the share of the core that a text says, 0 to 1; 1 where there is no core."""
        return self._share(signed_words(text, self.asked))

    def mentioned_by(self, text: str) -> float:
        """Return `said_by` where it does not matter whether the text affirms or denies."""
        found = signed_words(text, self.asked)
        return self._share({sign + key.removeprefix("-") for key in found for sign in ("", "-")})

    def _share(self, said: Collection[str]) -> float:
        whole = sum(self.shares.values())
        return sum(share for key, share in self.shares.items() if key in said) / whole if whole else 1.0

    def agreement(self, text: str) -> float:
        """Return how much of a text is common and how much of the common it says; 1 where there is no core.

        That is F1, the harmonic mean of the two: saying everything that is
        common does not make up for much that only this text says.
        """
        said = signed_words(text, self.asked)
        if not self.shares or not said:
            return 1.0 if not self.shares else 0.0
        hit = sum(share for key, share in self.shares.items() if key in said)
        return 2 * hit / (sum(self.shares.values()) + len(said))


def find_dissent(
    summaries: Sequence[str],
    texts: Sequence[str],
    query: str,
    vote: Floats,
    groups: Sequence[int],
    least_votes: int = 2,
) -> Rivalry | None:
    """Find a second camp: those that say next to nothing of what nearly all the others have in common."""
    core = Core.of(summaries, query, vote)
    present = [index for index, summary in enumerate(summaries) if summary]
    apart = [
        index
        for index in present
        if core.mentioned_by(summaries[index]) < APART and core.mentioned_by(texts[index]) < APART
    ]
    if len({groups[index] for index in apart}) < least_votes or not core.shares:
        return None
    said = {index: signed_words(texts[index], core.asked) for index in present}

    def share(key: str, among: Iterable[int]) -> float:
        chosen = list(among)
        held = float(vote[[index for index in chosen if key in said[index]]].sum())
        return held / float(vote[chosen].sum())

    others = sorted(set(present) - set(apart))
    word = max(sorted(core.shares), key=lambda key: core.shares[key])
    own = sorted({key for index in apart for key in said[index]})
    own = [key for key in own if share(key, apart) >= JOINT and share(key, others) <= 1 - COVERED]
    if not others or not own or share(word, others) < COVERED:
        return None
    return Rivalry(
        _readable(word),
        _readable(max(own, key=lambda key: share(key, apart) - share(key, others))),
        frozenset(others),
        frozenset(apart),
        float(vote[apart].sum()) / float(vote[present].sum()),
    )


def find_camps(
    summaries: Sequence[str],
    texts: Sequence[str],
    query: str,
    vote: Floats,
    groups: Sequence[int],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    least_votes: int = 2,
) -> Rivalry | None:
    """Find the two camps that are alike within and unlike each other, by meaning and by words.

    Two votes are as alike as the mean of four cosines: of the embeddings and
    of the sets of words, of the summaries and of the whole texts, the
    question's words taken out of all. A camp grows from one vote to its
    nearest; both camps have to be closer than the two are to each other.
    """
    asked = frozenset(stem(word) for word in words(query))
    members: dict[int, list[int]] = defaultdict(list)
    for index, summary in enumerate(summaries):
        if summary:
            members[groups[index]].append(index)
    count = len(members)
    if count < 2 * least_votes:
        return None
    parts = [
        [" ".join(dict.fromkeys(source[index] for index in camp)) for camp in members.values()]
        for source in (summaries, texts)
    ]
    alike: Floats = np.mean([_alike(part, asked, embed) for part in parts], axis=0)
    contrast, inside = max(
        ((_contrast(alike, mask), mask) for mask in _splits(alike, least_votes)), key=lambda found: found[0]
    )
    if contrast * math.sqrt(count) < CONTRAST:
        return None
    camps = [
        frozenset(
            index for place, camp in enumerate(members.values()) if inside[place] == side for index in camp
        )
        for side in (True, False)
    ]
    camps.sort(key=lambda camp: -float(vote[sorted(camp)].sum()))
    said = [Counter(key for index in camp for key in signed_words(texts[index], asked)) for camp in camps]
    share = [
        {key: held / len(camp) for key, held in known.items()}
        for known, camp in zip(said, camps, strict=True)
    ]
    own = [
        max(sorted(mine), key=lambda key: mine[key] - other.get(key, 0.0))
        for mine, other in (share, share[::-1])
    ]
    smaller = float(vote[sorted(camps[1])].sum())
    return Rivalry(
        _readable(own[0]),
        _readable(own[1]),
        camps[0],
        camps[1],
        smaller / (smaller + float(vote[sorted(camps[0])].sum())),
    )


def _alike(
    texts: Sequence[str], asked: frozenset[str], embed: Callable[[Sequence[str]], NDArray[np.float32]]
) -> Floats:
    """Return the cosines of texts without the question's words, of embeddings and of words, averaged."""
    rest = [
        " ".join(word for word in text.split() if not asked.issuperset(map(stem, words(word))))
        for text in texts
    ]
    rows = embed([left or text for left, text in zip(rest, texts, strict=True)]).astype(np.float64)
    said = [signed_words(text, asked) for text in texts]
    shared = [[len(one & other) / math.sqrt(max(1, len(one) * len(other))) for other in said] for one in said]
    result: Floats = (rows @ rows.T + np.array(shared)) / 2
    return result


def _splits(alike: Floats, least: int) -> Iterable[NDArray[np.bool_]]:
    """Yield each camp that a vote and those nearest to it make, as a mask, up to half of the votes."""
    count = len(alike)
    for row in np.argsort(-(alike + np.eye(count) * count), kind="stable"):
        for size in range(least, count // 2 + 1):
            yield np.isin(np.arange(count), row[:size])


def _contrast(alike: Floats, inside: NDArray[np.bool_]) -> float:
    """Return how much closer two camps are within than to each other, the geometric mean of both; 0 if one is not."""
    between = alike[inside][:, ~inside].mean()
    closer = [
        alike[camp][:, camp][~np.eye(int(camp.sum()), dtype=np.bool_)].mean() - between
        for camp in (inside, ~inside)
    ]
    return math.sqrt(max(0.0, closer[0]) * max(0.0, closer[1]))


def _readable(key: str) -> str:
    return f"not {key[1:]}" if key.startswith("-") else key


def signed_words(text: str, asked: Collection[str]) -> set[str]:
    """Return the stems of a text beyond the question's, with a minus where their clause is negated."""
    found: set[str] = set()
    for sentence in sentences(text):
        for clause in _CLAUSE.split(sentence):
            tokens = words(clause)
            sign = "-" if _negated(tokens) else ""
            found |= {
                f"{sign}{stem(word)}" for word in tokens if content_words(word) and stem(word) not in asked
            }
    return found - {sign + word for sign in ("", "-") for word in _NEGATIONS}


def _negated(tokens: Sequence[str]) -> bool:
    return sum(word in _NEGATIONS or word.endswith("n't") for word in tokens) % 2 == 1


def _slots(
    claims: Claims, usable: set[str], camps: dict[str, set[int]], voters: int
) -> list[list[tuple[str, str]]]:
    """Return the pairs that can fill one slot together, a list for each kind of slot.

    Two words in different surroundings can only be rivals where they halve
    the votes exactly. Whether two claims exclude each other is not looked
    at here, only how many votes each has: else the chances would be wrong.
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
        kind = _kind(one, other, names, claims)
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


def _kind(one: str, other: str, names: set[str], claims: Claims) -> str:
    if is_number(one) or is_number(other):
        return "number" if is_number(one) and is_number(other) and _year(one) == _year(other) else ""
    if frozenset((one, other)) in _opposites():
        return "opposite"
    if (one in names) != (other in names) or one[:4] == other[:4]:
        return ""
    if one in names:
        return "name"
    return "word" if _cosine(claims.near[one], claims.near[other]) >= SAME_SLOT else ""


def _chance(name: str, one: set[int], other: set[int], voters: int) -> float:
    """Return how likely camps of these sizes share as few voters as they do, by chance alone.

    Drawn without replacement (hypergeometric) for two words. A word and its
    negation exclude each other by nature: there the smaller camp has to be
    larger than negations read wrongly explain (binomial).
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
    """Return a lower-cased word without possessive and ending, numerals as digits: reduces, reduced → reduc."""
    word = word.removesuffix("'s").removesuffix("’s")
    if word in _NUMERALS:
        return _NUMERALS[word]
    return word.replace(",", "") if word[:1].isdigit() else str(_stemmer().stem(word))


def is_number(word: str) -> bool:
    """Return whether a stem is a number."""
    return any(char.isdigit() for char in word)


def _year(word: str) -> bool:
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
