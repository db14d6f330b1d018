"""Runs of encoded text, read where the result is text."""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
import zlib
from collections.abc import Callable, Iterator

from codeguard.reading.patterns import lazy

RUNS = 200  # looked at in one text
RUN_LENGTH = 20_000  # characters of one run
TOO_MANY_RUNS = f"more than {RUNS} encoded runs of one text were not decoded"
RUN_TOO_LONG = f"encoded runs were not decoded beyond {RUN_LENGTH:,} characters"

_WORDS = lazy(r"[^\W\d_]{2,}")


def _base64(run: str) -> bytes:
    run = re.sub(r"\s", "", run).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(run + "=" * (-len(run) % 4))


def _base32(run: str) -> bytes:
    run = re.sub(r"\s", "", run).rstrip("=")
    return base64.b32decode(run + "=" * (-len(run) % 8))


def _hexadecimal(run: str) -> bytes:
    return bytes.fromhex(re.sub(r"0[xX]|\\x|[^0-9a-fA-F]", "", run))


def _escapes(run: str) -> bytes:
    def decode(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3] or match[4]
        value = int(digits, 8 if match[4] else 16)
        return chr(value) if value < 0x110000 else "\ufffd"

    return _ESCAPE.sub(decode, run).encode("utf-8", "replace")


def _decimal(run: str) -> bytes:
    return bytes(int(number) for number in re.findall(r"\d+", run))


def _binary(run: str) -> bytes:
    return bytes(int(bits, 2) for bits in re.findall(r"[01]{8}", run))


def _percent(run: str) -> bytes:
    return urllib.parse.unquote_to_bytes(run)


_ESCAPE = lazy(r"\\(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{1,6})\}?|U([0-9a-fA-F]{8})|([0-3]?[0-7]{2}))")

_BACKSLASH, _DIGIT, _PERCENT = lazy(r"\\[xuU0-7]"), lazy(r"\d"), lazy("%[0-9a-fA-F]{2}")
_CAPITALS, _LONG = lazy("[A-Z2-7]{16}"), lazy("[A-Za-z0-9+/_-]{12}")
_ANY = lazy(r"[\\%\d]|[A-Za-z0-9+/_-]{12}")  # what a text must hold for any of them

# Name, what a text must hold for a closer look, what a run looks like, how it is read.
_CODECS: tuple[tuple[str, re.Pattern[str], re.Pattern[str], Callable[[str], bytes]], ...] = (
    ("escapes", _BACKSLASH, lazy(rf"(?:[ -\[\]-~]{{0,3}}{_ESCAPE.pattern}){{4,}}+[ -\[\]-~]{{0,80}}"), _escapes),
    ("hex", _DIGIT, lazy(r"(?<!\w)(?:(?:0[xX]|\\x)?[0-9a-fA-F]{2}[ ,:;-]{0,2}){8,}+"), _hexadecimal),
    ("binary", _DIGIT, lazy(r"(?<!\w)(?:[01]{8}[ ,]?){5,}+"), _binary),
    ("character codes", _DIGIT, lazy(r"(?<!\w)(?:1?\d\d[ ,;]{1,2}){8,}+\d{0,3}"), _decimal),
    ("percent escapes", _PERCENT, lazy(r"(?:[\w.~+-]{0,12}%[0-9a-fA-F]{2}){3,}+[\w.~+-]{0,80}"), _percent),
    ("base32", _CAPITALS, lazy(r"(?<![\w/+])[A-Z2-7]{16,}+={0,6}(?![\w/+=])"), _base32),
    ("base64", _LONG, lazy(r"(?<![\w/+])(?:[A-Za-z0-9+/_-]{12,}+\s{0,3}){1,200}={0,2}(?![\w/+=])"), _base64),
)  # fmt: skip


def decoded_runs(text: str, met: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """Yield the codec and the text of every encoded run that reads as text; `met` is told of bounds that are met."""
    if _ANY.search(text) is None:
        return
    looked = 0
    for name, needed, pattern, decode in _CODECS:
        if needed.search(text) is None:
            continue
        for match in pattern.finditer(text):
            looked += 1
            if looked > RUNS:
                met(TOO_MANY_RUNS)
                return
            run = match.group()
            if len(run) > RUN_LENGTH:
                met(RUN_TOO_LONG)
            found = _text(decode, run[:RUN_LENGTH])
            if found is not None:
                yield name, found


def _text(decode: Callable[[str], bytes], run: str) -> str | None:
    """Return what a run decodes to if that is text, compressed or not."""
    try:
        data = decode(run)
        if data[:2] in (b"x\x9c", b"x\xda", b"x\x01"):
            data = zlib.decompressobj().decompress(data, RUN_LENGTH)
        text = data.decode("utf-8")
    except (ValueError, binascii.Error, zlib.error, OverflowError):
        return None
    return text if _is_text(text) else None


def _is_text(text: str) -> bool:
    """Tell words from noise: printable, mostly letters and spaces, at least two words or eight letters."""
    if len(text) < 4:
        return False
    fine = sum(
        char.isalnum() or char.isspace() or char in ".,:;!?'\"()[]{}<>/_-=+*#&@%$|\\`" for char in text
    )
    letters = sum(char.isalpha() for char in text)
    if fine != len(text) or letters * 2 < len(text):
        return False
    return len(_WORDS.findall(text)) >= 2 or letters >= 8
