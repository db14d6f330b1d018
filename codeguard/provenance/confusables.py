"""Skeletons of names: what a reader takes for the same word gets the same skeleton (UTS #39)."""

from __future__ import annotations

import unicodedata

# Lower-case letters of Cyrillic, Greek, Armenian and Latin extensions that common fonts draw as ASCII.
_LOOKS_LIKE = str.maketrans(
    {
        "а": "a", "с": "c", "ԁ": "d", "е": "e", "һ": "h", "і": "i", "ј": "j", "ӏ": "l", "о": "o",
        "р": "p", "ԛ": "q", "ѕ": "s", "ѵ": "v", "ԝ": "w", "х": "x", "у": "y", "к": "k", "м": "m",
        "α": "a", "ο": "o", "ρ": "p", "ν": "v", "ι": "i", "κ": "k", "υ": "u", "χ": "x", "γ": "y",
        "ց": "g", "հ": "h", "օ": "o", "ս": "u", "ո": "n", "զ": "q",
        "ı": "i", "ɑ": "a", "ɡ": "g", "ꞌ": "'",
        "0": "o", "1": "l",
    }
)  # fmt: skip


def skeleton(text: str) -> str:
    """Return the skeleton of a case-folded text: decomposed, look-alikes mapped to one form."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).translate(_LOOKS_LIKE))
