"""Values to use at one place of a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeVar

Arguments = tuple[tuple[object, ...], Mapping[str, object]]
Made = TypeVar("Made")
MAX_DEPTH = 70  # deeper than any value that a sandboxed child may send


def until_error(made: Iterable[Made]) -> Iterator[Made]:
    """Yield inputs until making one fails.

    Candidates determine the constants in the inputs, and arithmetic with an extreme one (`1e999`,
    `10**400`) raises. The inputs made before that are still used.
    """
    try:
        yield from made
    except (ArithmeticError, ValueError, TypeError):
        return


@dataclass(frozen=True, slots=True)
class ValuePool:
    """Values to use at one place of a call: those in the examples, and literals of the sources."""

    seen: tuple[object, ...]
    literals: tuple[object, ...] = ()

    def pick(self, random: Random) -> object:
        """Return one of the values."""
        return random.choice(self.literals if self.literals and random.random() < 0.3 else self.seen)


def magnitude(value: object, depth: int = 0) -> float:
    """Return the largest absolute number in a value; 0 if there is none."""
    if value is None or type(value) is str:
        return 0.0
    if isinstance(value, bool | int | float):
        try:
            size = abs(float(value))
        except OverflowError:
            return 1e308
        return size if size < 1e308 else 0.0
    if depth > MAX_DEPTH:
        return 0.0
    if isinstance(value, dict):
        return max((magnitude(item, depth + 1) for pair in value.items() for item in pair), default=0.0)
    if isinstance(value, list | tuple | set | frozenset):
        return max((magnitude(item, depth + 1) for item in value), default=0.0)
    return 0.0
