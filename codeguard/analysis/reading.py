"""A file under analysis, with views that are computed on first use and shared by detectors."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_right
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeVar

from codeguard.analysis.text.segments import Described, Segment, docstring_places, segments_of
from codeguard.corpus.notebooks import LINE_END, NOTEBOOK
from codeguard.corpus.secrets import FoundSecret, find_secrets, named_secrets
from codeguard.corpus.syntax import ParseBoundError, nodes_and_parents, parse, within_bounds
from codeguard.models import SourceFile
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FunctionNode
from codeguard.syntax.unread import Unread

if TYPE_CHECKING:
    from codeguard.corpus.notebooks import NotebookCode

Node = TypeVar("Node", bound=ast.AST)

SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
PROSE = frozenset({"markdown", "rst", "text"})
IN_PROSE, IN_CELLS = "prose", "cells"  # what code may be shown in: a text, a notebook


class Reading:
    """A file under analysis, or code `within` one. Nothing in it is ever run, imported or compiled to bytecode."""

    def __init__(self, file: SourceFile, within: str = "") -> None:
        # Places are those that people see, of a notebook those of the whole file.
        self.file = replace(file, text=file.raw, language="text") if file.raw else file
        self.within = within
        self.shared: dict[str, object] = {}  # what one signal shares with others, by the signal's name
        self.unread = Unread()

    @property
    def text(self) -> str:
        """The decoded text."""
        return self.file.text

    @property
    def language(self) -> str:
        """The language's name according to the chunker."""
        return self.file.language

    @property
    def tree(self) -> ast.Module | None:
        """The syntax tree, None if the file is not Python or nothing in it parses.

        For a file with syntax errors it holds the valid statements
        (`codeguard.syntax.python_tree`).
        """
        return self._parsed[0]

    @property
    def unparsed(self) -> tuple[tuple[int, int], ...]:
        """The line ranges (1-based, inclusive) that are missing in the tree of a file with syntax errors."""
        return self._parsed[2]

    @property
    def syntax_error(self) -> str:
        """The syntax error of a Python file, or ""."""
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[ast.Module | None, str, tuple[tuple[int, int], ...]]:
        if self.file.language != "python":
            return None, "", ()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return parse(self.file.text), "", ()
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                why = _error_text(error)
                if isinstance(error, ParseBoundError):
                    self.unread.note(f"not all of it was parsed: {error.msg}", error.lineno or 0)
        from codeguard.syntax.python_tree import parse_with_errors  # imported late because few files need it

        end = within_bounds(self.text)
        tree, unparsed = parse_with_errors(self.text[:end])
        if end < len(self.text):
            unparsed.append((self.line_of(end), self.line_of(len(self.text) - 1)))
        return tree if tree.body else None, why, tuple(unparsed)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the syntax tree except contexts and operators, breadth first; empty without a tree."""
        return self._walked[0]

    @property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of every node except the module."""
        return self._walked[1]

    @cached_property
    def _walked(self) -> tuple[tuple[ast.AST, ...], dict[ast.AST, ast.AST]]:
        return ((), {}) if self.tree is None else nodes_and_parents(self.tree)

    @cached_property
    def _by_type(self) -> dict[type[ast.AST], list[ast.AST]]:
        found: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.nodes:
            kind = type(node)
            if kind in found:
                found[kind].append(node)
            else:
                found[kind] = [node]
        return found

    def nodes_of(self, kind: type[Node]) -> list[Node]:
        """Return the nodes of exactly one type, breadth first."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    @property
    def functions(self) -> list[FunctionNode]:
        """The definitions of functions."""
        return [*self.nodes_of(ast.FunctionDef), *self.nodes_of(ast.AsyncFunctionDef)]

    @cached_property
    def names(self) -> Names:
        """The resolver of names and constant expressions in the file."""
        return Names(self.tree or ast.Module([], []), self.nodes, self.parents, self.unread)

    @cached_property
    def notebook(self) -> NotebookCode | None:
        """The Python code of a notebook's cells; None if the text is not JSON or the language not Python."""
        from codeguard.corpus.notebooks import notebook_code

        return notebook_code(self.text)

    @cached_property
    def secrets(self) -> tuple[FoundSecret, ...]:
        """The secrets in the text."""
        return tuple(find_secrets(self.text))

    @cached_property
    def hidden(self) -> tuple[FoundSecret, ...]:
        """What must not be shown of the text: its secrets, or all values if the file is one by its name."""
        return tuple(named_secrets(self.file.path, self.text)) or self.secrets

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Comments, docstrings, strings, names and prose; see `segments_of`."""
        docstrings = None
        if self.tree is not None and not self.syntax_error:
            described: list[Described] = [self.tree, *self.nodes_of(ast.ClassDef)]
            described += self.functions
            docstrings = frozenset(self.offset(*place) for place in docstring_places(described))
        return segments_of(self.text, self.language, docstrings)

    @cached_property
    def line_starts(self) -> list[int]:
        """Character offset of the start of each line; lines end as in Python."""
        return [0, *(match.end() for match in LINE_END.finditer(self.text))]

    def line_of(self, offset: int) -> int:
        """Return the 1-based line of a character offset."""
        return bisect_right(self.line_starts, offset)

    def offset(self, line: int, utf8_column: int) -> int:
        """Return the character offset of a position from `ast`: 1-based line, column in UTF-8 bytes."""
        start = self.line_starts[min(line, len(self.line_starts)) - 1]
        if self.text.isascii():
            return start + utf8_column
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return start + len(
            self.text[start:end].encode("utf-8", "replace")[:utf8_column].decode("utf-8", "ignore")
        )

    def place(self, node: ast.AST) -> tuple[int, int]:
        """Return the character offsets of a node, the end exclusive."""
        line, column = int(getattr(node, "lineno", 1)), int(getattr(node, "col_offset", 0))
        end_line = int(getattr(node, "end_lineno", None) or line)
        end_column = getattr(node, "end_col_offset", None)
        start = self.offset(line, column)
        return start, start if end_column is None else self.offset(end_line, int(end_column))

    @cached_property
    def chunk_starts(self) -> list[int]:
        """The character offsets of the chunks; between them a notebook has more than the text of its cells."""
        if not self.file.raw:
            return list(accumulate((len(chunk.text) for chunk in self.file.chunks), initial=0))[:-1]
        data = self.text.encode("utf-8", "replace")
        edges = pairwise((0, *(chunk.span.start_byte for chunk in self.file.chunks)))
        return list(accumulate(len(data[before:after].decode("utf-8", "replace")) for before, after in edges))

    def chunk_index(self, offset: int) -> int:
        """Return the index of the chunk that contains the line of a character offset, or -1."""
        line, chunks = self.line_of(offset), self.file.chunks
        if self.file.path.lower().endswith(NOTEBOOK):
            return bisect_right(self.chunk_starts, offset) - 1
        index = bisect_right(chunks, line, key=lambda chunk: chunk.start_line) - 1
        return index if index >= 0 and line <= chunks[index].end_line else -1


def _error_text(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        where = f" in line {error.lineno}" if error.lineno else ""
        return f"{error.msg.partition(' (detected at line')[0]}{where}"
    return str(error) or type(error).__name__
