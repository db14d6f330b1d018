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
_UNCHANGED = (ast.FunctionDef, ast.ClassDef, ast.JoinedStr, ast.Import, ast.ImportFrom)


def literal_values(example: Example) -> tuple[object, ...]:
    """Return the values of the literals that may be changed; empty if there are none or too many."""
    places = _Places()
    places.text_of(example.setup), places.text_of(example.expression)
    return tuple(places.values) if len(places.values) <= MAX_HOLES else ()


def with_values(example: Example, values: Sequence[object]) -> Example | None:
    """Return the example with other values at its places; the reference determines the expected result."""
    places = _Places(list(values))
    setup, expression = places.text_of(example.setup), places.text_of(example.expression)
    if not expression:
        return None
    return replace(example, setup=f"{setup}\n" if setup else "", expression=expression, expected=None)


class _Places(ast.NodeTransformer):
    """Collects the largest literals of texts, and replaces them by other values if it has any."""

    def __init__(self, fill: list[object] | None = None) -> None:
        self.fill = fill
        self.values: list[object] = []

    def text_of(self, source: str) -> str:
        try:
            return unparse(ast.fix_missing_locations(self.visit(ast.parse(source))))
        except PARSE_ERRORS:
            return ""

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, _UNCHANGED):
            return node
        try:
            value = ast.literal_eval(node) if isinstance(node, ast.expr) else NotImplemented
        except (*PARSE_ERRORS, TypeError):
            value = NotImplemented
        if value is NotImplemented:
            return self.generic_visit(node)
        if value is None or value is Ellipsis or isinstance(value, bool | bytes | complex):
            return node
        self.values.append(value)
        return ast.parse(repr(self.fill.pop(0)), mode="eval").body if self.fill else node
