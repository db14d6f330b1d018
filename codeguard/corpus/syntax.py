"""Python's parser, with limits on the size of the tree and on input that takes quadratic time."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from itertools import islice

# A node of the tree takes about 700 bytes including caches, and a token makes at most one node. The largest
# of 7,000 files of the standard library and nine packages has 173,000 tokens.
MOST_TOKENS = 200_000
MOST_PARTS = 64  # parts of a dotted name in an import; real packages have at most ten
MOST_BITS = 10_000  # of an integer: Python writes out no more than 4,300 digits
# Words and signs anywhere: strings and comments cannot be recognized without parsing. Line ends count,
# because a bare name on a line is a statement; the escapes of one string count once.
_TOKEN = re.compile(r"\n\s*+|(?:\\\w++)++|\w++|[^\w\s\\]")
_LONG_NUMBER = re.compile(r"0[xXoObB][0-9a-fA-F_]{2000}")
# From the keyword to the end of the statement, except inside brackets, where no dotted name can be.
_IMPORT = re.compile(r"\b(?:import|from)\b(?:[\w., \t\f]|\\\r?\n?)*+")


class ParseBoundError(SyntaxError):
    """A text was not parsed, because its tree would be too large."""


def parse(text: str) -> ast.Module:
    """Return the syntax tree of a text, as `ast.parse` does, except for integers that cannot be written out.

    Python raises an error when it has to show an integer of more than 4,300
    digits. Integers of more than `MOST_BITS` bits, which only hexadecimal,
    octal and binary literals can have, become a call: `int('ff…', 16)`.

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
    tree = ast.parse(text)
    if _LONG_NUMBER.search(text):
        _spell_out(tree)
    if "_magic" in text:
        _write_out_magic(tree)
    return tree


_SHELL_MAGIC = frozenset({"system", "sx", "!", "!!", "bash", "sh", "script"})


def _write_out_magic(tree: ast.Module) -> None:
    """Make `x.run_cell_magic("bash", "", text)` what it comes to: `x.system(text)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="run_line_magic" | "run_cell_magic"),
                args=[ast.Constant(value=str() as name), *_, command],
            ) if name in _SHELL_MAGIC:
                node.func.attr = "system"  # type: ignore[attr-defined]
                node.args = [command]


def _spell_out(tree: ast.Module) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, list):
                value[:] = [_spelled(item) for item in value]
            elif isinstance(value, ast.Constant):
                setattr(parent, name, _spelled(value))


def _spelled(node: object) -> object:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int):
        return node
    if node.value.bit_length() <= MOST_BITS:
        return node
    arguments: list[ast.expr] = [ast.Constant(f"{node.value:x}"), ast.Constant(16)]
    call = ast.Call(ast.Name("int", ast.Load()), arguments, [])
    for made in ast.walk(call):
        ast.copy_location(made, node)
    return call


def within_bounds(text: str) -> int:
    """Return the length of the longest prefix with at most `MOST_TOKENS` tokens."""
    if len(text) <= MOST_TOKENS:
        return len(text)
    beyond = next(islice(_TOKEN.finditer(text), MOST_TOKENS, None), None)
    return len(text) if beyond is None else beyond.start()


def _too_large(what: str, text: str, offset: int) -> ParseBoundError:
    return ParseBoundError(what, ("<unknown>", text.count("\n", 0, offset) + 1, None, None))


def unparse(node: ast.AST) -> str:
    """Return the source of a tree, "" where Python cannot write it: deep nesting, a backslash in an f-string."""
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError, MemoryError):
        return ""


def unqualified_name(node: ast.AST | None) -> str:
    """Return a variable's name, or an attribute's without what it belongs to; "" for any other node."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def variables_in(node: ast.AST) -> set[str]:
    """Return the names of all variables in a tree."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


# Fields that never hold nodes, and contexts and operators, which are shared objects in every tree.
_PLAIN = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "asname", "module", "level", "kind", "type_comment", "type_ignores",
     "is_async", "conversion", "simple", "rest", "kwd_attrs"}
)  # fmt: skip


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """Return the fields of a node type that may hold nodes, without contexts and operators."""
    plain = set(_PLAIN)
    if issubclass(kind, ast.Constant | ast.MatchSingleton):
        plain.add("value")
    if issubclass(kind, ast.Global | ast.Nonlocal):
        plain.add("names")
    if kind.__name__ != "TypeAlias":
        plain.add("name")
    return tuple(name for name in kind._fields if name not in plain)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the child nodes except contexts and operators, in half the time of `ast.iter_child_nodes`."""
    found: list[ast.AST] = []
    for name in _fields(type(node)):  # type: ignore[arg-type]  # mypy takes a class for what it makes
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def chained(node: ast.BinOp) -> list[ast.expr]:
    """Return the operands of a chain of one operator, `a + b + c`, which nests to the left."""
    parts: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, type(node.op)):
        parts.append(left.right)
        left = left.left
    return [left, *reversed(parts)]


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it except contexts and operators, in the order of `ast.walk` in half the time."""
    found = [node]
    for at in found:
        yield at
        found += children(at)


def nodes_and_parents(tree: ast.AST) -> tuple[tuple[ast.AST, ...], dict[ast.AST, ast.AST]]:
    """Return all nodes except contexts and operators, breadth first, and the parent of each but the root."""
    nodes: list[ast.AST] = [tree]
    parents: dict[ast.AST, ast.AST] = {}
    for node in nodes:
        below = children(node)
        nodes += below
        for item in below:
            parents[item] = node
    return tuple(nodes), parents
