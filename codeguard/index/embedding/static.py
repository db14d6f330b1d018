"""Our own embedding: a vector for each piece of a word, learned from code and its documentation.

A text is the weighted mean of its pieces' vectors (static embeddings, as in
fastText and model2vec), so it costs microseconds where a transformer costs
milliseconds, and its file is part of the package. The vectors started as
those of all-MiniLM-L6-v2 and were trained to bring the first sentence of a
docstring, a comment or a message near the function that it stands in
(`experiments/embedding_training`), with other functions of the same package
as what they have to be told apart from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from codeguard.index.embedding import Vectors, unit_rows

VERSION = 1  # raise it whenever a vector changes
MODEL = "static.npz"
MOST_PIECES = 320  # of a text, as in training
MOST_LETTERS = 40  # of a word: a longer one is data
CACHED_WORDS = 1 << 16
CONTINUED = "##"  # begins a piece that does not begin a word
UNKNOWN = 1

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]|[^\sA-Za-z0-9_]")


class Pieces:
    """Cuts texts into numbered pieces of words; identifiers at case, underscore and digits, all in lower case."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take the pieces in the order of their numbers."""
        self._number = {piece: number for number, piece in enumerate(vocabulary)}
        self._longest = max(map(len, vocabulary))
        self._cache: dict[str, tuple[int, ...]] = {}

    def numbers(self, text: str, most: int = MOST_PIECES) -> list[int]:
        """Return the numbers of a text's first pieces."""
        numbers: list[int] = []
        for found in WORD.finditer(text):
            word = found[0][:MOST_LETTERS]
            known = self._cache.get(word)
            numbers += self._cut(word) if known is None else known
            if len(numbers) >= most:
                break
        return numbers[:most]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Return the numbers of the longest pieces that a word is made of, from its beginning on (WordPiece)."""
        numbers: list[int] = []
        rest, mark = word.lower(), ""
        while rest:
            lengths = range(min(len(rest), self._longest), 0, -1)
            length = next((n for n in lengths if mark + rest[:n] in self._number), 0)
            numbers.append(self._number[mark + rest[:length]] if length else UNKNOWN)
            rest, mark = rest[length or 1 :], CONTINUED
        if len(self._cache) >= CACHED_WORDS:
            self._cache = {}  # another thread may go on with the old one
        self._cache[word] = tuple(numbers)
        return tuple(numbers)


class StaticEmbedding:
    """Embeds texts by the pieces of their words: 256 dimensions, of the first 320 pieces.

    A piece weighs by where it stands first and by how often: e to the power
    of what was learned for each doubling of its place and of its number. A
    row depends on its text alone. Several threads may share an instance.
    """

    identity = f"static@{VERSION}"
    note = ""

    def __init__(self) -> None:
        """Read the vectors of the package."""
        with as_file(files("codeguard.index.embedding") / MODEL) as path, np.load(path) as model:
            self._vectors: NDArray[np.int8] = model["vectors"]
            self._scales: NDArray[np.float32] = model["scales"].astype(np.float32).ravel()
            self._of_place = _by_doublings(model["places"])
            self._of_count = _by_doublings(model["counts"])
            self._pieces = Pieces(model["vocabulary"].tobytes().decode().split("\n"))
        self.dimension = self._vectors.shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row a text; a text without a word has the first basis vector."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            numbers = np.array(self._pieces.numbers(text), dtype=np.int64)
            pieces, places, counts = np.unique(numbers, return_index=True, return_counts=True)
            weights = self._scales[pieces] * self._of_place[places] * self._of_count[counts - 1]
            row[:] = weights @ self._vectors[pieces].astype(np.float32)
        return unit_rows(rows)


def _by_doublings(logarithms: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a weight for each number from 1 to `MOST_PIECES`: one value from each power of two to the next."""
    powers = np.log2(np.arange(1, MOST_PIECES + 1)).astype(int)
    weights: NDArray[np.float32] = np.exp(logarithms[np.minimum(powers, len(logarithms) - 1)])
    return weights
