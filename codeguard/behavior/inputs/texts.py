"""Properties that the strings of examples share: alphabet, template, balanced brackets."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

CHANCE = 0.05  # an invariant is accepted if it holds by chance with a lower probability than this
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def alphabet(values: Sequence[str]) -> frozenset[str]:
    """Return the characters that strings like these may contain.

    Letters and digits stand for their class, unless hardly any character occurs only once. By the
    Good-Turing estimate, the probability of unseen characters is the share of characters seen once;
    if that is small, the alphabet is closed.
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
    """Return a string with each run of letters replaced by `a` and of digits by `0`."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", value))


def is_balanced(value: str, opening: str) -> bool:
    """Return whether one kind of bracket is balanced."""
    depth = 0
    for char in value:
        if char == opening:
            depth += 1
        elif char == BRACKETS[opening]:
            depth -= 1
            if depth < 0:
                return False
    return depth == 0
