"""The texts of a file that could hold an instruction, each with its place."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.reading import Reading, Segment, SegmentKind
from codeguard.reading.patterns import lazy
from codeguard.reading.unmasking import split_name

_GLUE = lazy(r"[\s+.\\&]{0,200}")  # one string in pieces
_NEXT = lazy(
    r"[\s,;()\[\]+]{0,100}(?:(?:let |const |var )?[\w.$]{1,40}\s{0,3}[+.:]?=\s{0,3}[\[(]?)?\s{0,100}"
)
_PIECES = 60  # of one run
_SHORTEST = 12  # characters
_SPLIT = 50  # characters of a piece, on average: whole sentences are read on their own
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
        if run and (len(run) >= _PIECES or not _near(reading.text, run[-1].end, segment.start)):
            yield from _joined(reading.text, run)
            run = []
        run.append(segment)
    yield from _joined(reading.text, run)


def _near(text: str, end: int, start: int) -> bool:
    """Tell whether code may put two strings together: pieces, items of one list, one assignment after the other."""
    return start - end <= 200 and _NEXT.fullmatch(text, end, start) is not None


def _joined(text: str, run: list[Segment]) -> Iterator[Segment]:
    """Yield each string of a run, its pieces put together, and what several short ones say one after the other."""
    wholes: list[Segment] = []
    for segment in run:
        before = wholes[-1] if wholes else None
        if before is not None and _GLUE.fullmatch(text, before.end, segment.start):
            wholes[-1] = Segment(segment.kind, before.text + segment.text, before.start, segment.end)
        else:
            wholes.append(segment)
    for whole in wholes:
        if len(whole.text) >= _SHORTEST:
            yield Segment(whole.kind, whole.text.replace("\\n", "\n"), whole.start, whole.end)
    if len(wholes) > 1:
        words = " ".join(whole.text for whole in wholes)
        if _SHORTEST <= len(words) <= _SPLIT * len(wholes):
            yield Segment(SegmentKind.STRING, words, run[0].start, run[-1].end)
