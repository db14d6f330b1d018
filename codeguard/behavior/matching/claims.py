"""Which trusted function a candidate claims to be: by name, docstring, signature and body.

A match accuses nobody. It says whose examples the candidate has to meet, and
how sure that is: a `strong` match (its name, or its description) is held to
every example, a weak one (a similar body, a similar description) only where
it agrees with most of them and so shows that it means to be that function.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from codeguard.behavior.matching.kinship import NO_KINSHIP, Kinship, Text, kinship, text_of
from codeguard.behavior.source.definitions import Definition, Function, Parameter

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Words that every docstring has: they say nothing of what a function does.
_ORDINARY_WORDS = """
a an and are as at be by for from function given has have if in is it its of on or return returns that the
this to when where which with write you your value values will should result def args param parameters
create takes input
"""
STOP_WORDS = frozenset(_ORDINARY_WORDS.split())
# What an algorithm costs is said of each in the same words, and tells nothing of what it does.
_COSTS = re.compile(
    r"\b(?:(?:time|space|worst|best|average|auxiliary)[ -]+)?complexity\b[^\n]*|\bO\([^)\n]*\)", re.I
)
# What people put before or behind a name to have another one for the same thing.
_FILLERS = """
basic better calc calculate compute custom do easy fast fn func function get helper impl improved make my new
perform quick quickly run safe safely simple the util utils
"""
FILLER_WORDS = frozenset(_FILLERS.split())
# Words that keep two functions apart which are told alike but for them.
_OPPOSITES = """
add/remove add/subtract after/before ascending/descending column/row decode/encode decrease/increase
decreasing/increasing decrypt/encrypt deserialize/serialize dump/load even/odd exclude/include first/last head/tail
highest/lowest insert/delete largest/smallest left/right longest/shortest lower/upper lowercase/uppercase max/min
maximum/minimum multiply/divide negative/positive pop/push prefix/suffix union/intersection
"""
_OPPOSITE_WORDS = {frozenset(pair.split("/")) for pair in _OPPOSITES.split()}
EVERYWHERE = 0.5  # weight of a word that every description has
LEAST_DOC_WORDS = 3
LEAST_QUOTED = 0.75
TELLING_DOC_WORDS = 6  # so many words in common are no accident
LEAST_BODY_TOKENS = 10
MAX_SCORED = 40
LEAST_SIBLINGS = 3  # public methods in common that make two classes akin, and their share of all
LEAST_SHARED_SIBLINGS = 0.4


@dataclass(frozen=True, slots=True)
class Features:
    """What a function says of itself, reduced to what survives renaming and reformatting.

    `owner` is the class of a method, `siblings` are the names of its public methods; `bound` says that it is
    called on an instance.
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
    headline: str = ""
    opening: str = ""
    owner: str = ""
    siblings: frozenset[str] = frozenset()
    bound: bool = False

    @property
    def arity(self) -> tuple[int, int | None, int]:
        """How many arguments are needed, how many are taken, and how many keywords are needed."""
        return self.least_args, self.most_args, len(self.required_keywords)

    def takes(self, positional: int, keywords: Sequence[str] = ()) -> bool:
        """Return whether a call with so many positional arguments and these keywords binds."""
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


def features(definition: Definition) -> Features:
    """Return the features of a function."""
    parameters = definition.parameters
    positional = [parameter for parameter in parameters if parameter.kind == "positional"]
    return Features(
        name=words(definition.name),
        doc=content_words(definition.docstring),
        body=body_tokens(definition),
        least_args=sum(parameter.required for parameter in positional),
        most_args=None if any(parameter.kind == "args" for parameter in parameters) else len(positional),
        keywords=frozenset(
            parameter.name for parameter in parameters if parameter.kind in ("positional", "keyword")
        ),
        required_keywords=frozenset(_required_keywords(parameters)),
        takes_any_keyword=any(parameter.kind == "kwargs" for parameter in parameters),
        text=text_of(definition.node),
        headline=_headline(definition.docstring),
        opening=_plain_words(_first_paragraph(definition.docstring)),
        owner=definition.owner.name if definition.owner is not None else "",
        siblings=_public_methods(definition.owner),
        bound=definition.binding == "instance",
    )


def _headline(docstring: str) -> str:
    """Return the first sentence or line of a description, without what layout and case make of it."""
    return _plain_words(re.split(r"(?<=[.!?])\s|\n", _first_paragraph(docstring), maxsplit=1)[0])


def _first_paragraph(docstring: str) -> str:
    return docstring.strip().partition("\n\n")[0][:1_000]


def _plain_words(text: str) -> str:
    return " ".join(word.lower() for word in WORD.findall(text))


def _public_methods(owner: ast.ClassDef | None) -> frozenset[str]:
    if owner is None:
        return frozenset()
    return frozenset(
        "_".join(words(node.name))
        for node in owner.body
        if isinstance(node, Function) and not node.name.startswith("_")
    )


def _required_keywords(parameters: Sequence[Parameter]) -> Iterator[str]:
    return (parameter.name for parameter in parameters if parameter.kind == "keyword" and parameter.required)


def words(name: str) -> tuple[str, ...]:
    """Split a name into lower-case words: `reverse_string`, `reverseString` and `do_reverse_string2` are one."""
    found = tuple(word.lower() for word in WORD.findall(name))
    kept = tuple(word for word in found if word not in FILLER_WORDS) or found
    # `reverse_string2` is another `reverse_string`, but `log2` is no other `log`, nor `to_base16` another `to_base`.
    return kept[:-1] if len(kept) > 2 and kept[-1].isdigit() and len(kept[-1]) == 1 else kept


@functools.lru_cache(maxsize=4_096)
def content_words(text: str) -> frozenset[str]:
    """Return the words of a description that say something, cut to their stems' first letters."""
    found = (word.lower() for word in WORD.findall(_COSTS.sub(" ", text[:4_000])))
    return frozenset(_stem(word) for word in found if word not in STOP_WORDS and len(word) > 1)


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def body_tokens(definition: Definition) -> Counter[str]:
    """Return the kinds of a body's nodes, its attribute names, its calls by name and its constants."""
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
    """How alike two functions are, each part from 0 to 1; None where one side says nothing.

    `closest` is False where another trusted function is more alike, `comparable` where the two are methods of
    unlike classes, or a method and a function.
    """

    name: float
    doc: float | None
    body: float | None
    same_signature: bool = True
    telling_name: bool = True
    closest: bool = True
    same_parameters: bool = False
    doc_words: int = 0
    kin: Kinship = NO_KINSHIP
    comparable: bool = True
    same_headline: bool = False
    opposed: bool = False  # one names what the other names the opposite of
    repeated_words: int = 0  # with which the trusted description begins, where the candidate's has them all
    met: bool = False  # found by its results on the trusted function's own calls
    shared_doc: float = 0.0  # the part of all words of both descriptions that both have
    described_itself: bool = False  # the candidate has a description

    @property
    def twin(self) -> bool:
        """Name and text leave no doubt that the two are one function, whatever they return."""
        return self.closest and self.name == 1.0 and ((self.doc or 0.0) >= 0.6 or (self.body or 0.0) >= 0.6)

    @property
    def sure(self) -> bool:
        """A strong match that takes as many arguments: it need not agree first to be held to every example.

        A name of one word, `replace` or `first`, is everybody's: with
        descriptions of different things it is not enough.
        """
        told = self.telling_name or self.doc is None or self.doc >= 0.6 or (self.body or 0.0) >= 0.6
        return self.strong and self.same_signature and self.comparable and told

    @property
    def described_alike(self) -> bool:
        """The candidate has the trusted function's name, signature and description: nobody else's function has."""
        doc_alike = self.same_headline or (self.doc is not None and self.doc >= 0.9)
        return self.name == 1.0 and self.same_signature and self.comparable and doc_alike and not self.opposed

    @property
    def in_own_words(self) -> bool:
        """The candidate describes itself, and not with the trusted description.

        Two people who describe one function share many words, and each has others.
        """
        whole = self.repeated_words >= TELLING_DOC_WORDS
        quoted = self.same_headline or whole or self.shared_doc >= LEAST_QUOTED
        return self.described_itself and (self.opposed or not quoted)

    @property
    def lookalike(self) -> bool:
        """A reader would take the candidate for this function: its name and text, or its description."""
        doc, body = self.doc or 0.0, self.body or 0.0
        if not self.comparable or self.opposed:
            return self.kin.akin
        if self.name == 1.0 and (doc >= 0.7 or body >= 0.6 or self.same_parameters):
            return True
        return doc >= 0.8 and (self.name > 0.0 or self.doc_words >= TELLING_DOC_WORDS)

    @property
    def described(self) -> bool:
        """The candidate describes itself as this function, in words of its own docstring."""
        if self.opposed:
            return False
        if self.repeated_words:
            return self.name > 0.0
        if self.doc is None or self.name == 0.0:
            return False
        if self.name == 1.0:
            return self.doc >= 0.5
        return self.doc >= 0.6 and (self.name >= 0.5 or self.doc_words >= TELLING_DOC_WORDS)

    @property
    def sibling(self) -> bool:
        """Another name and another description: the text may be alike, the function is another."""
        return self.opposed or (self.name < 0.5 and self.doc is not None and self.doc < 0.6)

    @property
    def strong(self) -> bool:
        """The candidate claims to be this function."""
        if self.opposed:
            return False
        described = self.doc is None or self.doc >= 0.55 or (self.body or 0.0) >= 0.5
        return (self.name == 1.0 and described) or (
            self.doc is not None and self.doc >= 0.9 and self.name > 0.0
        )

    @property
    def namesake(self) -> bool:
        """Nothing but the name is the same: where it does something else, it is another function."""
        return self.name == 1.0 and not self._alike and not self.kin.akin

    @property
    def plausible(self) -> bool:
        """The candidate may be this function: its results have to speak."""
        return self.claimed or (self.comparable and self._built_alike)

    @property
    def claimed(self) -> bool:
        """The candidate's name, description or text says that it is this function; else nothing but its results do."""
        return self.kin.akin or (self.comparable and (self.name == 1.0 or self._told_alike))

    @property
    def _alike(self) -> bool:
        return self._told_alike or self._built_alike

    @property
    def _told_alike(self) -> bool:
        doc, body = self.doc or 0.0, self.body or 0.0
        return self.strong or doc >= 0.75 or (self.name >= 0.5 and (doc >= 0.5 or body >= 0.6))

    @property
    def _built_alike(self) -> bool:
        return (self.body or 0.0) >= 0.85 and (self.doc is None or self.doc >= 0.3)

    @property
    def score(self) -> float:
        """One number to choose between references by."""
        akin = 4.0 * max(self.kin.named, self.kin.renamed) if self.kin.akin else 0.0
        told = 2.0 * self.name + 1.5 * (self.doc or 0.0) + (self.body or 0.0)
        return told + (3.0 if self.strong else 0.0) + akin


Weigh = Callable[[frozenset[str]], float]


def compare(candidate: Features, reference: Features, weigh: Weigh = len) -> Similarity:
    """Return how alike two functions are; `weigh` says how much words of a description tell, alike by default."""
    name = _name_similarity(candidate.name, reference.name)
    return Similarity(
        name=name,
        # Under the same name common words are told of the same thing.
        doc=_doc_similarity(candidate.doc, reference.doc, len if name == 1.0 else weigh),
        described_itself=len(candidate.doc) >= LEAST_DOC_WORDS,
        shared_doc=len(candidate.doc & reference.doc) / max(1, len(candidate.doc | reference.doc)),
        body=_body_similarity(candidate.body, reference.body),
        same_signature=candidate.arity == reference.arity and bool(candidate.owner) == bool(reference.owner),
        telling_name=len(reference.name) > 1,
        same_parameters=_same_parameters(candidate, reference),
        doc_words=min(len(candidate.doc), len(reference.doc)),
        kin=kinship(candidate.text, reference.text),
        comparable=_comparable(candidate, reference),
        same_headline=_same_headline(candidate, reference),
        opposed=_opposed(candidate, reference),
        repeated_words=repeated_words(candidate, reference.headline),
    )


def _same_headline(candidate: Features, reference: Features) -> bool:
    """Return whether a candidate's description begins as the trusted one does, however either breaks its lines."""
    told = reference.headline
    if not told:
        return False
    whole = len(told.split()) >= TELLING_DOC_WORDS and f"{candidate.opening} ".startswith(f"{told} ")
    return whole or candidate.headline == told


def _opposed(first: Features, second: Features) -> bool:
    """Return whether two functions are told alike, but for a word and its opposite in their names or descriptions.

    Who bears the name claims it whatever the description says, and a word of one's own somewhere in it is not enough:
    it would be a cheap way out for a changed copy.
    """
    if first.name == second.name:
        return False
    told = ((first.name, second.name), (first.headline.split(), second.headline.split()))
    return any(_but_for_an_opposite(frozenset(mine), frozenset(theirs)) for mine, theirs in told)


def _but_for_an_opposite(first: frozenset[str], second: frozenset[str]) -> bool:
    return first ^ second in _OPPOSITE_WORDS and len(first) == len(second)


def repeated_words(candidate: Features, description: str) -> int:
    """Return how many words a description has, where a candidate's has every one of them and they are not too few."""
    wanted = content_words(description)
    return len(wanted) if len(wanted) >= LEAST_DOC_WORDS and wanted <= candidate.doc else 0


def told_alike(candidate: Features, summary: str) -> bool:
    """Return whether a candidate's description has at least half of the words of a summary, and two of them."""
    wanted = content_words(summary)
    shared = len(wanted & candidate.doc)
    return shared >= 2 and 2 * shared >= len(wanted)


def _comparable(first: Features, second: Features) -> bool:
    """Return whether two functions may be one at all: a method is compared with methods of an akin class only."""
    if not first.owner or not second.owner:
        return not (first.bound or second.bound)
    if first.owner == second.owner or words(first.owner)[-1:] == words(second.owner)[-1:]:
        return True
    shared = len(first.siblings & second.siblings)
    return shared >= LEAST_SIBLINGS and shared >= LEAST_SHARED_SIBLINGS * len(
        first.siblings | second.siblings
    )


def _same_parameters(first: Features, second: Features) -> bool:
    """Return whether the parameters have the same names, and enough of them to be no coincidence."""
    names = first.keywords - {"self", "cls"}
    alike = first.keywords == second.keywords and first.owner == second.owner
    return alike and (len(names) > 1 or (len(names) == 1 and len(first.name) > 1))


def _name_similarity(first: tuple[str, ...], second: tuple[str, ...]) -> float:
    if first == second:
        return 1.0
    shared, union = set(first) & set(second), set(first) | set(second)
    return 0.95 * len(shared) / len(union) if union else 0.0


def _doc_similarity(first: frozenset[str], second: frozenset[str], weigh: Weigh) -> float | None:
    """Return the part of the shorter description's words that the longer one has, too."""
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
    """Finds the references that a candidate may be meant to be, without comparing it with all."""

    def __init__(self, references: Sequence[Features]) -> None:
        self._references = references
        self._postings: dict[str, list[int]] = {}
        self._last: tuple[Features, list[tuple[int, Similarity]]] | None = None
        for index, reference in enumerate(references):
            for key in _keys(reference):
                self._postings.setdefault(key, []).append(index)

    def weigh(self, told: frozenset[str]) -> float:
        """Return how much words tell: one that every second description has tells little of a function."""
        every = len(self._references) + 1
        holders = (len(self._postings.get(f"doc:{word}", ())) for word in told)
        return sum(math.log(every / max(1, count)) + EVERYWHERE for count in holders)

    def compare(self, wanted: Features, reference: Features) -> Similarity:
        """Return how alike two functions are, words weighed by how many references have them."""
        return compare(wanted, reference, self.weigh)

    def candidates(self, wanted: Features) -> list[tuple[int, Similarity]]:
        """Return the plausible references, the best first; among equals the method of a class of the same name."""
        found = [(index, likeness) for index, likeness in self._scored(wanted) if likeness.plausible]

        def place(pair: tuple[int, Similarity]) -> tuple[float, bool, int]:
            return -pair[1].score, self._references[pair[0]].owner != wanted.owner, pair[0]

        return sorted(found, key=place)

    def lookalikes(self, wanted: Features) -> list[int]:
        """Return the references that a reader would take a function for, the most alike first."""
        found = [(-likeness.score, index) for index, likeness in self._scored(wanted) if likeness.lookalike]
        return [index for _, index in sorted(found)]

    def _scored(self, wanted: Features) -> list[tuple[int, Similarity]]:
        """Compare with the references that share most with a function; both answers about it come from that."""
        if self._last is not None and self._last[0] is wanted:
            return self._last[1]
        votes: dict[int, float] = {}
        for key in sorted(_keys(wanted)):
            holders = self._postings.get(key, ())
            weight = math.log(1.0 + len(self._references) / (1.0 + len(holders)))
            for index in holders:
                votes[index] = votes.get(index, 0.0) + weight
        nearest = sorted(votes, key=lambda index: (-votes[index], index))[:MAX_SCORED]
        self._last = wanted, [(index, self.compare(wanted, self._references[index])) for index in nearest]
        return self._last[1]


def _keys(wanted: Features) -> set[str]:
    keys = {f"name:{word}" for word in wanted.name} | {f"doc:{word}" for word in wanted.doc}
    keys.add("whole:" + "_".join(wanted.name))
    keys.update(f"body:{token}" for token in wanted.body)
    keys.update(f"text:{gram}" for gram in wanted.text.grams)
    return keys
