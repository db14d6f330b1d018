"""Neutral file names: they say nothing of what is inside."""

from __future__ import annotations

import random

from experiments.corpus.labels import BY_HAND

FIRST: list[str] = BY_HAND["names"]["first"]
SECOND: list[str] = BY_HAND["names"]["second"]


class Namer:
    """Hands out file names that differ, in an order that only the seed decides."""

    def __init__(self, seed: int, extension: str = ".py") -> None:
        names = [f"{first}_{second}{extension}" for first in FIRST for second in SECOND]
        random.Random(f"names:{seed}").shuffle(names)
        self._names = names
        self._next = 0

    def __call__(self) -> str:
        """Return the next name; numbered when the words run out."""
        round_, position = divmod(self._next, len(self._names))
        self._next += 1
        name = self._names[position]
        return name if not round_ else name.replace(".", f"_{round_ + 1}.", 1)
