"""Embeddings: texts to unit vectors, by MiniLM, or by words alone. Opened by name; which of them can be opened here.

Importing this package loads no model library: each is imported when an
embedding that needs it is opened.
"""

from __future__ import annotations

import hashlib
import keyword
import math
import re
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import EmbeddingError, MissingExtraError
from codeguard.extras import installation, requirement

Vectors = NDArray[np.float32]


@runtime_checkable
class Embedding(Protocol):
    """Turns texts into vectors whose dot product says how near they are.

    `identity` is what the index remembers, for example `lexical@2/dim512`. It changes whenever the vector of any
    text may: an index made under one identity refuses another. `dimension` is the length of a row. `note` is one
    line for the user where something better could be had, else empty.
    """

    @property
    def identity(self) -> str: ...  # noqa: D102

    @property
    def dimension(self) -> int: ...  # noqa: D102

    @property
    def note(self) -> str: ...  # noqa: D102

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension), every row of length 1.

        A text without content, the empty one too, gets a fixed unit row of
        its own, so that no row is ever zero.
        """
        ...


class EmbeddingInfo(NamedTuple):
    """One kind of embedding: its name, whether it can be used here, and where it was found or what to do."""

    name: str
    available: bool
    detail: str


def unit_rows(rows: NDArray[np.floating]) -> Vectors:
    """Scale rows to length 1 in float32; a zero row becomes the first basis vector."""
    result = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(result, axis=1, keepdims=True)
    zero = lengths[:, 0] == 0
    if zero.any():
        result = result.copy()
        result[zero] = 0
        result[zero, 0] = 1
        lengths[zero] = 1
    scaled: Vectors = result / lengths
    return scaled


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


__all__ = ["Embedding", "LexicalEmbedding", "available_embeddings", "open_embedding"]

DEFAULT = "static"  # what `auto` is for code
LOCAL = (DEFAULT, "minilm", "lexical")


def open_embedding(name: str = "auto", *, prose: bool = False) -> Embedding:
    """Return the embedding of that name; EmbeddingError where it is unknown or cannot be used.

    `auto` is `static`, which was trained on code. For `prose` it is `minilm`
    where its weights and tokenizers are found, else `lexical` with a note on
    how to get the other.
    """
    if name == "auto" and prose:
        try:
            return open_embedding("minilm")
        except (EmbeddingError, MissingExtraError) as error:
            return LexicalEmbedding(note=f"embedding by words alone: {error}")
    match DEFAULT if name == "auto" else name:  # no other one's libraries are imported
        case "static":
            from codeguard.index.embedding.static import StaticEmbedding

            return StaticEmbedding()
        case "minilm":
            from codeguard.index.embedding.minilm import MiniLMEmbedding

            return MiniLMEmbedding()
        case "lexical":
            return LexicalEmbedding()
    known = ", ".join(("auto", *LOCAL))
    raise EmbeddingError("unknown embedding", got=repr(name), expected=f"one of {known}")


def available_embeddings() -> tuple[EmbeddingInfo, ...]:
    """Return every kind of embedding, with where it was found or why it cannot be used.

    MiniLM's files are read and verified for it (90 MB); no model is started.
    """
    from codeguard.index.embedding.minilm import first_loaded

    try:
        minilm, detail = True, f"weights in {first_loaded().place}"
    except EmbeddingError as error:
        minilm, detail = False, str(error)
    if minilm and find_spec("tokenizers") is None:
        minilm, detail = False, f"{detail}, but tokenizers is missing; {installation(requirement('minilm'))}"
    return (
        EmbeddingInfo("static", True, "ours, trained on code; part of the package"),
        EmbeddingInfo("minilm", minilm, detail),
        EmbeddingInfo("lexical", True, "built in, needs no model"),
    )
