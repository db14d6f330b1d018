"""Bidirectional controls, judged line by line like the bidirectional algorithm (UAX #9)."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.analysis import SegmentKind
from codeguard.analysis.rules.base import Match
from codeguard.analysis.rules.deceptive.places import Places, character_name
from codeguard.analysis.rules.deceptive.rules import BIDI, OVERRIDE
from codeguard.corpus.patterns import lazy
from codeguard.models import Severity

_CONTROL = lazy("[\u202a-\u202e\u2066-\u2069]")
_ISOLATES = "\u2066\u2067\u2068"
_EMBEDDINGS = "\u202a\u202b\u202d\u202e"
_POP_ISOLATE, _POP_EMBEDDING = "\u2069", "\u202c"
_OVERRIDES = "\u202d\u202e"
_FROM_THE_RIGHT = "\u202b\u2067"
_VISIBLE = lazy(r"\w")
_CODE = lazy(r"[{};=]|\w\(")
_RIGHT_TO_LEFT = lazy("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def bidi(places: Places) -> Iterator[Match]:
    """Yield a match for every line whose displayed order may differ from its logical order."""
    done = -1
    for match in _CONTROL.finditer(places.text):
        if match.start() < done:
            continue
        start, end = places.line(match.start())
        done = end
        yield from _line(places, match.start(), start, end)


def _line(places: Places, first: int, start: int, end: int) -> Iterator[Match]:
    text = places.text[start:end]
    what = character_name(places.text[first])
    in_code = next(
        (m.start() for m in _CONTROL.finditer(places.text, first, end) if places.at(m.start()) is None), None
    )
    if in_code is not None:
        yield Match(
            BIDI.id,
            in_code,
            in_code + 1,
            f"bidirectional control {character_name(places.text[in_code])} in code",
        )
    elif not all(_balanced(part) for part in _parts(places, first, end)):
        segment = places.at(first)
        prose = segment is not None and segment.kind is SegmentKind.PROSE
        harmless = _RIGHT_TO_LEFT.search(text) or not _CONTROL.sub("", places.text[first:end]).strip()
        yield Match(
            BIDI.id,
            first,
            first + 1,
            f"bidirectional control {what} reorders what follows it: not closed before the end of its line or token",
            severity=None if not prose else Severity.INFO if harmless else Severity.MEDIUM,
        )
    elif (reordered := _reordered(places, first, end)) is not None:
        yield Match(
            BIDI.id,
            reordered,
            reordered + 1,
            f"{character_name(places.text[reordered])} runs left-to-right text from right to left: signs of code change places",
        )
    elif any(char in _OVERRIDES for char in text):
        at = next(m.start() for m in _CONTROL.finditer(places.text, first, end) if m.group() in _OVERRIDES)
        yield Match(
            OVERRIDE.id,
            at,
            at + 1,
            f"override {character_name(places.text[at])} shows text against its direction",
        )


def _reordered(places: Places, first: int, end: int) -> int | None:
    """Return the position of a right-to-left control around text without such letters or code, or None."""
    open_: list[int] = []
    for match in _CONTROL.finditer(places.text, first, end):
        char, at = match.group(), match.start()
        if char not in (_POP_ISOLATE, _POP_EMBEDDING):
            open_.append(at)
            continue
        start = open_.pop()
        if places.text[start] not in _FROM_THE_RIGHT:
            continue
        inside = places.text[start + 1 : at]
        shown = _CONTROL.sub("", inside)
        natural = _RIGHT_TO_LEFT.search(shown) is not None or not _VISIBLE.search(shown)
        if not natural or (shown != inside and _CODE.search(shown)):
            return start
    return None


def _parts(places: Places, first: int, end: int) -> Iterator[str]:
    """Yield the controls of a line, separately for each comment or string."""
    current, controls = None, ""
    for match in _CONTROL.finditer(places.text, first, end):
        segment = places.at(match.start())
        if segment is not current and controls:
            yield controls
            controls = ""
        current = segment
        controls += match.group()
    yield controls


def _balanced(controls: str) -> bool:
    open_: list[str] = []
    for char in controls:
        if char in _ISOLATES:
            open_.append(_POP_ISOLATE)
        elif char in _EMBEDDINGS:
            open_.append(_POP_EMBEDDING)
        elif not open_ or open_.pop() != char:
            return False
    return not open_
