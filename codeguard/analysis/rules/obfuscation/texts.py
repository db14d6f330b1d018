"""Properties of texts: encoded, code, written in escapes, hidden far to the right."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise

from codeguard.corpus.patterns import lazy
from codeguard.corpus.secrets import entropy

LEAST_BLOB = 200
BASE64 = lazy(r"[A-Za-z0-9+/_-]{40,}={0,2}\Z")
LEAST_ENCODED, MOST_ENCODED = 24, 20_000  # characters
_ENCODED = lazy(r"[A-Za-z0-9+/_\s-]{24,}={0,2}\s?\Z")
_URL_SAFE = str.maketrans("+/", "-_")
_COMPRESSED = frozenset({b"x\x01", b"x\x5e", b"x\x9c", b"x\xda", b"\x1f\x8b"})  # zlib at each level, gzip
_ANY_HEADER = zlib.MAX_WBITS | 32
HEX = lazy(r"(?:[0-9a-fA-F]{2}){20,}\Z")
_CODE = lazy(
    r"(?:^|[\n;:{ (])(?:import\s+[\w.]+|from\s+[\w.]+\s+import\b|"
    r"def\s+\w+\s*\(|lambda\b[^:\n]{0,60}:|exec\s*\(|eval\s*\(|"
    r"__import__\s*\(|os\.(?:system|environ|popen)|subprocess\.|socket\.|require\s*\(|child_process|function\s*\w{0,30}\(|"
    r"print\s*\(|curl\s+-|wget\s+http|/bin/(?:ba)?sh)"
)
_ESCAPES = lazy(r"(?:\\x[2-7][0-9a-fA-F]|\\u00[2-7][0-9a-fA-F]|\\u\{[2-7][0-9a-fA-F]\}|\\1[0-7]{2}){6,}")
_ESCAPE = lazy(r"\\x(..)|\\u00(..)|\\u\{(..)\}|\\(1[0-7]{2})")
MAX_ESCAPES = 400


def is_blob(text: str) -> bool:
    """Return whether a text is long base64 or hexadecimal data, and not a repeated character."""
    sample = "".join(text[:4_000].split())
    if len(sample) < LEAST_BLOB:
        return False
    return (HEX.match(sample) is not None and entropy(sample) > 3.0) or (
        BASE64.match(sample) is not None and entropy(sample) > 4.5
    )


def reads_like_code(text: str) -> bool:
    """Return whether a text is a program, or names typical system operations."""
    return _CODE.search(text[:4_000]) is not None


def encoded_code(text: str) -> str:
    """Return the program that a text is, written in base64 or hexadecimal and perhaps compressed; "" if it is none."""
    text = text[:MOST_ENCODED]
    if len(text) < LEAST_ENCODED or _ENCODED.match(text) is None:
        return ""
    run = "".join(text.split())
    return next((found for found in (_decoded(run, bytes.fromhex), _decoded(run, _base64)) if found), "")


def _base64(run: str) -> bytes:
    whole = run.rstrip("=")
    return base64.urlsafe_b64decode(whole.translate(_URL_SAFE)[: len(whole) // 4 * 4 + 3] + "==")


def _decoded(run: str, decode: Callable[[str], bytes]) -> str:
    try:
        data = decode(run)
        if data[:2] in _COMPRESSED:
            data = zlib.decompressobj(_ANY_HEADER).decompress(data, MOST_ENCODED)
        text = data.decode("utf-8")
    except (ValueError, zlib.error):
        return ""
    return text if is_plain(text) and reads_like_code(text) else ""


def is_plain(text: str) -> bool:
    """Return whether a text consists of characters that can be typed."""
    sample = text[:400]
    return len(sample) >= 4 and sum(" " <= char <= "~" or char in "\n\t\r" for char in sample) >= 0.97 * len(
        sample
    )


def spelled(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and meaning of words written in escapes although they could be typed."""
    if text.count("\\x") + text.count("\\u") + text.count("\\1") < 6:
        return
    for match in _ESCAPES.finditer(text):
        codes = [
            int(part[3], 8) if part[3] else int(part[0] or part[1] or part[2], 16)
            for part in _ESCAPE.findall(match.group()[: MAX_ESCAPES * 6])
        ]
        word = "".join(map(chr, codes))
        letters = sum(char.isalpha() for char in word)
        if (
            is_plain(word)
            and letters >= 0.7 * len(word)
            and re.search(r"[a-z]{4}|[A-Z]{4}", word)
            and not _is_alphabet(word)
        ):
            yield match.start(), match.end(), word


def _is_alphabet(word: str) -> bool:
    """Return whether the characters are consecutive, as in tables of character sets."""
    steps = sum(ord(after) - ord(before) == 1 for before, after in pairwise(word))
    return 2 * steps > len(word)
