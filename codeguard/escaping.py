"""Show untrusted text without letting it act on a terminal."""

from __future__ import annotations

import unicodedata

# Controls, formats (bidi, zero-width, tags), surrogates, private use, unassigned, line and paragraph ends.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class FinishedPage(str):
    """A page that is already escaped and masked; any other text is escaped when it is shown."""

    __slots__ = ()


def escaped(text: str, keep: str = "") -> str:
    r"""Return the text with every character that could affect a terminal written as \x1b or \u202e.

    `keep` are characters to leave unchanged, such as the newlines and tabs of a
    block of code.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in keep else _escape(char) for char in text)


def _escape(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
