"""Frames: what a text instructs its reader to do, by classes of words that occur together in a clause.

A table defines classes of words in several languages (actions, objects, places, conditions) and
frames that combine them. A frame matches a clause that contains a word of each of its classes,
unless the action is negated. A single frame is weak evidence ("leave formatting out of the
summary"), so frames have weights, which are added up over neighboring clauses.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from codeguard.corpus.patterns import lazy

ENOUGH = 3  # minimum total weight for a finding
_LONGEST_CLAUSE = 700  # characters
_NEAR = 3  # clauses before and after in which a frame may find its further classes
_TOGETHER = 6  # clauses whose weights are added
_MOST_KNOWN = 20_000  # words with cached entries
_GAP = 4  # maximum words for `…`
_REACH = 6  # words between a negation and what it negates
_WIDE_REACH = 14  # the same in characters, for languages without spaces

_TOKEN = lazy(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u4e00-\u9fff]+(?:['’][^\W_]+)?")
_ENTRY = lazy(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u4e00-\u9fff]+(?:['’][^\W_]+)?\*?|…")
# Characters of URLs, paths, options, constants, calls and emoji: every pattern of a table needs one.
_MARKS = lazy(r"[/\\~$@=#&`_({\[]|--|[A-Z]{3}|\d\.\d|\.[a-z]|[“「«\"]|[\U0001f000-\U0001faff]")
_WIDE = lazy(r"[\u3040-\u30ff\u4e00-\u9fff]")
_BREAK = lazy(
    r"(?<=[.!?;])[\s)*\"”]+|(?<=[。！？；])|\n\s*\n"
    r"|\n(?=[ \t]*(?:[-*+#>|\"}]|\d{1,3}[.)]|[A-Za-z][\w-]{0,30}\)?:\s|[\u2190-\u2bff\U0001f000-\U0001faff]))"
)
_LINE_ENDS = lazy(r"(?<!\\)\n")  # of code
_QUOTED = lazy(r"\"[^\"\n]{2,200}\"|“[^”]{2,200}”|„[^“”]{2,200}[“”]|«[^»]{2,200}»|「[^」]{2,100}」")
_INTRODUCES_BANS = lazy(r"[:：]\s*\Z")


@dataclass(frozen=True, slots=True)
class Frame:
    """A combination of classes: the rule it supports, its description, and the classes it needs."""

    rule: str
    kind: str  # frames of one kind are counted once
    what: str
    weight: int
    act: tuple[
        str, ...
    ]  # alternatives, one of which is in the clause and not negated (or negated, see below)
    all: tuple[str, ...]  # all in the clause; `a|b` is an alternative
    near: tuple[str, ...]  # all in the clause or a neighboring one
    unless: frozenset[str]  # none in the clause
    negated: bool
    code: bool  # also matched in code blocks


@dataclass(frozen=True, slots=True)
class FrameTable:
    """The frames and words of one file."""

    frames: tuple[Frame, ...]
    exact: Mapping[
        str, tuple[tuple[tuple[str, ...], str], ...]
    ]  # first word to the other words and the class
    prefixes: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    _known: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = field(default_factory=dict)

    def entries(self, word: str) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Return the entries that start with a word: the words that have to follow, and the class."""
        known = self._known.get(word)
        if known is None:
            known = self.exact.get(word, ())
            for length in range(1, len(word) + 1):
                known += self.prefixes.get(word[:length], ())
            if len(self._known) < _MOST_KNOWN:
                self._known[word] = known
        return known


class Block(NamedTuple):
    """A range of a section: prose, or code in it."""

    text: str
    start: int
    code: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The total of a section's clauses: its frames, the heaviest first, and where its clause starts."""

    frames: tuple[Frame, ...]
    start: int
    words: str


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    start: int
    code: bool
    places: Mapping[str, Sequence[int]]  # class to the indices of its words
    wide: bool

    def negated(self, place: int) -> bool:
        reach = _WIDE_REACH if self.wide else _REACH
        return any(place - reach <= at < place for at in self.places.get("not", ())) or any(
            abs(at - place) <= reach for at in self.places.get("not-after", ())
        )


@cache
def read_frames(path: Path) -> FrameTable:
    """Return the table in a TOML file: `[classes]` of words, `[patterns]`, and `[[frame]]` tables.

    Words are separated by commas; `*` is any ending, `…` a few words in between.
    """
    stored: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    exact: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    prefixes: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for name, words in stored["classes"].items():
        for entry in filter(None, (" ".join(part.split()) for part in words.split(","))):
            first, *rest = _ENTRY.findall(entry.lower())
            into = prefixes if first.endswith("*") else exact
            into[first.removesuffix("*")].append((tuple(rest), name))
    return FrameTable(
        tuple(
            Frame(
                row["rule"],
                row["kind"],
                row["what"],
                row["weight"],
                tuple(row["act"].split("|")),
                tuple(row.get("all", ())),
                tuple(row.get("near", ())),
                frozenset(row.get("unless", ())),
                row.get("negated", False),
                row.get("code", False),
            )
            for row in stored["frame"]
        ),
        {word: tuple(rest) for word, rest in exact.items()},
        {word: tuple(rest) for word, rest in prefixes.items()},
        tuple((name, lazy(pattern, re.IGNORECASE)) for name, pattern in stored["patterns"].items()),
    )


def frames_in(
    table: FrameTable, blocks: Sequence[Block], enough: int = ENOUGH, least: int = 1, together: int = ENOUGH
) -> Iterator[Found]:
    """Yield the instructions in a section, each rule once, if the weights of its frames are high enough.

    Frames of a smaller weight than `least` do not count, and several need `together`, unless one alone is enough.
    """
    clauses = [clause for block in blocks for clause in _clauses(table, block)]
    counted = [frame for frame in table.frames if frame.weight >= least]
    met = [_met(counted, clauses, index) for index in range(len(clauses))]
    said: set[str] = set()
    for index in range(len(clauses)):
        heaviest: dict[str, tuple[Frame, int]] = {}
        for at in range(index, min(index + _TOGETHER, len(clauses))):
            for frame in met[at]:
                if frame.kind not in heaviest or frame.weight > heaviest[frame.kind][0].weight:
                    heaviest[frame.kind] = (frame, at)
        ordered = sorted(heaviest.values(), key=lambda pair: -pair[0].weight)
        total = sum(frame.weight for frame, _ in ordered)
        if total < enough or (total < together and ordered[0][0].weight < ENOUGH):
            continue
        if ordered[0][0].rule not in said:
            said.add(ordered[0][0].rule)
            clause = clauses[ordered[0][1]]
            yield Found(tuple(frame for frame, _ in ordered), clause.start, " ".join(clause.text.split()))


def _clauses(table: FrameTable, block: Block) -> Iterator[_Clause]:
    at, banned = 0, False
    for end, after in [
        *(
            (found.start(), found.end())
            for found in (_LINE_ENDS if block.code else _BREAK).finditer(block.text)
        ),
        (len(block.text),) * 2,
    ]:
        for start in range(at, end, _LONGEST_CLAUSE):
            clause = _read(table, block, start, min(end, start + _LONGEST_CLAUSE))
            if not banned:
                yield clause
        text = block.text[at:end]
        if _INTRODUCES_BANS.search(text):
            banned = (
                "not" in _read(table, block, at, min(end, at + _LONGEST_CLAUSE)).places and len(text) < 80
            )
        elif "\n\n" in block.text[end:after]:
            banned = False
        at = after


def _read(table: FrameTable, block: Block, start: int, end: int) -> _Clause:
    """Return a clause with the classes of its words; quoted text is ignored."""
    text = block.text[start:end]
    places: dict[str, list[int]] = defaultdict(list)
    tokens = list(_TOKEN.finditer(_QUOTED.sub(lambda found: " " * len(found[0]), text)))
    words = [token[0].lower().replace("’", "'") for token in tokens]
    for index, word in enumerate(words):
        for rest, name in table.entries(word):
            if _follow(words, index + 1, rest):
                places[name].append(index)
    starts = [token.start() for token in tokens]
    for name, pattern in table.patterns if _MARKS.search(text) else ():
        places[name] += [bisect_left(starts, found.start()) for found in pattern.finditer(text)]
    return _Clause(
        text,
        block.start + start,
        block.code,
        {name: at for name, at in places.items() if at},
        _WIDE.search(text) is not None,
    )


def _follow(words: Sequence[str], at: int, rest: Sequence[str]) -> bool:
    """Return whether the words from an index on match an entry."""
    for number, wanted in enumerate(rest):
        if wanted == "…":
            return any(_follow(words, at + skipped, rest[number + 1 :]) for skipped in range(_GAP + 1))
        if at >= len(words):
            return False
        if not (words[at].startswith(wanted[:-1]) if wanted.endswith("*") else words[at] == wanted):
            return False
        at += 1
    return True


def _met(frames: Sequence[Frame], clauses: Sequence[_Clause], index: int) -> list[Frame]:
    clause = clauses[index]
    if not clause.places or "defence" in clause.places:
        return []
    beside = clauses[max(0, index - _NEAR) : index + _NEAR + 1]
    return [
        frame
        for frame in frames
        if (frame.code or not clause.code)
        and any(
            clause.negated(place) is frame.negated
            for name in frame.act
            for place in clause.places.get(name, ())
        )
        and all(_has(clause, name) for name in frame.all)
        and all(any(_has(one, name) for one in beside) for name in frame.near)
        and frame.unless.isdisjoint(clause.places)
    ]


def _has(clause: _Clause, names: str) -> bool:
    return any(name in clause.places for name in names.split("|"))
