"""Characters that make source look different from what is executed, in any language: bidirectional controls (UAX #9),
invisible characters, lookalike names and punctuation (UTS #39), overprinting.
"""

from __future__ import annotations

import builtins
import keyword
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from codeguard.analysis import Reading, Segment, SegmentKind
from codeguard.analysis.reading import IN_PROSE
from codeguard.analysis.rules.base import DetectorContext, Match, signal_of
from codeguard.analysis.text.unmasking import COMMON, INVISIBLE, unmasked
from codeguard.corpus.confusables import (
    BIDI_CLASS,
    INVISIBLE_CLASS,
    LOOKALIKE,
    LOOKALIKE_PUNCTUATION,
    skeleton,
)
from codeguard.corpus.patterns import lazy
from codeguard.models import Severity

_MOST = 1_000  # matches of each kind per file
_TOO_MANY = f"deceptive characters were not looked for after {_MOST:,} of one sort"


_LIKE = "c"  # the language whose comments and strings are most common
_CODE_LINE = lazy(
    r"[;{}]\s*$|^\s*(?:(?:pub |public |private |static |async |export |local )*(?:function|func|fn|fun"
    r"|def|class|struct|contract|interface"
    r"|module|package|import|use|using|pragma|void|int|uint\w*|let|var|val|const|sub|proc|begin|end"
    r"|select|insert|create)\b[^.]*$"
    r"|[\w.$@%&*]+\s*(?::=|=|\+=|<-)\s*\S|[\w.$:>-]+\([^)]*\)\s*;?\s*$|(?:mov|push|pop|call|jmp|ret|lea"
    r"|add|sub|xor|cmp)\b)"
)
_LOOKED_AT = 400  # lines


def _as_code(reading: Reading) -> Reading:
    """Return the reading of a text file with lines of code as that of a language with a lexer."""
    if reading.language != "text":
        return reading
    lines = [line for line in reading.text.split("\n")[:_LOOKED_AT] if line.strip()]
    if not lines or sum(_CODE_LINE.search(line) is not None for line in lines) * 2 < len(lines):
        return reading
    made = Reading(replace(reading.file, language=_LIKE, chunks=()))
    made.unread = reading.unread
    return made


class _Places:
    """A file and its segments except names, by offset."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.text = reading.text
        self._segments = [one for one in reading.segments if one.kind is not SegmentKind.IDENTIFIER]
        self._starts = [segment.start for segment in self._segments]

    def at(self, offset: int) -> Segment | None:
        """Return the comment, string or prose at an offset; None for code."""
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and offset < self._segments[index].end:
            return self._segments[index]
        return None

    def is_quoted(self, offset: int) -> bool:
        """Return whether an offset is in text that is shown, not in code or a comment."""
        segment = self.at(offset)
        return segment is not None and segment.kind is not SegmentKind.COMMENT

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
        ends = (self.text.find(mark, offset, high) for mark in "\n\r")
        return max(start, low), min((end for end in ends if end >= 0), default=high)


def _inspect(reading: Reading, context: DetectorContext) -> Iterator[Match]:
    plain = reading.text.isascii()
    if plain and _SUSPICIOUS.search(reading.text) is None:
        return
    places = _Places(_as_code(reading))
    for look in (_controls,) if plain else (_controls, _bidi, _invisible, _names, _separators):
        found = reading.unread.apart(look.__name__.strip("_"), look, places)
        for match in islice(found, _MOST):
            # Formulas and output stand in examples, too, and nobody runs those unread.
            minor = match.rule == "lookalike-punctuation" and reading.within == IN_PROSE
            yield replace(match, severity=Severity.LOW) if minor else match
        more = next(found, None)
        if more is not None:
            reading.unread.note(_TOO_MANY, reading.line_of(more.start))


def _one(rule: str, at: int, reason: str, severity: Severity | None = None) -> Match:
    return Match(rule, at, at + 1, reason, severity)


def _named(char: str) -> str:
    return f"U+{ord(char):04X}"


_SUSPICIOUS = lazy(r"[\x00\x08\x1b\x7f\x9b]|\r(?![\n\r]|\Z)")
_SEPARATOR = lazy("[\u0085\u2028\u2029](?=[^\\S\r\n]*\\S)")


def _controls(places: _Places) -> Iterator[Match]:
    """Yield control characters that move the cursor, one match per line."""
    old_line_ends = "\n" not in places.text
    done = -1
    for match in _SUSPICIOUS.finditer(places.text):
        char, start = match.group(), match.start()
        if start < done:
            continue
        if char == "\r":
            before = places.text[max(0, start - 2000) : start]
            # One that ends a line lets no later text overwrite it.
            if old_line_ends or not before.rsplit("\n", 1)[-1].strip():
                continue
        done = places.line(start)[1] if char != "\r" else start + 1
        what = "carriage return inside a line" if char == "\r" else f"control character {_named(char)}"
        mild = Severity.LOW if char == "\0" else Severity.INFO
        yield _one("overprint", start, what, mild if places.is_quoted(start) else None)


def _separators(places: _Places) -> Iterator[Match]:
    """Yield Unicode line separators that are followed by text, in code and comments."""
    for match in _SEPARATOR.finditer(places.text):
        if not places.is_quoted(match.start()):
            reason = f"{_named(match.group())} starts a new line for some readers of this text"
            yield _one("line-separator", match.start(), reason)


_CONTROL = lazy(f"[{BIDI_CLASS}]")
_CLOSED_BY = dict.fromkeys("\u2066\u2067\u2068", "\u2069") | dict.fromkeys(
    "\u202a\u202b\u202d\u202e", "\u202c"
)
_OVERRIDES = "\u202d\u202e"
_FROM_THE_RIGHT = "\u202b\u2067"
_VISIBLE = lazy(r"\w")
_CODE = lazy(r"[{};=]|\w\(")
_RIGHT_TO_LEFT = lazy("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def _bidi(places: _Places) -> Iterator[Match]:
    """Yield a match for every line whose displayed order may differ from its logical order."""
    done = -1
    for match in _CONTROL.finditer(places.text):
        if match.start() >= done:
            start, done = places.line(match.start())
            yield from _bidi_line(places, match.start(), start, done)


def _bidi_line(places: _Places, first: int, start: int, end: int) -> Iterator[Match]:
    text = places.text
    controls = [(found.start(), found.group()) for found in _CONTROL.finditer(text, first, end)]
    in_code = next((at for at, _ in controls if places.at(at) is None), None)
    if in_code is not None:
        yield _one("bidi", in_code, f"bidirectional control {_named(text[in_code])} in code")
        return
    # The controls that are open, with their segments: each is closed in the comment or string that it stands in.
    open_: list[tuple[int, Segment | None]] = []
    pairs: list[tuple[int, int]] = []
    balanced = True
    for at, char in controls:
        segment = places.at(at)
        if char in _CLOSED_BY:
            open_.append((at, segment))
        elif open_ and open_[-1][1] is segment and _CLOSED_BY[text[open_[-1][0]]] == char:
            pairs.append((open_.pop()[0], at))
        else:
            balanced = False
    if open_ or not balanced:
        segment = places.at(first)
        prose = segment is not None and segment.kind is SegmentKind.PROSE
        harmless = _RIGHT_TO_LEFT.search(text, start, end) or not _CONTROL.sub("", text[first:end]).strip()
        severity = None if not prose else Severity.INFO if harmless else Severity.MEDIUM
        what = f"bidirectional control {_named(text[first])} reorders what follows it"
        yield _one("bidi", first, f"{what}: not closed before the end of its line or token", severity)
    elif (reordered := next((at for at, close in pairs if _is_reordered(text, at, close)), None)) is not None:
        what = f"{_named(text[reordered])} runs left-to-right text from right to left"
        yield _one("bidi", reordered, f"{what}: signs of code change places")
    elif (override := next((at for at, char in controls if char in _OVERRIDES), None)) is not None:
        reason = f"override {_named(text[override])} shows text against its direction"
        yield _one("bidi-override", override, reason)


def _is_reordered(text: str, at: int, close: int) -> bool:
    """Return whether a right-to-left control is around text without such letters, or around code."""
    inside = text[at + 1 : close]
    shown = _CONTROL.sub("", inside)
    natural = _RIGHT_TO_LEFT.search(shown) is not None or not _VISIBLE.search(shown)
    return text[at] in _FROM_THE_RIGHT and (
        not natural or (shown != inside and _CODE.search(shown) is not None)
    )


_RUN = lazy(f"[{INVISIBLE_CLASS}\u2800\U0001d159\U0001d173-\U0001d17a]+")  # and signs without ink
_TAG = lazy("[\U000e0000-\U000e007f]")
_FLAG = lazy("[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_BLACK_FLAG = "\U0001f3f4"
_SELECTOR = lazy("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_TEXT_OR_EMOJI = "\ufe0e\ufe0f"
_JOINER = "\u200d"
_MARKS = "\u200e\u200f\u061c"
_KEYCAPS = frozenset("#*0123456789")
_SOFT_HYPHEN, _ZERO_WIDTH_SPACE = "\u00ad", "\u200b"  # allows a line break in a long word
_BRAILLE = lazy("[\u2801-\u28ff]")
_BLANK = "\u2800"


def _invisible(places: _Places) -> Iterator[Match]:
    """Yield invisible characters without a purpose at their place, one match per line."""
    done = -1
    for match in _RUN.finditer(places.text):
        hidden = _judged(places, match.start(), match.end()) if match.start() >= done else None
        if hidden is not None:
            yield hidden
            done = places.line(match.start())[1]


def _judged(places: _Places, start: int, end: int) -> Match | None:
    text, segment = places.text, places.at(start)
    run = text[start:end]
    if start == 0 and run[0] == "\ufeff":
        run, start = run[1:], 1
        segment = places.at(start)
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    stray = "".join(_stray(run, before, after))
    if not stray:
        return None
    spaces = False
    if set(stray) == {_BLANK} and segment is not None:
        line = text[slice(*places.line(start))]
        if _BRAILLE.search(line) or not line.strip(f" \t{_BLANK}"):
            return None  # of a text or a drawing in Braille
        spaces = segment.kind is not SegmentKind.STRING  # it looks like a space
    # Tag characters always are a payload.
    if not spaces and (_TAG.search(stray) or len(_SELECTOR.findall(stray)) >= 3 or len(stray) >= 8):
        shown = next((f": {item.text[:80]!r}" for item in unmasked(run) if item.masks and item.text), "")
        reason = f"{len(stray)} invisible characters in a row carry data{shown}"
        return Match("hidden-data", start, end, reason, measurements={"characters": len(stray)})
    reason = f"invisible character {_named(stray[0])}"
    if segment is None:
        return Match("invisible", start, end, f"{reason} in code")
    severity = Severity.INFO
    if not spaces and stray[0] != _SOFT_HYPHEN and before and after and _latin(before) and _latin(after):
        within = segment.kind is not SegmentKind.STRING or " " in segment.text
        breaks_a_line = within and stray[0] == _ZERO_WIDTH_SPACE
        severity = Severity.INFO if breaks_a_line else Severity.MEDIUM
    return Match("invisible", start, end, f"{reason} in a {segment.kind.value}", severity)


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
    """Return whether the neighbors of an invisible character give it a purpose, as other scripts and emoji do.

    Latin letters need none, so that between them it only hides something; nor does another invisible character.
    """
    if char == _SOFT_HYPHEN:  # a byte of a character of another encoding, read as Latin-1
        return all("\u00a1" <= one <= "\u00ff" for one in (before, after))
    if _TAG.match(char):
        return False
    if _SELECTOR.match(char):
        return _other_script(before) or (char in _TEXT_OR_EMOJI and before in _KEYCAPS)
    if char in _MARKS:
        return not _latin(before) or not _latin(after)
    between = not _latin(before) and not _latin(after)
    return between and (_other_script(before) or _other_script(after))


def _other_script(char: str) -> bool:
    """Return whether a character is visible and neither ASCII nor a Latin letter."""
    return not char.isascii() and not _latin(char) and _RUN.match(char) is None


def _latin(char: str) -> bool:
    return char.isalpha() and (char.isascii() or unicodedata.name(char, "").startswith("LATIN"))


_NAME = lazy(r"[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f\s][^\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f\s]*")
_WORD = lazy(r"[^\W\d_]+")
_PRIVATE = lazy("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
_OVERLAY = lazy("[=<>!&|+*/%^~?:;,.()\\[\\]{}-][\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20f0\ufe20-\ufe2f]")
_KNOWN = frozenset(dir(builtins)) | frozenset(keyword.kwlist)
# First words of Unicode names of letters without a script.
_STYLES = """MODIFIER COMBINING FULLWIDTH MATHEMATICAL DOUBLE-STRUCK SCRIPT SUBSCRIPT SUPERSCRIPT MICRO FEMININE
MASCULINE IDEOGRAPHIC OHM KELVIN ANGSTROM"""
_NO_SCRIPT = frozenset(_STYLES.split())
_GREEK_IN_SCIENCE = frozenset("αβγδεζηθικλμνξπρσςτυφχψωϵϑϕϱΔΘΛΞΠΣΦΨΩΓ")
_MOST_NAMES = 5_000  # names to examine in detail per file
_TOO_MANY_NAMES = f"names in other scripts were not compared after {_MOST_NAMES:,} of them"


def _names(places: _Places) -> Iterator[Match]:
    """Yield deceptive names at their first occurrence, and lookalike punctuation in code."""
    reading, text = places.reading, places.text
    by_look: dict[str, str] | None = None
    seen: set[str] = set()
    for start, end in places.code():
        if text[start:end].isascii():
            continue
        yield from _punctuation(text, start, end)
        for match in _OVERLAY.finditer(text, start, end):
            sign, mark = tuple(match.group())
            reason = f"{_named(mark)} is laid over {sign!r}, which then shows as another sign"
            yield Match("lookalike-punctuation", match.start(), match.end(), reason)
        for match in _NAME.finditer(text, start, end):
            name = match.group()
            if name.isascii() or name in seen:
                continue
            if len(seen) >= _MOST_NAMES:
                reading.unread.note(_TOO_MANY_NAMES, reading.line_of(match.start()))
                continue
            seen.add(name)
            if by_look is None:
                others = {item.text for item in reading.segments if item.kind is SegmentKind.IDENTIFIER}
                by_look = {
                    skeleton(other): unicodedata.normalize("NFKC", other)
                    for other in sorted(others, key=lambda other: (other.isascii(), other))
                }
            found = _of_name(name, reading.language, by_look)
            if found is not None:
                rule, reason, severity = found
                yield Match(rule, match.start(), match.end(), reason, severity)


def _of_name(name: str, language: str, by_look: dict[str, str]) -> tuple[str, str, Severity | None] | None:
    """Return rule, reason and severity of what a name looks like and is not."""
    if (private := _PRIVATE.search(name)) is not None:
        shown = f"{_named(private.group())} in the name {name!r}"
        reason = f"{shown} is for private use: each font shows something else"
        return "lookalike-name", reason, Severity.MEDIUM
    name = INVISIBLE.sub("", name)
    look = skeleton(name)
    other = by_look.get(look, look if look in _KNOWN and language == "python" else name)
    plain = unicodedata.normalize("NFKC", name)
    if _styled(name, plain):
        return "styled-name", f"{name!r} is {plain!r} in styled letters", None
    if look.isascii() and any(map(_deceives, _WORD.findall(name))) and _readable(name, look, by_look):
        spelled = ", ".join(
            f"{_named(char)} for {LOOKALIKE[ord(char)]}" for char in name if ord(char) in LOOKALIKE
        )
        reason = f"{name!r} passes for {look!r} ({spelled})"
        return "lookalike-name", reason, Severity.LOW if len(name) == 1 else None
    if other not in (name, plain) and len(look) >= 2:
        return "colliding-name", f"{name!r} looks like {other!r} and is another name", None
    return None


def _styled(name: str, plain: str) -> bool:
    """Return whether a name is a plain one in mathematical, fullwidth or ligature letters."""
    if name == plain or not plain.isascii() or len(plain) < 3 or not any(map(str.isalnum, plain)):
        return False
    styles = {
        unicodedata.decomposition(char).partition(" ")[0]
        for char in name
        if not char.isascii() and any(map(str.isalnum, unicodedata.normalize("NFKC", char)))
    }
    return not styles <= {"<sub>", "<super>"}  # an ellipsis is no letter


def _deceives(word: str) -> bool:
    """Return whether a word looks Latin but contains letters of another script."""
    # The first word of a letter's Unicode name is usually its script.
    scripts = {char: unicodedata.name(char, "").partition(" ")[0] for char in word if not char.isascii()}
    foreign = [char for char in word if scripts.get(char, "") not in ("LATIN", "", *_NO_SCRIPT)]
    if not foreign or any(ord(char) not in LOOKALIKE for char in foreign):
        return False
    latin = len(word) - len(foreign)
    return not (latin <= 2 and len(foreign) == 1 and foreign[0] in _GREEK_IN_SCIENCE)


def _readable(name: str, look: str, by_look: dict[str, str]) -> bool:
    """Return whether a lookalike of a Latin name is one, not a short word of another script."""
    if any(char.isascii() and char.isalpha() for char in name):
        return True
    return by_look.get(look, name) != name or look in _KNOWN or (len(look) >= 4 and look.lower() in COMMON)


def _punctuation(text: str, start: int, end: int) -> Iterator[Match]:
    for index in range(start, end):
        char = text[index]
        if char.isascii():
            continue
        shown = LOOKALIKE_PUNCTUATION.get(ord(char))
        if shown is None and not char.isalnum():
            plain = unicodedata.normalize("NFKC", char)
            shown = plain if len(plain) == 1 and "!" <= plain <= "~" else None
        if shown is not None and _between_code(text, index):
            yield _one("lookalike-punctuation", index, f"{_named(char)} passes for {shown!r}")


def _between_code(text: str, index: int) -> bool:
    """Return whether a character is surrounded by ASCII and so in code, not in a sentence as in JSX."""
    ignored = f" \t\r\n{text[index]}"
    before, after = (
        text[max(0, index - 20) : index].rstrip(ignored),
        text[index + 1 : index + 21].lstrip(ignored),
    )
    return (not before or before[-1].isascii()) and (not after or after[0].isascii())


SIGNAL = signal_of(
    __file__, "characters that show something other than what the machine reads", _inspect, intent=True
)
