"""Values that may stand at one place of a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeVar

Arguments = tuple[tuple[object, ...], Mapping[str, object]]
Made = TypeVar("Made")


def surviving(made: Iterable[Made]) -> Iterator[Made]:
    """Yield inputs until making one fails.

    Candidates choose the constants that inputs are made of, and arithmetic with
    an odd one (`1e999`, `10**400`) raises. What was made before still counts.
    """
    try:
        yield from made
    except (ArithmeticError, ValueError, TypeError):
        return


@dataclass(frozen=True, slots=True)
class Pool:
    """Values that may stand at one place: those seen there, and literals worth trying."""

    seen: tuple[object, ...]
    literals: tuple[object, ...] = ()

    def pick(self, random: Random) -> object:
        """Return one of them."""
        return random.choice(self.literals if self.literals and random.random() < 0.3 else self.seen)
