"""The texts of a file that could hold an instruction, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeguard.reading import Reading, Segment, SegmentKind
from codeguard.reading.unmasking import split_name

_GLUE = re.compile(r"[\s+.\\&]{0,200}")
_SHORTEST = 12  # characters
_NAME_SHORTEST = 20


def texts(reading: Reading) -> Iterator[Segment]:
    """Yield comments, docstrings, prose, strings put together where code does so, and long names as words."""
    run: list[Segment] = []
    for segment in reading.segments:
        if segment.kind is SegmentKind.IDENTIFIER:
            words = split_name(segment.text) if len(segment.text) >= _NAME_SHORTEST else ""
            if words.count(" ") >= 3:
                yield Segment(segment.kind, words, segment.start, segment.end)
            continue
        if segment.kind is not SegmentKind.STRING:
            if len(segment.text) >= _SHORTEST:
                yield segment
            continue
        if run and not _glued(reading.text, run[-1].end, segment.start):
            yield from _joined(run)
            run = []
        run.append(segment)
    yield from _joined(run)


def _glued(text: str, end: int, start: int) -> bool:
    return start - end <= 200 and _GLUE.fullmatch(text, end, start) is not None


def _joined(run: list[Segment]) -> Iterator[Segment]:
    text = "".join(segment.text for segment in run).replace("\\n", "\n")
    if len(text) >= _SHORTEST:
        yield Segment(SegmentKind.STRING, text, run[0].start, run[-1].end)
