"""Common English words of instructions, to distinguish language from noise and to split joined words."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

COMMON = frozenset(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["common"].split())
_LONGEST = max(map(len, COMMON))
_LONGEST_RUN = 200


def split_glued(text: str) -> str | None:
    """Split a text without spaces into the fewest common words; None if that is impossible."""
    text = text[:_LONGEST_RUN]
    return _split(text) if text.isascii() and text.isalpha() else None


@cache
def _alternatives() -> frozenset[str]:
    return frozenset(word for word in COMMON if len(word) > 1 or word == "a")


def _split(text: str) -> str | None:
    best: list[tuple[int, int] | None] = [(0, 0)] + [None] * len(
        text
    )  # number of words so far, start of the last one
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - _LONGEST), end):
            before = best[start]
            if before is not None and text[start:end] in _alternatives():
                current = best[end]
                if current is None or before[0] + 1 < current[0]:
                    best[end] = (before[0] + 1, start)
    words: list[str] = []
    end = len(text)
    while end:
        step = best[end]
        if step is None:
            return None
        words.append(text[step[1] : end])
        end = step[1]
    return " ".join(reversed(words))
