"""The kinds of plain values that expressions of a function certainly have, read from its text.

Only what the text alone settles has a kind: literals, displays, results of builtins and of methods of text, and local
names that are assigned nothing else. A parameter has none, whatever its annotation says.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from codeguard.behavior.source.definitions import Function

Kinds = Mapping[str, str]  # of local names
UNKNOWN = ""
ROUNDS = 3  # a name's kind may depend on those of others
_OF_CALLS = {
    "str": "str",
    "repr": "str",
    "ascii": "str",
    "chr": "str",
    "hex": "str",
    "bin": "str",
    "oct": "str",
    "input": "str",
    "bytes": "bytes",
    "len": "int",
    "ord": "int",
    "int": "int",
    "hash": "int",
    "float": "float",
    "list": "list",
    "sorted": "list",
    "dir": "list",
    "tuple": "tuple",
    "dict": "dict",
    "set": "set",
}
_TEXT_METHODS = frozenset(
    """
    capitalize casefold center expandtabs format format_map join ljust lower lstrip replace rjust rstrip strip swapcase
    title translate upper zfill removeprefix removesuffix
    """.split()  # noqa: SIM905 - words read better as words
)
_LIST_METHODS = frozenset({"split", "rsplit", "splitlines"})
_NUMBER_METHODS = frozenset({"count", "find", "index", "rfind", "rindex"})
_DISPLAYS: Mapping[type[ast.expr], str] = {
    ast.JoinedStr: "str",
    ast.List: "list",
    ast.ListComp: "list",
    ast.Tuple: "tuple",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
}
NUMBERS = frozenset({"int", "float"})
SEQUENCES = frozenset({"str", "bytes", "list", "tuple"})


def kinds_of_names(function: Function) -> Kinds:
    """Return the kinds of the local names that are only ever assigned values of one kind."""
    given = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
    values: dict[str, list[ast.expr]] = defaultdict(list)
    stores: dict[str, int] = defaultdict(int)
    counted: dict[str, int] = defaultdict(int)
    for node in ast.walk(function):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()):
                stores[name] += 1
            case ast.arg(name):
                given.add(name)
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                given.add(name)
            case ast.Global(names) | ast.Nonlocal(names):
                given.update(names)
            case ast.alias():
                given.add(node.asname or node.name.partition(".")[0])
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                given.add(name)
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value) if value:
                values[name].append(value)
                counted[name] += 1
            case ast.AugAssign(ast.Name(name), ast.Add(), value):
                values[name].append(value)
                counted[name] += 1
            case ast.AugAssign(ast.Name(name)):
                counted[name] += 1
    sure = [name for name in values if name not in given and stores[name] == counted[name]]
    kinds: dict[str, str] = {}
    for _ in range(ROUNDS):
        for name in sure:
            found = {kind_of(value, kinds) for value in values[name]}
            kinds[name] = found.pop() if len(found) == 1 else UNKNOWN
    return {name: kind for name, kind in kinds.items() if kind}


def kind_of(node: ast.expr, names: Kinds) -> str:
    """Return the kind of a value, `UNKNOWN` where the text does not settle it."""
    match node:
        case ast.Constant(value):
            kind = type(value).__name__
            return kind if kind in {"str", "bytes", "int", "float"} else UNKNOWN
        case ast.Name(name):
            return names.get(name, UNKNOWN)
        case ast.Call(ast.Name(name)):
            return _OF_CALLS.get(name, UNKNOWN)
        case ast.Call(ast.Attribute(value, method)) if kind_of(value, names) == "str":
            return _of_method(method)
        case ast.Subscript(value, ast.Slice()):
            kind = kind_of(value, names)
            return kind if kind in SEQUENCES else UNKNOWN
        case ast.Subscript(value) if kind_of(value, names) == "str":
            return "str"
        case ast.BinOp(left, ast.Mod()) if kind_of(left, names) == "str":
            return "str"
        case ast.BinOp(left, ast.Add(), right):
            one, other = kind_of(left, names), kind_of(right, names)
            return one if one == other or (other == UNKNOWN and one == "str") else UNKNOWN
        case ast.IfExp(_, body, orelse):
            kind = kind_of(body, names)
            return kind if kind == kind_of(orelse, names) else UNKNOWN
        case _:
            return _DISPLAYS.get(type(node), UNKNOWN)


def _of_method(name: str) -> str:
    if name in _TEXT_METHODS:
        return "str"
    if name in _LIST_METHODS:
        return "list"
    return "int" if name in _NUMBER_METHODS else UNKNOWN


_NOT_OF_PLAIN = (ast.Sub, ast.Div, ast.FloorDiv, ast.MatMult, ast.Pow, ast.LShift, ast.RShift)
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONTAINERS = SEQUENCES | {"dict"}


def lacks_operator(left: ast.expr, operator: ast.operator, right: ast.expr, names: Kinds) -> bool:
    """Return whether two values have kinds between which there is no such operator, whatever else they are.

    A literal on the left may meet an object that brings the operator (a path, a grammar), so both have to be known.
    """
    one, other = kind_of(left, names), kind_of(right, names)
    literal = isinstance(left, ast.Constant)
    if isinstance(operator, _NOT_OF_PLAIN):
        if one in ("str", "bytes") and (other or not literal):
            return not (isinstance(operator, ast.Div) and not other)
        return (one in _CONTAINERS and bool(other)) or other == "bytes"  # nothing has an operator for those
    if isinstance(operator, ast.Add):
        return bool(one and other) and one != other and not {one, other} <= NUMBERS
    if isinstance(operator, ast.Mult):
        return one in _CONTAINERS and other in _CONTAINERS | {"float"}
    return False


def lacks_order(left: ast.expr, operator: ast.cmpop, right: ast.expr, names: Kinds) -> bool:
    """Return whether two values are of kinds that cannot be ordered."""
    one, other = kind_of(left, names), kind_of(right, names)
    comparable = one == other or {one, other} <= NUMBERS
    return isinstance(operator, _ORDERED) and bool(one and other) and not comparable
