"""What a list or a table is said to hold: the line that leads it, such as "The agent must never:"."""

from __future__ import annotations

from codeguard.corpus.patterns import lazy

_ITEM = lazy(r"[ \t]{0,12}(?:\||(?:[-*+\u2022>]|\d{1,3}[.)]|[\u274c\u2717\u2716\U0001f6ab])(?:\s|\[|\*))")
_MOST_LINES = 60
_LONGEST = 600  # characters of a line


def lead_of(text: str, place: int) -> str:
    """Return the nearest line above a place in a list that is neither an item nor indented; empty if it is in none."""
    first = text.rfind("\n", max(0, place - _LONGEST), place) + 1
    if (not first and place > _LONGEST) or not _ITEM.match(text, first):
        return ""
    for _ in range(_MOST_LINES):
        end = first - 1
        if end <= 0:
            return ""
        first = text.rfind("\n", max(0, end - _LONGEST), end) + 1
        line = text[first:end]
        if line.strip() and not _ITEM.match(line) and not line.startswith(("  ", "\t")):
            return line
    return ""
