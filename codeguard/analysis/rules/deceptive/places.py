"""Look up whether an offset of a file is in a comment, a string, or code."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from codeguard.analysis import Reading, Segment, SegmentKind


class Places:
    """The segments of a file except names, indexed by offset."""

    def __init__(self, reading: Reading) -> None:
        self.text = reading.text
        self.language = reading.language
        self._segments = [one for one in reading.segments if one.kind is not SegmentKind.IDENTIFIER]
        self._starts = [segment.start for segment in self._segments]

    def at(self, offset: int) -> Segment | None:
        """Return the comment, string or prose at an offset; None for code."""
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and offset < self._segments[index].end:
            return self._segments[index]
        return None

    def kind(self, offset: int) -> SegmentKind | None:
        """Return the kind of segment at an offset; None for code."""
        segment = self.at(offset)
        return segment.kind if segment is not None else None

    def code(self) -> Iterator[tuple[int, int]]:
        """Yield the start and end of every range of code."""
        position = 0
        for segment in self._segments:
            if segment.start > position:
                yield position, segment.start
            position = max(position, segment.end)
        if position < len(self.text):
            yield position, len(self.text)

    def line(self, offset: int) -> tuple[int, int]:
        """Return the start and end of the line at an offset, at most 2,000 characters away."""
        low, high = max(0, offset - 2000), min(len(self.text), offset + 2000)
        start = max(self.text.rfind("\n", low, offset), self.text.rfind("\r", low, offset)) + 1
        ends = [
            end
            for end in (self.text.find("\n", offset, high), self.text.find("\r", offset, high))
            if end >= 0
        ]
        return max(start, low), min(ends, default=high)


def character_name(char: str) -> str:
    """Return a character as code point and name."""
    return f"U+{ord(char):04X}"
