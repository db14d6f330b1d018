"""BM25 over a handful of texts: how well each one's words answer a query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75  # Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009)


def bm25(query: Sequence[str], texts: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return one score a text, 0 or more; the words' rarity is taken from the texts themselves.

    `query` and every text are lists of words. The idf is the one that is
    never negative, log(1 + (N - n + 0.5) / (n + 0.5)).
    """
    count = len(texts)
    scores = np.zeros(count)
    if not count:
        return scores
    bags = [Counter(text) for text in texts]
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    mean = float(lengths.mean()) or 1.0
    damping = K1 * (1 - B + B * lengths / mean)
    for word in set(query):
        seen = np.array([bag[word] for bag in bags], dtype=np.float64)
        having = int(np.count_nonzero(seen))
        if having:
            idf = math.log(1 + (count - having + 0.5) / (having + 0.5))
            scores += idf * seen * (K1 + 1) / (seen + damping)
    return scores
