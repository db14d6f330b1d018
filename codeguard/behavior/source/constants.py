"""The constants of untrusted code as values that an argument may have, computed ones included: `7 * 1111 + 4`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import ClassVar

from codeguard.syntax.constants import Folder, Locals, UnknownValueError
from codeguard.syntax.names import dotted_name

MAX_BITS = 256
MAX_LENGTH = 2_000  # characters of a string
MAX_ITEMS = 4_000  # nested values, over all levels
_KINDS: Mapping[type[ast.expr], Callable[[Iterable[object]], object]] = {
    ast.List: list, ast.Tuple: tuple, ast.Set: set,
}  # fmt: skip


class Constants(Folder):
    """The names in some trees that are bound exactly once, and the values of expressions with them."""

    def __init__(self, *trees: ast.AST, hidden: Collection[str] = ()) -> None:
        """Read the trees; a later one hides names of those before it, and `hidden` names are variables."""
        super().__init__(self)
        self._known: dict[str, ast.expr] = {}
        for tree in trees:
            self._known |= _bound_once(tree)
        for name in hidden:
            self._known.pop(name, None)

    def names_of(self, node: ast.expr, depth: int) -> list[str]:
        """Return the name of a function as it is written."""
        return [dotted_name(node)]

    def values_of(self, node: ast.expr, depth: int) -> list[ast.expr]:
        """Return what a name is bound to."""
        found = self._known.get(node.id) if isinstance(node, ast.Name) else None
        return [] if found is None else [found]

    def fold(self, node: ast.expr, depth: int = 0, local: Locals = None) -> object:
        """Return the value of a constant expression, a list of a list's: to rules sequences are all the same.

        Raises:
            UnknownValueError: the expression is not constant, or its value is not small.
        """
        value = super().fold(node, depth, local)
        if depth == 0 and not _is_small(value):
            raise UnknownValueError
        return value

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set, depth: int, local: Locals) -> object:
        return _KINDS[type(node)](self.fold(part, depth, local) for part in node.elts)

    def _dict(self, node: ast.Dict, depth: int, local: Locals) -> object:
        sides = (
            [self.fold(part, depth, local) for part in side if part] for side in (node.keys, node.values)
        )
        return dict(zip(*sides, strict=True))

    folds: ClassVar = {**Folder.folds, **dict.fromkeys(_KINDS, _sequence), ast.Dict: _dict}

    def literals(self, tree: ast.AST) -> Iterator[object]:
        """Yield every constant in a tree, with the largest constant expressions folded, except docstrings."""
        pending: list[ast.AST] = [tree]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.expr):
                try:
                    yield self.fold(node)
                except UnknownValueError:
                    pass
                else:
                    if isinstance(node, ast.Constant):
                        continue
            pending.extend(ast.iter_child_nodes(node))


def literals_of(tree: ast.AST) -> list[object]:
    """Return every constant in a tree."""
    return list(Constants(tree).literals(tree))


def _bound_once(tree: ast.AST) -> dict[str, ast.expr]:
    assigned: dict[str, ast.expr] = {}
    times: Counter[str] = Counter()
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Name(name)], value):
                assigned[name] = value
            case ast.arg(arg=name):
                times[name] += 2
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                times[name] += 1
    return {name: value for name, value in assigned.items() if times[name] == 1}


def _is_small(value: object) -> bool:
    """Return whether a value is small in total, counting a list once for each place where it occurs."""
    pending, count = [value], 0
    while pending and count <= MAX_ITEMS:
        current = pending.pop()
        count += 1
        if isinstance(current, int) and current.bit_length() > MAX_BITS:
            return False
        if isinstance(current, str | bytes) and len(current) > MAX_LENGTH:
            return False
        if isinstance(current, list | tuple | set | dict):
            pending.extend(list(current)[: MAX_ITEMS + 1])
            pending.extend(current.values() if isinstance(current, dict) else ())
    return count <= MAX_ITEMS
