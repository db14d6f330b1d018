"""Lexical embedding: no model, no download, vectors from the words a text is made of.

Identifiers are split (`camelCase`, `snake_case`, digits) and lower-cased. A
word is the sum of random sign vectors, one for the word and one for each of
its character n-grams, so `factorial` and `factorials` are near each other. A
text is the sum of its words, dampened by how often they occur and by how
little they say. Inner products of sign vectors estimate the inner products
of the n-gram counts themselves (Achlioptas, "Database-friendly random
projections", 2003); the signs are the bits of BLAKE2b, the same on every
machine and in every process.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codeguard.embedding.base import Vectors, unit_rows
from codeguard.embedding.commonwords import COMMON_WORDS

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

    def __init__(self, dimension: int = DIMENSION, note: str = "") -> None:
        """Take the length of a row (a positive multiple of 8) and the note to carry."""
        if dimension <= 0 or dimension % 8:
            raise ValueError(f"dimension has to be a positive multiple of 8, got {dimension}")
        self.dimension = dimension
        self.identity = f"lexical@{VERSION}/dim{dimension}"
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
        """Return one row of +1 and -1 a feature, from as many digests as the dimension needs."""
        size = self.dimension // 8
        digests = bytearray()
        for feature in features:
            raw = feature.encode("utf-8", "surrogatepass")
            digest = b"".join(
                hashlib.blake2b(raw, digest_size=64, salt=part.to_bytes(2, "little")).digest()
                for part in range(-(-size // 64))
            )
            digests += digest[:size]
        bits = np.unpackbits(np.frombuffer(bytes(digests), dtype=np.uint8)).reshape(len(features), -1)
        signs: NDArray[np.float32] = bits.astype(np.float32) * np.float32(2) - np.float32(1)
        return signs
