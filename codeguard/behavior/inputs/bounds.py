"""Limits of numbers in docstrings: `1 <= num <= 1000`, `0 ≤ N ≤ 10000`, `in the range of [1, 1000]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from codeguard.behavior.inputs.shapes import Bounds
from codeguard.behavior.source.definitions import Parameter

NUMBER = r"(-?\d+(?:\.\d+)?(?:\s*(?:\*\*|\^)\s*\d+)?)"
CHAIN = re.compile(rf"{NUMBER}\s*(<=|<|≤)\s*([A-Za-z_][\w.\[\]]*(?:\([^)]*\))?)\s*(<=|<|≤)\s*{NUMBER}")
RANGE = re.compile(
    rf"\b(?:range|interval|between)\b[^\[\]\d.-]{{0,12}}\[?\s*{NUMBER}\s*(?:,|and|to|\.\.)\s*{NUMBER}",
    re.IGNORECASE,
)
TYPE_VARIABLE = re.compile(r"\b_?(?:[A-Z]|[KTV]T)\b")  # by the convention of their names
ANY_NUMBER = Bounds(-1e9, 1e9)
LENGTH = re.compile(r"\blen(?:gth)?\b|\bsize\b", re.IGNORECASE)


def bounds_of(docstring: str, parameters: Sequence[Parameter]) -> Mapping[int, Bounds]:
    """Return the limits that a docstring gives, by position of the parameter.

    A name in the docstring that is no parameter's is taken as an abbreviation (`num` for `number`).
    If no parameter fits, the limit applies to all of them, which can only narrow the learned
    domain.
    """
    names = [parameter.name for parameter in parameters if parameter.kind == "positional"]
    found: dict[int, Bounds] = {}
    for low, first, subject, second, high in CHAIN.findall(docstring):
        if LENGTH.search(subject):
            continue
        limits = Bounds(_value(low) + (first == "<"), _value(high) - (second == "<"))
        word = re.match(r"\w+", subject)
        for index in _parameters_meant(word.group().lower() if word else "", names):
            found.setdefault(index, limits)
    for line in docstring.splitlines():
        match = RANGE.search(line)
        if match is not None and not LENGTH.search(line):
            for index in _parameters_meant(
                "", [name for name in names if re.search(rf"\b{re.escape(name)}\b", line)] or names
            ):
                found.setdefault(index, Bounds(_value(match[1]), _value(match[2])))
    positional = [parameter for parameter in parameters if parameter.kind == "positional"]
    for index, parameter in enumerate(positional):
        # Its items may be of any type, so the function cannot depend on what they are.
        if TYPE_VARIABLE.search(parameter.annotation):
            found.setdefault(index, ANY_NUMBER)
    return found


def _parameters_meant(word: str, names: Sequence[str]) -> list[int]:
    alike = [
        i
        for i, name in enumerate(names)
        if word and (name.lower().startswith(word) or word.startswith(name.lower()))
    ]
    return alike or list(range(len(names)))


def _value(text: str) -> float:
    base, _, power = re.sub(r"\s|\*\*", lambda match: "^" if match.group() == "**" else "", text).partition(
        "^"
    )
    return float(base) ** min(int(power), 30) if power else float(base)
