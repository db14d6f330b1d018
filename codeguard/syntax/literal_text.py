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
    "format format_map replace strip lstrip rstrip encode substitute safe_substitute".split()  # noqa: SIM905
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
        match node:
            case ast.JoinedStr():
                return self._together("", node.values, depth)
            case ast.BinOp(op=ast.Mod()):
                return self._text(node.left, depth + 1)
            case ast.BinOp(op=ast.Add()):
                parts: list[ast.expr] = []
                left: ast.expr = node
                while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
                    parts.append(left.right)
                    left = left.left
                return self._together("", [left, *reversed(parts)], depth)
            case ast.Call(func=ast.Attribute(value=text, attr="join"), args=[joined, *_]):
                between = self._names.text(text)
                several = (getattr(value, "elts", None) for value in (joined, *self._names.values_of(joined)))
                listed: list[ast.expr] = next(filter(None, several), [])
                return HOLE if between is None else self._together(between, listed, depth)
            case ast.Call(func=ast.Attribute(value=text, attr=method)) if method in _KEEPING:
                for value in [text, *self._names.values_of(text)]:
                    if isinstance(value, ast.Call) and self._names.called(value) == "string.Template":
                        text = value.args[0] if value.args else text
                return self._text(text, depth + 1)
            case ast.IfExp():
                return self._text(node.body, depth + 1)
            case ast.FormattedValue():
                return self._names.text(node.value) or HOLE
            case ast.Name() | ast.Attribute():
                for value in self._names.values_of(node):
                    found = self._text(value, depth + 1)
                    if found.strip(HOLE):
                        return found
        return HOLE

    def _together(self, between: str, parts: Iterable[ast.expr], depth: int) -> str:
        texts: list[str] = []
        for part in parts:
            if self._steps < 0:
                break
            texts.append(self._text(part, depth + 1))
        return between.join(texts)[:_LONGEST]
