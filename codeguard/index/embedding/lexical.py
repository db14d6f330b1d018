"""Words that say little about what code is for: Python's own, and English function words."""

from __future__ import annotations

import hashlib
import keyword
import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codeguard.index.embedding.base import Vectors, unit_rows

_PYTHON = """
    args bool bytes dict float getattr hasattr int isinstance kwargs len list name obj object print
    range self cls set str super tuple type value
"""

_ENGLISH = """
    a all also an and any are as at be been but by can could did do does done each else for from
    given had has have he her his how if in into is it its just like make may me more must my need
    no nor not of on one only or other our same shall she should so some such than that the their
    them then there these they this those to too two up us use used uses using very was way we were
    what when where whether which while who why will with would you your
"""

_OTHER_LANGUAGES = (
    "case catch const default do end func function let new null static switch then this var void"
)

COMMON_WORDS = frozenset(
    word.lower() for word in [*keyword.kwlist, *_PYTHON.split(), *_ENGLISH.split(), *_OTHER_LANGUAGES.split()]
)


VERSION = 2  # raise it whenever a vector changes
DIMENSION = 512
NGRAM_SIZES = (3, 4, 5)
WORD_SHARE = 0.7  # weight of the whole word against one of its n-grams
COMMON_WEIGHT = 0.4  # keywords and stop words
SHORT_WEIGHT = 0.4  # words of one or two characters: loop variables, articles
MAX_WORD = 40  # characters of a word that n-grams are taken from: a blob is one word
CACHED_WORDS = 16_384  # 2 KiB each

_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def split_words(text: str) -> list[str]:
    """Return the lower-case words of a text, identifiers split at case, underscore and digits.

    >>> split_words("parseHTTPResponse(raw_bytes2)")
    ['parse', 'http', 'response', 'raw', 'bytes', '2']
    """
    words: list[str] = []
    for token in _TOKEN.findall(text):
        lower = token.lower()
        if lower == token or not token.isascii():
            words.append(lower)
        else:
            words.extend(part.lower() for part in _CAMEL.findall(token))
    return words


def word_weight(word: str) -> float:
    """Return how much a word says, 0.4 to 1: a stateless stand-in for inverse document frequency."""
    if word in COMMON_WORDS:
        return COMMON_WEIGHT
    if len(word) <= 2:
        return SHORT_WEIGHT
    return min(1.0, 0.7 + 0.02 * (len(word) - 2))


class LexicalEmbedding:
    """Embeds texts by their words and the character n-grams of those.

    A row depends on its text alone, never on the texts beside it. Several
    threads may share an instance.
    """

    dimension = DIMENSION
    identity = f"lexical@{VERSION}/dim{DIMENSION}"

    def __init__(self, note: str = "") -> None:
        """Take the note to carry."""
        self.note = note
        self._cache: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row a text; a text without a word gets the row of the empty word."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            counts = Counter(split_words(text)) or {"": 1}
            vectors = np.stack([self._vector(word) for word in counts])
            row[:] = np.sqrt(np.fromiter(counts.values(), dtype=np.float32, count=len(counts))) @ vectors
        return unit_rows(rows)

    def _vector(self, word: str) -> NDArray[np.float32]:
        vector = self._cache.get(word)
        if vector is None:
            if len(self._cache) >= CACHED_WORDS:
                self._cache = {}
            vector = self._cache[word] = self._project(word)
        return vector

    def _project(self, word: str) -> NDArray[np.float32]:
        marked = f"<{word[:MAX_WORD]}>"
        grams = [
            marked[start : start + size]
            for size in NGRAM_SIZES
            if size < len(marked)
            for start in range(len(marked) - size + 1)
        ]
        signs = self._signs([f"={word}", *grams])
        weights = np.ones(len(signs), dtype=np.float32)
        weights[0] = WORD_SHARE
        weights *= word_weight(word) / math.sqrt(float(weights @ weights) * self.dimension)
        return weights @ signs

    def _signs(self, features: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of +1 and -1 a feature: the bits of its digest."""
        digests = b"".join(
            hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=DIMENSION // 8).digest()
            for feature in features
        )
        bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8)).reshape(len(features), -1)
        signs: NDArray[np.float32] = bits.astype(np.float32) * np.float32(2) - np.float32(1)
        return signs
