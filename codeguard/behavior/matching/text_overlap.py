"""The share of one function's text that another one contains, to detect edited copies.

The texts are those of `codeguard.analysis.python.statements`. Names of locals may differ between the two.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from codeguard.analysis.python.sketches import sketch
from codeguard.analysis.python.statements import ITSELF, VARIABLE, statements

LEAST_TOKENS = 28  # shorter texts may agree by chance
LEAST_SURE_TOKENS = 42  # the same for texts with other names
LEAST_KEPT = 0.85  # share of the trusted text's tokens that the candidate has, in the same order
LEAST_SURE_KEPT = 0.93
MAX_TOKENS = 2_000
MAX_UNEQUAL = 250  # tokens between the common beginning and the common end
STRING, NUMBER = "''", "0"


@dataclass(frozen=True, slots=True)
class Text:
    """A function's tokens in order, without decorators, docstring, annotations and its own name.

    `named` has every name and literal; `renamed` has one placeholder for all variables, and one for each kind of
    literals. `grams` is a sketch, of which similar texts share some.
    """

    named: tuple[str, ...]
    renamed: tuple[str, ...]
    grams: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of tokens after the header."""
        return len(self.named) - self.named.index(":") - 1 if ":" in self.named else 0

    @property
    def numbered(self) -> tuple[str, ...]:
        """The tokens with the variables numbered: the same for texts that differ in nothing but names of locals."""
        numbers: dict[str, str] = {}
        return tuple(
            numbers.setdefault(word, f"{VARIABLE}{len(numbers)}") if plain == VARIABLE else word
            for word, plain in zip(self.named, self.renamed, strict=True)
        )


@dataclass(frozen=True, slots=True)
class TextOverlap:
    """The shares of a trusted function's text that a candidate contains, 0 to 1.

    `named` counts tokens with their names, relative to the trusted text. `renamed` counts tokens
    without the names of variables, relative to the longer text.
    """

    named: float = 0.0
    renamed: float = 0.0
    tokens: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether both are one text, apart from the function's name and description."""
        return self.tokens >= LEAST_TOKENS and self.named == self.renamed == 1.0

    @property
    def its_text(self) -> bool:
        """Whether the candidate contains nearly all of the trusted text, however short that is."""
        return max(self.named, self.renamed) >= LEAST_KEPT

    @property
    def near_copy(self) -> bool:
        """Whether the candidate's text is the trusted one except for a small part, its locals and literals."""
        return self.tokens >= LEAST_TOKENS and self.its_text

    @property
    def edited_copy(self) -> bool:
        """Whether the texts are too similar for an independent implementation."""
        sure = self.renamed >= LEAST_SURE_KEPT and self.tokens >= LEAST_SURE_TOKENS
        return self.tokens >= LEAST_TOKENS and (self.named >= LEAST_KEPT or sure)


def comparable_text(source: str, name: str) -> Text:
    """Return the text of a function of this name without layout, comments and names of locals."""
    rows = [item for item in statements(source, "python", name) if item.key[0] != "@"]
    found = [
        (word if word == ITSELF else token.text, word, token.is_string)
        for item in rows
        for token, word in zip(item.tokens, item.key, strict=True)
    ]
    if not found or len(found) > MAX_TOKENS:
        return Text((), (), ())
    named = tuple(sys.intern(word) for word, _, _ in found)
    renamed = tuple(
        STRING if is_string else NUMBER if word[0].isdigit() else sys.intern(word)
        for _, word, is_string in found
    )
    return Text(named, renamed, sketch(list(named)))


def text_overlap(candidate: Text, reference: Text) -> TextOverlap:
    """Return the share of a trusted function's text that a candidate contains."""
    wanted = len(reference.named)
    if not wanted or not candidate.named:
        return TextOverlap()
    return TextOverlap(
        _share(reference.named, candidate.named, wanted),
        _share(reference.renamed, candidate.renamed, max(wanted, len(candidate.renamed))),
        wanted,
    )


def _share(wanted: tuple[str, ...], found: tuple[str, ...], of: int) -> float:
    """Return the share of tokens in common, or 0 if it must be below `LEAST_KEPT`."""
    # Upper bounds: the tokens of the shorter text, and common tokens in any order.
    least = LEAST_KEPT * of
    if min(len(wanted), len(found)) < least or (_counted(wanted) & _counted(found)).total() < least:
        return 0.0
    return common_in_order(wanted, found) / of


_counted = lru_cache(maxsize=8_192)(Counter[str])


def common_in_order(wanted: tuple[str, ...], found: tuple[str, ...]) -> int:
    """Return how many of the wanted tokens occur in the same order, at most."""
    least = min(len(wanted), len(found))
    start = next((i for i in range(least) if wanted[i] != found[i]), least)
    rest = least - start
    end = next((i for i in range(rest) if wanted[-1 - i] != found[-1 - i]), rest)
    first, second = wanted[start : len(wanted) - end], found[start : len(found) - end]
    if max(len(first), len(second)) > MAX_UNEQUAL:
        return start + end
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return start + end + sum(block.size for block in blocks)
