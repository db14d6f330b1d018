"""Write variants of a word in the same way, so that two spellings of one claim are no two claims.

A variant is near in letters and in meaning: "colour" and "color", "postgres" and "PostgreSQL".
Letters alone would join nitrate and nitrite, meaning alone any two names. An abbreviation is written
out where a text has the words whose initials it is.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

from codeguard.index.embedding import Embedding
from codeguard.text.tokens import WORD

BEGINNING = 3  # letters that variants have in common
SHORTEST = 5  # letters of a word that can be a variant
# Measured on MiniLM: variants from .82 on, other words as near in letters up to .74 (Anderson, Andersen).
SAME_MEANING = 0.8
SAME_LETTERS = 0.9  # minimum Jaro-Winkler similarity
MOST_WORDS = 2_000  # that are compared, the most frequent ones
MOST_ALIKE = 40  # of them with one beginning


@dataclass(frozen=True, slots=True)
class Spelling:
    """Replaces each variant of a word by the most frequent one."""

    written: Mapping[str, str]

    @classmethod
    def of(cls, texts: Sequence[str], embedding: Embedding) -> Spelling:
        """Learn the variants that occur in `texts`."""
        plain = [_plain(text) for text in texts]
        written = _abbreviations(plain)
        counts = Counter(match.group().lower() for text in plain for match in WORD.finditer(text))
        by_beginning: dict[str, list[str]] = defaultdict(list)
        for word, _ in counts.most_common(MOST_WORDS):
            if len(word) >= SHORTEST and word.isalpha():
                by_beginning[word[:BEGINNING]].append(word)
        near = _letter_similarity()
        alike = [
            pair
            for words in by_beginning.values()
            for pair in combinations(words[:MOST_ALIKE], 2)
            if near(*pair) >= SAME_LETTERS
        ]
        if alike:
            vocabulary = list(dict.fromkeys(word for pair in alike for word in pair))
            rows = dict(zip(vocabulary, embedding.embed(vocabulary), strict=True))
            for one, other in alike:
                if float(rows[one] @ rows[other]) >= SAME_MEANING:
                    common, rare = sorted((one, other), key=lambda word: (-counts[word], word))
                    written[rare] = written.get(common, common)
        return cls(written)

    def __call__(self, text: str) -> str:
        """Return a text without accents and with each word in its usual spelling."""
        return WORD.sub(lambda match: self.written.get(match.group().lower(), match.group()), _plain(text))


def _plain(text: str) -> str:
    """Return a text with compatible characters replaced by common ones and without accents."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _letter_similarity() -> Callable[[str, str], float]:
    from nltk.metrics.distance import jaro_winkler_similarity  # half a second: only when used

    return cast("Callable[[str, str], float]", jaro_winkler_similarity)


def _abbreviations(texts: Sequence[str]) -> dict[str, str]:
    """Return each word of two to six capitals with the capitalised words of which it has the initials."""
    found = [[match.group() for match in WORD.finditer(text)] for text in texts]
    short = {word for words in found for word in words if 2 <= len(word) <= 6 and word.isupper()}
    written = {}
    for words in found if short else ():
        for length in {len(word) for word in short}:
            for start in range(len(words) - length + 1):
                run = words[start : start + length]
                initials = "".join(word[0] for word in run)
                if initials in short and not any(word.isupper() for word in run):
                    written[initials.lower()] = " ".join(run).lower()
    return written
