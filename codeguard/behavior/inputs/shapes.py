"""The shape of the values at one place of a call, learned from examples: types, numbers, texts, items, records.

These are likely invariants as in Daikon (Ernst et al., Science of Computer Programming 69, 2007): a
property of all examples that would hardly hold by chance is taken as a condition.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

MAX_DEPTH = 12
CHANCE = 0.05  # a property is a condition if it holds by chance with a lower probability than this
CLOSED = 6  # characters, of an alphabet to which letters of a class do not belong
REACH = 10  # factor by which numbers may exceed the largest one in the examples
ANY_SIZE = 64  # items or characters: what takes a few takes so many
MOST_COLUMNS = 6
LEAST_OF_PROSE = 3  # texts of words and punctuation from which a template can be learned
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_PROSE = frozenset("a .,;!?'\"-\n")  # of a template, in which letters are `a` and digits `0`


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
    limits: tuple[int, ...] = ()

    @classmethod
    def of(cls, values: Sequence[int | float], bounds: NumberBounds | None) -> Numbers:
        """Return the range that examples show."""
        finite = [value for value in values if abs(value) < 1e300] or [0]
        largest = max(abs(value) for value in finite)
        positive = [value for value in finite if value > 0]
        negative = any(value < 0 for value in finite)
        low = -float(largest) * REACH if negative else min(positive, default=0.0) / REACH
        if not negative and all(float(value).is_integer() for value in finite):
            low = 1.0 if min(positive, default=1) <= 3 or 0 in finite else 2.0
        high = float(max(largest * REACH, REACH))
        limits: tuple[int, ...] = ()
        if bounds is not None and all(bounds.low <= value <= bounds.high for value in finite):
            low, high = max(low, bounds.low), min(high, bounds.high)
            limits = tuple(int(edge) for edge in (bounds.low, bounds.high) if abs(edge) < 1e9)
            negative = negative or bounds.low < 0
            if bounds.low < 0:
                low = max(bounds.low, -high)
        zero = 0 in finite or (negative and bool(positive)) or (bounds is not None and bounds.low == 0)
        return cls(low, high, zero, negative, limits)

    def admits(self, value: float) -> bool:
        """Return whether a number is in the range."""
        if value == 0:
            return self.zero
        return (value > 0 or self.negative) and self.low <= value <= self.high


def is_balanced(value: str, opening: str) -> bool:
    """Return whether one kind of bracket is balanced."""
    depth = 0
    for char in value:
        depth += (char == opening) - (char == BRACKETS[opening])
        if depth < 0:
            return False
    return depth == 0


# What all strings at one place may have in common; brackets have to occur.
_HABITS: Mapping[str, Callable[[str], bool]] = {
    "no double spaces": lambda value: "  " not in value,
    "no outer spaces": lambda value: value == value.strip(),
    **{opening: partial(is_balanced, opening=opening) for opening in BRACKETS},
}


@dataclass(frozen=True, slots=True)
class Texts:
    """The strings at one place: lengths, characters, habits, a common template."""

    shortest: int
    longest: int
    characters: frozenset[str]
    habits: frozenset[str]
    template: str | None

    @classmethod
    def of(cls, values: Sequence[str]) -> Texts:
        """Return what strings have in common."""
        joined = "".join(values)
        habits = frozenset(
            name
            for name, holds in _HABITS.items()
            if (name not in BRACKETS or (name in joined and BRACKETS[name] in joined))
            and all(map(holds, values))
        )
        longest = max(4 * max(map(len, values)), 12)
        return cls(0 if "" in values else 1, longest, _alphabet(joined), habits, _template(values))

    @property
    def brackets(self) -> list[str]:
        """The brackets that are balanced in every string."""
        return sorted(self.habits & BRACKETS.keys())

    def admits(self, value: str) -> bool:
        """Return whether a string has these properties."""
        return (
            self.shortest <= len(value) <= max(self.longest, ANY_SIZE)
            and self.characters.issuperset(value)
            and (not value or self.template is None or template_of(value) == self.template)
            and all(_HABITS[name](value) for name in self.habits)
        )


def _alphabet(joined: str) -> frozenset[str]:
    """Return the characters that strings like these may contain.

    Letters and digits represent their class, unless hardly any character occurs only once. By the
    Good-Turing estimate, the probability of unseen characters is the share of characters seen once;
    if that is small, the alphabet is closed.
    """
    counts = Counter(joined)
    once = sum(count == 1 for count in counts.values())
    if len(joined) >= 12 and once / len(joined) < CHANCE and len(counts) <= CLOSED:
        return frozenset(counts)
    if len(joined) >= 5 and set(counts) <= {"0", "1"}:
        return frozenset("01")
    groups = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
    return frozenset(counts).union(*(group for group in groups if not counts.keys().isdisjoint(group)))


def template_of(value: str) -> str:
    """Return a string with each run of letters replaced by `a` and of digits by `0`."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", value))


def _template(values: Sequence[str]) -> str | None:
    """Return the template that all strings have, None if it is none that limits them."""
    found = {template_of(value) for value in values if value}
    common = found.pop() if len(found) == 1 else ""
    # A word or only punctuation is no template, and that a text has three words and a full stop is no rule.
    if not common.strip("a0") or not {"a", "0"}.intersection(common):
        return None
    return None if set(common) <= _PROSE and len(set(values)) < LEAST_OF_PROSE else common


@dataclass(frozen=True, slots=True)
class Items:
    """The sequences, sets or mappings at one place, and the shape of their items."""

    item: ValueShape
    shortest: int
    longest: int
    ascending: bool
    distinct: bool

    @classmethod
    def of(cls, rows: Sequence[Sequence[object]], bounds: NumberBounds | None, depth: int) -> Items:
        """Return what rows have in common."""
        lengths = [len(row) for row in rows]
        long = [row for row in rows if len(row) >= 2]
        by_chance = math.prod(1 / math.factorial(min(len(row), 20)) for row in long)
        return cls(
            item=learn_shape([value for row in rows for value in row], bounds, depth + 1),
            shortest=min(2, *lengths),
            longest=max(3 * max(lengths), 6),
            ascending=bool(long) and by_chance < CHANCE and all(map(is_ascending, long)),
            distinct=bool(long) and all(map(_are_distinct, long)),
        )

    def admits(self, values: Sequence[object], depth: int) -> bool:
        """Return whether a list of items has these properties."""
        return (
            self.shortest <= len(values) <= max(self.longest, ANY_SIZE)
            and (not self.distinct or _are_distinct(values))
            and (not self.ascending or is_ascending(values))
            and all(self.item.admits(value, depth + 1) for value in values)
        )


@dataclass(frozen=True, slots=True)
class ValueShape:
    """The values at one place, with a part for each type of value in the examples; items of a dict are its pairs."""

    kinds: frozenset[str]
    numbers: Numbers | None = None
    texts: Texts | None = None
    items: Items | None = None
    columns: tuple[ValueShape, ...] | None = None
    seen: tuple[object, ...] = field(default=(), compare=False)

    def permits(self, value: object) -> bool:
        """Return whether a value that need not be of this shape is of its closed alphabet, or in its order."""
        if isinstance(value, str) and self.texts is not None:
            return len(self.texts.characters) > CLOSED or self.texts.characters.issuperset(value)
        if self.items is None or not isinstance(value, list | tuple):
            return True
        in_order = not self.items.ascending or is_ascending(value)
        return in_order and (not self.items.distinct or _are_distinct(value))

    def admits(self, value: object, depth: int = 0) -> bool:
        """Return whether a value is of this shape."""
        if depth > MAX_DEPTH or type(value).__name__ not in self.kinds:
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
        if isinstance(value, list | tuple | set | frozenset | dict):
            return self.items is not None and self.items.admits(ordered(value), depth)
        return any(type(value) is type(known) and value == known for known in self.seen)


def learn_shape(values: Sequence[object], bounds: NumberBounds | None = None, depth: int = 0) -> ValueShape:
    """Return the shape of the values at one place."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    texts = [value for value in values if isinstance(value, str)]
    rows = [value for value in values if isinstance(value, list | tuple | set | frozenset | dict)]
    return ValueShape(
        kinds=frozenset(type(value).__name__ for value in values),
        numbers=Numbers.of(numbers, bounds) if numbers else None,
        texts=Texts.of(texts) if texts else None,
        items=Items.of([ordered(row) for row in rows], bounds, depth) if rows and depth < MAX_DEPTH else None,
        columns=_columns(rows, depth),
        seen=tuple(values),
    )


def _columns(rows: Sequence[object], depth: int) -> tuple[ValueShape, ...] | None:
    """Return one shape per position if all rows are tuples of the same length, that is, records."""
    tuples = [row for row in rows if isinstance(row, tuple)]
    widths = {len(row) for row in tuples}
    are_records = len(tuples) == len(rows) and len(widths) == 1 and max(widths) <= MOST_COLUMNS
    if not are_records or depth >= MAX_DEPTH or (len(tuples) < 2 and depth == 0):
        return None
    return tuple(learn_shape(column, None, depth + 1) for column in zip(*tuples, strict=True))


def ordered(values: Iterable[object]) -> list[object]:
    """Return items, or the pairs of a dict, in an order that does not depend on Python's hash seed."""
    if isinstance(values, dict):
        return list(values.items())
    return sorted(values, key=repr) if isinstance(values, set | frozenset) else list(values)


def is_ascending(values: Sequence[object]) -> bool:
    """Return whether no item is smaller than the one before it."""
    try:
        return all(first <= second for first, second in pairwise(values))  # type: ignore[operator]
    except TypeError:
        return False


def _are_distinct(values: Sequence[object]) -> bool:
    return len({repr(value) for value in values}) == len(values)
