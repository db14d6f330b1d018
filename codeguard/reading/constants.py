"""What an expression of constants comes to, computed without running it and within bounds.

Nothing is evaluated by Python: each operation is one of ours, with its size
known before it is done, so that hostile input costs no more than a fixed
number of steps and a fixed size of text.
"""

from __future__ import annotations

import ast
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from codeguard.reading.constantops import (
    FUNCTIONS,
    LARGEST,
    METHODS,
    OPERATORS,
    TooLargeError,
    UnknownValueError,
    bounded,
    percent,
    plain,
    times,
)
from codeguard.reading.unread import Unread

DEEPEST = 60
STEPS_PER_FILE = 200_000
CHARACTERS_PER_FILE = 32_000_000  # of long values
LONG = 1_000
_TOO_LONG = "what constants come to was not worked out any further: it takes too many steps or too much text"
_TOO_DEEP = f"a constant put together in more than {DEEPEST} levels was not worked out"
_TOO_LARGE = f"a decoded constant of more than {LARGEST:,} characters was not worked out"


class Lookup(Protocol):
    """What folding needs to know of names."""

    def names_of(self, node: ast.expr, depth: int) -> Sequence[str]:
        """Return the dotted names that an expression may stand for."""
        ...

    def values_of(self, node: ast.expr, depth: int) -> Sequence[ast.expr]:
        """Return the expressions that a name or attribute is bound to, none where it is not known."""
        ...


Locals = Mapping[str, object]


class Folder:
    """Folds the expressions of one file. `fold` raises `UnknownValueError`.

    All of it takes at most `STEPS_PER_FILE` steps and those granted beside
    them; `unread` is told where that does not suffice.
    """

    def __init__(self, lookup: Lookup, granted: int = 0, unread: Unread | None = None) -> None:
        self._lookup = lookup
        self._unread = unread or Unread()
        self._steps = STEPS_PER_FILE + granted
        self._characters = CHARACTERS_PER_FILE
        self._memo: dict[ast.AST, object] = {}

    def fold(self, node: ast.expr, depth: int = 0, local: Locals | None = None) -> object:
        """Return the constant that an expression comes to."""
        if isinstance(node, ast.Constant):
            return bounded(node.value)
        if local is None and node in self._memo:
            known = self._memo[node]
            if known is _NOTHING:
                raise UnknownValueError
            return known
        self._steps -= 1
        fold = _FOLDS.get(type(node))
        if depth > DEEPEST or self._steps < 0 or self._characters < 0:
            if fold is not None:
                self._unread.note(_TOO_DEEP if depth > DEEPEST else _TOO_LONG, node.lineno)
            raise UnknownValueError
        value: object = _NOTHING
        if local is None:
            self._memo[node] = _NOTHING  # a name that stands for itself ends here
        try:
            if fold is not None:
                value = bounded(fold(self, node, depth + 1, local or {}))
                if isinstance(value, str | bytes | tuple) and len(value) > LONG:
                    self._characters -= len(value)
        except TooLargeError:
            self._unread.note(_TOO_LARGE, node.lineno)
        except (
            UnknownValueError,
            ValueError,
            TypeError,
            LookupError,
            ArithmeticError,
            zlib.error,
            AttributeError,
        ):
            pass
        if local is None:
            self._memo[node] = value
        if value is _NOTHING:
            raise UnknownValueError
        return value

    def _name(self, node: ast.Name, depth: int, local: Locals) -> object:
        if node.id in local:
            return local[node.id]
        return self._bound(node, depth, local)

    def _bound(self, node: ast.expr, depth: int, local: Locals) -> object:
        values = self._lookup.values_of(node, depth)
        if len(values) == 1:
            return self.fold(values[0], depth)
        raise UnknownValueError

    def _sequence(self, node: ast.Tuple | ast.List, depth: int, local: Locals) -> object:
        return tuple(self.fold(element, depth, local or None) for element in node.elts[:LARGEST])

    def _joined(self, node: ast.JoinedStr, depth: int, local: Locals) -> object:
        parts: list[str] = []
        size = 0
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None:
                    raise UnknownValueError
                value = self.fold(part.value, depth, local or None)
                parts.append(repr(plain(value)) if part.conversion == ord("r") else str(plain(value)))
            else:
                parts.append(str(plain(self.fold(part, depth, local or None))))
            size += len(parts[-1])
            if size > LARGEST:
                raise UnknownValueError
        return "".join(parts)

    def _binary(self, node: ast.BinOp, depth: int, local: Locals) -> object:
        left = self.fold(node.left, depth, local or None)
        right = self.fold(node.right, depth, local or None)
        if isinstance(node.op, ast.Mod) and isinstance(left, str | bytes):
            return percent(left, right)
        if isinstance(node.op, ast.Mult):
            return times(left, right)
        if (
            isinstance(node.op, ast.Add)
            and type(left) is type(right)
            and isinstance(left, str | bytes | tuple)
        ):
            return left + right  # type: ignore[operator]
        operate = OPERATORS.get(type(node.op))
        if operate is None or not isinstance(left, int | float) or not isinstance(right, int | float):
            raise UnknownValueError
        if isinstance(node.op, ast.LShift) and right > 64:
            raise UnknownValueError
        return operate(left, right)

    def _unary(self, node: ast.UnaryOp, depth: int, local: Locals) -> object:
        value = self.fold(node.operand, depth, local or None)
        if isinstance(node.op, ast.Not):
            return not value
        if not isinstance(value, int | float):
            raise UnknownValueError
        if isinstance(node.op, ast.Invert):
            return ~int(value)
        return -value if isinstance(node.op, ast.USub) else value

    def _subscript(self, node: ast.Subscript, depth: int, local: Locals) -> object:
        if isinstance(node.value, ast.Dict):
            key = self.fold(node.slice, depth, local or None)
            for each, value in zip(node.value.keys, node.value.values, strict=True):
                if each is not None and self.fold(each, depth, local or None) == key:
                    return self.fold(value, depth, local or None)
            raise UnknownValueError
        base = self.fold(node.value, depth, local or None)
        if not isinstance(base, str | bytes | tuple):
            raise UnknownValueError
        if isinstance(node.slice, ast.Slice):
            ends = [
                None if part is None else self.fold(part, depth, local or None)
                for part in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return base[slice(*ends)]  # type: ignore[arg-type]
        index = self.fold(node.slice, depth, local or None)
        if not isinstance(index, int):
            raise UnknownValueError
        return base[index]

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, depth: int, local: Locals) -> object:
        if len(node.generators) != 1 or node.generators[0].ifs:
            raise UnknownValueError
        target, source = node.generators[0].target, node.generators[0].iter
        if not isinstance(target, ast.Name):
            raise UnknownValueError
        values = self.fold(source, depth, local or None)
        if not isinstance(values, str | bytes | tuple):
            raise UnknownValueError
        return tuple(self.fold(node.elt, depth, {**local, target.id: value}) for value in values)

    def _choice(self, node: ast.IfExp, depth: int, local: Locals) -> object:
        test = self.fold(node.test, depth, local or None)
        return self.fold(node.body if test else node.orelse, depth, local or None)

    def _named(self, node: ast.NamedExpr, depth: int, local: Locals) -> object:
        return self.fold(node.value, depth, local or None)

    def _call(self, node: ast.Call, depth: int, local: Locals) -> object:
        keywords = {
            item.arg: self.fold(item.value, depth, local or None) for item in node.keywords if item.arg
        }
        if isinstance(node.func, ast.Attribute):
            done = self._method(node.func, node.args, keywords, depth, local)
            if done is not _NOTHING:
                return done
        for name in self._lookup.names_of(node.func, depth):
            function = FUNCTIONS.get(name)
            if function is not None:
                return function(*self._arguments(name, node.args, depth, local), **keywords)
        raise UnknownValueError

    def _arguments(self, name: str, nodes: Iterable[ast.expr], depth: int, local: Locals) -> list[object]:
        arguments = list(nodes)
        if name == "map" and len(arguments) == 2:
            for called in self._lookup.names_of(arguments[0], depth):
                if called in ("chr", "ord", "str", "int"):
                    return [FUNCTIONS[called], self.fold(arguments[1], depth, local or None)]
            raise UnknownValueError
        return [self.fold(argument, depth, local or None) for argument in arguments]

    def _method(
        self,
        function: ast.Attribute,
        arguments: Sequence[ast.expr],
        keywords: Mapping[str, object],
        depth: int,
        local: Locals,
    ) -> object:
        method = METHODS.get(function.attr)
        if method is None:
            return _NOTHING
        try:
            base = self.fold(function.value, depth, local or None)
        except UnknownValueError:
            return _NOTHING
        if not isinstance(base, str | bytes):
            return _NOTHING
        return method(base, *(self.fold(each, depth, local or None) for each in arguments), **keywords)


_NOTHING: Final = object()


_FOLDS: Mapping[type[ast.AST], Callable[..., object]] = {
    ast.Name: Folder._name,
    ast.Attribute: Folder._bound,
    ast.Tuple: Folder._sequence,
    ast.List: Folder._sequence,
    ast.JoinedStr: Folder._joined,
    ast.BinOp: Folder._binary,
    ast.UnaryOp: Folder._unary,
    ast.Subscript: Folder._subscript,
    ast.ListComp: Folder._comprehension,
    ast.GeneratorExp: Folder._comprehension,
    ast.IfExp: Folder._choice,
    ast.NamedExpr: Folder._named,
    ast.Call: Folder._call,
}
