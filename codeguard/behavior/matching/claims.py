"""Decide which trusted function a candidate claims to be, by name, docstring, signature and body.

A match convicts no candidate. It decides whose examples the candidate has to meet. A strong match (by
name or by description) has to meet all of them. A weak one (a similar description) only counts if the
candidate agrees with most of them, which shows that it is meant to be that function.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache

from codeguard.analysis.python.counterparts import WORD, name_words
from codeguard.analysis.python.sketches import resemblance, sketch
from codeguard.analysis.python.statements import ITSELF, VARIABLE, statements
from codeguard.behavior.source.definitions import Definition

LEAST_TOKENS = 28  # shorter texts may agree by chance
LEAST_SURE_TOKENS = 42  # the same for texts with other names
LEAST_KEPT = 0.85  # share of the trusted text's tokens that the candidate has, in the same order
LEAST_SURE_KEPT = 0.93
MAX_TOKENS = 2_000
MAX_UNEQUAL = 250  # tokens between the common beginning and the common end
STRING, NUMBER = "''", "0"


@dataclass(frozen=True, slots=True)
class Text:
    """A function's tokens in order, without decorators, docstring, annotations and its own name.

    `named` has every name and literal; `renamed` has one placeholder for all variables, and one for each kind of
    literals. `grams` is a sketch, of which similar texts share some.
    """

    named: tuple[str, ...]
    renamed: tuple[str, ...]
    grams: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of tokens after the header."""
        return len(self.named) - self.named.index(":") - 1 if ":" in self.named else 0

    @property
    def numbered(self) -> tuple[str, ...]:
        """The tokens with the variables numbered: the same for texts that differ in nothing but names of locals."""
        numbers: dict[str, str] = {}
        return tuple(
            numbers.setdefault(word, f"{VARIABLE}{len(numbers)}") if plain == VARIABLE else word
            for word, plain in zip(self.named, self.renamed, strict=True)
        )


@dataclass(frozen=True, slots=True)
class TextOverlap:
    """The shares of a trusted function's text that a candidate contains, 0 to 1.

    `named` counts tokens with their names, relative to the trusted text. `renamed` counts tokens
    without the names of variables, relative to the longer text.
    """

    named: float = 0.0
    renamed: float = 0.0
    tokens: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether both are one text, apart from the function's name and description."""
        return self.tokens >= LEAST_TOKENS and self.named == self.renamed == 1.0

    @property
    def its_text(self) -> bool:
        """Whether the candidate contains nearly all of the trusted text, however short that is."""
        return max(self.named, self.renamed) >= LEAST_KEPT

    @property
    def near_copy(self) -> bool:
        """Whether the candidate's text is the trusted one except for a small part, its locals and literals."""
        return self.tokens >= LEAST_TOKENS and self.its_text

    @property
    def edited_copy(self) -> bool:
        """Whether the texts are too similar for an independent implementation."""
        sure = self.renamed >= LEAST_SURE_KEPT and self.tokens >= LEAST_SURE_TOKENS
        return self.tokens >= LEAST_TOKENS and (self.named >= LEAST_KEPT or sure)


def comparable_text(source: str, name: str) -> Text:
    """Return the text of a function of this name without layout, comments and names of locals."""
    rows = [item for item in statements(source, "python", name) if item.key[0] != "@"]
    found = [
        (word if word == ITSELF else token.text, word, token.is_string)
        for item in rows
        for token, word in zip(item.tokens, item.key, strict=True)
    ]
    if not found or len(found) > MAX_TOKENS:
        return Text((), (), ())
    named = tuple(sys.intern(word) for word, _, _ in found)
    renamed = tuple(
        STRING if is_string else NUMBER if word[0].isdigit() else sys.intern(word)
        for _, word, is_string in found
    )
    return Text(named, renamed, sketch(list(named)))


def text_overlap(candidate: Text, reference: Text) -> TextOverlap:
    """Return the share of a trusted function's text that a candidate contains."""
    wanted = len(reference.named)
    if not wanted or not candidate.named:
        return TextOverlap()
    return TextOverlap(
        _share(reference.named, candidate.named, wanted),
        _share(reference.renamed, candidate.renamed, max(wanted, len(candidate.renamed))),
        wanted,
    )


def _share(wanted: tuple[str, ...], found: tuple[str, ...], of: int) -> float:
    """Return the share of tokens in common, or 0 if it must be below `LEAST_KEPT`."""
    # Upper bounds: the tokens of the shorter text, and common tokens in any order.
    least = LEAST_KEPT * of
    if min(len(wanted), len(found)) < least or (_counted(wanted) & _counted(found)).total() < least:
        return 0.0
    return common_in_order(wanted, found) / of


_counted = lru_cache(maxsize=8_192)(Counter[str])


def common_in_order(wanted: tuple[str, ...], found: tuple[str, ...]) -> int:
    """Return how many of the wanted tokens occur in the same order, at most."""
    least = min(len(wanted), len(found))
    start = next((i for i in range(least) if wanted[i] != found[i]), least)
    rest = least - start
    end = next((i for i in range(rest) if wanted[-1 - i] != found[-1 - i]), rest)
    first, second = wanted[start : len(wanted) - end], found[start : len(found) - end]
    if max(len(first), len(second)) > MAX_UNEQUAL:
        return start + end
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return start + end + sum(block.size for block in blocks)


KINDS = ("positional", "args", "keyword", "kwargs")  # of parameters
# Words that occur in every docstring and do not describe a function.
_ORDINARY_WORDS = """
a an and are as at be by for from function given has have if in is it its of on or return returns that the
this to when where which with write you your value values will should result def args param parameters
create takes input
"""
STOP_WORDS = frozenset(_ORDINARY_WORDS.split())
# Complexity is described in the same words for every algorithm.
_COSTS = re.compile(
    r"\b(?:(?:time|space|worst|best|average|auxiliary)[ -]+)?complexity\b[^\n]*|\bO\([^)\n]*\)", re.I
)
# Sections about parameters, results and exceptions: all functions of a library describe those in the same words.
_SECTIONS = re.compile(
    r"^[ \t]*(?:(?:args|arguments|parameters|params|keyword args|returns?|yields?|raises|attributes)[ \t:]*$"
    r"|(?:args|arguments|parameters|returns?|yields?|raises):[ \t]|:(?:param|type|returns?|rtype|raises?)\b|@param\b)",
    re.IGNORECASE | re.MULTILINE,
)
# Opposites: names that differ only in such a pair are those of different functions.
_OPPOSITES = """
add/remove add/subtract after/before ascending/descending column/row decode/encode decrease/increase
decreasing/increasing decrypt/encrypt deserialize/serialize dump/load even/odd exclude/include first/last head/tail
highest/lowest insert/delete largest/smallest left/right longest/shortest lower/upper lowercase/uppercase max/min
maximum/minimum multiply/divide negative/positive pop/push prefix/suffix union/intersection
"""
_OPPOSITE_WORDS = {frozenset(pair.split("/")) for pair in _OPPOSITES.split()}
EVERYWHERE = 0.5  # weight of a word that occurs in every description
MAX_DESCRIPTION = 4_000  # characters
LEAST_DOC_WORDS = 3
LEAST_QUOTED = 0.75
LEAST_NAMESAKE = 0.45
DISTINCTIVE_DOC_WORDS = 6  # this many common words are no accident
LEAST_BODY_TOKENS = 28
LEAST_COMMON_CODE = 0.4  # more than independent implementations have in common
MAX_SCORED = 40
MAX_NAMED = 10  # further ones that have the whole name
MAX_LAST = 128  # functions that are checked at the same time, and each asked for several times


@dataclass(frozen=True, slots=True)
class Features:
    """Features of a function that do not change with renaming and reformatting.

    `name` are the words of `written_name`. `doc` are the words of its description without sections about
    parameters and results, `words` all of them. `headline` is its first sentence or line, `opening` its first
    paragraph, both without punctuation and case. `owner` is the class of a method. `bound` means that the function is
    called on an instance.
    """

    name: tuple[str, ...]
    doc: frozenset[str]
    least_args: int
    most_args: int | None
    keywords: frozenset[str]
    required_keywords: frozenset[str]
    takes_any_keyword: bool
    text: Text = field(repr=False)
    words: frozenset[str] = frozenset()
    headline: str = ""
    opening: str = ""
    owner: str = ""
    bound: bool = False
    written_name: str = ""

    def accepts(self, positional: int, keywords: Sequence[str] = ()) -> bool:
        """Return whether a call with that many positional arguments and these keywords binds."""
        if self.most_args is not None and positional > self.most_args:
            return False
        if not self.takes_any_keyword and not self.keywords.issuperset(keywords):
            return False
        if not self.required_keywords.issubset(keywords):
            return False
        return (
            positional + len([name for name in keywords if name not in self.required_keywords])
            >= self.least_args
        )


NO_FEATURES = Features((), frozenset(), 0, None, frozenset(), frozenset(), True, Text((), (), ()))


def function_features(definition: Definition) -> Features:
    """Return the features of a function."""
    parameters = definition.parameters
    by_kind = {kind: [item for item in parameters if item.kind == kind] for kind in KINDS}
    positional, keyword = by_kind["positional"], by_kind["keyword"]
    opening = definition.docstring.strip().partition("\n\n")[0][:1_000]
    return Features(
        name=name_words(definition.name),
        doc=_described(definition.docstring),
        least_args=sum(parameter.required for parameter in positional),
        most_args=None if by_kind["args"] else len(positional),
        keywords=frozenset(parameter.name for parameter in (*positional, *keyword)),
        required_keywords=frozenset(parameter.name for parameter in keyword if parameter.required),
        takes_any_keyword=bool(by_kind["kwargs"]),
        text=comparable_text(definition.text, definition.name),
        words=description_stems(definition.docstring),
        headline=_plain(re.split(r"(?<=[.!?])\s|\n", opening, maxsplit=1)[0]),
        opening=_plain(opening),
        owner=definition.owner.name if definition.owner is not None else "",
        bound=definition.binding == "instance",
        written_name=definition.name,
    )


def _described(docstring: str) -> frozenset[str]:
    """Return the words that describe a function, from before the sections if those are enough."""
    text = docstring[:MAX_DESCRIPTION]
    section = _SECTIONS.search(text)
    before = description_stems(text[: section.start()]) if section is not None else frozenset()
    return before if len(before) >= LEAST_DOC_WORDS else description_stems(text)


def _plain(text: str) -> str:
    return " ".join(word.lower() for word in WORD.findall(text))


@lru_cache(maxsize=4_096)
def description_stems(text: str) -> frozenset[str]:
    """Return the stems of the informative words of a description."""
    found = (word.lower() for word in WORD.findall(_COSTS.sub(" ", text[:MAX_DESCRIPTION])))
    return frozenset(stem(word) for word in found if word not in STOP_WORDS and len(word) > 1)


def stem(word: str) -> str:
    """Return a word without its ending."""
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


Weigh = Callable[[frozenset[str]], float]


@dataclass(frozen=True)
class Similarity:
    """What a candidate (`own`) has in common with a trusted function (`other`).

    `weigh` returns the weight of a set of description words.
    """

    own: Features
    other: Features
    weigh: Weigh = len

    # Parts, each a share from 0 to 1, or None if one side has no such part

    @cached_property
    def name(self) -> float:
        """The share of common words in both names; 1 only where they are the same."""
        first, second = self.own.name, self.other.name
        shared, union = set(first) & set(second), set(first) | set(second)
        return 1.0 if first == second else 0.95 * len(shared) / max(1, len(union))

    @cached_property
    def doc(self) -> float | None:
        """The weighted share of the shorter description's words that the longer one contains."""
        first, second = self.own.doc, self.other.doc
        if min(len(first), len(second)) < LEAST_DOC_WORDS:
            return None
        # Under the same name even common words describe the same thing.
        weigh = len if self.name == 1.0 else self.weigh
        return weigh(first & second) / min(weigh(first), weigh(second))

    @cached_property
    def body(self) -> float:
        """The estimated share of common code, names of variables aside, 0 where one text is too short to tell."""
        first, second = self.own.text, self.other.text
        long = min(len(first.named), len(second.named)) >= LEAST_BODY_TOKENS
        return resemblance(first.grams, second.grams) if long else 0.0

    @cached_property
    def overlap(self) -> TextOverlap:
        """How much of the trusted text the candidate contains."""
        return text_overlap(self.own.text, self.other.text)

    @cached_property
    def same_signature(self) -> bool:
        """Whether both take as many arguments and required keywords, and both or neither is a method."""
        first, second = (
            (item.least_args, item.most_args, len(item.required_keywords), bool(item.owner))
            for item in (self.own, self.other)
        )
        return first == second

    @cached_property
    def same_parameters(self) -> bool:
        """Whether the parameters have the same names, and are not too few for that to mean anything."""
        first, second = self.own, self.other
        names = first.keywords - {"self", "cls"}
        alike = first.keywords == second.keywords and first.owner == second.owner
        return alike and (len(names) > 1 or (len(names) == 1 and len(first.name) > 1))

    @property
    def _doc_words(self) -> int:
        """The number of words of the shorter description."""
        return min(len(self.own.doc), len(self.other.doc))

    @cached_property
    def repeated_words(self) -> int:
        """The number of words of the trusted headline if the candidate's description contains all of them, else 0."""
        return repeated_words(self.own, self.other.headline)

    @cached_property
    def comparable(self) -> bool:
        """Whether both may be one: no method and a function, no methods of differently named classes, no helper."""
        first, second = self.own, self.other
        if is_private(second):
            return False
        if not first.owner or not second.owner:
            return not (first.bound or second.bound)
        return first.owner == second.owner or name_words(first.owner)[-1:] == name_words(second.owner)[-1:]

    @cached_property
    def opposed(self) -> bool:
        """Whether the names differ in a word and its opposite, or in words that each description has alone.

        Permutations beside combinations: an edited copy that keeps the description has the trusted word in it.
        """
        first, second = self.own, self.other
        if frozenset(first.name) ^ frozenset(second.name) in _OPPOSITE_WORDS:
            return True
        own, theirs = (frozenset(map(stem, item.name)) for item in (first, second))
        mine, other = own - theirs, theirs - own
        described = mine and other and mine <= first.words and other <= second.words
        return bool(
            described and own & theirs and mine.isdisjoint(second.words) and other.isdisjoint(first.words)
        )

    # Claims

    @property
    def claimed(self) -> bool:
        """Whether the candidate's name, description or text claims that it is this function."""
        return self.overlap.near_copy or (self.comparable and (self.name == 1.0 or self._more_than_a_name))

    @property
    def _more_than_a_name(self) -> bool:
        doc = self.doc or 0.0
        return (
            self.is_strong
            or doc >= 0.75
            or (self.name >= 0.5 and (doc >= 0.5 or self.body >= LEAST_COMMON_CODE))
        )

    @property
    def name_only(self) -> bool:
        """Whether only the name is the same, so that different behavior makes it another function."""
        return self.name == 1.0 and not self._more_than_a_name and not self.overlap.near_copy

    @property
    def is_strong(self) -> bool:
        """Whether the candidate claims by its name, borne out by its text, or by its description to be this function.

        One word of a name, and that in other words such as `get_first`, claims nothing alone, nor does a name without a
        description where the parameters are others.
        """
        doc = self.doc or 0.0
        in_other_words = len(self.other.name) == 1 and self.own.written_name != self.other.written_name
        undescribed = self.doc is None and not in_other_words and self.same_signature
        borne_out = undescribed or doc >= 0.55 or self.body >= LEAST_COMMON_CODE
        return not self.opposed and ((self.name == 1.0 and borne_out) or (doc >= 0.9 and self.name > 0.0))

    @property
    def certain_claim(self) -> bool:
        """Whether this is a strong match with the same signature, which has to meet every example."""
        return self.is_strong and self.same_signature and self.comparable

    @property
    def same_description(self) -> bool:
        """Whether the candidate has the trusted function's name, signature and description."""
        same_doc = self._quotes_headline or (self.doc or 0.0) >= 0.9
        return self.name == 1.0 and self.same_signature and self.comparable and same_doc

    @property
    def _quotes_headline(self) -> bool:
        trusted = self.other.headline
        whole = len(trusted.split()) >= DISTINCTIVE_DOC_WORDS and f"{self.own.opening} ".startswith(
            f"{trusted} "
        )
        same = whole or self.own.headline == trusted != ""
        return same or self.repeated_words >= DISTINCTIVE_DOC_WORDS

    @property
    def has_own_description(self) -> bool:
        """Whether the candidate has a description that is not the trusted one.

        Independent descriptions of one function share many words, but each has words of its own.
        """
        own, other = self.own.words, self.other.words
        alike = len(own & other) >= LEAST_QUOTED * max(1, len(own | other))
        quoted = self._quotes_headline or alike
        return len(self.own.doc) >= LEAST_DOC_WORDS and (self.opposed or not quoted)

    @property
    def lookalike(self) -> bool:
        """Whether a reader would take the candidate for this function, by name and text or by description."""
        doc = self.doc or 0.0
        if not self.comparable or self.opposed:
            return self.overlap.near_copy
        if self.name == 1.0 and (doc >= 0.6 or self.body >= LEAST_COMMON_CODE or self.same_parameters):
            return True
        return doc >= 0.8 and (self.name > 0.0 or self._doc_words >= DISTINCTIVE_DOC_WORDS)

    @property
    def described(self) -> bool:
        """Whether the candidate's docstring describes this function."""
        if self.opposed or self.name == 0.0:
            return False
        whole = self.name >= 0.5 or self._doc_words >= DISTINCTIVE_DOC_WORDS
        return self.repeated_words > 0 or ((self.doc or 0.0) >= (0.5 if self.name == 1.0 else 0.6) and whole)

    @property
    def is_namesake(self) -> bool:
        """Whether at least half of the name's words, or the description, are the trusted function's."""
        named = self.name >= LEAST_NAMESAKE or self.described
        return named and self.comparable and not self.opposed

    @property
    def other_function(self) -> bool:
        """Whether name and description say that it is another function."""
        return self.opposed or (self.name < 0.5 and self.doc is not None and self.doc < 0.6)

    @property
    def standing(self) -> str:
        """All that can be said of the pair, without numbers that change with each text of the trusted code."""
        said = (getattr(self, name) for name in _SAID)
        return "".join(str(int(value)) for value in said if isinstance(value, bool))

    @property
    def score(self) -> float:
        """A single number for choosing between references."""
        copied = 4.0 * max(self.overlap.named, self.overlap.renamed) if self.overlap.near_copy else 0.0
        described = 2.0 * self.name + 1.5 * (self.doc or 0.0) + self.body
        return described + (3.0 if self.is_strong else 0.0) + copied


_SAID = [
    name
    for name, item in vars(Similarity).items()
    if isinstance(item, property | cached_property) and name != "standing"
]


def repeated_words(candidate: Features, description: str) -> int:
    """Return the number of words of a description if the candidate's contains all of them, else 0.

    Descriptions of fewer than `LEAST_DOC_WORDS` words count as 0.
    """
    wanted = description_stems(description)
    return len(wanted) if len(wanted) >= LEAST_DOC_WORDS and wanted <= candidate.words else 0


def is_private(reference: Features) -> bool:
    """Return whether a function, or the class of a method, is named as a helper of its own file."""
    names = (reference.written_name, reference.owner)
    return any(name.startswith("_") and not name.endswith("__") for name in names)


class ReferenceIndex:
    """Finds the references that a candidate may be meant to be, without comparing it with all of them."""

    def __init__(self, references: Sequence[Features]) -> None:
        self._references = references
        self._postings: dict[str, list[int]] = {}
        self._last: dict[Features, list[tuple[int, Similarity]]] = {}
        for index, reference in enumerate(references):
            for key in _keys(reference):
                self._postings.setdefault(key, []).append(index)
        every = len(references) + 1
        self._weight = cache(
            lambda word: math.log(every / max(1, len(self._postings.get(f"doc:{word}", ())))) + EVERYWHERE
        )

    def weigh(self, described: frozenset[str]) -> float:
        """Return the weight of words; words that occur in many descriptions weigh little."""
        return sum(map(self._weight, described))

    def compare(self, wanted: Features, reference: Features) -> Similarity:
        """Return the similarity of two functions, with words weighted by their rarity among the references."""
        return Similarity(wanted, reference, self.weigh)

    def matches(self, wanted: Features, match: Callable[[Similarity], bool]) -> list[tuple[int, Similarity]]:
        """Return the references whose similarity is a match, best first; in a tie, methods of a class of its name."""
        found = [(index, similarity) for index, similarity in self._scored(wanted) if match(similarity)]

        def place(pair: tuple[int, Similarity]) -> tuple[float, bool, int]:
            return -pair[1].score, self._references[pair[0]].owner != wanted.owner, pair[0]

        return sorted(found, key=place)

    def _scored(self, wanted: Features) -> list[tuple[int, Similarity]]:
        """Return the references that share most features with a function, with their similarity; cached."""
        if wanted in self._last:
            return self._last[wanted]
        votes: dict[int, float] = {}
        for key in sorted(_keys(wanted)):
            holders = self._postings.get(key, ())
            weight = math.log(1.0 + len(self._references) / (1.0 + len(holders)))
            for index in holders:
                votes[index] = votes.get(index, 0.0) + weight
        nearest = sorted(votes, key=lambda index: (-votes[index], index))
        # The words of a long body are those of many functions, and must not crowd out the one of that name.
        named = frozenset(self._postings.get(_whole_name(wanted), ()))
        nearest = nearest[:MAX_SCORED] + [one for one in nearest[MAX_SCORED:] if one in named][:MAX_NAMED]
        if len(self._last) >= MAX_LAST:
            self._last.clear()
        found = [(index, self.compare(wanted, self._references[index])) for index in nearest]
        self._last[wanted] = found
        return found


def _whole_name(wanted: Features) -> str:
    return "whole:" + "_".join(wanted.name)


def _keys(wanted: Features) -> set[str]:
    keys = {f"name:{word}" for word in wanted.name} | {f"doc:{word}" for word in wanted.words}
    keys.add(_whole_name(wanted))
    keys.update(f"text:{gram}" for gram in wanted.text.grams)
    return keys


def matches_summary(candidate: Features, summary: str) -> bool:
    """Return whether a candidate's description contains two, and at least half, of a summary's words."""
    wanted = description_stems(summary)
    shared = len(wanted & candidate.words)
    return shared >= 2 and 2 * shared >= len(wanted)
