"""Sentences, names and addresses by grammars: each part of the benchmark has a half of every list to itself."""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

TABLES = Path(__file__).with_name("grammars.toml")
_SLOT = re.compile(r"\{(\w+)\}")


@cache
def _tables() -> dict[str, list[str]]:
    return {name: list(forms) for name, forms in tomllib.loads(TABLES.read_text("utf-8")).items()}


@dataclass(frozen=True, slots=True)
class Grammar:
    """The forms that one part may use; those of `dev` and of the two other parts have no alternative in common."""

    part: str

    def alternatives(self, name: str) -> Sequence[str]:
        """Return a list's alternatives of this part, by the rank of their digests."""
        ranked = sorted(_tables()[name], key=lambda form: hashlib.sha256(f"{name}:{form}".encode()).digest())
        return ranked[::2] if self.part == "dev" else ranked[1::2]

    def form(self, name: str, rng: Random, **given: str) -> str:
        """Return one form of a list, every slot filled; `given` are slots that the caller fills."""

        def filled(slot: re.Match[str]) -> str:
            return given.get(slot[1]) or self.form(slot[1], rng, **given)

        return _SLOT.sub(filled, rng.choice(self.alternatives(name))).strip()

    def count(self, name: str) -> int:
        """Return the number of forms, slots that a caller fills counted once."""
        return sum(
            math.prod(self.count(slot) for slot in _SLOT.findall(form) if slot in _tables())
            for form in self.alternatives(name)
        )
