"""Python's syntax tree of texts that this interpreter's own parser refuses.

A newer grammar than the interpreter's, Python 2's statements that run or print something, or a text with errors must
not be a way around the analysis. tree-sitter finds the statements; Python's parser reads each by itself at its place,
a compound one without its blocks, which are read in turn. What it refuses is written as it accepts it (`_RULES`) and
tried again: type parameters are left out, `type X = …` is an assignment, `print a` a call. Statements with errors are
left out and their lines listed.
"""

from __future__ import annotations

import ast
import keyword
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from codeguard.corpus import syntax
from codeguard.corpus.chunking.parsing import syntax_root

if TYPE_CHECKING:
    from tree_sitter import Language, Node

Ranges = list[tuple[int, int]]

DEEPEST = 150  # nesting of blocks, and of expressions that are rewritten
LONGEST_CHAIN = 100  # of a + b + c, a.b.c and a(b)(c), which nest to the left: the rest is read by itself
MOST_PARSES = 40  # of one text
MOST_BLANKED = 16  # lines that are left out, one after the other, to read what follows them
_COMPOUND = frozenset(
    {"if_statement", "for_statement", "while_statement", "try_statement", "with_statement", "match_statement",
     "function_definition", "class_definition", "decorated_definition"}
)  # fmt: skip
_CLAUSES = frozenset(
    {"elif_clause", "else_clause", "except_clause", "except_group_clause", "finally_clause", "case_clause"}
)
_REFUSALS = (SyntaxError, ValueError, RecursionError, MemoryError)
_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)
_CHAINS = frozenset({"binary_operator", "attribute", "subscript", "call"})


def parse_with_errors(text: str) -> tuple[ast.Module, Ranges]:
    """Return a module of the statements that could be read, and the lines of the rest (1-based, inclusive).

    The positions are those of `ast`: lines end as Python's do, columns count UTF-8 bytes. In a statement that had to be
    rewritten they are those of the rewritten text.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    reader = _Reader(plain.encode("utf-8", "replace"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = reader.read(0, plain.count("\n") + 1)
    return ast.Module(body, []), _merged(reader.unread)


class _Reader:
    """Reads a text whole or, where that passes a bound of the parser, in pieces that begin at the left margin."""

    def __init__(self, source: bytes) -> None:
        self.unread: Ranges = []
        self._lines = source.split(b"\n")
        self._parses = MOST_PARSES

    def read(self, start: int, end: int) -> list[ast.stmt]:
        """Return the statements of a range of lines (0-based, end exclusive) at their places in the text."""
        source = bytearray(b"\n" * start + b"\n".join(self._lines[start:end]))
        root = self._parsed(source)
        if root is None:
            margins = [line for line in range(start + 1, end) if self._lines[line][:1].strip(b" \t\f)]}#")]
            if not margins or self._parses <= 0:
                self.unread.append((start + 1, end))
                return []
            middle = min(margins, key=lambda line: abs(2 * line - start - end))
            return [*self.read(start, middle), *self.read(middle, end)]
        for _ in range(MOST_BLANKED):
            # An open bracket or quote makes the grammar take what follows for its content.
            line = _swallowing(root)
            if line is None:
                break
            first = sum(len(item) + 1 for item in source.split(b"\n", line)[:line])
            last = source.find(b"\n", first)
            last = len(source) if last < 0 else last
            if not source[first:last].strip():
                break
            source[first:last] = b" " * (last - first)
            again = self._parsed(source)
            if again is None:
                break
            self.unread.append((line + 1, line + 1))
            root = again
        builder = _Builder(bytes(source))
        body = builder.statements(root)
        self.unread += [*builder.unread, *_unrecognized(root)]
        return body

    def _parsed(self, source: bytearray) -> Node | None:
        self._parses -= 1
        return syntax_root(_language(), bytes(source)) if self._parses >= 0 else None


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter_python
    from tree_sitter import Language

    return Language(tree_sitter_python.language())


def _is_statement(node: Node) -> bool:
    return node.type.endswith(("_statement", "_definition"))


def _swallowing(root: Node) -> int | None:
    """Return the line (0-based) of the first error that goes on over later lines; None if there is none."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR":
            wrong = next((item for item in node.children if not _is_statement(item)), node)
            if node.end_point[0] > wrong.start_point[0] and node.end_point[1]:
                return wrong.start_point[0]
        if node.has_error:
            waiting += reversed(node.children)
    return None


class _UnreadableError(Exception):
    """A statement that Python's parser refuses, however it is written."""


class _Builder:
    """Reads the statements of a parsed text; `unread` are the lines of what could not be read."""

    def __init__(self, source: bytes) -> None:
        self.unread: Ranges = []
        self._source = source
        self._depth = 0
        self._made: dict[int, list[ast.stmt]] = {}
        self._mark = "hole"  # begins the names that stand for expressions which are read by themselves
        while self._mark.encode() in source:
            self._mark += "_"
        self._holes: list[tuple[Node, int]] = []

    def statements(self, block: Node) -> list[ast.stmt]:
        """Return the statements of a block."""
        return [made for node in block.children for made in self._statement(node)]

    def _statement(self, node: Node) -> list[ast.stmt]:
        # What stands in a statement that turns out to be unreadable is visited again: without this record,
        # each level of nesting would double the work.
        known = self._made.get(node.id)
        if known is None:
            known = self._made[node.id] = self._read(node)
        return known

    def _read(self, node: Node) -> list[ast.stmt]:
        if not node.is_named or node.type in ("comment", "line_continuation"):
            return []
        compound = node.type in _COMPOUND
        if not _is_statement(node) or (node.has_error and not compound) or self._depth > DEEPEST:
            return self._pieces(node)
        self._depth += 1
        try:
            made = self._parsed(node)
            if compound:
                self._fill(made[0], list(_blocks(node))[::-1])
                wrong = [item for item in node.children if item.type == "ERROR"]
                made += [found for item in wrong for found in self._pieces(item)]
            return made
        except (_UnreadableError, RecursionError, IndexError):
            return self._pieces(node)
        finally:
            self._depth -= 1

    def _pieces(self, node: Node) -> list[ast.stmt]:
        """Return the statements and calls inside of what could not be read as a whole."""
        found: list[ast.stmt] = []
        waiting = [*reversed(node.children)]
        self.unread.append((node.start_point[0] + 1, node.start_point[0] + 1))
        while waiting:
            item = waiting.pop()
            if _is_statement(item) and self._depth <= DEEPEST:
                self._depth += 1
                found += self._statement(item)
                self._depth -= 1
            elif item.type == "call" and not item.has_error:
                try:
                    found += self._parsed(item)
                except (_UnreadableError, RecursionError):
                    continue
            else:
                waiting += reversed(item.children)
        return found

    def _fill(self, node: Any, blocks: list[Node]) -> None:
        """Put blocks (the first one last) in the places of a compound statement, which ends where the last one does."""
        for held in list(vars(node).values()):
            if not isinstance(held, list) or not held or not isinstance(held[0], _HOLDERS):
                continue
            if isinstance(held[0], ast.Pass):
                held[:] = self.statements(blocks.pop()) or held
            else:
                for item in held:  # an `elif`, handlers, cases
                    self._fill(item, blocks)
            last = held[-1].body[-1] if isinstance(held[-1], ast.match_case) else held[-1]
            node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset

    def _parsed(self, node: Node) -> list[ast.stmt]:
        """Return a statement or an expression, with `pass` for its blocks."""
        line = self._source.rfind(b"\n", 0, node.start_byte) + 1
        before = self._source[line : node.start_byte]
        before = b" " * len(before) if before.strip() else before
        if node.type != "print_statement":  # `print >>f, x` is an expression as well
            with suppress(*_REFUSALS):
                return self._tree(node, before, self._outline(node, before))
        self._holes = []
        try:
            made = self._tree(node, before, self._rewritten(node, before, 0, 0))
            inner: dict[str, ast.expr] = {}
            trees: list[ast.AST] = [*made]
            for number, (hole, nested) in enumerate(self._holes):  # grows
                text = b"(\n" + b" " * hole.start_point[1] + self._rewritten(hole, b"", nested, 0) + b"\n)"
                tree = syntax.parse(text.decode())
                trees.append(ast.increment_lineno(tree, hole.start_point[0] - 1))
                inner[f"{self._mark}{number}"] = tree.body[0].value  # type: ignore[attr-defined]
        except _REFUSALS as error:
            raise _UnreadableError from error
        for parent in (item for tree in trees for item in ast.walk(tree)) if inner else ():
            for name, value in ast.iter_fields(parent):
                if isinstance(value, list):
                    value[:] = [inner.get(getattr(item, "id", ""), item) for item in value]
                else:
                    setattr(parent, name, inner.get(getattr(value, "id", ""), value))
        return made

    def _tree(self, node: Node, before: bytes, text: bytes) -> list[ast.stmt]:
        opening = b"if 1:\n" + before if before else b""
        tree = syntax.parse((opening + text).decode())
        ast.increment_lineno(tree, node.start_point[0] - bool(before))
        return tree.body[0].body if before else tree.body  # type: ignore[attr-defined]

    def _outline(self, node: Node, before: bytes) -> bytes:
        """Return a statement as it is written, without its blocks."""
        if node.type in _COMPOUND or node.type in _CLAUSES or node.type == "block":
            return self._joined(node, before, lambda item: self._outline(item, before))
        return self._source[node.start_byte : node.end_byte]

    def _joined(self, node: Node, before: bytes, write: Callable[[Node], bytes]) -> bytes:
        """Return the text of a node from those of its parts, on as many lines."""
        parts: list[bytes] = []
        at = node.start_byte
        children = node.children
        for index, child in enumerate(children):
            if child.start_byte < at:
                continue
            between = self._source[at : child.start_byte]
            if child.type in _CLAUSES and node.type != "block" and b"\n" in between:
                between = b"\n" * between.count(b"\n") + before
            parts += [between, write(child)]
            at = child.end_byte
            if child.type != ":" or node.type == "match_statement":
                continue  # looking for a block after every part would take the square of a long line
            block = next((item for item in children[index + 1 :] if item.type == "block"), None)
            if block is not None:
                lines = self._source.count(b"\n", at, block.end_byte)
                parts.append(b" pass" + b"\n" * lines)
                at = block.end_byte
        return b"".join([*parts, self._source[at : node.end_byte]])

    def _rewritten(self, node: Node, before: bytes, nested: int, chained: int) -> bytes:
        """Return a part of a statement in a grammar that Python's parser reads."""
        if nested > DEEPEST:
            raise _UnreadableError
        first = node.type in _CHAINS and node.children[0]
        if first and chained > LONGEST_CHAIN:
            return self._hole(node, nested)

        def write(item: Node) -> bytes:
            if item == first:
                return self._rewritten(item, before, nested, chained + 1)
            return self._rewritten(item, before, nested + 1, 0)

        if node.is_missing:
            return node.type.encode()
        rule = _RULES.get(node.type)
        new = None if rule is None else rule(self, node, write)
        if new is not None:
            return new
        return self._joined(node, before, write) if node.children else node.text or b""

    def _hole(self, node: Node, nested: int) -> bytes:
        """Return a name for an expression that is read by itself."""
        self._holes.append((node, nested))
        return f"{self._mark}{len(self._holes) - 1}".encode()

    # Rules: the new text of a node, or None if it is right as it is. `write` rewrites its parts.

    def _interpolation(self, node: Node, write: Write) -> bytes | None:
        value = node.child_by_field_name("expression")
        if value is None or not set(b"\"'\\#\n").intersection(node.text or b""):
            return None
        after = [item for item in node.children if item.type in ("=", "type_conversion", "format_specifier")]
        return b"{" + self._hole(value, 0) + b"".join(map(write, after)) + b"}"

    def _string_start(self, node: Node, _: Write) -> bytes:
        return (node.text or b"").replace(b"t", b"f").replace(b"T", b"f")

    def _identifier(self, node: Node, _: Write) -> bytes:
        text = node.text or b""
        return text + b"_" if keyword.iskeyword(text.decode("utf-8", "replace")) else text

    def _print(self, node: Node, write: Write) -> bytes:
        given = [write(item) for item in node.children_by_field_name("argument")]
        given += [b"file=" + write(item.children[-1]) for item in node.children if item.type == "chevron"]
        return b"print(" + b", ".join(given) + b")"

    def _exec(self, node: Node, write: Write) -> bytes:
        return b"exec(" + b", ".join(map(write, node.named_children)) + b")"

    def _type_alias(self, node: Node, write: Write) -> bytes | None:
        name, value = node.named_children[0], node.named_children[-1]
        while name.type in ("type", "generic_type"):
            name = name.named_children[0]
        return write(name) + b" = " + write(value)

    def _except(self, node: Node, write: Write) -> bytes | None:
        caught = node.children_by_field_name("value")
        if len(caught) < 2:
            return None

        def bracketed(item: Node) -> bytes:
            return b"(" * (item == caught[0]) + write(item) + b")" * (item == caught[-1])

        return self._joined(node, b"", bracketed)

    def _type_parameters(self, node: Node, _: Write) -> bytes | None:
        defines = node.parent is not None and node.parent.type.endswith("_definition")
        return b"" if defines else None


Write = Callable[["Node"], bytes]
_RULES: dict[str, Callable[[_Builder, Node, Write], bytes | None]] = {
    "ERROR": lambda *_: b"",
    "identifier": _Builder._identifier,
    "string_start": _Builder._string_start,
    "interpolation": _Builder._interpolation,
    "format_expression": _Builder._interpolation,
    "type_parameter": _Builder._type_parameters,
    "type_alias_statement": _Builder._type_alias,
    "print_statement": _Builder._print,
    "exec_statement": _Builder._exec,
    "except_clause": _Builder._except,
}


def _blocks(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type == "block" and node.type != "match_statement":
            yield child
        elif child.type in _CLAUSES or child.type == "block" or child.type.endswith("_definition"):
            yield from _blocks(child)


def _unrecognized(root: Node) -> Iterator[tuple[int, int]]:
    """Yield the lines of what the grammar did not recognize or missed."""
    waiting = [(root, root)]
    while waiting:
        node, parent = waiting.pop()
        if node.is_missing and node.type == "string_end":
            node = parent  # what a text without an end holds may be code
        inside = parent.type == "ERROR" and not _is_statement(node)
        if (
            node.is_missing
            or inside
            or node is parent is not root
            or (node.type == "ERROR" and not node.children)
        ):
            yield node.start_point[0] + 1, node.end_point[0] + 1
        elif node.has_error:
            waiting += [(item, node) for item in node.children]


def _merged(ranges: Ranges) -> Ranges:
    found: Ranges = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
