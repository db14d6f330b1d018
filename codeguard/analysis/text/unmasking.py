"""Hidden text: encoded, invisible, disguised by lookalikes or by unusual spelling."""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
import unicodedata
import urllib.parse
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codeguard.corpus.confusables import BIDI_CLASS, INVISIBLE_CLASS, NEAR_LOOKALIKE
from codeguard.corpus.patterns import lazy

# Common English words of instructions, to distinguish language from noise and to split joined words.
COMMON = frozenset(tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))["common"].split())
_LONGEST = max(map(len, COMMON))
_PARTS = frozenset(word for word in COMMON if len(word) > 1 or word == "a")
_LONGEST_RUN = 200


def split_glued(text: str) -> str | None:
    """Split a text without spaces into the fewest common words; None if that is impossible."""
    text = text[:_LONGEST_RUN]
    if not text.isascii() or not text.isalpha():
        return None
    # For each end the number of words so far, and the start of the last one.
    best: list[tuple[int, int] | None] = [(0, 0)] + [None] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - _LONGEST), end):
            before = best[start]
            if before is not None and text[start:end] in _PARTS:
                current = best[end]
                if current is None or before[0] + 1 < current[0]:
                    best[end] = (before[0] + 1, start)
    words: list[str] = []
    end = len(text)
    while end:
        step = best[end]
        if step is None:
            return None
        words.append(text[step[1] : end])
        end = step[1]
    return " ".join(reversed(words))


LIMIT = 20_000  # characters of a text, and of an unpacked run

_WORDS = lazy(r"[^\W\d_]{2,}")


def _base64(run: str) -> bytes:
    run = "".join(run.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(run + "=" * (-len(run) % 4))


def _base32(run: str) -> bytes:
    run = re.sub(r"\s", "", run).rstrip("=")
    return base64.b32decode(run + "=" * (-len(run) % 8))


def _hexadecimal(run: str) -> bytes:
    if run.isalnum() and "x" not in run and "X" not in run:
        return bytes.fromhex(run)  # digests, of which lock files have thousands
    return bytes.fromhex(re.sub(r"0[xX]|\\x|[^0-9a-fA-F]", "", run))


def _escapes(run: str) -> bytes:
    def decode(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3] or match[4]
        value = int(digits, 8 if match[4] else 16)
        return chr(value) if value < 0x110000 else "\ufffd"

    return _ESCAPE.sub(decode, run).encode("utf-8", "replace")


_ESCAPE = lazy(r"\\(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{1,6})\}?|U([0-9a-fA-F]{8})|([0-3]?[0-7]{2}))")

_BACKSLASH, _DIGIT, _PERCENT = lazy(r"\\[xuU0-7]"), lazy(r"\d"), lazy("%[0-9a-fA-F]{2}")
_CAPITALS, _LONG = lazy("[A-Z2-7]{16}"), lazy("[A-Za-z0-9+/_-]{12}")
_ANY = lazy(r"[\\%\d]|[A-Za-z0-9+/_-]{12}")  # characters that any encoded text contains

# Name, characters required for a closer look, pattern of a run, decoder.
_CODECS: tuple[tuple[str, re.Pattern[str], re.Pattern[str], Callable[[str], bytes]], ...] = (
    ("escapes", _BACKSLASH, lazy(rf"(?:[ -\[\]-~]{{0,3}}{_ESCAPE.pattern}){{4,}}+[ -\[\]-~]{{0,80}}"), _escapes),
    ("hex", _DIGIT, lazy(r"(?<!\w)(?:(?:0[xX]|\\x)?[0-9a-fA-F]{2}[ ,:;-]{0,2}){8,}+"), _hexadecimal),
    ("binary", _DIGIT, lazy(r"(?<!\w)(?:[01]{8}[ ,]?){5,}+"),
     lambda run: bytes(int(bits, 2) for bits in re.findall(r"[01]{8}", run))),
    ("character codes", _DIGIT, lazy(r"(?<!\w)(?:1?\d\d[ ,;]{1,2}){8,}+\d{0,3}"),
     lambda run: bytes(int(number) for number in re.findall(r"\d+", run))),
    ("percent escapes", _PERCENT, lazy(r"(?:[\w.~+-]{0,12}%[0-9a-fA-F]{2}){3,}+[\w.~+-]{0,80}"),
     urllib.parse.unquote_to_bytes),
    ("base32", _CAPITALS, lazy(r"(?<![\w/+])[A-Z2-7]{16,}+={0,6}(?![\w/+=])"), _base32),
    ("base64", _LONG, lazy(r"(?<![\w/+])(?:[A-Za-z0-9+/_-]{12,}+\s{0,3}){1,200}={0,2}(?![\w/+=])"), _base64),
)  # fmt: skip


def decoded_runs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the codec and the text of every encoded run that decodes to readable text."""
    if _ANY.search(text) is None:
        return
    for name, needed, pattern, decode in _CODECS:
        if needed.search(text) is None:
            continue
        for match in pattern.finditer(text):
            if (found := _text(decode, match.group())) is not None:
                yield name, found


def _text(decode: Callable[[str], bytes], run: str) -> str | None:
    """Return the text that a run decodes to, also if it is compressed; None if it is not text."""
    try:
        data = decode(run)
        if data[:2] in (b"x\x9c", b"x\xda", b"x\x01"):
            data = zlib.decompressobj().decompress(data, LIMIT)
        text = data.decode("utf-8")
    except (ValueError, binascii.Error, zlib.error, OverflowError):
        return None
    return text if _is_text(text) else None


def _is_text(text: str) -> bool:
    """Return whether a text is words: printable, mostly letters and spaces, two words or eight letters."""
    if len(text) < 4:
        return False
    fine = sum(
        char.isalnum() or char.isspace() or char in ".,:;!?'\"()[]{}<>/_-=+*#&@%$|\\`" for char in text
    )
    letters = sum(char.isalpha() for char in text)
    if fine != len(text) or letters * 2 < len(text):
        return False
    return len(_WORDS.findall(text)) >= 2 or letters >= 8


DEPTH = 3
READINGS = 40
_TOO_LONG = f"hidden text was not looked for beyond {LIMIT:,} characters of one text"
_TOO_DEEP = f"an encoding inside {DEPTH} others was not decoded"
_TOO_MANY = f"more than {READINGS} readings of one text were not looked at"

_UNSEEN = f"[{INVISIBLE_CLASS}{BIDI_CLASS}]+"
INVISIBLE = lazy(_UNSEEN)
_WITHIN_WORD = lazy(f"(?<=[A-Za-z]){_UNSEEN}(?=[A-Za-z])")
_TAGS = lazy("[\U000e0020-\U000e007e]{2,}")
_SELECTORS = lazy("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_WORD = lazy(r"[^\W\d_]{2,}")
_LEET_WORD = lazy(r"(?<![\w@$])(?=[\w@$!|+]*[A-Za-z])(?=[\w@$!|+]*[0134578@$!|+])[\w@$!|+]{3,}")
_LEET_SIGN = lazy(r"[0134578@$!|+]")
_DIGITS = lazy(r"(?<!\w)[0134578]{3,}(?!\w)")
_LEET = str.maketrans("013457@$!|+8", "oieastasiltb")
_APART = r"[^\W\d_](?:(?P<gap>[ .\-_*·|~]| {2})[^\W\d_](?:(?P=gap)[^\W\d_]){2,})"
_SPACED = lazy(rf"(?<![^\W_]){_APART}(?:[^\w\s]*\s{{2,}}[^\W\d_](?:(?P=gap)[^\W\d_])*)*(?![^\W_])")
# I.g.n.o.r.e a.l.l: letters are not separated by spaces, so a single space separates words.
_DOTTED = lazy(
    r"(?<![^\W_])(?<![^\W_][.\-_*·|~])[^\W\d_](?P<gap>[.\-_*·|~])[^\W\d_](?:(?P=gap)[^\W\d_])+"
    r"(?:[^\w\s]*\s+[^\W\d_](?:(?P=gap)[^\W\d_])+)+(?![^\W_])"
)
_CAMEL = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM",
)
_ASCII_WORD = lazy(r"[a-z]{3,}")
_LONG_WORDS = sorted(word for word in COMMON if len(word) >= 4)
_ROT13_WORDS = frozenset(word.translate(_ROT13) for word in _LONG_WORDS) - COMMON
_REVERSED_WORDS = frozenset(word[::-1] for word in _LONG_WORDS) - COMMON
_RESPELLED = _ROT13_WORDS | _REVERSED_WORDS


@dataclass(frozen=True, slots=True)
class Unmasked:
    """One reading of a text; `masks` are the ways in which it was hidden, outermost first."""

    text: str
    masks: tuple[str, ...] = ()


def unmasked(
    text: str, depth: int = DEPTH, met: Callable[[str], None] = lambda what: None
) -> tuple[Unmasked, ...]:
    """Return the readings of a text without duplicates: first the visible text, then what it hides.

    `met` is called with a clause for every limit that prevented a reading.
    """
    if len(text) > LIMIT:
        met(_TOO_LONG)
        text = text[:LIMIT]
    shown, masks = _shown(text)
    readings = {shown: Unmasked(shown, masks)}
    for hidden in _hidden(text, shown, depth, met):
        if len(readings) >= READINGS:
            met(_TOO_MANY)
            break
        if hidden.text.strip():
            readings.setdefault(hidden.text, hidden)
    return tuple(readings.values())


def split_name(name: str) -> str:
    """Return an identifier as words: `ignore_allRules` becomes `ignore all Rules`."""
    words = " ".join(_CAMEL.findall(name))
    if len(name) >= 16 and " " not in words:
        return split_glued(name.lower()) or words
    return words


_MICRO = lazy("[\u00b5\u03bc](?=[smgAVFWHlLM]\\b)")  # of microseconds, and the like


def _shown(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without invisible characters and with lookalikes replaced."""
    if text.isascii():
        return text, ()
    masks: list[str] = []
    shown = _MICRO.sub("u", INVISIBLE.sub("", text))
    if len(_WITHIN_WORD.findall(text)) >= 2:
        masks.append("invisible characters")
    folded = unicodedata.normalize("NFKC", shown)
    signless = _SIGNS.sub("", shown)
    if _ascii_letters(unicodedata.normalize("NFKC", signless)) >= 3 + _ascii_letters(signless):
        masks.append("styled letters")
    latin, hides = _fold_lookalikes(folded)
    if latin != folded and hides:
        masks.append("lookalike letters")
    return latin, tuple(masks)


# Of ordinals, trade marks, numbers and units: signs that people write, not letters in a style.
_SIGNS = lazy("[\u00aa\u00ba\u2122\u2120\u2116\u2103\u2109\u3380-\u33dd]")


def _ascii_letters(text: str) -> int:
    return sum(char.isascii() and char.isalpha() for char in text)


def _fold_lookalikes(text: str) -> tuple[str, bool]:
    """Replace lookalikes in words that mix them with Latin letters, and in all of a mostly Latin text.

    The second value is whether that hides anything: in a text that is not mostly Latin a slip of the keyboard is usual.
    """
    mostly_latin = _ascii_letters(text) * 2 > sum(map(str.isalpha, text))
    long = 0  # words that were changed

    def fold(match: re.Match[str]) -> str:
        nonlocal long
        word = match.group()
        folded = word if word.isascii() else word.translate(NEAR_LOOKALIKE)
        if folded == word or not folded.isascii():
            return word
        mixed = any(char.isascii() for char in word) and any(_foreign(char) for char in word)
        if not mixed and not (mostly_latin and len(word) >= _LONG_WORD and folded.lower() in COMMON):
            return word
        long += len(folded) >= _LONG_WORD
        return folded

    latin = _WORD.sub(fold, text)
    return latin, mostly_latin or long >= _FEWEST_FOLDED


_LONG_WORD, _FEWEST_FOLDED = 4, 3


def _foreign(char: str) -> bool:
    return not char.isascii() and not unicodedata.name(char, "").startswith("LATIN")


def _hidden(text: str, shown: str, depth: int, met: Callable[[str], None]) -> Iterator[Unmasked]:
    if not text.isascii():
        for mask, found in _invisible_messages(text):
            yield from _nested(found, mask, depth, met)
    for mask, found in decoded_runs(shown):
        yield from _nested(found, mask, depth, met)
    if "&#" in shown:
        from html import unescape  # imported late, because it loads the table of all entities

        if (decoded := unescape(shown)) != shown:
            yield Unmasked(decoded, ("character references",))
    for mask, found in _respelled(shown):
        yield Unmasked(found, (mask,))


def _nested(text: str, mask: str, depth: int, met: Callable[[str], None]) -> Iterator[Unmasked]:
    if depth <= 1:
        if next(decoded_runs(text), None) is not None:
            met(_TOO_DEEP)
        yield Unmasked(text, (mask,) if mask else ())
        return
    for inner in unmasked(text, depth - 1, met):
        yield Unmasked(inner.text, (mask, *inner.masks) if mask else inner.masks)


def _invisible_messages(text: str) -> Iterator[tuple[str, str]]:
    for match in _TAGS.finditer(text):
        yield "tag characters", "".join(chr(ord(char) - 0xE0000) for char in match.group())
    for match in _SELECTORS.finditer(text):
        values = [ord(char) - (0xFE00 if char < "\uffff" else 0xE0100 - 16) for char in match.group()]
        yield "variation selectors", bytes(values).decode("utf-8", "replace")


def _respelled(text: str) -> Iterator[tuple[str, str]]:
    spaced = _SPACED.sub(
        _join_spaced, _DOTTED.sub(lambda run: " ".join(map(_letters, run.group().split())), text)
    )
    if spaced != text:
        yield "spaced letters", spaced
    leet = text
    if _LEET_SIGN.search(text):
        leet = _LEET_WORD.sub(lambda match: _unleet(match.group()), text)
    known = [sum(word in COMMON for word in _ASCII_WORD.findall(each.lower())) for each in (text, leet)]
    if known[1] - known[0] >= 2:  # common words that the respelling produced
        yield "digits for letters", _DIGITS.sub(lambda match: _unleet(match.group()), leet)
    words = _ASCII_WORD.findall(text.lower())
    if len(words) >= 3 and not _RESPELLED.isdisjoint(words):
        if _share(words, _ROT13_WORDS):
            yield "rot13", text.translate(_ROT13)
        if _share(words, _REVERSED_WORDS):
            yield "reversed text", text[::-1]


def _share(words: list[str], marked: frozenset[str]) -> bool:
    hits = sum(word in marked for word in words)
    return hits >= 2 and hits * 8 >= len(words) and hits > sum(word in COMMON for word in words)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def _join_spaced(match: re.Match[str]) -> str:
    """Join letters separated by spaces; wider gaps separate words, or else the vocabulary does."""
    parts = re.split(r"\s{2,}", match.group())
    joined = list(map(_letters, parts))
    if len(joined) == 1 and len(joined[0]) > 7:
        return split_glued(joined[0].lower()) or joined[0]
    return " ".join(joined)


def _unleet(word: str) -> str:
    """Replace digits and punctuation by letters; 1 becomes i, or l if that makes a common word."""
    lower = word.lower()
    plain = lower.translate(_LEET)
    if plain in COMMON or "1" not in lower:
        return plain
    other = lower.replace("1", "l").translate(_LEET)
    if other in COMMON:
        return other
    return plain.replace("ii", "ll")
