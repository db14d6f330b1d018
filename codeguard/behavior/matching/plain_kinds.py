"""The kinds of plain values that expressions of a function certainly have, read from its text.

Only what the text alone settles has a kind: literals, displays, results of builtins and of methods of text, and local
names that are assigned nothing else. A parameter has none, whatever its annotation says.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from codeguard.analysis.python.bindings import name_bound_by

Kinds = Mapping[str, str]  # of local names
UNKNOWN = ""
ROUNDS = 3  # a name's kind may depend on those of others
MAX_DEPTH = 12  # of a value
_NAMING = (
    ast.arg,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)
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
_MATH_FLOATS = frozenset(
    """
    acos asin atan atan2 cos degrees e exp fabs hypot inf log log10 log2 nan pi radians sin sqrt tan tau
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


def kinds_of_names(arguments: ast.arguments, nodes: Sequence[ast.AST]) -> Kinds:
    """Return the kinds of the local names that are only ever assigned values of one kind.

    Args:
        arguments: the function's parameters.
        nodes: all nodes of the function.
    """
    other = {item.arg for item in ast.walk(arguments) if isinstance(item, ast.arg)}
    values: dict[str, list[ast.expr]] = defaultdict(list)
    unexplained: Counter[str] = Counter()  # stores of a name that are no plain assignment
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                unexplained[node.id] += 1
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name) and node.value is not None:
                unexplained[targets[0].id] -= 1
                if not isinstance(node, ast.AugAssign) or isinstance(node.op, ast.Add):
                    values[targets[0].id].append(node.value)
        elif isinstance(node, ast.alias):
            other.add(name_bound_by(node))
        elif isinstance(node, _NAMING):
            other.add(getattr(node, "name", None) or getattr(node, "arg", None) or "")
        elif isinstance(node, ast.Global | ast.Nonlocal):
            other.update(node.names)
    sure = [name for name in values if name not in other and not unexplained[name]]
    kinds: dict[str, str] = {}
    for _ in range(ROUNDS if sure else 0):
        for name in sure:
            found = {kind_of(value, kinds) for value in values[name]}
            kinds[name] = found.pop() if len(found) == 1 else UNKNOWN
    return {name: kind for name, kind in kinds.items() if kind}


def kind_of(node: ast.expr, names: Kinds, depth: int = MAX_DEPTH) -> str:
    """Return the kind of a value, `UNKNOWN` where the text does not settle it, or is nested deeper than `depth`."""
    if not depth:
        return UNKNOWN

    def within(part: ast.expr) -> str:
        return kind_of(part, names, depth - 1)

    match node:
        case ast.Constant(value):
            kind = type(value).__name__
            return kind if kind in {"str", "bytes", "int", "float"} else UNKNOWN
        case ast.Name(name):
            return names.get(name, UNKNOWN)
        case ast.Call(ast.Name(name)):
            return _OF_CALLS.get(name, UNKNOWN)
        case ast.Attribute(ast.Name("math"), name) | ast.Call(ast.Attribute(ast.Name("math"), name)):
            return "float" if name in _MATH_FLOATS else UNKNOWN
        case ast.Call(ast.Attribute(value, method)) if within(value) == "str":
            return _of_method(method)
        case ast.Subscript(value, ast.Slice()):
            kind = within(value)
            return kind if kind in SEQUENCES else UNKNOWN
        case ast.Subscript(value) if within(value) == "str":
            return "str"
        case ast.BinOp(left, ast.Mod()) if within(left) == "str":
            return "str"
        case ast.BinOp(left, ast.Add(), right):
            one, other = within(left), within(right)
            return one if one == other or (other == UNKNOWN and one == "str") else UNKNOWN
        case ast.IfExp(_, body, orelse):
            kind = within(body)
            return kind if kind == within(orelse) else UNKNOWN
        case _:
            return _DISPLAYS.get(type(node), UNKNOWN)


def _of_method(name: str) -> str:
    if name in _TEXT_METHODS:
        return "str"
    if name in _LIST_METHODS:
        return "list"
    return "int" if name in _NUMBER_METHODS else UNKNOWN


_NOT_OF_PLAIN = (ast.Sub, ast.Div, ast.FloorDiv, ast.MatMult, ast.Pow, ast.LShift, ast.RShift)
_OF_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONTAINERS = SEQUENCES | {"dict"}


def lacks_operator(left: ast.expr, operator: ast.operator, right: ast.expr, names: Kinds) -> bool:
    """Return whether two values have kinds between which there is no such operator, whatever else they are.

    A literal on the left may meet an object that brings the operator (a path, a grammar), so both have to be known.
    Nothing has an operator of bits for floats.
    """
    one, other = kind_of(left, names), kind_of(right, names)
    literal = isinstance(left, ast.Constant)
    if isinstance(operator, _OF_BITS) and "float" in (one, other):
        return one == "float" or one in NUMBERS
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
