"""Python's parser within bounds: on the size of the tree, and on what it does in the square of a text."""

from __future__ import annotations

import ast
import re
from itertools import islice

# A node of the tree takes about 700 bytes with what is remembered of it, and a token makes one node or less. Of 7,000
# files of the standard library and nine packages the largest has 173,000 tokens.
MOST_TOKENS = 200_000
MOST_PARTS = 64  # of a dotted name in an import; those of real packages have ten at most
# Words and signs wherever they stand: what is text to Python cannot be told apart without parsing. Line ends count,
# for a bare name on a line is a statement; escapes of one text count once.
_TOKEN = re.compile(r"\n\s*+|(?:\\\w++)++|\w++|[^\w\s\\]")
# From the keyword to the end of the statement, but for what is in brackets, where no dotted name stands.
_IMPORT = re.compile(r"\b(?:import|from)\b(?:[\w., \t\f]|\\\r?\n?)*+")
# A number in base 16, 8 or 2 may be as long as it likes; to write one of more than 4,300 decimal digits, as
# `ast.unparse`, `str` and `repr` do, is an error. What is larger counts as its last digits in base 2.
_GREAT_NUMBER = re.compile(r"0[xXoObB][0-9a-fA-F_]{3500}")
_MOST_WRITTEN = (1 << 14_000) - 1


class ParseBoundError(SyntaxError):
    """A text was not given to the parser, as its tree would be too large."""


def parse(text: str) -> ast.Module:
    """Return the syntax tree of a text, as `ast.parse` does, but for numbers too long to be written.

    Python's parser joins the names of `import a.b.c` anew for every dot and
    keeps each result: 50,000 of them take gigabytes.

    Raises:
        ParseBoundError: the text has more than `MOST_TOKENS` tokens, or an import of more than `MOST_PARTS` names
            joined by dots.
        SyntaxError: the text is no Python.
        ValueError, RecursionError, MemoryError: the parser gives up on it.
    """
    if text.count(".") > MOST_PARTS:
        for statement in _IMPORT.finditer(text):
            if any(name.count(".") > MOST_PARTS for name in statement[0].split(",")):
                what = f"an import of more than {MOST_PARTS} names joined by dots"
                raise _too_large(what, text, statement.start())
    end = within_bounds(text)
    if end < len(text):
        raise _too_large(f"more than {MOST_TOKENS:,} words and signs", text, end)
    tree = ast.parse(text)
    if _GREAT_NUMBER.search(text) is not None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                node.value &= _MOST_WRITTEN
    return tree


def within_bounds(text: str) -> int:
    """Return how many characters from the start of a text hold no more than `MOST_TOKENS` tokens."""
    if len(text) <= MOST_TOKENS:
        return len(text)
    beyond = next(islice(_TOKEN.finditer(text), MOST_TOKENS, None), None)
    return len(text) if beyond is None else beyond.start()


def _too_large(what: str, text: str, offset: int) -> ParseBoundError:
    return ParseBoundError(what, ("<unknown>", text.count("\n", 0, offset) + 1, None, None))
