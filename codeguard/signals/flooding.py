"""Text made to fill the results of a search: near-duplicates in many files, and stuffed descriptions.

Duplicates alone accuse nobody, for honest code is copied and generated.
Medium are near-duplicates that somebody varied, each with a description of
its own: a generator has no reason to reword what it repeats.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from codeguard.models import Chunk, ChunkKind, Confidence, Severity
from codeguard.reading import Reading
from codeguard.reading.description import MAX_TEXT, Wording, descriptions, wording
from codeguard.reading.shingles import resemblance, sketch, words_of_code
from codeguard.signals.base import Context, Rule, Sighting

Stretch = tuple[int, int]  # of a function's text, the end exclusive
FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
PROSE = frozenset({"text", "markdown", "rst"})
LEAST_TOKENS = 16
LEAST_LIKENESS = 0.6
LEAST_FILES = 5
LEAST_DESCRIPTION = 4  # words that say something
LEAST_SHARED_TOPICS = 2
MAX_TOPICS = 40
MAX_FUNCTIONS = 200_000
PROBES = 8  # smallest hashes under which a function is looked for
MAX_BUCKET = 8
LEAST_PROBES_SHARED = 2

LEAST_WORDS = 22
MOST_DISTINCT = 0.3
LEAST_TOP = 0.4
STUFFED_TOP = 0.62
LEAST_QUESTIONS = 3

_STUFFED_BAD = '''
def reverse(text):
    """Reverse string, reverse a string, string reverse, reversing strings, reverse text string, python
    reverse string, reverse strings python, best reverse string, fast string reverse, easy reverse string,
    reverse the string, string reversing, reversed string, reverse string function, reverse my string."""
    return text
'''
_STUFFED_GOOD = '''
def reverse(text):
    """Return the text with its last character first."""
    return text[::-1]
'''
_REPEATED_BAD = '''
def total(rows):
    """Compute the total price."""
    result = 0
    for row in rows:
        if row.price > 0:
            result += row.price * row.count
    return result
'''


@dataclass(frozen=True, slots=True)
class _Known:
    """What is kept of a function: 24 hashes, where it is, and digests of what it says."""

    path: str
    start: int
    end: int
    text: bytes
    description: bytes
    topics: frozenset[int]
    sketch: tuple[int, ...]


class FloodingSignal:
    """Near-duplicates by bottom-k sketches of token runs, and descriptions that repeat themselves."""

    name: ClassVar[str] = "flooding"
    summary: ClassVar[str] = "near-duplicates in many files, descriptions stuffed with what people search for"
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "repeated",
            "near-duplicate of functions in several other files",
            Severity.LOW,
            Confidence.MEDIUM,
            "One function in many variants takes every place of a search's results. Verbatim and generated "
            "copies are low. Medium are variants in five files or more whose descriptions say the same in other words.",
            bad=_REPEATED_BAD,
            good=_STUFFED_GOOD,
            cwe=(1041,),
        ),
        Rule(
            "stuffed",
            "description repeats the words that people search for",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Word lists, paraphrases and questions in a docstring or comment bring code to the top of a search "
            "without saying anything of it. The words are counted on lines of prose, examples left out.",
            bad=_STUFFED_BAD,
            good=_STUFFED_GOOD,
            cwe=(1116,),
        ),
        Rule(
            "uncounted",
            "more functions, or more text of one, than is compared",
            Severity.MEDIUM,
            Confidence.HIGH,
            f"Memory and time are bounded: {MAX_FUNCTIONS:,} functions are compared, in the order they are read, "
            f"and {MAX_TEXT:,} characters of each are read for descriptions. Audit the rest by itself.",
        ),
    )

    def inspect_corpus(self, readings: Iterable[Reading], context: Context) -> Iterable[tuple[str, Sighting]]:
        """Yield stuffed descriptions as they are read, then the groups of near-duplicates."""
        index = _Index()
        for reading in readings:
            position = 0
            for chunk in reading.file.chunks:
                if len(chunk.text) > MAX_TEXT:
                    reason = f"descriptions are not looked for beyond {MAX_TEXT:,} characters of one function"
                    yield (
                        reading.file.path,
                        Sighting("uncounted", position + MAX_TEXT, position + MAX_TEXT, reason),
                    )
                if chunk.language not in PROSE:
                    places = list(descriptions(chunk.text))
                    yield from ((reading.file.path, found) for found in _stuffed(chunk, position, places))
                    if chunk.kind in FUNCTIONS and not index.add(reading.file.path, chunk, position, places):
                        reason = f"more than {MAX_FUNCTIONS} functions: near-duplicates from here on are not counted"
                        yield (
                            reading.file.path,
                            Sighting("uncounted", position, position + len(chunk.text), reason),
                        )
                        index.told = True
                position += len(chunk.text)
        yield from index.groups()


class _Index:
    """Functions in buckets by each of their smallest hashes; joined where their sketches are alike."""

    def __init__(self) -> None:
        self._known: list[_Known] = []
        self._group: list[int] = []
        self._buckets: dict[int, list[int]] = {}
        self.told = False

    def add(self, path: str, chunk: Chunk, position: int, places: Iterable[Stretch]) -> bool:
        """Take up a function; False the first time that there is no room."""
        words = words_of_code(chunk.text, chunk.language)
        if len(words) < LEAST_TOKENS:
            return True
        if len(self._known) >= MAX_FUNCTIONS:
            return self.told
        said = " ".join(chunk.text[start:end] for start, end in places)
        worded = wording(said) if said else None
        described = worded is not None and worded.words >= LEAST_DESCRIPTION
        stems = sorted(worded.stems)[:MAX_TOPICS] if worded is not None and described else []
        known = _Known(
            path,
            position,
            position + len(chunk.text),
            _digest(chunk.text),
            _digest(said) if described else b"",
            frozenset(zlib.crc32(stem.encode("utf-8", "surrogatepass")) for stem in stems),
            sketch(words),
        )
        self._join(known)
        return True

    def _join(self, known: _Known) -> None:
        number = len(self._known)
        self._known.append(known)
        self._group.append(number)
        met: list[int] = []
        for key in known.sketch[:PROBES]:
            bucket = self._buckets.setdefault(key, [])
            met += bucket
            if len(bucket) < MAX_BUCKET:
                bucket.append(number)
        for other, shared in Counter(met).items():
            if shared < LEAST_PROBES_SHARED or self._root(other) == self._root(number):
                continue
            if resemblance(known.sketch, self._known[other].sketch) >= LEAST_LIKENESS:
                self._group[self._root(number)] = self._root(other)

    def _root(self, number: int) -> int:
        while self._group[number] != number:
            self._group[number] = self._group[self._group[number]]
            number = self._group[number]
        return number

    def groups(self) -> Iterator[tuple[str, Sighting]]:
        """Yield a sighting for every member of a group that fills several files."""
        members: dict[int, list[_Known]] = {}
        for number, known in enumerate(self._known):
            members.setdefault(self._root(number), []).append(known)
        for group in members.values():
            files = len({known.path for known in group})
            if files < LEAST_FILES:
                continue
            texts = len({known.text for known in group})
            described = [known for known in group if known.description]
            wordings = len({known.description for known in described})
            wording_of = f", {wordings} descriptions" if wordings else ""
            reworded = (
                wordings >= LEAST_FILES and 2 * len(described) >= len(group) and 2 * wordings > len(described)
            )
            baited = reworded and _shared_topics(described) >= LEAST_SHARED_TOPICS
            for known in group:
                yield (
                    known.path,
                    Sighting(
                        "repeated",
                        known.start,
                        known.end,
                        f"one of {len(group)} near-duplicates in {files} files ({texts} texts{wording_of})",
                        severity=Severity.MEDIUM if baited else Severity.LOW,
                        measurements={"members": len(group), "files": files, "texts": texts},
                    ),
                )


def _shared_topics(described: list[_Known]) -> int:
    """Return how many words at least two thirds of the descriptions have in common."""
    counts = Counter(topic for known in described for topic in known.topics)
    return sum(3 * count >= 2 * len(described) for count in counts.values())


def _digest(text: str) -> bytes:
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).digest()[:12]


def _stuffed(chunk: Chunk, position: int, places: Iterable[Stretch]) -> Iterator[Sighting]:
    for start, end in places:
        if end - start < 90:
            continue
        found = wording(chunk.text[start:end])
        reason = _why(found)
        if reason:
            yield Sighting(
                "stuffed",
                position + start,
                position + end,
                reason,
                measurements={
                    "words": found.words,
                    "distinct": round(found.distinct, 2),
                    "questions": found.questions,
                },
            )


def _why(found: Wording) -> str:
    if found.questions >= LEAST_QUESTIONS:
        return f"a description that asks {found.questions} questions: wording for a search, not for a reader"
    repeats = found.distinct <= MOST_DISTINCT and found.top >= LEAST_TOP
    if found.words >= LEAST_WORDS and (repeats or found.top >= STUFFED_TOP) and found.distinct <= 0.5:
        shown = ", ".join(found.commonest)
        return f"{found.top:.0%} of the description's {found.words} words are {shown}"
    return ""


SIGNAL = FloodingSignal()
