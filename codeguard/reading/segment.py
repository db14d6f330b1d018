"""A piece of the text in a source file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SegmentKind(StrEnum):
    """What a piece of natural or quoted text in a source file is."""

    COMMENT = "comment"
    DOCSTRING = "docstring"
    STRING = "string"
    IDENTIFIER = "identifier"
    PROSE = "prose"  # a paragraph of what is no code: Markdown, plain text, markup around code


@dataclass(frozen=True, slots=True)
class Segment:
    """A comment, string or name of a file.

    `text` is the content without delimiters. `start` and `end` are character
    offsets of the whole token in the file's text, the end exclusive.
    """

    kind: SegmentKind
    text: str
    start: int
    end: int
