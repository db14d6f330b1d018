"""Conditions on arguments that a docstring states in words: sorted, not empty, positive numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

Holds = Callable[[object], bool]
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


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _positive(value: object) -> bool:
    return not _number(value) or value > 0  # type: ignore[operator]


def _not_negative(value: object) -> bool:
    return not _number(value) or value >= 0  # type: ignore[operator]


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
    """Return the conditions that a description puts on each argument, except those that its
    examples break.

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
