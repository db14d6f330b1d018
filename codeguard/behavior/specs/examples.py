"""Examples: a call, its expected result, and the place where it is written; how trusted text becomes one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codeguard.behavior.source.definitions import Parameter, unparse
from codeguard.syntax.names import dotted_name


@dataclass(frozen=True, slots=True)
class Returns:
    """The call returns this value."""

    value: object


@dataclass(frozen=True, slots=True)
class Raises:
    """The call raises an exception of this type, given by name, or of a subclass."""

    exception: str


@dataclass(frozen=True, slots=True)
class Prints:
    """The call writes this to standard output."""

    text: str


Expected = Returns | Raises | Prints | None
"""None: the text shows the call, and what the trusted function gives is what it has to give."""


@dataclass(frozen=True, slots=True)
class Example:
    """One call with its expected result.

    With `args`, the function is called on plain values. If `args` is None, `expression` is
    evaluated after `setup`, and `callee` is the function's name in both: `name`, or `Class.name`
    for a method, where the candidate's own class and method take its place. `origin` is the place
    where the example is written. `around` are statements of trusted files to run before `setup` if
    the candidate does not contain them.
    """

    args: tuple[object, ...] | None
    kwargs: Mapping[str, object] = field(default_factory=dict)
    expected: Expected = None
    origin: str = ""
    expression: str = ""
    setup: str = ""
    callee: str = ""
    around: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Return a text that is different for different calls and expectations."""
        parts = (self.args, sorted(self.kwargs.items()), self.expected, self.expression, self.setup)
        return repr((*parts, *self.around))


def written(value: object) -> str:
    """Return a plain value as text, different for different values and the same in every process."""
    if isinstance(value, dict):
        return f"dict({', '.join(f'{written(key)}: {written(item)}' for key, item in value.items())})"
    if isinstance(value, list | tuple | set | frozenset):
        items = map(written, value)
        ordered = sorted(items) if isinstance(value, set | frozenset) else items
        return f"{type(value).__name__}({', '.join(ordered)})"
    # Python refuses to write an integer of many digits in the decimal system.
    return hex(value) if type(value) is int else repr(value)


@dataclass(frozen=True, slots=True)
class Spec:
    """The names of a function and its cases; `shipped` if it comes with codeguard.

    It applies to every function of that name. `certain` says that whatever has exactly this name and takes the
    arguments of the cases is meant to be this function.
    """

    name: str
    aliases: tuple[str, ...]
    summary: str
    cases: tuple[Example, ...]
    origin: str
    shipped: bool = False
    certain: bool = False

    @property
    def text(self) -> str:
        """Its name and summary."""
        return f"{self.name} {self.summary}"


MAX_CALL_TEXT = 20_000
Values = Mapping[str, object]
NO_VALUES: Values = {}
NO_VALUE = object()
_MADE: Mapping[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (set, frozenset, list, tuple, dict, float)
}
_UNREADABLE = (ValueError, TypeError, SyntaxError, ArithmeticError, MemoryError, RecursionError)


def literal_value(node: ast.AST, values: Values = NO_VALUES) -> Any:
    """Return the value of a literal, of a name in `values`, of `set()`, `float("nan")` and the like, or NO_VALUE."""
    try:
        value = _value(node, values)
        repr(value)  # Python does not convert integers of thousands of digits to text
    except _UNREADABLE:
        return NO_VALUE
    return value


def value_of(text: str) -> Any:
    """Return the plain value that a source text denotes, or NO_VALUE."""
    try:
        node = None if len(text) > MAX_CALL_TEXT else ast.parse(text.strip(), mode="eval").body
    except _UNREADABLE:
        return NO_VALUE
    return NO_VALUE if node is None else literal_value(node)


def _value(node: ast.AST, values: Values) -> Any:
    match node:
        case ast.Name(name) if name in values:
            return copy.deepcopy(values[name])
        case ast.Call(ast.Name(kind), args, []) if kind in _MADE and len(args) <= 1:
            return _MADE[kind](*(_value(item, values) for item in args))
        case ast.List(items) | ast.Tuple(items) | ast.Set(items):
            kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
            return _MADE[kind](_value(item, values) for item in items)
        case ast.Dict(keys, items) if None not in keys:
            pairs = zip(keys, items, strict=True)
            return {_value(key, values): _value(item, values) for key, item in pairs if key is not None}
        case ast.UnaryOp(ast.USub(), ast.Call() as operand):
            return -_value(operand, values)
    return ast.literal_eval(node)


def remember(statement: ast.stmt, values: dict[str, object]) -> None:
    """Update the plain values of names by a statement; what it mentions may have changed."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            values.pop(node.id, None)
    match statement:
        case ast.Assign([ast.Name(name)], value) if (found := literal_value(value, values)) is not NO_VALUE:
            values[name] = found


def plain_call(
    node: ast.Call, parameters: Sequence[Parameter] = (), values: Values = NO_VALUES
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    """Return a call's arguments as plain values, with keywords moved to their positions; None if one is not plain."""
    args = [literal_value(item, values) for item in node.args]
    kwargs = {item.arg: literal_value(item.value, values) for item in node.keywords if item.arg}
    if len(kwargs) < len(node.keywords) or any(value is NO_VALUE for value in (*args, *kwargs.values())):
        return None
    return positional(args, kwargs, parameters)


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
    call = unwrapped(node, "list", "tuple")
    on_object = bool(owner) and (_uses_name(node, owner) or owner in setup)
    if not on_object and isinstance(call, ast.Call) and dotted_name(call.func).rpartition(".")[2] == callee:
        found = plain_call(call, parameters, values)
        if found is not None:
            return Example(found[0], found[1], expected, origin)
    if not _uses_name(node, callee) and callee not in setup:
        return None
    text = unparse(node)
    if not text or len(text) + len(setup) > MAX_CALL_TEXT:
        return None
    name = f"{owner}.{callee}" if on_object else callee
    return Example(None, {}, expected, origin, expression=text, setup=setup, callee=name)


def unwrapped(node: ast.expr, *names: str) -> ast.expr:
    """Read `list(f(x))` as `f(x)`, because the items of an iterator are compared anyway."""
    match node:
        case ast.Call(ast.Name(name), [inner], []) if name in names:
            return inner
    return node


def _uses_name(node: ast.AST, name: str) -> bool:
    return any(getattr(child, "id", getattr(child, "attr", "")) == name for child in ast.walk(node))
