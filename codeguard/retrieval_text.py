"""What of a chunk is embedded."""

from __future__ import annotations

import re

from codeguard.models import Chunk

_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+")


def retrievable(chunk: Chunk) -> bool:
    """Say whether a chunk holds a word at all; blank lines and lone brackets are nobody's answer."""
    return any(char.isalnum() for char in chunk.text)


def retrieval_text(chunk: Chunk) -> str:
    """Return the symbol in words, then the text.

    The path stays out: it is the attacker's to choose, and renaming an
    untrusted file must change no distance and so no penalty.
    """
    words = " ".join(part for part in _WORD_BORDER.split(chunk.symbol) if part)
    return f"{words}\n{chunk.text}" if words else chunk.text
