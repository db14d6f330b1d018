"""Conditions on arguments that a docstring states: limits of numbers, and conditions in words.

Limits are written as `1 <= num <= 1000`, `0 ≤ N ≤ 10000` or `in the range of [1, 1000]`. Conditions in
words are for example sorted, not empty and positive.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

from codeguard.behavior.inputs.domain import is_real
from codeguard.behavior.inputs.shapes import NumberBounds
from codeguard.behavior.source.definitions import Parameter

NUMBER = r"(-?\d+(?:\.\d+)?(?:\s*(?:\*\*|\^)\s*\d+)?)"
CHAIN = re.compile(rf"(?<!\d){NUMBER}\s*(<=|<|≤)\s*([A-Za-z_][\w.\[\]]*(?:\([^)]*\))?)\s*(<=|<|≤)\s*{NUMBER}")
RANGE = re.compile(
    rf"\b(?:range|interval|between)\b[^\[\]\d.-]{{0,12}}\[?\s*{NUMBER}\s*(?:,|and|to|\.\.)\s*{NUMBER}",
    re.IGNORECASE,
)
TYPE_VARIABLE = re.compile(r"\b_?(?:[A-Z]|[KTV]T)\b")  # by the convention of their names
ANY_NUMBER = NumberBounds(-1e9, 1e9)
LENGTH = re.compile(r"\blen(?:gth)?\b|\bsize\b", re.IGNORECASE)
Holds = Callable[[object], bool]
_LIMITS = (
    ("low", "high"),
    ("lower", "upper"),
    ("lo", "hi"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("floor", "ceiling"),
)
_ROWS = r"(?:\w+\s+)?(?:lists?|arrays?|sequences?|iterables?|inputs?|rows?|halves|numbers|values|items|collections?)"
_ASKED = r"(?:must|should|has to|have to|needs? to|assumed to|expected to|are to)\s+be(?:\s+\w+)?"
# Words about the result are no condition on the arguments: a sort returns a sorted list.
_GIVEN_BACK = re.compile(
    r"(?:returns?|returning|returned|into|yields?|produces?|get|make|build|creates?|as)\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)


def _sorted(value: object) -> bool:
    if not isinstance(value, list | tuple) or len(value) < 2:
        return True
    try:
        return all(first <= second for first, second in itertools.pairwise(value))
    except TypeError:
        return True


def _filled(value: object) -> bool:
    return not isinstance(value, str | list | tuple | dict | set | frozenset) or bool(value)


def _distinct(value: object) -> bool:
    return not isinstance(value, list | tuple) or len(set(map(repr, value))) == len(value)


def _positive(value: object) -> bool:
    return not is_real(value) or value > 0  # type: ignore[operator]


def _not_negative(value: object) -> bool:
    return not is_real(value) or value >= 0  # type: ignore[operator]


_KINDS: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "bytes": (bytes,),
    "dict": (dict,),
    "float": (int, float),
    "int": (int,),
    "list": (list,),
    "set": (set,),
    "str": (str,),
    "tuple": (tuple,),
}


def excluded_by(annotation: str, value: object) -> bool:
    """Return whether an annotation of a plain type excludes a value."""
    kinds = _KINDS.get(annotation.partition("[")[0].strip().rpartition(".")[2].lower())
    return kinds is not None and "|" not in annotation and not isinstance(value, kinds)


_RULES: Sequence[tuple[re.Pattern[str], Holds]] = tuple(
    (re.compile(pattern, re.IGNORECASE), holds)
    for pattern, holds in (
        (rf"\b(?:sorted|ordered|ascending)\s+{_ROWS}\b|\b{_ASKED}\s+(?:sorted|ordered)\b", _sorted),
        (
            rf"\bnon-?empty\s+{_ROWS}|\b{_ASKED}\s+non-?empty|\bnot be empty|\bat least one (?:item|element)",
            _filled,
        ),
        (
            r"\b(?:list|array|sequence|row|set)s? of (?:\w+ )?(?:distinct|unique)\b|\bno duplicates\b"
            r"|\ball (?:\w+ )?(?:are )?(?:distinct|unique)\b|\beach (?:\w+ )?exactly once\b",
            _distinct,
        ),
        (r"\b(?:positive|natural)\s+(?:int|integer|number)s?\b", _positive),
        (r"\bnon-?negative\s+(?:int|integer|number)s?\b", _not_negative),
    )
)


def preconditions(text: str, shown: Sequence[Sequence[object]]) -> list[Holds]:
    """Return the conditions that a description puts on each argument, except those that its examples break.

    Args:
        text: name and docstring of the function.
        shown: the arguments of the calls in the docstring.
    """
    found = []
    for pattern, holds in _RULES:
        asked = any(
            not _GIVEN_BACK.search(text[: match.start()][-40:]) for match in pattern.finditer(text[:4_000])
        )
        if asked and all(holds(value) for args in shown for value in args):
            found.append(holds)
    return found


def bounds_of(docstring: str, parameters: Sequence[Parameter]) -> Mapping[int, NumberBounds]:
    """Return the limits that a docstring gives, by position of the parameter.

    A name in the docstring that is no parameter's is taken as an abbreviation (`num` for `number`).
    If no parameter fits, the limit applies to all of them, which can only narrow the learned
    domain.
    """
    names = [parameter.name for parameter in parameters if parameter.kind == "positional"]
    found: dict[int, NumberBounds] = {}
    for low, first, subject, second, high in CHAIN.findall(docstring):
        if LENGTH.search(subject):
            continue
        limits = NumberBounds(_number_in(low) + (first == "<"), _number_in(high) - (second == "<"))
        word = re.match(r"\w+", subject)
        for index in _parameters_meant(word.group().lower() if word else "", names):
            found.setdefault(index, limits)
    for line in docstring.splitlines():
        match = RANGE.search(line)
        if match is not None and not LENGTH.search(line):
            for index in _parameters_meant(
                "", [name for name in names if re.search(rf"\b{re.escape(name)}\b", line)] or names
            ):
                found.setdefault(index, NumberBounds(_number_in(match[1]), _number_in(match[2])))
    positional = [parameter for parameter in parameters if parameter.kind == "positional"]
    for index, parameter in enumerate(positional):
        # Its items may be of any type, so the function cannot depend on what they are.
        if TYPE_VARIABLE.search(parameter.annotation):
            found.setdefault(index, ANY_NUMBER)
    return found


def ordered_by_name(parameters: Sequence[Parameter]) -> list[tuple[int, int]]:
    """Return the places of parameters that are named as the lower and the upper one of two limits."""
    names = [parameter.name.lower() for parameter in parameters if parameter.kind == "positional"]
    return [
        (first, second)
        for first, name in enumerate(names)
        for second, other in enumerate(names)
        for low, high in _LIMITS
        if low in name and name.replace(low, high, 1) == other
    ]


def _parameters_meant(word: str, names: Sequence[str]) -> list[int]:
    alike = [
        i
        for i, name in enumerate(names)
        if word and (name.lower().startswith(word) or word.startswith(name.lower()))
    ]
    return alike or list(range(len(names)))


def _number_in(text: str) -> float:
    base, _, power = re.sub(r"\s|\*\*", lambda match: "^" if match.group() == "**" else "", text).partition(
        "^"
    )
    return float(base) ** min(int(power), 30) if power else float(base)
