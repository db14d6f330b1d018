"""Near-duplicates in many files."""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from codeguard.analysis import Reading
from codeguard.analysis.python.sketches import SKETCH, resemblance, sketch, words_of_code
from codeguard.analysis.rules.base import DetectorContext, Match, Rule, rules_of
from codeguard.analysis.rules.stuffing import MAX_TEXT, WORD, descriptions, wording
from codeguard.models import Chunk, ChunkKind, Confidence

Stretch = tuple[int, int]  # range of a function's text, the end exclusive
FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
PROSE = frozenset({"text", "markdown", "rst"})
LEAST_TOKENS = 16
LEAST_LIKENESS = 0.6
LEAST_FILES = 5
LEAST_FILES_OF_METHODS = 10
LEAST_DESCRIPTION = 4  # informative words
LEAST_SHARED_TOPICS = 2
SAME_WORDS = 0.75  # share of the bigrams of two descriptions that both have
MAX_PAIRS = 60
MAX_TOPICS = 40
MAX_FUNCTIONS = 200_000
PROBES = 8  # smallest hashes used to look up a function
MAX_BUCKET = 8
LEAST_PROBES_SHARED = 2
_TOO_LONG = f"descriptions are not looked for beyond {MAX_TEXT:,} characters of one function"
_TOO_MANY = f"more than {MAX_FUNCTIONS:,} functions: near-duplicates from here on are not counted"


@dataclass(frozen=True, slots=True)
class _Known:
    """The stored data of a function: its sketch, its position, and digests of its description."""

    path: str
    start: int
    end: int
    text: bytes
    description: bytes
    topics: frozenset[int]
    pairs: frozenset[int]  # bigrams of the description
    sketch: tuple[int, ...]
    method: bool


class FloodingSignal:
    """Finds near-duplicates by bottom-k sketches of tokens."""

    name: ClassVar[str] = "flooding"
    intent: ClassVar[bool] = True
    summary: ClassVar[str] = "near-duplicates in many files"
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = tuple(rules_of(__file__).values())

    def inspect_corpus(
        self, readings: Iterable[Reading], context: DetectorContext
    ) -> Iterable[tuple[str, Match]]:
        """Yield groups of near-duplicates when all files are read."""
        index = _Index()
        for reading in readings:
            position = 0
            for chunk in reading.file.chunks:
                if len(chunk.text) > MAX_TEXT:
                    reading.unread.note(_TOO_LONG, chunk.start_line)
                if chunk.language not in PROSE:
                    places = list(descriptions(chunk.text))
                    if chunk.kind in FUNCTIONS and not index.add(reading.file.path, chunk, position, places):
                        reading.unread.note(_TOO_MANY, chunk.start_line)
                        index.reported = True
                position += len(chunk.text)
        yield from index.groups()


class _Index:
    """Functions in buckets by each of their smallest hashes; those with similar sketches are grouped."""

    def __init__(self) -> None:
        self._known: list[_Known] = []
        self._group: list[int] = []
        self._buckets: dict[int, list[int]] = {}
        self.reported = False

    def add(self, path: str, chunk: Chunk, position: int, places: Iterable[Stretch]) -> bool:
        """Add a function; return False the first time that the index is full."""
        words = words_of_code(chunk.text, chunk.language)
        if len(words) < LEAST_TOKENS:
            return True
        if len(self._known) >= MAX_FUNCTIONS:
            return self.reported
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
            _pairs(said) if described else frozenset(),
            sketch(words),
            chunk.kind is ChunkKind.METHOD,
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

    def groups(self) -> Iterator[tuple[str, Match]]:
        """Yield a match for every member of a group that spans several files; the first represents the group."""
        members: dict[int, list[_Known]] = {}
        for number, known in enumerate(self._known):
            members.setdefault(self._root(number), []).append(known)
        for group in members.values():
            files = len({known.path for known in group})
            if files < LEAST_FILES:
                continue
            texts = len({known.text for known in group})
            if files < LEAST_FILES_OF_METHODS and 2 * sum(known.method for known in group) > len(group):
                described = []  # classes of one interface describe each method separately
            else:
                described = [known for known in group if known.description]
            wordings = len({known.description for known in described})
            wording_of = f", {wordings} descriptions" if wordings else ""
            reworded = (
                wordings >= LEAST_FILES and 2 * len(described) >= len(group) and 2 * wordings > len(described)
            )
            long = any(
                len(known.sketch) >= SKETCH for known in group
            )  # short functions agree by chance: `return x.y`
            other_words = reworded and not _same_words(described)
            baited = long and other_words and _shared_topics(described) >= LEAST_SHARED_TOPICS
            for number, known in enumerate(group):
                yield (
                    known.path,
                    Match(
                        "repeated",
                        known.start,
                        known.end,
                        f"one of {len(group)} near-duplicates in {files} files ({texts} texts{wording_of})",
                        confidence=Confidence.MEDIUM if baited and not number else Confidence.LOW,
                        measurements={"members": len(group), "files": files, "texts": texts},
                    ),
                )


def _shared_topics(described: list[_Known]) -> int:
    """Return the number of words that at least two thirds of the descriptions share."""
    counts = Counter(topic for known in described for topic in known.topics)
    return sum(3 * count >= 2 * len(described) for count in counts.values())


def _pairs(said: str) -> frozenset[int]:
    """Return the first bigrams of a description as numbers, which remain when only names change."""
    words = [
        found.group().lower() for found, _ in zip(WORD.finditer(said), range(MAX_PAIRS + 1), strict=False)
    ]
    joined = (" ".join(pair) for pair in pairwise(words))
    return frozenset(zlib.crc32(pair.encode("utf-8", "surrogatepass")) for pair in joined)


def _same_words(described: list[_Known]) -> bool:
    """Return whether the descriptions are one text with names replaced, as in generated code."""
    first = described[0].pairs
    alike = [len(known.pairs & first) >= SAME_WORDS * len(known.pairs | first) for known in described]
    return 3 * sum(alike) >= 2 * len(alike)


def _digest(text: str) -> bytes:
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).digest()[:12]


SIGNAL = FloodingSignal()
