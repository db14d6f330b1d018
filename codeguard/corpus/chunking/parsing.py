"""Parse with limits: hostile input can make a parser that recovers from errors take quadratic time.

The limits are counts, which are the same on every machine, with a clock only as a fallback. Ordinary files
reach a tenth of each.
"""

from __future__ import annotations

import re
import time
from itertools import islice

from tree_sitter import Language, Node, Parser

# The tree takes about 380 bytes per word and sign. A megabyte of ordinary code has 250,000, of tables
# 500,000.
MOST_WORDS = 600_000

READ_BYTES = 4096
# Ordinary files are read about 1.5 times. Before each line of a comment block after indented code, the parser
# reads the rest of the block: 13 million bytes for 800 lines, which honest version tables have. 150 million
# bytes take a second of processor time.
READ_BUDGET = 64  # times the text
FREE_READS = 32_000_000

# After every hundred operations the parser asks whether to continue: 4 to 8 times per kilobyte of ordinary
# code, up to 55 times in the densest tables. `not ;` on every line makes it ask 300 times for the first
# kilobyte, and more often for each further one.
ASKS_PER_KILOBYTE = 150
FREE_ASKS = 300
ASKS_A_LOOK = 2  # checking costs more than being asked

# With operators without operands (`/*` on every line), the time and memory of each operation grow with the
# lines before it. In code that parses, a thousand consecutive operations include names, literals and
# brackets.
NEIGHBOURHOOD = 24  # bytes before and after the current position
BARREN_LOOKS = 5

# For input that evades the other limits. A megabyte of ordinary code takes 0.1 s of processor time, code full
# of errors 0.5 s.
FREE_CPU_S = 1.0
CPU_S_PER_BYTE = 3e-6

_WORD = re.compile(rb"\w+|[^\w\s]")
_OPERATOR = re.compile(rb"[/*%|&^@~<>=+!-]")
_NO_OPERATOR = bytes(set(range(256)) - set(b"/*%|&^@~<>=+!-"))
_OPERAND = re.compile(rb"[\w\x80-\xff]+|[^\s\w/*%|&^@~<>=+!\\-]")
_NO_OPERAND = re.compile(rb"#[^\n]*|\b(?:and|or|in|is|not|if|else|await)\b")
FEWEST_OPERATORS = 4


def _is_barren(near: bytes) -> bool:
    """Return whether a part of the code has far more operators than operands."""
    if len(near.translate(None, _NO_OPERATOR)) < FEWEST_OPERATORS:
        return False
    bare = _NO_OPERAND.sub(b"", near)
    return len(_OPERATOR.findall(bare)) >= FEWEST_OPERATORS + 2 * len(_OPERAND.findall(bare))


class _Bounds:
    """The resources that one parse has used."""

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
        """Return the text from an offset on: never less of it, as a moving end crashes the parser."""
        self._reads -= READ_BYTES
        end = offset - offset % READ_BYTES + READ_BYTES
        if offset % READ_BYTES:
            return self._text[offset:end]
        # tree-sitter 0.26 never frees the text it was given, so text that is read again is not copied again.
        if offset not in self._blocks:
            self._blocks[offset] = self._text[offset:end]
        return self._blocks[offset]

    def are_passed(self, offset: int, has_error: bool) -> bool:
        """Return whether to cancel the parse."""
        self._asks = asks = self._asks + 1
        if asks % ASKS_A_LOOK:
            return False
        start = offset - NEIGHBOURHOOD
        if not _is_barren(self._text[start if start > 0 else 0 : offset + NEIGHBOURHOOD]):
            self._barren = 0
        elif offset != self._place:  # at the end, the tree is balanced, for as long as it takes
            self._barren += 1
        self._place = offset
        return (
            self._reads < 0
            or asks > FREE_ASKS + ASKS_PER_KILOBYTE * offset // 1000
            or self._barren >= BARREN_LOOKS
            or (time.monotonic() > self._look and self._took_too_long())
        )

    def _took_too_long(self) -> bool:
        """Check processor time, and set the next check: it never runs faster than wall time."""
        left = self._cpu_end - time.thread_time()
        self._look = time.monotonic() + left
        self.by_clock = left < 0
        return self.by_clock


def syntax_root(language: Language, text: bytes) -> Node | None:
    """Return the root of the syntax tree, None if the parse passed a bound."""
    if len(text) > MOST_WORDS and any(islice(_WORD.finditer(text), MOST_WORDS, None)):
        return None
    # A clock limit is checked by a second try: a suspended virtual machine's clock jumps.
    for _ in range(2):
        bounds = _Bounds(text)
        try:
            return Parser(language).parse(bounds.read, progress_callback=bounds.are_passed).root_node
        except ValueError:  # raised by a cancelled parse
            if not bounds.by_clock:
                break
    return None
