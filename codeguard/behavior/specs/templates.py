"""Variants of examples that are not plain calls, made by changing their literals.

In `list(f(lambda x: x < 3, [1, 5]))`, the literals of the expression and of its setup are places
with values. Their values are learned and generated like the arguments of a plain call. The rest
(functions passed, objects built) is not changed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from codeguard.behavior.source.definitions import PARSE_ERRORS, unparse
from codeguard.behavior.specs.examples import Example

MAX_HOLES = 6


def literal_values(example: Example) -> tuple[object, ...]:
    """Return the values of the literals that may be changed; empty if there are none or too many."""
    found: list[object] = []
    for text in (example.setup, example.expression):
        try:
            tree = ast.parse(text)
        except PARSE_ERRORS:
            return ()
        collector = _Places(None)
        collector.visit(tree)
        found.extend(collector.values)
    return tuple(found) if len(found) <= MAX_HOLES else ()


def with_values(example: Example, values: Sequence[object]) -> Example | None:
    """Return the example with other values at its places; the reference determines the expected result."""
    left = list(values)
    texts = []
    for text in (example.setup, example.expression):
        try:
            tree = _Places(left).visit(ast.parse(text))
        except PARSE_ERRORS:
            return None
        texts.append(unparse(ast.fix_missing_locations(tree)))
    setup, expression = texts
    return replace(example, setup=f"{setup}\n" if setup else "", expression=expression, expected=None)


class _Places(ast.NodeTransformer):
    """Collects the largest literals of a tree, or replaces them by other values."""

    def __init__(self, fill: list[object] | None) -> None:
        self.fill = fill
        self.values: list[object] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return node
        if isinstance(node, ast.expr):
            try:
                value = ast.literal_eval(node)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return self.generic_visit(node)
            return self._place(node, value)
        return self.generic_visit(node)

    def _place(self, node: ast.expr, value: object) -> ast.expr:
        if value is None or isinstance(value, bool | bytes | complex) or value is Ellipsis:
            return node
        self.values.append(value)
        if self.fill is None:
            return node
        return ast.parse(repr(self.fill.pop(0)), mode="eval").body
