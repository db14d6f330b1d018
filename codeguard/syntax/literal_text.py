"""The literal parts of composed texts, with a mark for each inserted value."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codeguard.syntax.names import Names

HOLE = "\0"
_STEPS = 400  # steps per text
STEPS_PER_FILE = 200_000
STEPS_PER_NODE = 2
_TOO_LONG = "texts that are put together were not read any further: it takes too many steps"
_DEEPEST = 30
_LONGEST = 2_000
_KEEPING = frozenset(
    {
        "format",
        "format_map",
        "replace",
        "strip",
        "lstrip",
        "rstrip",
        "encode",
        "substitute",
        "safe_substitute",
    }
)


class LiteralTexts:
    """Returns the texts of one file, with a limit on steps for each and for all of them."""

    def __init__(self, names: Names, nodes: int = 0) -> None:
        self._names = names
        self._left = STEPS_PER_FILE + STEPS_PER_NODE * nodes
        self._steps = 0

    def text(self, node: ast.expr) -> str:
        """Return an expression's text as far as the file determines it, with `HOLE` for each unknown part.

        For a name with several values, it is the first text among them; long texts are cut.
        """
        self._steps = granted = min(_STEPS, self._left)
        found = self._text(node, 0)[:_LONGEST]
        self._left -= granted - max(self._steps, 0)
        if self._left <= 0:
            self._names.unread.note(_TOO_LONG, node.lineno)
        return found

    def _text(self, node: ast.expr, depth: int) -> str:
        self._steps -= 1
        if isinstance(node, ast.Constant):
            return node.value[:_LONGEST] if isinstance(node.value, str) else HOLE
        if self._steps < 0 or depth > _DEEPEST:
            return HOLE
        if isinstance(node, ast.JoinedStr):
            return self._together("", node.values, depth)
        if isinstance(node, ast.BinOp):
            return self._operated(node, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._called(node, node.func, depth)
        if isinstance(node, ast.IfExp):
            return self._text(node.body, depth + 1)
        if isinstance(node, ast.FormattedValue):
            return self._names.text(node.value) or HOLE
        if isinstance(node, ast.Name | ast.Attribute):
            for value in self._names.values_of(node):
                text = self._text(value, depth + 1)
                if text.strip(HOLE):
                    return text
        return HOLE

    def _together(self, between: str, parts: Iterable[ast.expr], depth: int) -> str:
        texts: list[str] = []
        for part in parts:
            if self._steps < 0:
                break
            texts.append(self._text(part, depth + 1))
        return between.join(texts)[:_LONGEST]

    def _operated(self, node: ast.BinOp, depth: int) -> str:
        if isinstance(node.op, ast.Mod):
            return self._text(node.left, depth + 1)
        if not isinstance(node.op, ast.Add):
            return HOLE
        parts: list[ast.expr] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
            parts.append(left.right)
            left = left.left
        parts.append(left)
        return self._together("", reversed(parts), depth)

    def _called(self, node: ast.Call, function: ast.Attribute, depth: int) -> str:
        if function.attr == "join" and node.args:
            between = self._names.text(function.value)
            return HOLE if between is None else self._together(between, self._elements(node.args[0]), depth)
        if function.attr in _KEEPING:
            return self._text(self._template(function.value), depth + 1)
        return HOLE

    def _template(self, node: ast.expr) -> ast.expr:
        """Return the text of `string.Template(text)`, or the node itself."""
        for value in [node, *self._names.values_of(node)]:
            if isinstance(value, ast.Call) and self._names.called(value) == "string.Template" and value.args:
                return value.args[0]
        return node

    def _elements(self, node: ast.expr) -> list[ast.expr]:
        for value in [node, *self._names.values_of(node)]:
            if isinstance(value, ast.List | ast.Tuple):
                return value.elts
        return []
