"""Show untrusted text without letting it act on a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Self

# Controls, formats (bidi, zero-width, tags), surrogates, private use, unassigned, line and paragraph ends.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class FinishedPage(str):
    """A page that is already escaped and masked; any other text is escaped when it is shown."""

    __slots__ = ()


class ReportText(str):
    """A text report, with the digests that it names itself: beside the name of a secret they are no secret."""

    digests: frozenset[str]

    def __new__(cls, text: str, digests: Iterable[str]) -> Self:
        """Return the text with its digests."""
        made = super().__new__(cls, text)
        made.digests = frozenset(digests)
        return made


def escaped(text: str, keep: str = "") -> str:
    r"""Return the text with every character that could affect a terminal written as \x1b or \u202e.

    `keep` are characters to leave unchanged, such as the newlines and tabs of a
    block of code.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in keep else _escape(char) for char in text)


def shown(text: str, longest: int = 200) -> str:
    """Return the text escaped, in quotes, truncated to `longest` characters."""
    return f"'{escaped(text if len(text) <= longest else text[:longest] + '…')}'"


def _escape(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
