"""Values that may stand at one place of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

Arguments = tuple[tuple[object, ...], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Pool:
    """Values that may stand at one place: those seen there, and literals worth trying."""

    seen: tuple[object, ...]
    literals: tuple[object, ...] = ()

    def pick(self, random: Random) -> object:
        """Return one of them."""
        return random.choice(self.literals if self.literals and random.random() < 0.3 else self.seen)
