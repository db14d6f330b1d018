"""What the text of a file says, without running it.

A chunked file comes in and is read once (`Reading`: syntax tree, names, comments, strings); the detectors of
`rules` yield what stands out in it. May import `trust`, `config`, `corpus` and `workers`.
"""

from codeguard.analysis.reading import Reading
from codeguard.analysis.text.segments import Segment, SegmentKind

__all__ = ["Reading", "Segment", "SegmentKind"]
