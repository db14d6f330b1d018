"""One table of look-alike and invisible characters; the former are a selection of the Unicode confusables (UTS #39).

`LOOKALIKE` contains letters that survive NFKC and look like an ASCII letter in an ordinary monospaced font,
from scripts that editors display everywhere. Fullwidth and mathematical letters are left out, since NFKC
folds them. `look` compares file names regardless of case, and covers more characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path

from codeguard.corpus.patterns import stored

BIDI_CLASS = "\u202a-\u202e\u2066-\u2069"
"""The controls of the direction of writing (UAX #9), as the inside of a character class."""

INVISIBLE_CLASS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u206a-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
"""Other characters that show nothing, in the same form."""

_TABLES = stored(Path(__file__).with_suffix(".toml"))


def _by_character(table: Mapping[str, str]) -> dict[int, str]:
    return {ord(char): ascii_ for ascii_, chars in table.items() for char in chars}


LOOKALIKE = _by_character(_TABLES["letters"])
"""Code point to the ASCII letter it passes for."""

NEAR_LOOKALIKE = _by_character(_TABLES["near"]) | LOOKALIKE
"""The same, with letters that pass for another one only among Latin letters."""

LOOKALIKE_PUNCTUATION = _by_character(_TABLES["punctuation"])
"""Code point to the ASCII punctuation it passes for; fullwidth forms are found by NFKC."""


def skeleton(text: str) -> str:
    """Return what a text looks like: NFKC, then every lookalike as its ASCII letter.

    Two names with equal skeletons can be taken for each other (UTS #39,
    section 4, on the characters that this module knows).
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).translate(LOOKALIKE)


_FOLDED = {chr(code): letter.lower() for code, letter in LOOKALIKE.items()} | {
    chr(code): letter for code, letter in _by_character(_TABLES["names"]).items()
}
_STROKES = [char for char, letter in _FOLDED.items() if letter == "i"] + list("1Ii|")  # all look like l
_BY_LOOK = str.maketrans(_FOLDED | dict.fromkeys(_STROKES, "l") | {"0": "o"})


def look(name: str) -> str:
    """Return the look of a name: decomposed, look-alikes of every script as one ASCII letter, case folded.

    Looks are for comparing, not for showing.
    """
    # Replaced three times: before NFKC, which maps some look-alikes (ϲ) to a letter that looks different (ς);
    # after it, for compatibility forms of other look-alikes; and after folding, because some look like a
    # capital and some like a small letter.
    drawn = unicodedata.normalize("NFD", name).translate(_BY_LOOK)
    drawn = unicodedata.normalize("NFKD", drawn).translate(_BY_LOOK)
    return unicodedata.normalize("NFD", drawn.casefold()).translate(_BY_LOOK)
