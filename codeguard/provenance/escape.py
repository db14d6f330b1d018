"""Show text of strangers on a terminal or in a message without letting it act."""

from __future__ import annotations

import unicodedata

_LONGEST = 200
# Controls, formats (bidi, zero-width, tags), surrogates, private use, unassigned, line and paragraph ends.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def escaped(text: str) -> str:
    r"""Return the text with every character that could act on a terminal written as \x1b or \u202e.

    A backslash is doubled, so that what is shown stands for exactly one text.
    """
    return "".join(_escape(character) for character in text)


def shown(text: str, longest: int = _LONGEST) -> str:
    """Return the text escaped, in quotes, cut after `longest` characters."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    return f"'{escaped(cut)}'"


def _escape(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
