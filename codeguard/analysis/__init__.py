"""Static analysis of files, without running them.

In: a chunked file, which is read once (`Reading`: syntax tree, names, comments, strings). Out: the
matches of the detectors in `rules`. May import `trust`, `config`, `corpus` and `workers`.
"""

from codeguard.analysis.reading import Reading
from codeguard.analysis.text.segments import Segment, SegmentKind

__all__ = ["Reading", "Segment", "SegmentKind"]
