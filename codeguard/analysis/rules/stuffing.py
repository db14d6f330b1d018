"""Descriptions that repeat the words that people search for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Match, rules_of
from codeguard.corpus.patterns import lazy
from codeguard.models import Chunk

MAX_TEXT = 400_000
PROSE = frozenset({"text", "markdown", "rst"})
SHORTEST = 90  # characters of a description
LEAST_WORDS = 16
MOST_DISTINCT = 0.35  # of the words: two of 32,000 honest functions have a description below it
LEAST_QUESTIONS = 3
_OPENING = 4  # maximum length of the opening of a comment or a string
_DESCRIPTION = lazy(
    r'^[ \t]*+[rRuU]?(?:"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?+|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*+(?:\'\'\')?+)'
    r"|(?:^[ \t]*+(?:\#|//)[^\n]*+\n?)++"
    r"|^[ \t]*+/\*(?:[^*]|\*(?!/))*+(?:\*/)?+",
    re.MULTILINE | re.DOTALL,
)
_PROSE_LINE = lazy(r"[#/*\s\"'-]*+[^\W\d_][^\n=<>_{}\[\]|\\]*+\Z")
_CODE_LINE = lazy(
    r"(?:^\s*#(?:if|ifdef|ifndef|endif|else|elif|define|undef|include|pragma|error)\b|>>>|\.\.\.|^\s*[$%#] |Traceback|self\.|print\b|return\b|import\b)|\w\.\w+\(|;\s*$|://|\d\D+\d\D+\d"
)
_QUOTED_CODE = lazy(r"<<<<<<<<$|^/\* \"[\w/.-]{1,200}\":\d+$")
WORD = lazy(r"[^\W\d_]+")
_QUESTION = lazy(
    r"\b(?:how|what|why|where|when|which|who|can|does|do|is|are|need|looking|want)\b[^.!?\n]{4,150}\?",
    re.IGNORECASE,
)
_ORDINARY = """
a all an and any are as at be been but by can did do does for from function given has have he how i if in into is
it its may no not of on or out return returns so such than that the then they this to was we were what when where
which will with you your
"""
ORDINARYWORDS = frozenset(_ORDINARY.split())


@dataclass(frozen=True, slots=True)
class ProseStatistics:
    """Statistics of a description's prose.

    `words` counts informative words. `distinct` is the share of distinct ones, 0 to 1. `questions` counts questions
    with at least one informative word in common, `commonest` are the three most frequent words. `stems` are the words
    without their endings.
    """

    words: int
    distinct: float
    questions: int
    commonest: tuple[str, ...]
    stems: frozenset[str]


def descriptions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of every docstring and comment block on its own lines."""
    for match in _DESCRIPTION.finditer(text[:MAX_TEXT]):
        yield match.start(), match.end()


@lru_cache(maxsize=8)  # a description is examined alone, and together with the others of its function
def wording(description: str) -> ProseStatistics:
    """Return the statistics of a description, without its lines of code and examples."""
    all_lines = [line for line in description[:MAX_TEXT].split("\n") if line.strip("#/* \t")]
    lines = [
        line
        for line in all_lines
        if line.count(" ") > 1 and _PROSE_LINE.match(line) and not _CODE_LINE.search(line)
    ]
    if any(_QUOTED_CODE.search(line) for line in all_lines):
        lines = []  # source quoted by a code generator
    prose = "\n".join(lines)
    said = [word for found in WORD.findall(prose) if (word := found.lower()) not in ORDINARYWORDS]
    counts = Counter(map(_stem, said))
    return ProseStatistics(
        words=len(said),
        distinct=len(counts) / max(1, len(said)),
        questions=_questions(prose),
        commonest=tuple(word for word, _ in counts.most_common(3)),
        stems=frozenset(counts),
    )


def _questions(prose: str) -> int:
    asked = {found.group().lower() for found in _QUESTION.finditer(prose)} if "?" in prose else set()
    topics = Counter(stem for question in asked for stem in _stems(question))
    return max(topics.values(), default=0)


def _stems(text: str) -> set[str]:
    found = (word.lower() for word in WORD.findall(text))
    return {_stem(word) for word in found if len(word) > 3 and word not in ORDINARYWORDS}


def _stem(word: str) -> str:
    if word[-1] in "gds":  # the last letters of the endings, which most words do not have
        for ending in ("ing", "ies", "ed", "es", "s"):
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                return word[: -len(ending)]
    return word


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    """Yield the descriptions of a file that repeat themselves."""
    position = 0
    for chunk in reading.file.chunks:
        if chunk.language not in PROSE:
            for found in _stuffed(chunk, position):
                if _is_text(reading, found):
                    yield found
        position += len(chunk.text)


def _stuffed(chunk: Chunk, position: int) -> Iterator[Match]:
    for start, end in descriptions(chunk.text):
        if end - start < SHORTEST:
            continue
        found = wording(chunk.text[start:end])
        reason = _why(found)
        if reason:
            measured = {
                "words": found.words,
                "distinct": round(found.distinct, 2),
                "questions": found.questions,
            }
            yield Match("stuffed", position + start, position + end, reason, measurements=measured)


def _is_text(reading: Reading, found: Match) -> bool:
    """Return whether a description starts like one; quotes at the start of a line may also end a string."""
    inside = found.end - len(reading.text[found.start : found.end].lstrip()) + _OPENING
    return any(
        segment.start <= inside < segment.end
        for segment in reading.segments
        if segment.kind is not SegmentKind.IDENTIFIER
    )


def _why(found: ProseStatistics) -> str:
    if found.questions >= LEAST_QUESTIONS:
        return f"a description that asks {found.questions} questions: wording for a search, not for a reader"
    if found.words >= LEAST_WORDS and found.distinct <= MOST_DISTINCT:
        shown = ", ".join(found.commonest)
        return f"a description of {found.words} words says the same ones again and again: {shown}"
    return ""


SIGNAL = FileSignal(
    "stuffing",
    "descriptions stuffed with what people search for",
    tuple(rules_of(__file__).values()),
    _inspect,
    intent=True,
)
