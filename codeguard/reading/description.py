"""The natural language of a piece of code, and how it repeats itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from codeguard.reading.patterns import lazy

MAX_TEXT = 400_000
_DESCRIPTION = lazy(
    r'^[ \t]*+[rRuU]?(?:"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?+|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*+(?:\'\'\')?+)'
    r"|(?:^[ \t]*+(?:\#|//)[^\n]*+\n?)++"
    r"|^[ \t]*+/\*(?:[^*]|\*(?!/))*+(?:\*/)?+",
    re.MULTILINE | re.DOTALL,
)
_PROSE_LINE = lazy(r"[#/*\s\"'-]*+[^\W\d_][^\n=<>_{}\[\]|\\]*+\Z")
_CODE_LINE = lazy(
    r"(?:>>>|\.\.\.|Traceback|self\.|print\b|return\b|import\b)|\w\.\w+\(|;\s*$|://|\d\D+\d\D+\d"
)
_WORD = lazy(r"[^\W\d_]+")
_QUESTION = lazy(
    r"\b(?:how|what|why|where|when|which|who|can|does|do|is|are|need|looking|want)\b[^.!?\n]{4,150}\?",
    re.IGNORECASE,
)
_ORDINARY = """
a all an and any are as at be been but by can did do does for from function given has have he how i if in into is
it its may no not of on or out return returns so such than that the then they this to was we were what when where
which will with you your
"""
ORDINARY_WORDS = frozenset(_ORDINARY.split())


@dataclass(frozen=True, slots=True)
class Wording:
    """What a description's prose lines amount to.

    `words` counts words that say something. `distinct` and `top` are the
    parts of them, 0 to 1, that are different words and that are one of the
    three most frequent. `questions` counts questions that ask after the same
    thing: at least one telling word is common to all of them. `stems` are the
    words without their endings.
    """

    words: int
    distinct: float
    top: float
    questions: int
    commonest: tuple[str, ...]
    stems: frozenset[str]


def descriptions(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every docstring and comment block that stands on lines of its own."""
    for match in _DESCRIPTION.finditer(text[:MAX_TEXT]):
        yield match.start(), match.end()


@lru_cache(maxsize=8)  # a description is looked at by itself, and with the others of its function
def wording(description: str) -> Wording:
    """Return how a description is worded; lines of code and of examples in it do not count."""
    lines = [
        line
        for line in description[:MAX_TEXT].split("\n")
        if line.count(" ") > 1 and _PROSE_LINE.match(line) and not _CODE_LINE.search(line)
    ]
    prose = "\n".join(lines)
    said = [word for found in _WORD.findall(prose) if (word := found.lower()) not in ORDINARY_WORDS]
    counts = Counter(map(_stem, said))
    top = counts.most_common(3)
    total = max(1, len(said))
    return Wording(
        words=len(said),
        distinct=len(counts) / total,
        top=sum(count for _, count in top) / total,
        questions=_questions(prose),
        commonest=tuple(word for word, _ in top),
        stems=frozenset(counts),
    )


def _questions(prose: str) -> int:
    asked = {found.group().lower() for found in _QUESTION.finditer(prose)} if "?" in prose else set()
    topics = Counter(stem for question in asked for stem in _stems(question))
    return max(topics.values(), default=0)


def _stems(text: str) -> set[str]:
    found = (word.lower() for word in _WORD.findall(text))
    return {_stem(word) for word in found if len(word) > 3 and word not in ORDINARY_WORDS}


def _stem(word: str) -> str:
    if word[-1] in "gds":  # the endings' own last letters: most words have none of them
        for ending in ("ing", "ies", "ed", "es", "s"):
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                return word[: -len(ending)]
    return word
