"""The inputs that a trusted function is for, learned from its examples.

Likely invariants in the manner of Daikon (Ernst et al., Science of Computer
Programming 69, 2007): what holds for every example and would hardly hold by
chance is taken for a condition. An input that breaks one of them may be
nonsense to the function, so no difference there convicts anybody.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

CHANCE = 0.05  # an invariant less likely than this to hold by accident is believed
REACH = 10  # numbers may be so many times larger than the largest seen
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}
MAX_DEPTH = 12
LEAST_ORDERED = 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """Numbers that a docstring names as limits, inclusive."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers seen at one place, and those that count as like them; `limits` are named by the docstring."""

    low: float
    high: float
    zero: bool
    negative: bool
    whole: bool
    limits: tuple[int, ...] = ()

    def admits(self, value: float) -> bool:
        """Say whether a number is like those that were seen."""
        if value != value or value in (math.inf, -math.inf):
            return False
        if value == 0:
            return self.zero
        if value < 0 and not self.negative:
            return False
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Texts:
    """The strings seen at one place: lengths, characters, spacing, brackets, a common template."""

    shortest: int
    longest: int
    characters: frozenset[str]
    double_spaces: bool
    outer_spaces: bool
    balanced: frozenset[str]
    template: str | None
    choices: frozenset[str] | None

    def admits(self, value: str) -> bool:
        """Say whether a string is like those that were seen."""
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
    """The sequences, sets or mappings seen at one place, and what their items are like."""

    item: Shape
    shortest: int
    longest: int
    ascending: bool
    distinct: bool
    lengths: frozenset[int] | None = None

    def admits(self, values: Sequence[object], depth: int) -> bool:
        """Say whether a row of items is like those that were seen."""
        if not self.shortest <= len(values) <= self.longest:
            return False
        if self.lengths is not None and len(values) not in self.lengths:
            return False
        if self.distinct and len({repr(value) for value in values}) < len(values):
            return False
        if self.ascending and not _is_ascending(values):
            return False
        return all(self.item.admits(value, depth + 1) for value in values)


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of the values at one place, a part for every kind that was seen."""

    kinds: frozenset[str]
    numbers: Numbers | None = None
    texts: Texts | None = None
    items: Items | None = None
    keys: Items | None = None
    values: Items | None = None
    columns: tuple[Shape, ...] | None = None
    seen: tuple[object, ...] = field(default=(), compare=False)

    def admits(self, value: object, depth: int = 0) -> bool:
        """Say whether a value is like those that were seen."""
        kind = kind_of(value)
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
    """Say whether two values of a kind without structure (bytes, complex, other) are equal."""
    return type(first) is type(second) and first == second


def kind_of(value: object) -> str:
    """Return the name of a value's type, the way the domain tells types apart."""
    return type(value).__name__


def ordered(values: Iterable[object]) -> list[object]:
    """Return items in an order that does not depend on Python's hashes."""
    if isinstance(values, set | frozenset):
        return sorted(values, key=repr)
    return list(values)


def learn(values: Sequence[object], bounds: Bounds | None = None, depth: int = 0) -> Shape:
    """Return the shape of the values seen at one place."""
    kinds = frozenset(kind_of(value) for value in values)
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    texts = [value for value in values if isinstance(value, str)]
    rows = [value for value in values if isinstance(value, list | tuple | set | frozenset)]
    maps = [value for value in values if isinstance(value, dict)]
    items, keys, inner = None, None, None
    if depth < MAX_DEPTH:
        if rows:
            items = _learn_items([ordered(row) for row in rows], bounds, depth)
        if maps:
            keys = _learn_items([list(row) for row in maps], bounds, depth)
            inner = _learn_items([list(row.values()) for row in maps], bounds, depth, distinct=False)
    return Shape(
        kinds=kinds,
        numbers=_learn_numbers(numbers, bounds) if numbers else None,
        texts=_learn_texts(texts) if texts else None,
        items=items,
        keys=keys,
        values=inner,
        columns=_learn_columns(rows, depth),
        seen=tuple(values),
    )


def _learn_numbers(values: Sequence[int | float], bounds: Bounds | None) -> Numbers:
    finite = [value for value in values if abs(value) < 1e300] or [0]
    largest = max(abs(value) for value in finite)
    positive = [value for value in finite if value > 0]
    negative = any(value < 0 for value in finite)
    whole = all(isinstance(value, int) or float(value).is_integer() for value in finite)
    low = -float(largest) * REACH if negative else min(positive, default=0.0) / REACH
    if whole and not negative:
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
    return Numbers(low, high, zero, negative, whole, limits)


def _learn_texts(values: Sequence[str]) -> Texts:
    lengths = [len(value) for value in values]
    joined = "".join(values)
    templates = {template_of(value) for value in values if value}
    common = next(iter(templates)) if len(templates) == 1 else None
    if common is not None and (common.strip("a0") == "" or not {"a", "0"}.intersection(common)):
        common = None  # a word, or nothing but signs: no template that says anything
    balanced = frozenset(
        opening
        for opening, closing in BRACKETS.items()
        if opening in joined and closing in joined and all(is_balanced(value, opening) for value in values)
    )
    return Texts(
        shortest=0 if "" in values else 1,
        longest=max(4 * max(lengths), 12),
        characters=alphabet(values),
        double_spaces=any("  " in value for value in values),
        outer_spaces=any(value != value.strip() for value in values),
        balanced=balanced,
        template=common,
        choices=_choices(values),
    )


def _choices(values: Sequence[str]) -> frozenset[str] | None:
    """Return the set that strings seem to be chosen from, where few of them come again and again."""
    counts = Counter(values)
    once = sum(1 for count in counts.values() if count == 1)
    if len(values) >= 6 and once == 0 and len(counts) <= len(values) / 3:
        return frozenset(counts)
    return None


def alphabet(values: Sequence[str]) -> frozenset[str]:
    """Return the characters that strings like these may hold.

    Letters and digits stand for their class, unless hardly any character is
    seen only once: by Good and Turing's estimate the share of characters not
    yet seen is that of those seen once, and then the alphabet is closed.
    """
    counts = Counter("".join(values))
    total = counts.total()
    once = sum(1 for count in counts.values() if count == 1)
    if total >= 12 and once / total < CHANCE and len(counts) <= 6:
        return frozenset(counts)
    found = set(counts)
    for group in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        if found.intersection(group):
            found.update(group)
    if total >= 10 and found.issuperset(string.digits) and set(counts) <= set(string.hexdigits):
        upper = any(char.isupper() for char in counts)
        lower = any(char.islower() for char in counts)
        if upper != lower:
            found = set(string.digits) | set("ABCDEF" if upper else "abcdef")
    if counts and set(counts) <= {"0", "1"} and total >= 5:
        found = {"0", "1"}
    return frozenset(found)


def template_of(value: str) -> str:
    """Return a string with its runs of letters as `a` and of digits as `0`."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", value))


def is_balanced(value: str, opening: str) -> bool:
    """Say whether one kind of brackets closes what it opens, never before it opens."""
    depth = 0
    for char in value:
        if char == opening:
            depth += 1
        elif char == BRACKETS[opening]:
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _learn_items(
    rows: Sequence[Sequence[object]], bounds: Bounds | None, depth: int, distinct: bool | None = None
) -> Items:
    lengths = [len(row) for row in rows]
    long = [row for row in rows if len(row) >= 2]
    by_chance = math.prod(1 / math.factorial(min(len(row), 20)) for row in long)
    elements = [value for row in rows for value in row]
    unique = bool(long) and all(len({repr(value) for value in row}) == len(row) for row in long)
    return Items(
        item=learn(elements, bounds, depth + 1),
        shortest=0 if 0 in lengths else min(2, *lengths) if min(lengths) <= 2 else 2,
        longest=max(3 * max(lengths), 6),
        ascending=bool(long) and by_chance < CHANCE and all(_is_ascending(row) for row in long),
        distinct=unique if distinct is None else distinct,
    )


def _learn_columns(rows: Sequence[object], depth: int) -> tuple[Shape, ...] | None:
    """Read tuples of one length as records, each place with a shape of its own."""
    tuples = [row for row in rows if isinstance(row, tuple)]
    if not tuples or len(tuples) != len(rows) or depth >= MAX_DEPTH:
        return None
    width = len(tuples[0])
    if width > 6 or any(len(row) != width for row in tuples) or (len(tuples) < 2 and depth == 0):
        return None
    return tuple(learn([row[index] for row in tuples], None, depth + 1) for index in range(width))


def _is_ascending(values: Sequence[object]) -> bool:
    try:
        return all(first <= second for first, second in pairwise(values))  # type: ignore[operator]
    except TypeError:
        return False


@dataclass(frozen=True, slots=True)
class Relation:
    """A condition between two arguments that every example meets."""

    kind: str
    first: int
    second: int

    def holds(self, args: Sequence[object]) -> bool:
        """Say whether a call's arguments meet the condition."""
        if max(self.first, self.second) >= len(args):
            return True
        return RELATIONS[self.kind](args[self.first], args[self.second])


def _equal_lengths(first: object, second: object) -> bool:
    return _sized(first) and _sized(second) and len(first) == len(second)  # type: ignore[arg-type]


def _one_longer(first: object, second: object) -> bool:
    return _sized(first) and _sized(second) and len(first) == len(second) + 1  # type: ignore[arg-type]


def _not_beyond_length(first: object, second: object) -> bool:
    return isinstance(first, int) and _sized(second) and 0 <= first <= len(second)  # type: ignore[arg-type]


def _not_above(first: object, second: object) -> bool:
    return _is_real(first) and _is_real(second) and first <= second  # type: ignore[operator]


def _contained(first: object, second: object) -> bool:
    if isinstance(second, str):
        return isinstance(first, str) and first in second
    if isinstance(second, list | tuple | set | frozenset | dict):
        return any(repr(first) == repr(item) for item in second)
    return False


def _sized(value: object) -> bool:
    return isinstance(value, str | list | tuple)


def _is_real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


RELATIONS = {
    "equal_lengths": _equal_lengths,
    "one_longer": _one_longer,
    "not_beyond_length": _not_beyond_length,
    "not_above": _not_above,
    "contained": _contained,
}


@dataclass(frozen=True, slots=True)
class Domain:
    """The inputs of a function: a shape for every argument, and relations between them."""

    shapes: tuple[Shape, ...]
    keywords: Mapping[str, Shape]
    relations: tuple[Relation, ...]
    counts: frozenset[int]

    def admits(self, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        """Say whether a call is like the examples."""
        if len(args) not in self.counts or not self.keywords.keys() >= kwargs.keys():
            return False
        if not all(shape.admits(value) for shape, value in zip(self.shapes, args, strict=False)):
            return False
        if not all(self.keywords[name].admits(value) for name, value in kwargs.items()):
            return False
        return all(relation.holds(args) for relation in self.relations)


def learn_domain(
    calls: Sequence[tuple[Sequence[object], Mapping[str, object]]], bounds: Mapping[int, Bounds] | None = None
) -> Domain:
    """Return the domain that the arguments of the examples imply; `bounds` are by position."""
    width = max((len(args) for args, _ in calls), default=0)
    limits = bounds or {}
    shapes = tuple(
        learn([args[index] for args, _ in calls if index < len(args)], limits.get(index))
        for index in range(width)
    )
    names = sorted({name for _, kwargs in calls for name in kwargs})
    keywords = {name: learn([kwargs[name] for _, kwargs in calls if name in kwargs]) for name in names}
    rows = [args for args, _ in calls]
    relations = tuple(
        relation
        for kind in RELATIONS
        for first in range(width)
        for second in range(width)
        if first != second and _believable(relation := Relation(kind, first, second), rows)
    )
    return Domain(shapes, keywords, relations, frozenset(len(args) for args in rows))


def _believable(relation: Relation, rows: Sequence[Sequence[object]]) -> bool:
    told = [row for row in rows if max(relation.first, relation.second) < len(row)]
    if not told or not all(relation.holds(row) for row in told):
        return False
    if relation.kind == "equal_lengths":
        return relation.first < relation.second and any(len(row[relation.first]) > 0 for row in told)  # type: ignore[arg-type]
    if relation.kind == "not_above":
        return len(told) >= LEAST_ORDERED  # two numbers are in order by chance half of the time
    return True
