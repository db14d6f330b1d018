"""Split text into words and sentences; sentences by nltk's Punkt with a fixed list of abbreviations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

from codeguard.corpus.patterns import stored

MAX_CHARACTERS = 200_000  # of each document, the rest is not read
MAX_SENTENCE = 600  # characters; a longer sentence is cut at a space

TABLE = stored(Path(__file__).with_suffix(".toml"))
_SHORT_WORDS = frozenset(TABLE["short"].split())
WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")


@cache
def _splitter() -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer  # half a second: only when used

    parameters = PunktParameters()
    parameters.abbrev_types = set(TABLE["abbreviations"].split())
    return PunktSentenceTokenizer(parameters)


def sentences(text: str) -> list[str]:
    """Return the non-empty sentences of a text, in order; a line break ends a sentence."""
    found: list[str] = []
    for line in text[:MAX_CHARACTERS].splitlines():
        for sentence in _splitter().tokenize(line.strip()) if line.strip() else ():
            found += _bounded(sentence.strip())
    return found


def words(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case, without punctuation.

    >>> words("Who's the CEO of OpenAI? (2023)")
    ["who's", 'the', 'ceo', 'of', 'openai', '2023']
    """
    return [match.group().lower().replace("’", "'") for match in WORD.finditer(text[:MAX_CHARACTERS])]


def content_words(text: str) -> list[str]:
    """Return `words` without articles, pronouns, auxiliaries and question words."""
    return [word for word in words(text) if word not in _SHORT_WORDS]


def longest_echo(query: Sequence[str], text: Sequence[str]) -> float:
    """Return the longest run of the question's words that occurs in the text, as a share of the question."""
    longest = SequenceMatcher(None, query, text, autojunk=False).find_longest_match()
    return longest.size / max(1, len(query))


def without_accents(text: str) -> str:
    """Return a text with compatible characters replaced by common ones and without accents."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _bounded(sentence: str) -> list[str]:
    """Cut an overlong sentence at spaces."""
    parts = []
    while len(sentence) > MAX_SENTENCE:
        cut = sentence.rfind(" ", 1, MAX_SENTENCE)
        cut = cut if cut > 0 else MAX_SENTENCE
        parts.append(sentence[:cut].strip())
        sentence = sentence[cut:].strip()
    return [part for part in [*parts, sentence] if part]
