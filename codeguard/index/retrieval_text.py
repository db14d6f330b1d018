"""The text of a chunk that is embedded."""

from __future__ import annotations

import re

from codeguard.models import Chunk

_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+")


def retrievable(chunk: Chunk) -> bool:
    """Return whether a chunk may be a result: not withheld, and at least one word."""
    return not chunk.withheld and any(char.isalnum() for char in chunk.text)


def retrieval_text(chunk: Chunk) -> str:
    """Return the symbol in words, then the text.

    The path is left out because the attacker chooses it: renaming an untrusted file must change no distance
    and so no penalty.
    """
    words = in_words(chunk.symbol)
    return f"{words}\n{chunk.text}" if words else chunk.text


def in_words(symbol: str) -> str:
    """Return a symbol cut at case, underscore and anything that is no letter."""
    return " ".join(part for part in _WORD_BORDER.split(symbol) if part)
