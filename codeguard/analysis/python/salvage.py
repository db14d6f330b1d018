"""Parse those statements of a Python text that are valid, if the whole text is not.

The text is cut at the lines with the least indentation. A piece that does not parse is searched:
headers (`def`, `class`, `if`, …) keep the valid part of their bodies. Statements that continue
without indentation (a bracket closed in the first column) are joined again. The rest is reported by
lines. All of it parses the text a fixed number of times.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import parse

DEEPEST = 60  # nesting depth of blocks
MOST_JOINED = 24  # pieces that one statement may span
MOST_HEADER = 40  # lines of one header
BUDGET = 20  # characters to parse, as a multiple of the text's length
FREE = 200_000  # characters
EACH = 40  # minimum cost of one call of the parser, in characters
_KEPT = lazy(r"(?:async\s+)?(?:def|class|if|for|while|with)\b")
_COLON = lazy(r":\s*(?:#.*)?\Z")
_INDENT = lazy(r"[ \t\f]*")
_BLANK = lazy(r"\s*(?:#|\Z)")
Ranges = list[tuple[int, int]]


def salvaged(lines: Sequence[str], within: frozenset[int]) -> tuple[ast.Module, Ranges]:
    """Return a module of the valid statements, and the line ranges (1-based, inclusive) of the rest.

    `lines` keep their line ends; `within` are the numbers of lines that start inside a string.
    """
    work = _Salvage([line.replace("\0", " ") for line in lines], within)
    body = work.block(0, len(lines), 0)
    return ast.Module(body, []), _together([_trimmed(lines, *item) for item in work.unread])


class _Salvage:
    """The state for one file; lines are 0-based, ends are exclusive."""

    def __init__(self, lines: list[str], within: frozenset[int]) -> None:
        self.unread: Ranges = []
        self._lines = lines
        self._within = within
        self._left = FREE + BUDGET * sum(map(len, lines))

    def block(self, start: int, end: int, depth: int) -> list[ast.stmt]:
        """Return the statements of a range of lines."""
        whole = self._parsed(start, end)
        if whole is not None:
            return whole
        pieces = self._pieces(start, end)
        if depth > DEEPEST or self._left < 0:
            self.unread.append((start + 1, end))
            return []
        if len(pieces) == 1:
            return self._compound(*pieces[0], depth)
        found: list[ast.stmt] = []
        at = 0
        while at < len(pieces):
            taken, statements = self._joined(pieces, at)
            if not taken:
                taken, statements = 1, self._compound(*pieces[at], depth)
            found += statements
            at += taken
        return found

    def _joined(self, pieces: Ranges, at: int) -> tuple[int, list[ast.stmt]]:
        """Return how many pieces from `at` on form a statement together (0 if none), and the statement."""
        most = 1 if _KEPT.match(self._first(*pieces[at])) else MOST_JOINED
        for count in range(1, min(most, len(pieces) - at) + 1):
            found = self._parsed(pieces[at][0], pieces[at + count - 1][1])
            if found is not None:
                return count, found
        return 0, []

    def _compound(self, start: int, end: int, depth: int) -> list[ast.stmt]:
        """Return a header with the valid part of its body, or only that part if the header is invalid."""
        inside = self._body_of(start, end)
        if inside is None:
            self.unread.append((start + 1, end))
            return []
        header = self._header(start, inside) if _KEPT.match(self._first(start, end)) else None
        if header is None:
            if not _COLON.search(self._lines[inside - 1].rstrip()):
                self.unread.append((start + 1, inside))
            return self.block(inside, end, depth + 1)
        header.body = self.block(inside, end, depth + 1) or [_here(ast.Pass(), start + 1)]
        header.end_lineno = end
        return [header]

    def _header(self, start: int, end: int) -> ast.FunctionDef | None:
        found = self._parsed(start, end, " pass\n")
        return found[0] if found else None  # type: ignore[return-value]

    def _body_of(self, start: int, end: int) -> int | None:
        """Return the line at which the body of a header starts, or None."""
        if not self._has_body(start, end):
            return None
        for line in range(start, min(end - 1, start + MOST_HEADER)):
            if (
                _COLON.search(self._lines[line].rstrip())
                and self._parsed(start, line + 1, " pass\n") is not None
            ):
                return line + 1
        return start + 1

    def _first(self, start: int, end: int) -> str:
        """Return the first line that is not a decorator, without indentation."""
        lines = (self._lines[line].strip() for line in range(start, end))
        return next((line for line in lines if not line.startswith("@") and not _BLANK.match(line)), "")

    def _has_body(self, start: int, end: int) -> bool:
        first = self._indent(start)
        return any(
            not _BLANK.match(self._lines[line]) and self._indent(line) > first
            for line in range(start + 1, min(end, start + MOST_HEADER))
        )

    def _pieces(self, start: int, end: int) -> Ranges:
        """Cut a range before each line with the least indentation; decorators stay with their definitions."""
        code = [line for line in range(start, end) if not _BLANK.match(self._lines[line])]
        code = [line for line in code if line not in self._within] or code
        if not code:
            return [(start, end)]
        least = min(map(self._indent, code))
        cuts: list[int] = []
        decorated = False
        for line in code:
            if self._indent(line) == least:
                text = self._lines[line].lstrip()
                if not decorated:
                    cuts.append(line)
                decorated = text.startswith("@")
        if cuts[0] > code[0]:  # lines before the first one with this indentation
            cuts.insert(0, code[0])
        ends = [*cuts[1:], end]
        return list(zip(cuts, ends, strict=True))

    def _indent(self, line: int) -> int:
        match = _INDENT.match(self._lines[line])
        assert match is not None
        return len(match.group().rpartition("\f")[2].expandtabs(8))

    def _parsed(self, start: int, end: int, tail: str = "") -> list[ast.stmt] | None:
        """Return the statements of some lines at their positions, or None if they do not parse."""
        text = "".join(self._lines[start:end])
        if tail:
            text = text.rstrip("\r\n") + tail
        self._left -= len(text) + EACH
        if self._left < 0:
            return None
        indented = text[:1] in (" ", "\t", "\f") or not text.strip()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = parse(f"if 1:\n{text}" if indented else text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return [] if not text.strip() else None
        body = module.body
        if indented:
            first = body[0]
            if len(body) != 1 or not isinstance(first, ast.If) or first.orelse:
                return None
            body = first.body
        for node in body:
            ast.increment_lineno(node, start - indented)
        return body


def _here(node: ast.stmt, line: int) -> ast.stmt:
    node.lineno = node.end_lineno = line
    node.col_offset = node.end_col_offset = 0
    return node


def _trimmed(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Return a range of lines without blank lines at its end."""
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


def _together(ranges: Ranges) -> Ranges:
    found: Ranges = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
