"""Conditions between two arguments that every example meets: equal lengths, order, containment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_ORDERED = 4


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


def believable(relation: Relation, rows: Sequence[Sequence[object]]) -> bool:
    """Say whether every row of arguments meets a condition, and enough of them to be no coincidence."""
    told = [row for row in rows if max(relation.first, relation.second) < len(row)]
    if not told or not all(relation.holds(row) for row in told):
        return False
    if relation.kind == "equal_lengths":
        return relation.first < relation.second and any(len(row[relation.first]) > 0 for row in told)  # type: ignore[arg-type]
    if relation.kind == "not_above":
        return len(told) >= LEAST_ORDERED  # two numbers are in order by chance half of the time
    return True
