"""The shape of the values at one place of a call: types, numbers, texts, items, records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from codeguard.behavior.inputs.texts import is_balanced, template_of

MAX_DEPTH = 12


@dataclass(frozen=True, slots=True)
class NumberBounds:
    """Inclusive limits of a number, from a docstring."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Numbers:
    """The range of numbers at one place; `limits` are the limits from the docstring."""

    low: float
    high: float
    zero: bool
    negative: bool
    whole: bool
    limits: tuple[int, ...] = ()

    def admits(self, value: float) -> bool:
        """Return whether a number is in the range."""
        if value != value or value in (math.inf, -math.inf):
            return False
        if value == 0:
            return self.zero
        if value < 0 and not self.negative:
            return False
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Texts:
    """The strings at one place: lengths, characters, spacing, brackets, a common template."""

    shortest: int
    longest: int
    characters: frozenset[str]
    double_spaces: bool
    outer_spaces: bool
    balanced: frozenset[str]
    template: str | None
    choices: frozenset[str] | None

    def admits(self, value: str) -> bool:
        """Return whether a string has these properties."""
        if self.choices is not None:
            return value in self.choices
        if not self.shortest <= len(value) <= self.longest or not self.characters.issuperset(value):
            return False
        if not self.double_spaces and "  " in value:
            return False
        if not self.outer_spaces and value != value.strip():
            return False
        if value and self.template is not None and template_of(value) != self.template:
            return False
        return all(is_balanced(value, opening) for opening in self.balanced)


@dataclass(frozen=True, slots=True)
class Items:
    """The sequences, sets or mappings at one place, and the shape of their items."""

    item: ValueShape
    shortest: int
    longest: int
    ascending: bool
    distinct: bool
    lengths: frozenset[int] | None = None

    def admits(self, values: Sequence[object], depth: int) -> bool:
        """Return whether a list of items has these properties."""
        if not self.shortest <= len(values) <= self.longest:
            return False
        if self.lengths is not None and len(values) not in self.lengths:
            return False
        if self.distinct and len({repr(value) for value in values}) < len(values):
            return False
        if self.ascending and not is_ascending(values):
            return False
        return all(self.item.admits(value, depth + 1) for value in values)


@dataclass(frozen=True, slots=True)
class ValueShape:
    """The values at one place, with a part for each type of value in the examples."""

    kinds: frozenset[str]
    numbers: Numbers | None = None
    texts: Texts | None = None
    items: Items | None = None
    keys: Items | None = None
    values: Items | None = None
    columns: tuple[ValueShape, ...] | None = None
    seen: tuple[object, ...] = field(default=(), compare=False)

    def admits(self, value: object, depth: int = 0) -> bool:
        """Return whether a value is of this shape."""
        kind = shape_type(value)
        if depth > MAX_DEPTH or kind not in self.kinds:
            return False
        if isinstance(value, bool) or value is None:
            return True
        if isinstance(value, int | float):
            return self.numbers is not None and self.numbers.admits(value)
        if isinstance(value, str):
            return self.texts is not None and self.texts.admits(value)
        if self.columns is not None and isinstance(value, list | tuple):
            return len(value) == len(self.columns) and all(
                column.admits(item, depth + 1) for column, item in zip(self.columns, value, strict=True)
            )
        if isinstance(value, list | tuple | set | frozenset):
            return self.items is not None and self.items.admits(ordered(value), depth)
        if isinstance(value, dict):
            keys, values = self.keys, self.values
            if keys is None or values is None:
                return False
            return keys.admits(list(value), depth) and values.admits(list(value.values()), depth)
        return any(same_kind_value(value, known) for known in self.seen)


def same_kind_value(first: object, second: object) -> bool:
    """Return whether two values of a type without a shape of its own (bytes, complex, other) are equal."""
    return type(first) is type(second) and first == second


def shape_type(value: object) -> str:
    """Return the name of a value's type as the domain distinguishes types."""
    return type(value).__name__


def ordered(values: Iterable[object]) -> list[object]:
    """Return items in an order that does not depend on Python's hash seed."""
    if isinstance(values, set | frozenset):
        return sorted(values, key=repr)
    return list(values)


def is_ascending(values: Sequence[object]) -> bool:
    """Return whether no item is smaller than the one before it."""
    try:
        return all(first <= second for first, second in pairwise(values))  # type: ignore[operator]
    except TypeError:
        return False


def matches_kinds(kinds: object, wanted: object) -> bool:
    """Return whether values are of the wanted kinds; an empty container matches items of any kind."""
    if isinstance(kinds, tuple) and isinstance(wanted, tuple):
        if not kinds or not wanted:
            return True
        return len(kinds) == len(wanted) and all(
            matches_kinds(*pair) for pair in zip(kinds, wanted, strict=True)
        )
    return kinds == wanted


def value_kind(value: object, depth: int = 0) -> object:
    """Return the kind of a value; for a container, including the kinds of its items."""
    if isinstance(value, bool | int):
        return "int"
    if isinstance(value, list | tuple | set | frozenset) and depth < 2:
        kinds = sorted({repr(value_kind(item, depth + 1)) for item in value})
        return type(value).__name__, tuple(kinds[:3])
    if isinstance(value, dict) and depth < 2:
        return "dict", value_kind(list(value), depth + 1), value_kind(list(value.values()), depth + 1)
    return type(value).__name__
