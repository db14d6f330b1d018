"""Descriptions that repeat the words that people search for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.rules.base import DetectorContext, Match, signal_of
from codeguard.corpus.patterns import lazy

_LONGEST = 400_000  # characters
_SHORTEST = 90  # characters of a description
_LEAST_WORDS = 16
_MOST_DISTINCT = 0.35  # of the words: two of 32,000 honest functions have a description below it
_LEAST_QUESTIONS = 3
_PROSE_LINE = lazy(r"[#/*\s\"'-]*+[^\W\d_][^\n=<>_{}\[\]|\\]*+\Z")
_CODE_LINE = lazy(
    r"(?:^\s*#(?:if|ifdef|ifndef|endif|else|elif|define|undef|include|pragma|error)\b|>>>|\.\.\.|^\s*[$%#] |Traceback|self\.|print\b|return\b|import\b)|\w\.\w+\(|;\s*$|://|\d\D+\d\D+\d"
)
_QUOTED_CODE = lazy(r"<<<<<<<<$|^/\* \"[\w/.-]{1,200}\":\d+$")
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
_ORDINARY_WORDS = frozenset(_ORDINARY.split())


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    for segment in reading.segments:
        described = segment.kind in (SegmentKind.COMMENT, SegmentKind.DOCSTRING)
        if described and segment.end - segment.start >= _SHORTEST:
            prose = _prose(segment.text)
            words = [low for word in _WORD.findall(prose) if (low := word.lower()) not in _ORDINARY_WORDS]
            counts = Counter(map(_stem, words))
            distinct, questions = len(counts) / max(1, len(words)), _questions(prose)
            if questions >= _LEAST_QUESTIONS:
                what = f"that asks {questions} questions: wording for a search, not for a reader"
            elif len(words) >= _LEAST_WORDS and distinct <= _MOST_DISTINCT:
                shown = ", ".join(word for word, _ in counts.most_common(3))
                what = f"of {len(words)} words says the same ones again and again: {shown}"
            else:
                continue
            measured = {"words": len(words), "distinct": round(distinct, 2), "questions": questions}
            yield Match("stuffed", segment.start, segment.end, f"a description {what}", measurements=measured)


def _prose(description: str) -> str:
    lines = [line for line in description[:_LONGEST].split("\n") if line.strip("#/* \t")]
    if any(_QUOTED_CODE.search(line) for line in lines):
        return ""  # source quoted by a code generator
    return "\n".join(
        line
        for line in lines
        if line.count(" ") > 1 and _PROSE_LINE.match(line) and not _CODE_LINE.search(line)
    )


def _questions(prose: str) -> int:
    """Return how many different questions have one informative word in common."""
    asked = {found.group().lower() for found in _QUESTION.finditer(prose)} if "?" in prose else set()
    topics = Counter(
        stem
        for question in asked
        for stem in {
            _stem(word) for word in _WORD.findall(question) if len(word) > 3 and word not in _ORDINARY_WORDS
        }
    )
    return max(topics.values(), default=0)


def _stem(word: str) -> str:
    if word[-1] in "gds":  # the last letters of the endings, which most words do not have
        for ending in ("ing", "ies", "ed", "es", "s"):
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                return word[: -len(ending)]
    return word


SIGNAL = signal_of(__file__, "descriptions stuffed with what people search for", _inspect, intent=True)
