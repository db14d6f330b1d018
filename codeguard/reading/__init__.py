"""A file as the static signals read it: its syntax tree, its names, its comments and strings, each made once."""

from codeguard.reading.reading import Reading
from codeguard.reading.segment import Segment, SegmentKind

__all__ = ["Reading", "Segment", "SegmentKind"]
