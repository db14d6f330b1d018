"""Long lists of names, written as text."""

from __future__ import annotations


def words(*lines: str) -> list[str]:
    """Return the words of the lines."""
    return " ".join(lines).split()
