"""Control characters and line separators that make a screen show another text than the file holds."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.models import Severity
from codeguard.reading import SegmentKind
from codeguard.reading.patterns import lazy
from codeguard.signals.base import Sighting
from codeguard.signals.deceptive.places import Places, named
from codeguard.signals.deceptive.rules import OVERPRINT, SEPARATOR

SUSPICIOUS = lazy(r"[\x00\x08\x1b\x7f\x9b]|\r(?![\n\r]|\Z)")
_SEPARATOR = lazy("[\u0085\u2028\u2029](?=[^\\S\r\n]*\\S)")
_QUOTED = (SegmentKind.STRING, SegmentKind.DOCSTRING, SegmentKind.PROSE)


def controls(places: Places) -> Iterator[Sighting]:
    """Yield control characters that move the cursor, one sighting a line."""
    old_line_ends = "\n" not in places.text
    done = -1
    for match in SUSPICIOUS.finditer(places.text):
        char, start = match.group(), match.start()
        if start < done or (char == "\r" and (old_line_ends or _ends_a_line(places.text, start))):
            continue
        done = places.line(start)[1] if char != "\r" else start + 1
        what = "carriage return inside a line" if char == "\r" else f"control character {named(char)}"
        quoted = places.kind(start) in _QUOTED
        mild = Severity.LOW if char == "\0" else Severity.INFO
        yield Sighting(OVERPRINT.id, start, start + 1, what, severity=mild if quoted else None)


def _ends_a_line(text: str, start: int) -> bool:
    """Tell an old line end from a carriage return that lets the next words overwrite this line."""
    before = text[max(0, start - 2000) : start]
    return not before.rsplit("\n", 1)[-1].strip()


def separators(places: Places) -> Iterator[Sighting]:
    """Yield Unicode line ends with text after them, in code and comments."""
    for match in _SEPARATOR.finditer(places.text):
        start = match.start()
        if places.kind(start) in _QUOTED:
            continue
        yield Sighting(
            SEPARATOR.id,
            start,
            start + 1,
            f"{named(match.group())} starts a new line for some readers of this text",
        )
