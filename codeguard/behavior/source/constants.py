"""Fold constant expressions, including arithmetic: `7 * 1111 + 4`, `chr(97) + "b"`.

The expressions come from untrusted code, so Python does not evaluate them. A short list of
operations on plain values is carried out here, with limits.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

MAX_DEPTH = 40
MAX_BITS = 256
MAX_LENGTH = 2_000  # characters of a string
MAX_LOOP = 200  # iterations of a comprehension
MAX_ITEMS = 4_000  # nested values, over all levels
Constants = Mapping[str, object]


class UnknownError(Exception):
    """The expression is not constant, or it is not one that is folded here."""


_BINARY: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[..., object]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_FUNCTIONS: dict[str, Callable[..., object]] = {
    "abs": abs,
    "bin": bin,
    "bool": bool,
    "chr": chr,
    "float": float,
    "frozenset": frozenset,
    "hex": hex,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "ord": ord,
    "round": round,
    "set": set,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    "tuple": tuple,
}
_TEXT_METHODS = "lower upper strip title capitalize swapcase casefold replace join split encode decode hex"
_METHODS = frozenset(_TEXT_METHODS.split())
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), list, tuple, set, frozenset, dict)


def fold(node: ast.expr, constants: Constants | None = None) -> object:
    """Return the value of a constant expression.

    `constants` maps names to known values, such as module constants.

    Raises:
        UnknownError: the expression is not constant.
    """
    return _fold(node, constants or {}, 0)


def _fold(node: ast.expr, constants: Constants, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise UnknownError
    try:
        value = _fold_node(node, constants, depth)
    except UnknownError:
        raise
    except Exception as error:  # any operation may fail on odd operands: not constant then
        raise UnknownError from error
    if not _is_small(value):
        raise UnknownError
    return value


def _is_small(value: object) -> bool:
    """Return whether a value is small in total, counting a list once for each place where it occurs."""
    pending, count = [value], 0
    while pending:
        current = pending.pop()
        count += 1
        if count > MAX_ITEMS:
            return False
        if isinstance(current, int) and current.bit_length() > MAX_BITS:
            return False
        if isinstance(current, str | bytes) and len(current) > MAX_LENGTH:
            return False
        if isinstance(current, list | tuple | set | frozenset | dict):
            if len(current) > MAX_ITEMS:
                return False
            pending.extend(current)
            if isinstance(current, dict):
                pending.extend(current.values())
    return True


def _fold_node(node: ast.expr, constants: Constants, depth: int) -> object:
    deeper = depth + 1
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_fold(node.operand, constants, deeper))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _binary(node.op, _fold(node.left, constants, deeper), _fold(node.right, constants, deeper))
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        items = [_fold(item, constants, deeper) for item in node.elts]
        return {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)](items)
    if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
        return {
            _fold(key, constants, deeper): _fold(value, constants, deeper)
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        }
    if isinstance(node, ast.Subscript):
        return _subscript(node, constants, deeper)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(_fold(part, constants, deeper)) for part in node.values)
    if isinstance(node, ast.FormattedValue) and node.format_spec is None and node.conversion == -1:
        return _fold(node.value, constants, deeper)
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return _comprehension(node, constants, deeper)
    if isinstance(node, ast.Call) and not node.keywords:
        return _call(node, constants, deeper)
    raise UnknownError


_LOOPS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def _comprehension(
    node: ast.ListComp | ast.GeneratorExp | ast.SetComp, constants: Constants, depth: int
) -> object:
    loop = node.generators[0]
    if len(node.generators) > 1 or loop.ifs or loop.is_async or not isinstance(loop.target, ast.Name):
        raise UnknownError
    if any(isinstance(part, _LOOPS) for part in ast.walk(node.elt)):
        raise UnknownError  # nested loops multiply
    items = _fold(loop.iter, constants, depth)
    if not isinstance(items, list | tuple | str | bytes) or len(items) > MAX_LOOP:
        raise UnknownError
    return [_fold(node.elt, {**constants, loop.target.id: item}, depth) for item in items]


def _binary(kind: ast.operator, left: object, right: object) -> object:
    if not isinstance(left, _SIMPLE) or not isinstance(right, _SIMPLE):
        raise UnknownError
    if isinstance(kind, ast.Pow | ast.LShift) and not (isinstance(right, int) and 0 <= right <= MAX_BITS):
        raise UnknownError
    if isinstance(kind, ast.Mod) and isinstance(left, str | bytes):
        raise UnknownError  # a format specification may have any width
    if isinstance(kind, ast.Mult):
        for sequence, count in ((left, right), (right, left)):
            repeats = isinstance(sequence, str | bytes | list | tuple) and isinstance(count, int)
            if repeats and len(sequence) * count > MAX_LENGTH:  # type: ignore[arg-type, operator]
                raise UnknownError
    return _BINARY[type(kind)](left, right)


def _subscript(node: ast.Subscript, constants: Constants, depth: int) -> object:
    value = _fold(node.value, constants, depth)
    if isinstance(node.slice, ast.Slice):
        edges = (node.slice.lower, node.slice.upper, node.slice.step)
        bounds = [None if edge is None else _fold(edge, constants, depth) for edge in edges]
        return value[slice(*bounds)]  # type: ignore[index]
    return value[_fold(node.slice, constants, depth)]  # type: ignore[index]


def _call(node: ast.Call, constants: Constants, depth: int) -> object:
    function = node.func
    if isinstance(function, ast.Name) and function.id == "map" and len(node.args) == 2:
        return _mapped(node.args[0], _fold(node.args[1], constants, depth))
    args = [_fold(argument, constants, depth) for argument in node.args]
    if isinstance(function, ast.Name) and function.id in _FUNCTIONS:
        return _FUNCTIONS[function.id](*args)
    if isinstance(function, ast.Attribute):
        if (
            function.attr == "fromhex"
            and isinstance(function.value, ast.Name)
            and function.value.id == "bytes"
        ):
            return bytes.fromhex(*args)  # type: ignore[arg-type]
        owner = _fold(function.value, constants, depth)
        if isinstance(owner, str | bytes) and function.attr in _METHODS:
            return getattr(owner, function.attr)(*args)
    raise UnknownError


def _mapped(function: ast.expr, items: object) -> object:
    known = _FUNCTIONS.get(function.id) if isinstance(function, ast.Name) else None
    if known is None or not isinstance(items, list | tuple | str | bytes):
        raise UnknownError
    return [known(item) for item in items]


def constants_of(tree: ast.AST) -> dict[str, object]:
    """Return the names in a tree that are bound exactly once, to a constant."""
    bound: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            bound.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.arg):
            bound.setdefault(node.arg, []).append(None)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound.setdefault(node.id, []).append(None)
    found: dict[str, object] = {}
    for name, values in bound.items():
        # an assignment occurs twice: as a statement and as a stored name
        written = [value for value in values if value is not None]
        if len(written) == 1 and len(values) == 2:
            try:
                found[name] = fold(written[0], found)
            except UnknownError:
                continue
    return found


def literals_of(tree: ast.AST, constants: Constants | None = None) -> Iterator[object]:
    """Yield every constant in a tree, with the largest foldable expressions folded, except docstrings."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.expr):
            try:
                value = fold(node, constants)
                repr(value)  # repr fails for integers of thousands of digits, and no call can contain them
            except (UnknownError, ValueError):
                pass
            else:
                yield value
                if isinstance(node, ast.Constant):
                    continue
        pending.extend(ast.iter_child_nodes(node))
