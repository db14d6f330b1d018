"""A piece of the text in a source file."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class SegmentKind(StrEnum):
    """What a piece of natural or quoted text in a source file is."""

    COMMENT = "comment"
    DOCSTRING = "docstring"
    STRING = "string"
    IDENTIFIER = "identifier"
    PROSE = "prose"  # a paragraph of what is no code: Markdown, plain text, markup around code


class Segment(NamedTuple):  # a file has thousands, and a dataclass takes three times as long to make
    """A comment, string or name of a file.

    `text` is the content without delimiters. `start` and `end` are character
    offsets of the whole token in the file's text, the end exclusive.
    """

    kind: SegmentKind
    text: str
    start: int
    end: int
