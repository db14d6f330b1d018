"""Python's parser with limits on the size of the tree and on input that takes quadratic time."""

from __future__ import annotations

import ast
import re
from itertools import islice

# A node of the tree takes about 700 bytes including caches, and a token makes at most one node. The largest
# of 7,000 files of the standard library and nine packages has 173,000 tokens.
MOST_TOKENS = 200_000
MOST_PARTS = 64  # parts of a dotted name in an import; real packages have at most ten
# Words and signs anywhere: strings and comments cannot be recognized without parsing. Line ends count,
# because a bare name on a line is a statement; the escapes of one string count once.
_TOKEN = re.compile(r"\n\s*+|(?:\\\w++)++|\w++|[^\w\s\\]")
# From the keyword to the end of the statement, except inside brackets, where no dotted name can be.
_IMPORT = re.compile(r"\b(?:import|from)\b(?:[\w., \t\f]|\\\r?\n?)*+")


class ParseBoundError(SyntaxError):
    """A text was not parsed, because its tree would be too large."""


def parse(text: str) -> ast.Module:
    """Return the syntax tree of a text, as `ast.parse` does.

    For `import a.b.c`, Python's parser builds the joined name anew for every dot and keeps each result:
    50,000 of them take gigabytes.

    Raises:
        ParseBoundError: the text has more than `MOST_TOKENS` tokens, or an import of more than `MOST_PARTS` names
            joined by dots.
        SyntaxError: the text is not Python.
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
    return ast.parse(text)


def within_bounds(text: str) -> int:
    """Return the length of the longest prefix with at most `MOST_TOKENS` tokens."""
    if len(text) <= MOST_TOKENS:
        return len(text)
    beyond = next(islice(_TOKEN.finditer(text), MOST_TOKENS, None), None)
    return len(text) if beyond is None else beyond.start()


def _too_large(what: str, text: str, offset: int) -> ParseBoundError:
    return ParseBoundError(what, ("<unknown>", text.count("\n", 0, offset) + 1, None, None))
