"""Source laid out so that line coverage sees every branch, those within expressions as well.

`x if c else y`, `a and b` and the conditions of comprehensions are branches
without a line of their own. Their parts are put on lines of their own, in
brackets; nothing else changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.behavior.source import parse

Place = tuple[int, int]  # line (1-based) and column, in bytes


def spread_out(source: str) -> str:
    """Return the source with the parts of branching expressions on lines of their own."""
    tree = parse(source)
    if tree is None:
        return source
    insertions = sorted(_insertions(tree), key=lambda item: (-item[0][0], -item[0][1], item[1]))
    if not insertions:
        return source
    lines = [line.encode() for line in source.split("\n")]
    # From the end on, so that places further ahead stay where they are; where a
    # bracket and a line break meet, the bracket goes in last and stands in front.
    for (number, column), text in insertions:
        line = lines[number - 1]
        lines[number - 1] = line[:column] + text + line[column:]
    made = b"\n".join(lines).decode()
    # A layout that does not give the very same tree is none.
    again = parse(made)
    return made if again is not None and ast.dump(again) == ast.dump(tree) else source


def _insertions(tree: ast.Module) -> Iterator[tuple[Place, bytes]]:
    """Yield where to insert what: brackets around a branching expression, a line break before each part."""
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside_text = {id(part) for node in texts for part in ast.walk(node)}
    for node in ast.walk(tree):
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
