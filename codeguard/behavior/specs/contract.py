"""The contract of a trusted function: what it takes, what it promises, and what it leaves open.

It is written down once for each trusted function, before any candidate is compared with it. Only a difference on a call
inside the contract may convict: one with arguments of the kinds that annotations, prose, guards and shown calls give,
in a respect that the function promises. Refusing more or less outside is another contract, unless the guard protects
something.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codeguard.behavior.inputs.shapes import NumberBounds, ValueShape, is_ascending, learn_shape
from codeguard.behavior.source.definitions import Definition, Function, Parameter, parse_or_none, unparse
from codeguard.behavior.specs.examples import Example, Returns, Spec
from codeguard.sandbox.model import Iteration
from codeguard.syntax.names import dotted_name

Call = tuple[Sequence[object], Mapping[str, object]]
Test = Callable[[object], bool]
LEAST_COUNTED = 2  # distinct lengths that make it more than chance if a number always equals the length
LEAST_MIXED = 3  # different items in a result whose order shows something
LARGEST_TESTED = 10**10  # numbers above are taken for primes and for none
_ORDERED = """
ascending descending first last next order ordered path permutation previous rank reverse reversed rotate rotated
shift smallest sort sorted stable topological largest
"""
ORDERED = frozenset(_ORDERED.split())
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
ORDER = "the order of its results"
# What code has to do with whose guards are there for protection: paths, signatures, credentials, processes.
GUARDED = frozenset(
    {"os", "pathlib", "posixpath", "ntpath", "hmac", "hashlib", "secrets", "ssl", "subprocess", "socket"}
    | {"shutil", "tempfile"}
)
REFUSALS = frozenset({"AssertionError", "TypeError"})  # they say that the caller broke the contract


def is_real(value: object) -> bool:
    """Return whether a value is an int or a float, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


# What it takes: relations between two arguments


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | list | tuple) else -1


RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "is as long as": lambda first, second: _length(first) == _length(second) >= 0,
    "is longer by one than": lambda first, second: _length(first) == _length(second) + 1 > 0,
    "counts": lambda first, second: isinstance(first, int) and 0 <= first == _length(second),
}


@dataclass(frozen=True, slots=True)
class Relation:
    """A condition on two arguments, the length of one of them, that every shown call meets."""

    kind: str
    first: int
    second: int

    def holds(self, args: Sequence[object]) -> bool:
        """Return whether the arguments of a call meet the condition."""
        if max(self.first, self.second) >= len(args):
            return True
        return RELATIONS[self.kind](args[self.first], args[self.second])

    def is_shown(self, rows: Sequence[Sequence[object]]) -> bool:
        """Return whether all rows of arguments meet it, and enough of them to rule out chance."""
        whole = [row for row in rows if max(self.first, self.second) < len(row)]
        if not whole or not all(map(self.holds, whole)):
            return False
        if self.kind == "is as long as":
            return self.first < self.second and any(_length(row[self.first]) for row in whole)
        return self.kind != "counts" or len({row[self.first] for row in whole}) >= LEAST_COUNTED


@dataclass(frozen=True, slots=True)
class Domain:
    """The arguments that a function is shown to take: a shape for each, relations between two, their numbers."""

    shapes: tuple[ValueShape, ...]
    keywords: Mapping[str, ValueShape]
    relations: tuple[Relation, ...]
    counts: frozenset[int]

    def permits(self, args: Sequence[object]) -> bool:
        """Return whether arguments that need not be of these kinds have the order and the relations of all others."""
        shapes = zip(self.shapes, args, strict=False)
        return all(shape.permits(value) for shape, value in shapes) and all(
            relation.holds(args) for relation in self.relations
        )

    def admits(self, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        """Return whether a call is of these kinds."""
        if len(args) not in self.counts or not self.keywords.keys() >= kwargs.keys():
            return False
        if not all(shape.admits(value) for shape, value in zip(self.shapes, args, strict=False)):
            return False
        if not all(self.keywords[name].admits(value) for name, value in kwargs.items()):
            return False
        return all(relation.holds(args) for relation in self.relations)


def learn_domain(
    calls: Sequence[Call],
    bounds: Mapping[int, NumberBounds] | None = None,
    variadic: int | None = None,
) -> Domain:
    """Return the arguments that shown calls imply.

    `bounds` are the documented limits by position. From position `variadic` on, the function takes any number of
    arguments; one more than in the longest call is admitted.
    """
    rows = [args for args, _ in calls]
    width = max(map(len, rows), default=0)
    limits = bounds or {}
    fixed = width if variadic is None else min(variadic, width)
    shapes = tuple(
        learn_shape([row[place] for row in rows if place < len(row)], limits.get(place))
        for place in range(fixed)
    )
    counts = set(map(len, rows))
    more = [value for row in rows for value in row[fixed:]]
    if more:
        shapes += (learn_shape(more, limits.get(fixed)),) * (width - fixed + 1)
        counts |= set(range(max(fixed, 1), width + 2))
    names = sorted({name for _, kwargs in calls for name in kwargs})
    keywords = {name: learn_shape([kwargs[name] for _, kwargs in calls if name in kwargs]) for name in names}
    pairs = itertools.permutations(range(width), 2)
    made = (Relation(kind, *places) for places in pairs for kind in RELATIONS)
    relations = tuple(item for item in made if item.is_shown(rows))
    return Domain(shapes, keywords, relations, frozenset(counts))


def learned_domain(calls: Sequence[Call], definition: Definition) -> Domain:
    """Return the arguments that calls of a function imply, with the limits that its description gives."""
    parameters = definition.parameters
    variadic = next((place for place, item in enumerate(parameters) if item.kind == "args"), None)
    return learn_domain(calls, bounds_of(definition.docstring, parameters), variadic)


# What it takes: annotations and prose

_KINDS: Mapping[str, tuple[type, ...]] = {
    **{kind.__name__: (kind,) for kind in (bool, bytes, dict, int, list, set, str, tuple)},
    "float": (int, float),
}


def excluded_by(annotation: str, value: object) -> bool:
    """Return whether an annotation of a plain type excludes a value."""
    kinds = _KINDS.get(annotation.partition("[")[0].strip().rpartition(".")[2].lower())
    return kinds is not None and "|" not in annotation and not isinstance(value, kinds)


def _prime(value: object) -> bool:
    if not isinstance(value, int) or not 1 < value < LARGEST_TESTED:
        return False
    return all(value % other for other in range(2, int(value**0.5) + 1))


_ROWS = r"(?:\w+\s+)?(?:lists?|arrays?|sequences?|iterables?|inputs?|rows?|halves|numbers|values|items|collections?)"
_ASKED = r"(?:must|should|has to|have to|needs? to|assumed to|expected to|are to)\s+be(?:\s+\w+)?"
# Words about the result are no condition on the arguments: a sort returns a sorted list.
_GIVEN_BACK = re.compile(
    r"(?:returns?|returning|returned|into|yields?|produces?|get|make|build|creates?|as)\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)
_PROSE: Sequence[tuple[str, str, Test]] = (
    (
        "in order",
        rf"\b(?:sorted|ordered|ascending)\s+{_ROWS}\b|\b{_ASKED}\s+(?:sorted|ordered)\b",
        lambda value: not isinstance(value, list | tuple) or is_ascending(value),
    ),
    (
        "not empty",
        rf"\bnon-?empty\s+{_ROWS}|\b{_ASKED}\s+non-?empty|\bnot be empty|\bat least one (?:item|element)",
        lambda value: not isinstance(value, str | list | tuple | dict | set | frozenset) or bool(value),
    ),
    (
        "without duplicates",
        r"\b(?:list|array|sequence|row|set)s? of (?:\w+ )?(?:distinct|unique)\b|\bno duplicates\b"
        r"|\ball (?:\w+ )?(?:are )?(?:distinct|unique)\b|\beach (?:\w+ )?exactly once\b",
        lambda value: not isinstance(value, list | tuple) or len(set(map(repr, value))) == len(value),
    ),
    (
        "positive",
        r"\b(?:positive|natural)\s+(?:int|integer|number)s?\b",
        lambda value: not is_real(value) or value > 0,  # type: ignore[operator]
    ),
    (
        "not negative",
        r"\bnon-?negative\s+(?:int|integer|number)s?\b",
        lambda value: not is_real(value) or value >= 0,  # type: ignore[operator]
    ),
    (
        "no prime",
        r"\b(?:is|are|be|it is|it's) (?:not|no) (?:a )?primes?\b|\bnon-?prime (?:int|integer|number)s?\b",
        lambda value: not _prime(value),
    ),
)


_NUMBER = r"(-?\d+(?:\.\d+)?(?:\s*(?:\*\*|\^)\s*\d+)?)"
_CHAIN = re.compile(
    rf"(?<!\d){_NUMBER}\s*(<=|<|≤)\s*([A-Za-z_][\w.\[\]]*(?:\([^)]*\))?)\s*(<=|<|≤)\s*{_NUMBER}"
)
_TYPE_VARIABLE = re.compile(r"\b_?(?:[A-Z]|[KTV]T)\b")  # by the convention of their names
_ANY_NUMBER = NumberBounds(-1e9, 1e9)
_LENGTH = re.compile(r"\blen(?:gth)?\b|\bsize\b", re.IGNORECASE)


def bounds_of(docstring: str, parameters: Sequence[Parameter]) -> Mapping[int, NumberBounds]:
    """Return the limits that a docstring gives (`1 <= num <= 1000`), by position.

    A name in the docstring that is no parameter's is taken as an abbreviation (`num` for `number`). If no parameter
    fits, the limit applies to all of them, which can only narrow what is learned.
    """
    positional = [parameter for parameter in parameters if parameter.kind == "positional"]
    names = [parameter.name.lower() for parameter in positional]
    found: dict[int, NumberBounds] = {}
    for low, first, subject, second, high in _CHAIN.findall(docstring):
        if not _LENGTH.search(subject):
            limits = NumberBounds(_number_in(low) + (first == "<"), _number_in(high) - (second == "<"))
            word = re.split(r"\W", subject.lower())[0]
            meant = [at for at, name in enumerate(names) if name.startswith(word) or word.startswith(name)]
            for place in meant or range(len(names)):
                found.setdefault(place, limits)
    for place, parameter in enumerate(positional):
        # Its items may be of any type, so the function cannot depend on what they are.
        if _TYPE_VARIABLE.search(parameter.annotation):
            found.setdefault(place, _ANY_NUMBER)
    return found


def _number_in(text: str) -> float:
    base, _, power = re.sub(r"\s", "", text).replace("**", "^").partition("^")
    return float(base) ** min(int(power), 30) if power else float(base)


# What it refuses


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition under which a function refuses its arguments, as text, and the exception's name.

    `is_bound` says that it keeps something from becoming too large.
    """

    condition: str
    exception: str
    is_bound: bool


def _guards_of(function: Function) -> Iterator[Guard]:
    """Yield the guards of a function: raises directly below a condition, and assertions."""
    for node in ast.walk(function):
        match node:
            case ast.Assert(test):
                yield Guard(f"not ({unparse(test)})", "AssertionError", _compares(test, ast.Lt, ast.LtE))
            case ast.If(test, [ast.Raise(exc=ast.expr() as raised)]):
                name = dotted_name(raised).rpartition(".")[2]
                yield Guard(unparse(test), name, _compares(test, ast.Gt, ast.GtE))


def _compares(test: ast.expr, *signs: type[ast.cmpop]) -> bool:
    compared = (node for node in ast.walk(test) if isinstance(node, ast.Compare))
    return any(isinstance(sign, signs) for node in compared for sign in node.ops)


def _handles_secrets(source: str) -> bool:
    """Return whether code works on paths, signatures, credentials or processes, as its imports show."""
    tree = parse_or_none(source)
    for node in ast.walk(tree) if tree is not None else ():
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        if any(name.partition(".")[0] in GUARDED for name in names):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Contract:
    """What one trusted function takes, promises and leaves open.

    `takes` are the arguments that its examples and tests show, None if no plain call is known;
    `conditions` what its prose asks of each argument, by name. `guards` are what it refuses. `raises` are the
    exceptions that an example shows, `protecting` those of guards that protect something. `leaves_open` are the
    respects in which a second implementation may choose. `contradicted` are examples of its own description that the
    function does not meet.
    """

    takes: Domain | None = None
    conditions: tuple[tuple[str, Test], ...] = ()
    guards: tuple[Guard, ...] = ()
    raises: frozenset[str] = frozenset()
    protecting: frozenset[str] = frozenset()
    leaves_open: frozenset[str] = frozenset()
    contradicted: tuple[Example, ...] = ()

    def includes(self, args: Iterable[object]) -> bool:
        """Return whether the prose includes a call with these arguments."""
        return all(holds(value) for value in args for _, holds in self.conditions)


def written_contract(
    text: str,
    shown: Sequence[Sequence[object]],
    function: Function | None = None,
    source: str = "",
) -> Contract:
    """Return what the text of a function says of its contract, before it is run.

    Args:
        text: name and description.
        shown: the arguments of its examples; what these break is no condition.
        function: its tree, if it is a function and no spec.
        source: the code of the function with all that it needs.
    """
    guards = tuple(dict.fromkeys(_guards_of(function))) if function is not None else ()
    protects = bool(guards) and _handles_secrets(source)
    text = text[:4_000]
    conditions = tuple(
        (name, holds)
        for name, pattern, holds in _PROSE
        if any(
            not _GIVEN_BACK.search(text[: match.start()][-40:])
            for match in re.finditer(pattern, text, re.IGNORECASE)
        )
        and all(holds(value) for args in shown for value in args)
    )
    protecting = frozenset(item.exception for item in guards if protects or item.is_bound)
    return Contract(conditions=conditions, guards=guards, protecting=protecting)


def contract_of_spec(spec: Spec) -> Contract:
    """Return the contract of a hand-written spec."""
    results = [case.expected.value for case in spec.cases if isinstance(case.expected, Returns)]
    contract = written_contract(spec.text, [case.args or () for case in spec.cases])
    return replace(contract, leaves_open=open_respects(spec.text, results))


def open_respects(text: str, results: Iterable[object]) -> frozenset[str]:
    """Return the respects that name and description (`text`) and results leave open."""
    words = {word.lower() for word in WORD.findall(text[:4_000])}
    rows = [row for item in results if (row := as_list(item)) and len(set(map(repr, row))) >= LEAST_MIXED]
    sorted_rows = rows and all(is_ascending(row) or is_ascending(row[::-1]) for row in rows)
    return frozenset() if ORDERED & words or sorted_rows else frozenset({ORDER})


def as_list(value: object) -> list[object] | None:
    """Return the items of a result, None if it has none; a text is a list of characters."""
    if isinstance(value, Iteration):
        return list(value.items) if value.exhausted else None
    if isinstance(value, dict):
        return list(value.items())
    return list(value) if isinstance(value, list | tuple | set | frozenset | str) else None
