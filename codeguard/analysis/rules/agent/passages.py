"""Passages of a text for agents (list items, table rows, lines of code, sentences), and which of them seem harmful.

A linear model weighs how a passage is worded. `experiments/audit_training/train_passages.py` makes `passages.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import islice
from typing import NamedTuple

from codeguard.analysis.rules.injection.features import text_features, tokens_of
from codeguard.analysis.rules.injection.model import by_chance, unpacked, weighed
from codeguard.analysis.rules.injection.ngrams import BITS, grams
from codeguard.corpus.patterns import lazy

FILE = "passages.json"
# Hosts without a scheme: which one is named says less than that one is.
_HOST = lazy(
    r"(?<![\w@/.-])(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|app|co|ai|xyz|info|cloud|site|online|top|ru|cn|de|eu|uk"
    r"|example|invalid|test|localhost)\b(?!\.?\w)(?::\d{1,5})?(?:/[^\s`\"')]{0,300})?",
    re.IGNORECASE,
)

LONGEST = 280  # characters of a passage that is not split
USUAL = 10  # passages of a short text for agents
_MOST = 1_000  # passages of a text that are weighed
_LINE = lazy(r"[^\n]*(?:\n|\Z)")
_FENCE = lazy(r"[ \t]{0,12}(?:```|~~~)")
_BEGINS = lazy(r"[ \t]{0,40}(?:[-*+>|]|#{1,6}[ \t]|\d{1,3}[.)]\s|<!--|---|//|[\w-]{1,30}:[ \t])")
_MARKS = lazy(r"\A[\s>|#*+-]{0,60}(?:\d{1,3}[.)]\s{1,9})?(?:\[[ xX]\]\s{1,9})?")
_SENTENCE = lazy(r"(?<=[.!?])[\"')*_`]{0,3}\s+|(?<=[。！？])")
_HEADING = lazy(r"[ \t]{0,3}#{1,6}[ \t]|(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__):?\s*$")


class Passage(NamedTuple):
    """A passage by its character offsets; `heading` is the last one before it."""

    start: int
    end: int
    text: str
    heading: str


def passages_of(text: str) -> Iterator[Passage]:
    """Yield the passages of a text in their order; those of a long paragraph overlap."""
    heading = ""
    for start, end in _blocks(text):
        block = text[start:end]
        if _HEADING.match(block):
            heading = _plain(block)
        yield from _parts(text, start, end, heading)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of paragraphs, list items, table rows and lines of code."""
    start, fenced, titled = 0, False, False
    for match in _LINE.finditer(text):
        line = match[0]
        at = match.start()
        fence = _FENCE.match(line) is not None
        blank = not line.strip()
        if start < at and (fence or blank or fenced or titled or _BEGINS.match(line)):
            yield start, at
            start = at
        if fence or blank:
            start = match.end()
        fenced ^= fence
        titled = _HEADING.match(line) is not None
    if start < len(text):
        yield start, len(text)


def _parts(text: str, start: int, end: int, heading: str) -> Iterator[Passage]:
    """Yield a short block whole, and the sentences of a long one in the longest runs that are short enough."""
    cuts = [start, end]
    if end - start > LONGEST:
        cuts = [start, *(match.end() for match in _SENTENCE.finditer(text, start, end)), end]
    reached = 0
    for first in range(len(cuts) - 1):
        last = max(first + 1, reached)
        while last + 1 < len(cuts) and cuts[last + 1] - cuts[first] <= LONGEST:
            last += 1
        if last > reached:
            yield from _passage(text, cuts[first], cuts[last], heading)
            reached = last


def _passage(text: str, start: int, end: int, heading: str) -> Iterator[Passage]:
    said = _plain(text[start : min(end, start + 2 * LONGEST)])
    if any(letter.isalpha() for letter in said):
        yield Passage(start, end, said, heading)


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text, count=1).split())


def described(passage: str) -> tuple[set[str], set[int]]:
    """Return the features of a passage: what it says, by names, and how it is worded, by numbers."""
    plain = _HOST.sub("https://host", passage)
    return text_features(plain, tokens_of(plain)), grams(plain)


@dataclass(frozen=True, slots=True)
class PassageModel:
    """Weights of features by index, in steps.

    `limit` is the score that counts as harmful in a text of at most `USUAL` passages. Longer texts need more by
    `slope`, since the highest of many scores is higher.
    """

    weights: memoryview
    bias: float
    step: float
    limit: float
    slope: float

    def score(self, passage: str) -> float:
        """Return how harmful a passage seems; the sum over its features does not grow with its length."""
        return self.bias + weighed(self.weights, self.step, *described(passage))


def read_model(text: str) -> PassageModel:
    """Return the model in a JSON text."""
    stored = json.loads(text)
    named = {name: stored[name] for name in ("bias", "step", "limit", "slope")}
    return PassageModel(unpacked(stored["weights"], BITS), **named)


@cache
def load_model() -> PassageModel:
    """Return the model that is shipped with the package."""
    return read_model((resources.files(__package__) / FILE).read_text(encoding="utf-8"))


def suspicious(text: str, met: Callable[[int], None]) -> Iterator[tuple[Passage, float]]:
    """Yield the passages that seem harmful with their scores, of overlapping ones the first.

    Args:
        met: called with an offset if the passages from there on are too many to be weighed.
    """
    model = load_model()
    found = list(islice(passages_of(text), _MOST + 1))
    if len(found) > _MOST:
        met(found.pop().start)
    least, last = model.limit + model.slope * by_chance(len(found), USUAL), 0
    for passage in found:
        score = model.score(passage.text)
        if score >= least and passage.start >= last:
            last = passage.end
            yield passage, score
