"""The text of a statement, in a layout in which line coverage sees every branch.

`x if c else y`, `a and b` and the conditions of comprehensions are branches without a line of their
own. Their parts are put on separate lines in parentheses; nothing else changes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.behavior.source.definitions import Function, by_node, parse_or_none, unparse
from codeguard.corpus.syntax import walk
from codeguard.syntax.names import dotted_name

Place = tuple[int, int]  # line (1-based) and column, in bytes
_BRANCHING = re.compile(r"\b(?:and|or|if)\b")  # a word that every conditional expression has


def separate_branches(source: str) -> str:
    """Return the source with the parts of conditional expressions on separate lines."""
    tree = parse_or_none(source) if _BRANCHING.search(source) else None
    if tree is None:
        return source
    insertions = sorted(_insertions(tree), key=lambda item: (-item[0][0], -item[0][1], item[1]))
    if not insertions:
        return source
    lines = [line.encode() for line in source.split("\n")]
    # From the end, so that earlier positions stay valid. Where a
    # bracket and a line break coincide, the bracket is inserted last and comes first.
    for (number, column), text in insertions:
        line = lines[number - 1]
        lines[number - 1] = line[:column] + text + line[column:]
    made = b"\n".join(lines).decode()
    # The new layout has to parse to the same tree.
    again = parse_or_none(made)
    return made if again is not None and ast.dump(again) == ast.dump(tree) else source


def _insertions(tree: ast.Module) -> Iterator[tuple[Place, bytes]]:
    """Yield what to insert where: parentheses around conditional expressions, line breaks before parts."""
    nodes = list(walk(tree))
    inside_text = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in walk(node)}
    for node in nodes:
        if id(node) in inside_text:
            continue
        parts: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.test, node.orelse]
        elif isinstance(node, ast.BoolOp):
            parts = node.values
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            parts = [node.elt] if any(loop.ifs for loop in node.generators) else []
        if isinstance(node, ast.IfExp | ast.BoolOp):
            yield (node.lineno, node.col_offset), b"(\n"
            yield (node.end_lineno or 0, node.end_col_offset or 0), b"\n)"
        for part in parts:
            yield (part.lineno, part.col_offset), b"\n"


# Decorators that do not read annotations; others may.
_PLAIN_DECORATORS = """
staticmethod classmethod property lru_cache cache functools.lru_cache functools.cache contextmanager
contextlib.contextmanager overload t.overload typing.overload
"""
PLAIN_DECORATORS = frozenset(_PLAIN_DECORATORS.split())
_ANYTHING = ast.Constant(value=None)  # in the place of an annotation: without one, a name is not bound


@by_node
def laid_out(statement: ast.stmt) -> str:
    """Return a statement's source in the layout for coverage, "" if it is nested too deeply."""
    return separate_branches(plain_source(statement))


@by_node
def plain_source(statement: ast.stmt) -> str:
    """Return the source of a statement without docstrings and annotations of functions.

    Annotations run on import and need imports of their own; those of local names are never evaluated (PEP 526).
    Docstrings are half of many files.
    """
    changed: list[tuple[ast.AST, str, object]] = []

    def put(node: ast.AST, field: str, value: object) -> None:
        changed.append((node, field, getattr(node, field)))
        setattr(node, field, value)

    for node in list(walk(statement)):
        if isinstance(node, Function | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            put(node, "body", node.body[1:] or [ast.Pass()])
        if isinstance(node, Function):
            for found in _annotated_locals(node):
                put(found, "annotation", _ANYTHING)
            if drops_annotations(node):
                put(node, "returns", None)
                for argument in arguments_of(node.args):
                    put(argument, "annotation", None)
    text = unparse(statement)
    for node, field, value in reversed(changed):
        setattr(node, field, value)
    return text


def _annotated_locals(function: Function) -> Iterator[ast.AnnAssign]:
    """Yield the annotated names of a function's own scope; those of classes and functions inside have another."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.AnnAssign):
            yield node
        elif not isinstance(node, Function | ast.ClassDef | ast.expr):
            pending.extend(ast.iter_child_nodes(node))


def drops_annotations(node: Function) -> bool:
    """Return whether the annotations of a function are left out, because nothing reads them."""
    return all(dotted_name(decorator) in PLAIN_DECORATORS for decorator in node.decorator_list)


def arguments_of(arguments: ast.arguments) -> Iterator[ast.arg]:
    """Yield all parameters."""
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None)
