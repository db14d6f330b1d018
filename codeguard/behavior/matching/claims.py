"""Decide which trusted function a candidate claims to be, by name, docstring, signature and body.

A match convicts no candidate. It decides whose examples the candidate has to meet. A strong match (by
name or by description) has to meet all of them. A weak one (a similar body or description) only
counts if the candidate agrees with most of them, which shows that it is meant to be that function.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from codeguard.behavior.matching.text_overlap import (
    NO_OVERLAP,
    Text,
    TextOverlap,
    comparable_text,
    text_overlap,
)
from codeguard.behavior.source.definitions import Definition, Function, Parameter

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
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
# Words that are added to a name to get another name for the same thing.
_FILLERS = """
basic better calc calculate compute custom do easy fast fn func function get helper impl improved make my new
perform quick quickly run safe safely simple the util utils
"""
FILLER_WORDS = frozenset(_FILLERS.split())
# Opposites: descriptions that differ only in such a pair describe different functions.
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
LEAST_BODY_TOKENS = 10
MAX_SCORED = 40
MAX_NAMED = 10  # further ones that have the whole name
LEAST_SIBLINGS = 3  # common public methods that make two classes similar, and their share of all
LEAST_SHARED_SIBLINGS = 0.4


@dataclass(frozen=True, slots=True)
class Features:
    """Features of a function that do not change with renaming and reformatting.

    `name` are the words of `written_name`. `doc` are the words of its description without sections about
    parameters and results, `words` all of them. `owner` is the class of a method, `siblings` are the names of that
    class's public methods. `bound` means that the function is called on an instance.
    """

    name: tuple[str, ...]
    doc: frozenset[str]
    body: Counter[str]
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
    siblings: frozenset[str] = frozenset()
    bound: bool = False
    written_name: str = ""

    @property
    def arity(self) -> tuple[int, int | None, int]:
        """Number of required arguments, of accepted arguments, and of required keywords."""
        return self.least_args, self.most_args, len(self.required_keywords)

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


def function_features(definition: Definition) -> Features:
    """Return the features of a function."""
    parameters = definition.parameters
    positional = [parameter for parameter in parameters if parameter.kind == "positional"]
    return Features(
        name=name_words(definition.name),
        doc=_described(definition.docstring),
        body=body_tokens(definition),
        least_args=sum(parameter.required for parameter in positional),
        most_args=None if any(parameter.kind == "args" for parameter in parameters) else len(positional),
        keywords=frozenset(
            parameter.name for parameter in parameters if parameter.kind in ("positional", "keyword")
        ),
        required_keywords=frozenset(_required_keywords(parameters)),
        takes_any_keyword=any(parameter.kind == "kwargs" for parameter in parameters),
        text=comparable_text(definition.node),
        words=description_stems(definition.docstring),
        headline=_headline(definition.docstring),
        opening=_plain_words(_first_paragraph(definition.docstring)),
        owner=definition.owner.name if definition.owner is not None else "",
        siblings=_public_methods(definition.owner),
        bound=definition.binding == "instance",
        written_name=definition.name,
    )


def _described(docstring: str) -> frozenset[str]:
    """Return the words that describe a function, from before the sections if those are enough."""
    text = docstring[:MAX_DESCRIPTION]
    section = _SECTIONS.search(text)
    before = description_stems(text[: section.start()]) if section is not None else frozenset()
    return before if len(before) >= LEAST_DOC_WORDS else description_stems(text)


def _headline(docstring: str) -> str:
    """Return the first sentence or line of a description, without punctuation and case."""
    return _plain_words(re.split(r"(?<=[.!?])\s|\n", _first_paragraph(docstring), maxsplit=1)[0])


def _first_paragraph(docstring: str) -> str:
    return docstring.strip().partition("\n\n")[0][:1_000]


def _plain_words(text: str) -> str:
    return " ".join(word.lower() for word in WORD.findall(text))


def _public_methods(owner: ast.ClassDef | None) -> frozenset[str]:
    if owner is None:
        return frozenset()
    return frozenset(
        "_".join(name_words(node.name))
        for node in owner.body
        if isinstance(node, Function) and not node.name.startswith("_")
    )


def _required_keywords(parameters: Sequence[Parameter]) -> Iterator[str]:
    return (parameter.name for parameter in parameters if parameter.kind == "keyword" and parameter.required)


def name_words(name: str) -> tuple[str, ...]:
    """Split a name into lower-case words: `reverse_string`, `reverseString` and `do_reverse_string2` are equal."""
    found = tuple(word.lower() for word in WORD.findall(name))
    kept = tuple(word for word in found if word not in FILLER_WORDS) or found
    # `reverse_string2` is another `reverse_string`, but `log2` is no other `log`, nor `to_base16` another `to_base`.
    return kept[:-1] if len(kept) > 2 and kept[-1].isdigit() and len(kept[-1]) == 1 else kept


@functools.lru_cache(maxsize=4_096)
def description_stems(text: str) -> frozenset[str]:
    """Return the stems of the informative words of a description."""
    found = (word.lower() for word in WORD.findall(_COSTS.sub(" ", text[:MAX_DESCRIPTION])))
    return frozenset(_stem(word) for word in found if word not in STOP_WORDS and len(word) > 1)


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def body_tokens(definition: Definition) -> Counter[str]:
    """Return a body's node types, attribute names, called names and constants, with their counts."""
    tokens: Counter[str] = Counter()
    own = {node.arg for node in ast.walk(definition.node.args) if isinstance(node, ast.arg)}
    for statement in definition.node.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute):
                tokens[f".{node.attr}"] += 1
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in own:
                tokens[f"{node.func.id}()"] += 1
            elif isinstance(node, ast.Constant):
                tokens[repr(node.value)[:40]] += 1
            elif not isinstance(node, ast.Name | ast.expr_context | ast.arguments | ast.arg | ast.Expr):
                tokens[type(node).__name__] += 1
    return tokens


@dataclass(frozen=True, slots=True)
class Similarity:
    """Similarity of two functions, each part from 0 to 1, or None if one side has no such part.

    `closest` is False if another trusted function is more similar. `comparable` is False for
    methods of dissimilar classes, and for a method and a function.
    """

    name: float
    doc: float | None
    body: float | None
    same_signature: bool = True
    distinctive_name: bool = True
    closest: bool = True
    same_parameters: bool = False
    doc_words: int = 0
    overlap: TextOverlap = NO_OVERLAP
    comparable: bool = True
    same_headline: bool = False
    opposed: bool = False  # name or description differ only in a word and its opposite
    repeated_words: int = (
        0  # words of the trusted headline, if the candidate's description contains all of them
    )
    shared_doc: float = 0.0  # Jaccard similarity of the words of both descriptions
    described_itself: bool = False  # the candidate has a description
    shares_one_word: bool = False  # the names differ, but for one word and fillers such as `get` and `safe`

    @property
    def is_same_function(self) -> bool:
        """Whether name and text show without doubt that both are one function, whatever they return."""
        return self.closest and self.name == 1.0 and ((self.doc or 0.0) >= 0.6 or (self.body or 0.0) >= 0.6)

    @property
    def is_certain(self) -> bool:
        """Whether this is a strong match with the same signature, which has to meet every example.

        Names of one word, such as `replace` or `first`, are too common: together with different
        descriptions they are not enough.
        """
        described = self.distinctive_name or self.doc is None or self.doc >= 0.6 or (self.body or 0.0) >= 0.6
        return self.is_strong and self.same_signature and self.comparable and described

    @property
    def has_same_description(self) -> bool:
        """Whether the candidate has the trusted function's name, signature and description."""
        same_doc = self.same_headline or (self.doc is not None and self.doc >= 0.9)
        return self.name == 1.0 and self.same_signature and self.comparable and same_doc and not self.opposed

    @property
    def has_own_description(self) -> bool:
        """Whether the candidate has a description that is not the trusted one.

        Independent descriptions of one function share many words, but each has words of its own.
        """
        whole = self.repeated_words >= DISTINCTIVE_DOC_WORDS
        quoted = self.same_headline or whole or self.shared_doc >= LEAST_QUOTED
        return self.described_itself and (self.opposed or not quoted)

    @property
    def is_lookalike(self) -> bool:
        """Whether a reader would take the candidate for this function, by name and text or by description."""
        doc, body = self.doc or 0.0, self.body or 0.0
        if not self.comparable or self.opposed:
            return self.overlap.is_near_copy
        if self.name == 1.0 and (doc >= 0.7 or body >= 0.6 or self.same_parameters):
            return True
        return doc >= 0.8 and (self.name > 0.0 or self.doc_words >= DISTINCTIVE_DOC_WORDS)

    @property
    def describes_reference(self) -> bool:
        """Whether the candidate's docstring describes this function."""
        if self.opposed:
            return False
        if self.repeated_words:
            return self.name > 0.0
        if self.doc is None or self.name == 0.0:
            return False
        if self.name == 1.0:
            return self.doc >= 0.5
        return self.doc >= 0.6 and (self.name >= 0.5 or self.doc_words >= DISTINCTIVE_DOC_WORDS)

    @property
    def repeats_reference(self) -> bool:
        """Whether both the description and, but for literals and locals, the text are those of this function.

        Each alone may be common to siblings, and a short text says little without its description.
        """
        described = (self.doc or 0.0) >= 0.8 and self.doc_words >= DISTINCTIVE_DOC_WORDS
        return described and self.overlap.has_its_text and not self.opposed

    @property
    def is_namesake(self) -> bool:
        """Whether at least half of the name's words, or the description, are the trusted function's."""
        named = self.name >= LEAST_NAMESAKE or self.describes_reference
        return named and self.comparable and not self.opposed

    @property
    def is_other_function(self) -> bool:
        """Whether name and description are different, so that it is another function despite a similar body."""
        return self.opposed or (self.name < 0.5 and self.doc is not None and self.doc < 0.6)

    @property
    def claims_nothing_in_words(self) -> bool:
        """Whether neither the name nor a description claims that it is this function, although the text may be its.

        A minimum beside a maximum differs from it like an edited copy.
        """
        return self.is_other_function or (self.name < 0.5 and self.doc is None)

    @property
    def is_strong(self) -> bool:
        """Whether the candidate claims to be this function."""
        if self.opposed:
            return False
        undescribed = self.doc is None and not self.shares_one_word
        described = undescribed or (self.doc or 0.0) >= 0.55 or (self.body or 0.0) >= 0.5
        return (self.name == 1.0 and described) or (
            self.doc is not None and self.doc >= 0.9 and self.name > 0.0
        )

    @property
    def matches_by_name_only(self) -> bool:
        """Whether only the name is the same, so that different behavior makes it another function."""
        return self.name == 1.0 and not self._similar_claim and not self.overlap.is_near_copy

    @property
    def is_claimed(self) -> bool:
        """Whether the candidate's name, description or text claims that it is this function."""
        return self.overlap.is_near_copy or (self.comparable and (self.name == 1.0 or self._similar_claim))

    @property
    def _similar_claim(self) -> bool:
        doc, body = self.doc or 0.0, self.body or 0.0
        return self.is_strong or doc >= 0.75 or (self.name >= 0.5 and (doc >= 0.5 or body >= 0.6))

    @property
    def score(self) -> float:
        """A single number for choosing between references."""
        copied = 4.0 * max(self.overlap.named, self.overlap.renamed) if self.overlap.is_near_copy else 0.0
        described = 2.0 * self.name + 1.5 * (self.doc or 0.0) + (self.body or 0.0)
        return described + (3.0 if self.is_strong else 0.0) + copied


Weigh = Callable[[frozenset[str]], float]


def claim_similarity(candidate: Features, reference: Features, weigh: Weigh = len) -> Similarity:
    """Return the similarity of two functions; `weigh` returns the weight of a set of description words."""
    name = _name_similarity(candidate.name, reference.name)
    return Similarity(
        name=name,
        # Under the same name even common words describe the same thing.
        doc=_doc_similarity(candidate.doc, reference.doc, len if name == 1.0 else weigh),
        described_itself=len(candidate.doc) >= LEAST_DOC_WORDS,
        shares_one_word=len(reference.name) == 1 and candidate.written_name != reference.written_name,
        shared_doc=len(candidate.words & reference.words) / max(1, len(candidate.words | reference.words)),
        body=_body_similarity(candidate.body, reference.body),
        same_signature=candidate.arity == reference.arity and bool(candidate.owner) == bool(reference.owner),
        distinctive_name=len(reference.name) > 1,
        same_parameters=_same_parameters(candidate, reference),
        doc_words=min(len(candidate.doc), len(reference.doc)),
        overlap=text_overlap(candidate.text, reference.text),
        comparable=_comparable(candidate, reference) and not is_private(reference),
        same_headline=_same_headline(candidate, reference),
        opposed=_opposed(candidate, reference),
        repeated_words=repeated_words(candidate, reference.headline),
    )


def _same_headline(candidate: Features, reference: Features) -> bool:
    """Return whether a candidate's description starts like the trusted one, regardless of line breaks."""
    trusted = reference.headline
    if not trusted:
        return False
    whole = len(trusted.split()) >= DISTINCTIVE_DOC_WORDS and f"{candidate.opening} ".startswith(
        f"{trusted} "
    )
    return whole or candidate.headline == trusted


def _opposed(first: Features, second: Features) -> bool:
    """Return whether the names or descriptions differ only in a word and its opposite.

    Functions with the same name are never opposed, whatever their descriptions. A different word
    elsewhere in the description is not enough, or an edited copy could evade the comparison with
    it.
    """
    if first.name == second.name:
        return False
    pairs = ((first.name, second.name), (first.headline.split(), second.headline.split()))
    opposites = any(_differs_in_opposite(frozenset(own), frozenset(theirs)) for own, theirs in pairs)
    return opposites or _are_siblings(first, second)


def _are_siblings(first: Features, second: Features) -> bool:
    """Return whether each has a word in its name, and in its description, that the other has in neither.

    Permutations beside combinations: an edited copy that keeps the description has the trusted word in it.
    """
    own, theirs = (frozenset(map(_stem, item.name)) for item in (first, second))
    mine, other = own - theirs, theirs - own
    told = mine and other and mine <= first.words and other <= second.words
    return bool(told and own & theirs) and mine.isdisjoint(second.words) and other.isdisjoint(first.words)


def _differs_in_opposite(first: frozenset[str], second: frozenset[str]) -> bool:
    return first ^ second in _OPPOSITE_WORDS and len(first) == len(second)


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


def _comparable(first: Features, second: Features) -> bool:
    """Return whether two functions may be the same; methods have to belong to similar classes."""
    if not first.owner or not second.owner:
        return not (first.bound or second.bound)
    if first.owner == second.owner or name_words(first.owner)[-1:] == name_words(second.owner)[-1:]:
        return True
    shared = len(first.siblings & second.siblings)
    return shared >= LEAST_SIBLINGS and shared >= LEAST_SHARED_SIBLINGS * len(
        first.siblings | second.siblings
    )


def has_akin_methods(first: Features, second: Features) -> bool:
    """Return whether two classes have public methods in common, as many as makes them one kind of class."""
    shared, either = first.siblings & second.siblings, first.siblings | second.siblings
    least = min(LEAST_SIBLINGS, len(first.siblings), len(second.siblings))
    return len(shared) >= max(1, least) and len(shared) >= LEAST_SHARED_SIBLINGS * len(either)


def _same_parameters(first: Features, second: Features) -> bool:
    """Return whether the parameters have the same names, and are not too few for that to mean anything."""
    names = first.keywords - {"self", "cls"}
    alike = first.keywords == second.keywords and first.owner == second.owner
    return alike and (len(names) > 1 or (len(names) == 1 and len(first.name) > 1))


def _name_similarity(first: tuple[str, ...], second: tuple[str, ...]) -> float:
    if first == second:
        return 1.0
    shared, union = set(first) & set(second), set(first) | set(second)
    return 0.95 * len(shared) / len(union) if union else 0.0


def _doc_similarity(first: frozenset[str], second: frozenset[str], weigh: Weigh) -> float | None:
    """Return the weighted share of the shorter description's words that the longer one contains."""
    if min(len(first), len(second)) < LEAST_DOC_WORDS:
        return None
    return weigh(first & second) / min(weigh(first), weigh(second))


def _body_similarity(first: Counter[str], second: Counter[str]) -> float | None:
    both = first.total() + second.total()
    if min(first.total(), second.total()) < LEAST_BODY_TOKENS:
        return None
    small, large = sorted((first, second), key=len)
    shared = sum(min(count, large[token]) for token, count in small.items())
    return shared / (both - shared)


class ReferenceIndex:
    """Finds the references that a candidate may be meant to be, without comparing it with all of them."""

    def __init__(self, references: Sequence[Features]) -> None:
        self._references = references
        self._postings: dict[str, list[int]] = {}
        self._last: tuple[Features, list[tuple[int, Similarity]]] | None = None
        for index, reference in enumerate(references):
            for key in _keys(reference):
                self._postings.setdefault(key, []).append(index)

    def weigh(self, described: frozenset[str]) -> float:
        """Return the weight of words; words that occur in many descriptions weigh little."""
        every = len(self._references) + 1
        holders = (len(self._postings.get(f"doc:{word}", ())) for word in described)
        return sum(math.log(every / max(1, count)) + EVERYWHERE for count in holders)

    def compare(self, wanted: Features, reference: Features) -> Similarity:
        """Return the similarity of two functions, with words weighted by their rarity among the references."""
        return claim_similarity(wanted, reference, self.weigh)

    def candidates(self, wanted: Features) -> list[tuple[int, Similarity]]:
        """Return those that it claims to be, best first; in a tie, a method of a class of the same name first."""
        found = [(index, similarity) for index, similarity in self._scored(wanted) if similarity.is_claimed]

        def place(pair: tuple[int, Similarity]) -> tuple[float, bool, int]:
            return -pair[1].score, self._references[pair[0]].owner != wanted.owner, pair[0]

        return sorted(found, key=place)

    def lookalikes(self, wanted: Features) -> list[int]:
        """Return the references that a reader would take a function for, most similar first."""
        found = [
            (-similarity.score, index)
            for index, similarity in self._scored(wanted)
            if similarity.is_lookalike
        ]
        return [index for _, index in sorted(found)]

    def namesakes(self, wanted: Features) -> list[tuple[int, Similarity]]:
        """Return the references that a function shares most of its name with, or its description, best match first."""
        found = [(index, similarity) for index, similarity in self._scored(wanted) if similarity.is_namesake]
        return sorted(found, key=lambda pair: (-pair[1].name, -pair[1].score, pair[0]))

    def _scored(self, wanted: Features) -> list[tuple[int, Similarity]]:
        """Return the references that share most features with a function, with their similarity; cached."""
        if self._last is not None and self._last[0] is wanted:
            return self._last[1]
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
        self._last = wanted, [(index, self.compare(wanted, self._references[index])) for index in nearest]
        return self._last[1]


def _whole_name(wanted: Features) -> str:
    return "whole:" + "_".join(wanted.name)


def _keys(wanted: Features) -> set[str]:
    keys = {f"name:{word}" for word in wanted.name} | {f"doc:{word}" for word in wanted.words}
    keys.add(_whole_name(wanted))
    keys.update(f"body:{token}" for token in wanted.body)
    keys.update(f"text:{gram}" for gram in wanted.text.grams)
    return keys


def matches_summary(candidate: Features, summary: str) -> bool:
    """Return whether a candidate's description contains two, and at least half, of a summary's words."""
    wanted = description_stems(summary)
    shared = len(wanted & candidate.words)
    return shared >= 2 and 2 * shared >= len(wanted)
