"""Turn calls in trusted text (docstrings, tests) into examples."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence

from codeguard.behavior.source.definitions import Parameter, unparse
from codeguard.behavior.specs.examples import Example, Expected
from codeguard.syntax.names import dotted_name

MAX_CALL_TEXT = 20_000


class NotPlainError(ValueError):
    """The expression is not a plain value."""


Values = Mapping[str, object]
NO_VALUES: Values = {}


def literal_value(node: ast.AST, values: Values = NO_VALUES) -> object:
    """Return the value of a literal, of a name in `values`, and of `set()`, `float("nan")` and the like.

    Raises:
        NotPlainError: the expression is not a plain value.
    """
    if isinstance(node, ast.Name) and node.id in values:
        return copy.deepcopy(values[node.id])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id in ("set", "frozenset", "list", "tuple", "dict") and len(node.args) <= 1:
            return _container(node.func.id, node.args)
        if node.func.id == "float" and len(node.args) == 1:
            return _float(node.args[0])
    try:
        value: object = ast.literal_eval(node)
        repr(value)  # Python does not convert integers of thousands of digits to text
        return value
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        try:
            return _of_parts(node, values)
        except (TypeError, RecursionError):
            raise NotPlainError(str(error)) from error


def _of_parts(node: ast.AST, values: Values) -> object:
    """Return the value of a list, tuple, set or dictionary whose items are plain values."""
    if isinstance(node, ast.List | ast.Tuple):
        items = [literal_value(item, values) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.Set):
        return {literal_value(item, values) for item in node.elts}
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [literal_value(key, values) for key in node.keys if key is not None]
        return dict(zip(keys, [literal_value(item, values) for item in node.values], strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal_value(node.operand, values)
        if isinstance(value, float):
            return -value
    raise NotPlainError(type(node).__name__)


def _container(name: str, args: Sequence[ast.expr]) -> object:
    items = literal_value(args[0]) if args else ()
    if not isinstance(items, list | tuple | set | str | dict):
        raise NotPlainError(name)
    try:
        return {"set": set, "frozenset": frozenset, "list": list, "tuple": tuple, "dict": dict}[name](items)
    except (TypeError, ValueError) as error:
        raise NotPlainError(name) from error


def _float(node: ast.expr) -> float:
    value = literal_value(node)
    if not isinstance(value, str | int | float):
        raise NotPlainError("float")
    try:
        return float(value)
    except (ValueError, OverflowError) as error:
        raise NotPlainError("float") from error


def read_literal(text: str) -> object:
    """Return the value of a literal in a text.

    Raises:
        NotPlainError: the text is not a literal.
    """
    if len(text) > MAX_CALL_TEXT:
        raise NotPlainError("too long")
    try:
        return literal_value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise NotPlainError(str(error)) from error


def plain_call(
    node: ast.Call, parameters: Sequence[Parameter], bare_words: bool = False, values: Values = NO_VALUES
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    """Return a call's arguments as plain values, with keywords moved to their positions.

    With `bare_words`, a name that is no parameter stands for its own text, because docstrings write
    `is_happy(abcd)`. None if an argument is not a plain value.
    """
    own = {parameter.name for parameter in parameters}
    try:
        args = [_argument(arg, own, bare_words, values) for arg in node.args]
        kwargs = {
            keyword.arg: _argument(keyword.value, own, bare_words, values)
            for keyword in node.keywords
            if keyword.arg
        }
    except NotPlainError:
        return None
    if len(kwargs) != len(node.keywords):
        return None
    return positional(args, kwargs, parameters)


def _argument(node: ast.expr, own: set[str], bare_words: bool, values: Values) -> object:
    if bare_words and isinstance(node, ast.Name) and node.id not in own:
        return node.id
    return literal_value(node, values)


def positional(
    args: Sequence[object], kwargs: Mapping[str, object], parameters: Sequence[Parameter]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Move keyword arguments to their positions, so that other functions may name parameters differently."""
    placed, left = list(args), dict(kwargs)
    names = [parameter.name for parameter in parameters if parameter.kind == "positional"]
    while len(placed) < len(names) and names[len(placed)] in left:
        placed.append(left.pop(names[len(placed)]))
    return tuple(placed), left


def example_of(
    node: ast.expr,
    callee: str,
    parameters: Sequence[Parameter],
    expected: Expected,
    origin: str,
    setup: str = "",
    values: Values = NO_VALUES,
    owner: str = "",
) -> Example | None:
    """Return the example for an expression that calls `callee`; None if there is none.

    A method is called on the object that the text creates from its class, `owner`.
    """
    call = _unwrapped(node)
    on_object = bool(owner) and (uses_name(node, owner) or owner in setup)
    if not on_object and isinstance(call, ast.Call) and dotted_name(call.func).rpartition(".")[2] == callee:
        found = plain_call(call, parameters, values=values)
        if found is not None:
            return Example(found[0], found[1], expected, origin)
    if not uses_name(node, callee) and callee not in setup:
        return None
    text = unparse(node)
    if not text or len(text) + len(setup) > MAX_CALL_TEXT:
        return None
    name = f"{owner}.{callee}" if on_object else callee
    return Example(None, {}, expected, origin, expression=text, setup=setup, callee=name)


def _unwrapped(node: ast.expr) -> ast.expr:
    """Read `list(f(x))` as `f(x)`, because the items of an iterator are compared anyway."""
    is_list = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple")
    )
    if is_list and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return node.args[0]
    return node


def uses_name(node: ast.AST, name: str) -> bool:
    """Return whether a tree uses a name, by itself or as an attribute."""
    return any(
        (isinstance(child, ast.Name) and child.id == name)
        or (isinstance(child, ast.Attribute) and child.attr == name)
        for child in ast.walk(node)
    )


NO_VALUE = object()


def value_of(text: str) -> object:
    """Return the plain value that a source text denotes, or NO_VALUE."""
    try:
        return literal_value(ast.parse(text, mode="eval").body)
    except (NotPlainError, SyntaxError, ValueError, RecursionError, MemoryError):
        return NO_VALUE
