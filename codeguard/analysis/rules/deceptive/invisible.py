"""Control characters, line separators and invisible characters that change how a text is displayed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from codeguard.analysis import Segment, SegmentKind
from codeguard.analysis.rules.base import Match
from codeguard.analysis.rules.deceptive.places import Places, character_name
from codeguard.analysis.rules.deceptive.rules import HIDDEN, INVISIBLE, OVERPRINT, SEPARATOR
from codeguard.analysis.text.unmasking import unmasked
from codeguard.corpus.patterns import lazy
from codeguard.models import Severity

SUSPICIOUS = lazy(r"[\x00\x08\x1b\x7f\x9b]|\r(?![\n\r]|\Z)")
_SEPARATOR = lazy("[\u0085\u2028\u2029](?=[^\\S\r\n]*\\S)")
_QUOTED = (SegmentKind.STRING, SegmentKind.DOCSTRING, SegmentKind.PROSE)


def controls(places: Places) -> Iterator[Match]:
    """Yield control characters that move the cursor, one match per line."""
    old_line_ends = "\n" not in places.text
    done = -1
    for match in SUSPICIOUS.finditer(places.text):
        char, start = match.group(), match.start()
        if start < done or (char == "\r" and (old_line_ends or _ends_a_line(places.text, start))):
            continue
        done = places.line(start)[1] if char != "\r" else start + 1
        what = (
            "carriage return inside a line" if char == "\r" else f"control character {character_name(char)}"
        )
        quoted = places.kind(start) in _QUOTED
        mild = Severity.LOW if char == "\0" else Severity.INFO
        yield Match(OVERPRINT.id, start, start + 1, what, severity=mild if quoted else None)


def _ends_a_line(text: str, start: int) -> bool:
    """Return whether a carriage return ends a line instead of letting later text overwrite it."""
    before = text[max(0, start - 2000) : start]
    return not before.rsplit("\n", 1)[-1].strip()


def separators(places: Places) -> Iterator[Match]:
    """Yield Unicode line separators that are followed by text, in code and comments."""
    for match in _SEPARATOR.finditer(places.text):
        start = match.start()
        if places.kind(start) in _QUOTED:
            continue
        yield Match(
            SEPARATOR.id,
            start,
            start + 1,
            f"{character_name(match.group())} starts a new line for some readers of this text",
        )


_RUN = lazy(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u206a-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_TAG = lazy("[\U000e0000-\U000e007f]")
_FLAG = lazy("[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_BLACK_FLAG = "\U0001f3f4"
_SELECTOR = lazy("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_BEFORE_KEY = ("==", "!=", "[", " in", " case", "get(", "is")
_AFTER_KEY = ("==", "!=", "]", ":", " in ", "=>")
_STYLES = "\ufe0e\ufe0f"
_JOINER = "\u200d"
_JOINERS = "\u200c\u200d"
_MARKS = "\u200e\u200f\u061c"
_SOFT_HYPHEN, _ZERO_WIDTH_SPACE = "\u00ad", "\u200b"  # allows a line break in a long word

# Scripts with joining or stacking letters, where joiners select a form.
_JOINING = lazy(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1700-\u18af\u1a20-\u1aad\u1b00-\u1c4f"
    "\ua800-\ua82b\ua840-\ua877\ua880-\ua8ff\ua960-\ua9df\uaa60-\uaa7f\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00011fff\U0001e900-\U0001e95f]"
)
_EMOJI = lazy("[\u00a9\u00ae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001fbff]")
_BASE_OF_IDEOGRAPHIC = lazy("[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")  # U+E0100 and above
_BASE_OF_STYLE = lazy(
    "[#*0-9\u00a9\u00ae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001fbff]"
)  # U+FE0E and U+FE0F: text or emoji
_BASE_OF_FORM = lazy(
    "[0\u2018\u2019\u201c\u201d\u2100-\u2bff\u3000-\u9fff\uf900-\ufaff\u1000-\u109f\ua840-\ua877\uff00-\uffef"
    "\U00010ac0-\U00010aff\U00020000-\U0003ffff]"
)  # others: variants of symbols and letters
_BRAILLE = lazy("[\u2801-\u28ff]")
_BLANK = "\u2800"
_HANGUL = lazy("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb\uffa1-\uffdc]")
_MONGOLIAN = lazy("[\u1800-\u18af]")


def invisible(places: Places) -> Iterator[Match]:
    """Yield invisible characters without a purpose at their place, one match per line."""
    done = -1
    for match in _RUN.finditer(places.text):
        if match.start() < done:
            continue
        hidden = _judge(places, match.start(), match.end())
        if hidden is not None:
            yield hidden
            done = places.line(match.start())[1]


def _judge(places: Places, start: int, end: int) -> Match | None:
    run = places.text[start:end]
    if start == 0 and run[0] == "\ufeff":
        run, start = run[1:], 1
    before = places.text[start - 1] if start else ""
    after = places.text[end] if end < len(places.text) else ""
    stray = "".join(_stray(run, before, after))
    if not stray or (set(stray) == {_BLANK} and _in_braille(places, start)):
        return None
    segment = places.at(start)
    # It looks like a space; in prose it is the Braille space.
    prose = segment is not None and segment.kind is not SegmentKind.STRING
    spaces = prose and set(stray) == {_BLANK}
    if _carries_data(stray) and not spaces:
        hidden = unmasked(run)
        shown = next((f": {reading.text[:80]!r}" for reading in hidden if reading.masks and reading.text), "")
        return Match(
            HIDDEN.id, start, end, f"{len(stray)} invisible characters in a row carry data{shown}",
            measurements={"characters": len(stray)},
        )  # fmt: skip
    reason = f"invisible character {character_name(stray[0])}"
    if segment is None:
        return Match(INVISIBLE.id, start, end, f"{reason} in code")
    severity = Severity.INFO if spaces else _in_text(segment, stray[0], before + after)
    if severity is Severity.INFO and segment.kind is SegmentKind.STRING and _is_key(places.text, segment):
        severity = Severity.LOW
    return Match(INVISIBLE.id, start, end, f"{reason} in a {segment.kind.value}", severity=severity)


def _in_text(segment: Segment, char: str, around: str) -> Severity:
    """Return the severity of a stray character in a comment or string; it is higher inside a Latin word."""
    if char == _SOFT_HYPHEN or len(around) < 2 or not all(map(_latin, around)):
        return Severity.INFO
    breaks_a_line = char == _ZERO_WIDTH_SPACE and (
        segment.kind is not SegmentKind.STRING or " " in segment.text
    )
    return Severity.INFO if breaks_a_line else Severity.MEDIUM


def _in_braille(places: Places, at: int) -> bool:
    """Return whether a blank Braille cell belongs to Braille text or a drawing."""
    start, end = places.line(at)
    text = places.text[start:end]
    return places.at(at) is not None and (_BRAILLE.search(text) is not None or not text.strip(f" \t{_BLANK}"))


def _is_key(text: str, segment: Segment) -> bool:
    """Return whether a string with letters is compared or looked up, where an invisible character matters."""
    if not any(_latin(char) for char in segment.text[:200]) or len(segment.text) > 80:
        return False
    before, after = (
        text[max(0, segment.start - 12) : segment.start].rstrip(),
        text[segment.end : segment.end + 8],
    )
    return before.endswith(_BEFORE_KEY) or after.lstrip().startswith(_AFTER_KEY)


def _carries_data(stray: str) -> bool:
    """Return whether stray characters are a payload; tag characters always are."""
    return len(_TAG.findall(stray)) >= 1 or len(_SELECTOR.findall(stray)) >= 3 or len(stray) >= 8


def _stray(run: str, before: str, after: str) -> Iterator[str]:
    """Yield the characters of a run that their neighbors do not require."""
    if before == _BLACK_FLAG and _FLAG.fullmatch(run.replace(_JOINER, "")):
        return  # some tables join flag tags like emoji of people
    if before == _BLACK_FLAG and (flag := _FLAG.match(run)):
        run, before = run[flag.end() :], _BLACK_FLAG
    selected = False
    for index, char in enumerate(run):
        following = run[index + 1] if index + 1 < len(run) else after
        selects = _SELECTOR.match(char) is not None
        if (selects and selected) or not _called_for(char, before, following):
            yield char
        selected = selects
        if not selects:
            before = char


def _called_for(char: str, before: str, after: str) -> bool:
    if _SELECTOR.match(char):
        bases = (
            _BASE_OF_IDEOGRAPHIC if char > "\uffff" else _BASE_OF_STYLE if char in _STYLES else _BASE_OF_FORM
        )
        return bases.match(before) is not None
    if char in _JOINERS:
        return _joins(char, before, after)
    if char in _MARKS:
        return not _latin(before) or not _latin(after)
    if "\u180b" <= char <= "\u180f":
        return bool(_MONGOLIAN.match(before))
    if char in "\u115f\u1160\u3164\uffa0":
        return bool(_HANGUL.match(before) or _HANGUL.match(after))
    if char in "\u17b4\u17b5":
        return "\u1780" <= before <= "\u17ff"
    if char == "\u200b":
        return not _latin(before) and not _latin(after) and not (before + after).isascii()
    # A byte of a character of another encoding, read as Latin-1.
    return char == _SOFT_HYPHEN and all("\u00a1" <= one <= "\u00ff" for one in (before, after))


def _joins(char: str, before: str, after: str) -> bool:
    if _JOINING.match(before) or (char in "\u200c\u200d" and _JOINING.match(after) and not _latin(before)):
        return not _latin(after)
    return char == "\u200d" and bool(_EMOJI.match(before)) and bool(_EMOJI.match(after))


def _latin(char: str) -> bool:
    return char.isalpha() and (char.isascii() or unicodedata.name(char, "").startswith("LATIN"))
