"""Names that look like other names (UTS #39), and characters that look like operators."""

from __future__ import annotations

import builtins
import keyword
import unicodedata
from collections.abc import Iterator

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.rules.base import Match
from codeguard.analysis.rules.deceptive.places import Places, character_name
from codeguard.analysis.rules.deceptive.rules import (
    COLLIDING,
    LOOKALIKE_NAME,
    PUNCTUATION,
    STYLED,
)
from codeguard.analysis.text.unmasking import INVISIBLE
from codeguard.analysis.text.words import COMMON
from codeguard.corpus.confusables import LOOKALIKE, LOOKALIKE_PUNCTUATION, skeleton
from codeguard.corpus.patterns import lazy
from codeguard.models import Severity

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
_MOST = 5_000  # names to examine in detail per file
_TOO_MANY = f"names in other scripts were not compared after {_MOST:,} of them"


def deceptive_names(reading: Reading, places: Places) -> Iterator[Match]:
    """Yield deceptive names at their first occurrence, and lookalike punctuation in code."""
    others = {segment.text for segment in reading.segments if segment.kind is SegmentKind.IDENTIFIER}
    by_look: dict[str, str] | None = None
    seen: set[str] = set()
    for start, end in places.code():
        if places.text[start:end].isascii():
            continue
        yield from _punctuation(places, start, end)
        for match in _OVERLAY.finditer(places.text, start, end):
            sign = match.group()[0]
            reason = (
                f"{character_name(match.group()[1])} is laid over {sign!r}, which then shows as another sign"
            )
            yield Match(PUNCTUATION.id, match.start(), match.end(), reason)
        for match in _NAME.finditer(places.text, start, end):
            name = match.group()
            if name.isascii() or name in seen:
                continue
            if len(seen) >= _MOST:
                reading.unread.note(_TOO_MANY, reading.line_of(match.start()))
                continue
            seen.add(name)
            if by_look is None:
                by_look = {
                    skeleton(other): unicodedata.normalize("NFKC", other)
                    for other in sorted(others, key=lambda other: (other.isascii(), other))
                }
            yield from _judge(name, match.start(), places.language, by_look)


def _judge(name: str, start: int, language: str, by_look: dict[str, str]) -> Iterator[Match]:
    end = start + len(name)
    if (private := _PRIVATE.search(name)) is not None:
        shown = character_name(private.group())
        reason = f"{shown} in the name {name!r} is for private use: each font shows something else"
        yield Match(LOOKALIKE_NAME.id, start, end, reason, severity=Severity.MEDIUM)
        return
    name = INVISIBLE.sub("", name)
    look = skeleton(name)
    other = by_look.get(look, look if look in _KNOWN and language == "python" else name)
    plain = unicodedata.normalize("NFKC", name)
    if _styled(name, plain):
        yield Match(STYLED.id, start, end, f"{name!r} is {plain!r} in styled letters")
    elif (
        look.isascii()
        and any(_deceives(word) for word in _WORD.findall(name))
        and _readable(name, look, by_look)
    ):
        spelled = ", ".join(
            f"{character_name(char)} for {LOOKALIKE[ord(char)]}" for char in name if ord(char) in LOOKALIKE
        )
        reason = f"{name!r} passes for {look!r} ({spelled})"
        yield Match(LOOKALIKE_NAME.id, start, end, reason, severity=Severity.LOW if len(name) == 1 else None)
    elif other not in (name, plain) and len(look) >= 2:
        yield Match(COLLIDING.id, start, end, f"{name!r} looks like {other!r} and is another name")


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


def _script(char: str) -> str:
    """Return the first word of a letter's Unicode name, which is usually its script."""
    word = unicodedata.name(char, "").partition(" ")[0]
    return "" if word in _NO_SCRIPT else word


def _deceives(word: str) -> bool:
    """Return whether a word looks Latin but contains letters of another script."""
    foreign = [char for char in word if not char.isascii() and _script(char) not in ("LATIN", "")]
    if not foreign or any(ord(char) not in LOOKALIKE for char in foreign):
        return False
    latin = len(word) - len(foreign)
    return not (latin <= 2 and len(foreign) == 1 and foreign[0] in _GREEK_IN_SCIENCE)


def _readable(name: str, look: str, by_look: dict[str, str]) -> bool:
    """Return whether a lookalike of a Latin name is one, not a short word of another script."""
    if any(char.isascii() and char.isalpha() for char in name):
        return True
    return by_look.get(look, name) != name or look in _KNOWN or (len(look) >= 4 and look.lower() in COMMON)


def _punctuation(places: Places, start: int, end: int) -> Iterator[Match]:
    for index in range(start, end):
        char = places.text[index]
        if char.isascii():
            continue
        shown = LOOKALIKE_PUNCTUATION.get(ord(char)) or (None if char.isalnum() else _folded(char))
        if shown is not None and _between_code(places.text, index):
            yield Match(PUNCTUATION.id, index, index + 1, f"{character_name(char)} passes for {shown!r}")


def _folded(char: str) -> str | None:
    plain = unicodedata.normalize("NFKC", char)
    return (
        plain if len(plain) == 1 and plain.isascii() and plain.isprintable() and not plain.isspace() else None
    )


def _between_code(text: str, index: int) -> bool:
    """Return whether a character is surrounded by ASCII and so in code, not in a sentence as in JSX."""
    ignored = f" \t\r\n{text[index]}"
    before, after = (
        text[max(0, index - 20) : index].rstrip(ignored),
        text[index + 1 : index + 21].lstrip(ignored),
    )
    return (not before or before[-1].isascii()) and (not after or after[0].isascii())
