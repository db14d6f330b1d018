"""The domain of a function: the shape of each argument, and relations between two arguments.

Relations are conditions that all examples meet, such as equal lengths, order and containment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from codeguard.behavior.inputs.learning import learn_shape
from codeguard.behavior.inputs.shapes import NumberBounds, ValueShape

LEAST_ORDERED = 4
LEAST_COUNTED = 2  # distinct lengths that make it more than chance if a number always equals the length


@dataclass(frozen=True, slots=True)
class Relation:
    """A condition on two arguments that every example meets."""

    kind: str
    first: int
    second: int

    def holds(self, args: Sequence[object]) -> bool:
        """Return whether the arguments of a call meet the condition."""
        if max(self.first, self.second) >= len(args):
            return True
        return RELATIONS[self.kind](args[self.first], args[self.second])


def _equal_lengths(first: object, second: object) -> bool:
    return _sized(first) and _sized(second) and len(first) == len(second)  # type: ignore[arg-type]


def _one_longer(first: object, second: object) -> bool:
    return _sized(first) and _sized(second) and len(first) == len(second) + 1  # type: ignore[arg-type]


def _counts(first: object, second: object) -> bool:
    return isinstance(first, int) and _sized(second) and first == len(second)  # type: ignore[arg-type]


def _not_beyond_length(first: object, second: object) -> bool:
    return isinstance(first, int) and _sized(second) and 0 <= first <= len(second)  # type: ignore[arg-type]


def _not_above(first: object, second: object) -> bool:
    return is_real(first) and is_real(second) and first <= second  # type: ignore[operator]


def _contained(first: object, second: object) -> bool:
    if isinstance(second, str):
        return isinstance(first, str) and first in second
    if isinstance(second, list | tuple | set | frozenset | dict):
        return any(repr(first) == repr(item) for item in second)
    return False


def _sized(value: object) -> bool:
    return isinstance(value, str | list | tuple)


def is_real(value: object) -> bool:
    """Return whether a value is an int or a float, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


RELATIONS = {
    "equal_lengths": _equal_lengths,
    "one_longer": _one_longer,
    "counts": _counts,
    "not_beyond_length": _not_beyond_length,
    "not_above": _not_above,
    "contained": _contained,
}


def believable(relation: Relation, rows: Sequence[Sequence[object]], named: bool = False) -> bool:
    """Return whether all rows of arguments meet a condition, and enough of them to rule out chance.

    `named` says that the parameters' names ask for their order.
    """
    complete_rows = [row for row in rows if max(relation.first, relation.second) < len(row)]
    if not complete_rows or not all(relation.holds(row) for row in complete_rows):
        return False
    if relation.kind == "equal_lengths":
        return relation.first < relation.second and any(len(row[relation.first]) > 0 for row in complete_rows)  # type: ignore[arg-type]
    if relation.kind == "counts":
        return len({row[relation.first] for row in complete_rows}) >= LEAST_COUNTED
    if relation.kind == "not_above":
        return (
            named or len(complete_rows) >= LEAST_ORDERED
        )  # two numbers are in order by chance in half of the cases
    return True


@dataclass(frozen=True, slots=True)
class Domain:
    """The inputs of a function: a shape for each argument, and relations between arguments."""

    shapes: tuple[ValueShape, ...]
    keywords: Mapping[str, ValueShape]
    relations: tuple[Relation, ...]
    counts: frozenset[int]

    def admits(self, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        """Return whether a call is inside the domain."""
        if len(args) not in self.counts or not self.keywords.keys() >= kwargs.keys():
            return False
        if not all(shape.admits(value) for shape, value in zip(self.shapes, args, strict=False)):
            return False
        if not all(self.keywords[name].admits(value) for name, value in kwargs.items()):
            return False
        return all(relation.holds(args) for relation in self.relations)


def learn_domain(
    calls: Sequence[tuple[Sequence[object], Mapping[str, object]]],
    bounds: Mapping[int, NumberBounds] | None = None,
    variadic: int | None = None,
    ordered: Collection[tuple[int, int]] = (),
) -> Domain:
    """Return the domain implied by the arguments of the examples.

    `bounds` are the documented limits by position, `ordered` the places whose names say that the first is not
    above the second. From position `variadic` on, the function takes
    any number of arguments; the domain admits one more than the longest example.
    """
    width = max((len(args) for args, _ in calls), default=0)
    limits = bounds or {}
    fixed = width if variadic is None else min(variadic, width)
    shapes = tuple(
        learn_shape([args[index] for args, _ in calls if index < len(args)], limits.get(index))
        for index in range(fixed)
    )
    more = [value for args, _ in calls for value in args[fixed:]]
    if more:
        shapes += (learn_shape(more, limits.get(fixed)),) * (width - fixed + 1)
    names = sorted({name for _, kwargs in calls for name in kwargs})
    keywords = {name: learn_shape([kwargs[name] for _, kwargs in calls if name in kwargs]) for name in names}
    rows = [args for args, _ in calls]
    relations = tuple(
        relation
        for kind in RELATIONS
        for first in range(width)
        for second in range(width)
        if first != second
        and believable(relation := Relation(kind, first, second), rows, (first, second) in ordered)
    )
    counts = {len(args) for args in rows}
    if more:
        counts |= set(range(max(fixed, 1), width + 2))
    return Domain(shapes, keywords, relations, frozenset(counts))
