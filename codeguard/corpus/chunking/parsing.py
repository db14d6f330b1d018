"""Parse within bounds: a parser that recovers from errors can be made to take time in the square of a text.

The bounds are counts, which come out the same on every machine, and only
behind them a clock. Ordinary files come to a tenth of each.
"""

from __future__ import annotations

import re
import time
from itertools import islice

from tree_sitter import Language, Node, Parser

# The tree takes about 380 bytes for each word and sign. A megabyte of ordinary code has 250,000, of a table 500,000.
MOST_WORDS = 600_000

READ_BYTES = 4096
# Ordinary files are read about 1.5 times. Before each line of a block of comments behind indented code the parser
# reads the rest of the block: 13 million bytes for 800 lines, as honest tables of versions have. 150 million bytes
# take a second of the processor.
READ_BUDGET = 64  # times the text
FREE_READS = 32_000_000

# The parser asks after every hundred operations whether to go on: 4 to 8 times a kilobyte of ordinary code,
# up to 55 times of the densest tables. `not ;` on every line makes it ask 300 times for the first kilobyte, and
# for each further one more often.
ASKS_PER_KILOBYTE = 150
FREE_ASKS = 300
ASKS_A_LOOK = 2  # looking costs more than being asked

# Operators without operands (`/*` on every line) make each operation take as long as there were lines before,
# and as much memory. In code that parses, a thousand operations on end meet names, literals and brackets.
NEIGHBOURHOOD = 24  # bytes before and after the place that is being parsed
BARREN_LOOKS = 5

# For what gets by those. Ordinary code takes 0.1 s of the processor for a megabyte, code full of errors 0.5 s.
FREE_CPU_S = 1.0
CPU_S_PER_BYTE = 3e-6

_WORD = re.compile(rb"\w+|[^\w\s]")
_OPERATOR = re.compile(rb"[/*%|&^@~<>=+!-]")
_NO_OPERATOR = bytes(set(range(256)) - set(b"/*%|&^@~<>=+!-"))
_OPERAND = re.compile(rb"[\w\x80-\xff]+|[^\s\w/*%|&^@~<>=+!\\-]")
_NO_OPERAND = re.compile(rb"#[^\n]*|\b(?:and|or|in|is|not|if|else|await)\b")
FEWEST_OPERATORS = 4


def _is_barren(near: bytes) -> bool:
    """Return whether a stretch of code holds far more operators than there is something to operate on."""
    if len(near.translate(None, _NO_OPERATOR)) < FEWEST_OPERATORS:
        return False
    bare = _NO_OPERAND.sub(b"", near)
    return len(_OPERATOR.findall(bare)) >= FEWEST_OPERATORS + 2 * len(_OPERAND.findall(bare))


class _Bounds:
    """What one parse has used up."""

    __slots__ = ("_asks", "_barren", "_blocks", "_cpu_end", "_look", "_place", "_reads", "_text", "by_clock")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._blocks: dict[int, bytes] = {}
        self._reads = FREE_READS + READ_BUDGET * len(text)
        self._asks = 0
        self._barren = 0
        self._cpu_end = time.thread_time() + FREE_CPU_S + CPU_S_PER_BYTE * len(text)
        self._look = 0.0
        self._place = -1
        self.by_clock = False

    def read(self, offset: int, point: object) -> bytes:
        """Return the text from a place on: always the truth, as an end that moves crashes the parser."""
        self._reads -= READ_BYTES
        end = offset - offset % READ_BYTES + READ_BYTES
        if offset % READ_BYTES:
            return self._text[offset:end]
        # The parser of tree-sitter 0.26 never lets go of what it was given: what is read again is not made again.
        if offset not in self._blocks:
            self._blocks[offset] = self._text[offset:end]
        return self._blocks[offset]

    def are_passed(self, offset: int, has_error: bool) -> bool:
        """Return whether to call the parse off."""
        self._asks = asks = self._asks + 1
        if asks % ASKS_A_LOOK:
            return False
        start = offset - NEIGHBOURHOOD
        if not _is_barren(self._text[start if start > 0 else 0 : offset + NEIGHBOURHOOD]):
            self._barren = 0
        elif offset != self._place:  # the tree is balanced at the end of the text, however long that takes
            self._barren += 1
        self._place = offset
        return (
            self._reads < 0
            or asks > FREE_ASKS + ASKS_PER_KILOBYTE * offset // 1000
            or self._barren >= BARREN_LOOKS
            or (time.monotonic() > self._look and self._took_too_long())
        )

    def _took_too_long(self) -> bool:
        """Look at the processor's clock, and say when to look again: it never runs ahead of the wall's."""
        left = self._cpu_end - time.thread_time()
        self._look = time.monotonic() + left
        self.by_clock = left < 0
        return self.by_clock


def parse(language: Language, text: bytes) -> Node | None:
    """Return the root of the syntax tree, None if the parse passed a bound."""
    if len(text) > MOST_WORDS and any(islice(_WORD.finditer(text), MOST_WORDS, None)):
        return None
    # The clock alone is asked twice: that of a virtual machine which was stopped for a while has leapt.
    for _ in range(2):
        bounds = _Bounds(text)
        try:
            return Parser(language).parse(bounds.read, progress_callback=bounds.are_passed).root_node
        except ValueError:  # what a parse that was called off raises
            if not bounds.by_clock:
                break
    return None
