"""The reader that needs no model: sentences picked from the text, by embedding and by BM25."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from codeguard.index.embedding import Embedding
from codeguard.text.bm25 import bm25
from codeguard.text.reading import Reading
from codeguard.text.tokens import content_words, sentences

LEXICAL_SHARE = 0.3  # of a sentence's score; the rest is the embedding's
MAX_SENTENCES = 400  # of one text that are scored


class ExtractiveReader:
    """Answers with the sentence nearest to the query, summarises with the two nearest, in text order.

    With `answer_words` an answer to a single text is no whole sentence but
    the words in a row that add most to the question, as a small model would
    answer; FilterRAG wants that.
    """

    def __init__(
        self, embedding: Embedding, summary_sentences: int = 2, answer_words: int | None = None
    ) -> None:
        """Take the embedding that sentences and query are compared by, and how much to give."""
        self._embedding = embedding
        self._length = summary_sentences
        self._answer_words = answer_words

    def answer(self, query: str, texts: Sequence[str]) -> Reading:
        """Return the best sentence of all the texts; an error where they hold none."""
        return self._pick(query, [part for text in texts for part in sentences(text)], 1)

    def answer_each(self, query: str, texts: Sequence[str]) -> list[Reading]:
        """Return the best sentence of each text."""
        readings = [self._pick(query, sentences(text), 1) for text in texts]
        if self._answer_words is None:
            return readings
        return [replace(item, text=short_answer(query, item.text, self._answer_words)) for item in readings]

    def summarise_each(self, query: str, texts: Sequence[str]) -> list[Reading]:
        """Return the two best sentences of each text."""
        return [self._pick(query, sentences(text), self._length) for text in texts]

    def _pick(self, query: str, parts: Sequence[str], count: int) -> Reading:
        parts = _without_echoes(query, parts[:MAX_SENTENCES])
        if not parts:
            return Reading("", error="the text holds no sentence")
        chosen = np.argsort(-self.scores(query, parts), kind="stable")[:count]
        return Reading(" ".join(parts[index] for index in sorted(chosen.tolist())))

    def scores(self, query: str, parts: Sequence[str]) -> NDArray[np.float64]:
        """Return one score a sentence: cosine to the query, and BM25 scaled to at most 1."""
        rows = self._embedding.embed([query, *parts]).astype(np.float64)
        lexical = bm25(content_words(query), [content_words(part) for part in parts])
        highest = float(lexical.max()) or 1.0
        total: NDArray[np.float64] = (1 - LEXICAL_SHARE) * (rows[1:] @ rows[0]) + LEXICAL_SHARE * (
            lexical / highest
        )
        return total


def short_answer(query: str, sentence: str, size: int) -> str:
    """Return the `size` words in a row that add most to the question; numbers and names count double."""
    tokens = sentence.split()
    if len(tokens) <= size:
        return sentence
    asked = set(content_words(query))
    gain = []
    for place, token in enumerate(tokens):
        new = [word for word in content_words(token) if word not in asked]
        marked = any(char.isdigit() for char in token) or (place > 0 and token[:1].isupper())
        gain.append(len(new) * (2 if marked else 1))
    starts = range(len(tokens) - size + 1)
    best = max(starts, key=lambda start: (sum(gain[start : start + size]), -start))
    return " ".join(tokens[best : best + size])


def _without_echoes(query: str, parts: Sequence[str]) -> list[str]:
    """Leave out sentences that only repeat the question: nearest to it, and no answer."""
    asked = set(content_words(query))
    informative = [part for part in parts if set(content_words(part)) - asked]
    return informative or list(parts)
