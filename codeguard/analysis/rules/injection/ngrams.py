"""The wording of a text as n-grams of words and letters, each as an index."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache

from codeguard.corpus.patterns import lazy

BITS = 19  # bits of an index
LONGEST_WORD = 14  # letters used
LONGEST_RUN = 100  # ideographs of a run used
_SHORTEST = 4  # minimum letters of a word that is split
_LETTERS = range(3, 6)
_APART = (2, 3)  # distances between the words of a pair with a gap

_ADDRESS = lazy(r"https?://\S{1,300}|\b\d{1,3}(?:\.\d{1,3}){3}\S{0,300}|\b[\w.-]{1,64}@[\w-]{1,64}\.\w{1,64}")
_TOKEN = lazy(
    r"[a-zà-öø-ÿ]{1,64}(?:['’][a-z]{1,64})?|[^\W\d_a-z]{1,400}|\d+|[.!?:;,()<>\[\]{}`\"/=@#|*$%&_-]",
)
_WIDE = lazy("[\u0e00-\u0e7f\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")


def number(name: str) -> int:
    """Return the index of a named feature in the table of weights."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & ((1 << BITS) - 1)


def numbers(names: Iterable[str]) -> set[int]:
    """Return the indices of named features."""
    return set(map(number, names))


def grams(text: str) -> set[int]:
    """Return runs of one to three words, pairs with a gap, and parts of words, as indices."""
    words = tokens(text)
    found = numbers(runs(words))
    for word in set(words):
        found.update(_parts(word))
    return found


def tokens(text: str) -> list[str]:
    """Return words, numbers and marks in lower case; all URLs are one token."""
    return _TOKEN.findall(_ADDRESS.sub(" urlurl ", text.lower()))


def runs(words: list[str]) -> Iterator[str]:
    """Yield names of runs of words, and of pairs with a gap; all numbers are equal, and all ideographs."""
    edged = ["^", *map(_sort, words), "$"]
    for index, first in enumerate(edged):
        yield f"u{first}"
        yield f"b{' '.join(edged[index : index + 2])}"
        yield f"t{' '.join(edged[index : index + 3])}"
    plain = [word for word in edged if word[0].isalpha()]
    for apart in _APART:
        for first, second in zip(plain, plain[apart:], strict=False):
            yield f"s{first} {second}"


@lru_cache(maxsize=20_000)
def _parts(word: str) -> tuple[int, ...]:
    return tuple(numbers(parts(word)))


def parts(word: str) -> Iterator[str]:
    """Yield names of the parts of a word: runs of letters, or of up to three ideographs."""
    if _is_wide(word):
        run = word[:LONGEST_RUN]
        for length in (1, 2, 3):
            yield from (f"{length}{run[at : at + length]}" for at in range(len(run) - length + 1))
    elif len(word) >= _SHORTEST and word[0].isalpha():
        edged = f"<{word[:LONGEST_WORD]}>"
        for length in _LETTERS:
            yield from (f"c{edged[at : at + length]}" for at in range(len(edged) - length + 1))


def _sort(token: str) -> str:
    if token[0].isdigit():
        return "0"
    return "~" if _is_wide(token) else token


def _is_wide(word: str) -> bool:
    return word[0] >= "\u0e00" and _WIDE.match(word) is not None
