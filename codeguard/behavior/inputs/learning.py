"""Learn what the values at one place of a call have in common.

These are likely invariants as in Daikon (Ernst et al., Science of Computer Programming 69, 2007): a
property of all examples that would hardly hold by chance is taken as a condition.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from codeguard.behavior.inputs.shapes import (
    MAX_DEPTH,
    Items,
    NumberBounds,
    Numbers,
    Texts,
    ValueShape,
    is_ascending,
    ordered,
    shape_type,
)
from codeguard.behavior.inputs.texts import BRACKETS, CHANCE, alphabet, is_balanced, template_of

REACH = 10  # factor by which numbers may exceed the largest one in the examples
LEAST_OF_PROSE = 3  # texts of words and punctuation from which a template can be learned
_PROSE = frozenset("a .,;!?'\"-\n")  # of a template, in which letters are `a` and digits `0`


def learn_shape(values: Sequence[object], bounds: NumberBounds | None = None, depth: int = 0) -> ValueShape:
    """Return the shape of the values at one place."""
    kinds = frozenset(shape_type(value) for value in values)
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
    return ValueShape(
        kinds=kinds,
        numbers=_learn_numbers(numbers, bounds) if numbers else None,
        texts=_learn_texts(texts) if texts else None,
        items=items,
        keys=keys,
        values=inner,
        columns=_learn_columns(rows, depth),
        seen=tuple(values),
    )


def _learn_numbers(values: Sequence[int | float], bounds: NumberBounds | None) -> Numbers:
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
        common = None  # a word or only punctuation makes no useful template
    if common is not None and set(common) <= _PROSE and len(set(values)) < LEAST_OF_PROSE:
        common = None  # that a text has three words and a full stop is no rule
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
    """Return the set of values that strings are chosen from, if few distinct ones repeat often."""
    counts = Counter(values)
    once = sum(1 for count in counts.values() if count == 1)
    if len(values) >= 6 and once == 0 and len(counts) <= len(values) / 3:
        return frozenset(counts)
    return None


def _learn_items(
    rows: Sequence[Sequence[object]], bounds: NumberBounds | None, depth: int, distinct: bool | None = None
) -> Items:
    lengths = [len(row) for row in rows]
    long = [row for row in rows if len(row) >= 2]
    by_chance = math.prod(1 / math.factorial(min(len(row), 20)) for row in long)
    elements = [value for row in rows for value in row]
    unique = bool(long) and all(len({repr(value) for value in row}) == len(row) for row in long)
    return Items(
        item=learn_shape(elements, bounds, depth + 1),
        shortest=0 if 0 in lengths else min(2, *lengths) if min(lengths) <= 2 else 2,
        longest=max(3 * max(lengths), 6),
        ascending=bool(long) and by_chance < CHANCE and all(is_ascending(row) for row in long),
        distinct=unique if distinct is None else distinct,
    )


def _learn_columns(rows: Sequence[object], depth: int) -> tuple[ValueShape, ...] | None:
    """Return one shape per position if all rows are tuples of the same length, that is, records."""
    tuples = [row for row in rows if isinstance(row, tuple)]
    if not tuples or len(tuples) != len(rows) or depth >= MAX_DEPTH:
        return None
    width = len(tuples[0])
    if width > 6 or any(len(row) != width for row in tuples) or (len(tuples) < 2 and depth == 0):
        return None
    return tuple(learn_shape([row[index] for row in tuples], None, depth + 1) for index in range(width))
