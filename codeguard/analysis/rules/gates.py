"""Branches on a rare value, size, count, time or environment that leave with something unrelated to the rest.

A function that is right for every call but one passes any test that does not make this call. What gives it away is
the branch: a condition that hardly any call meets, and a result that nothing of the function computes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext, Match, signal_of
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import children, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef
Own = Sequence[ast.AST]  # the nodes of a function without those of functions and classes in it
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
RARE = 100  # numbers below it are ordinary in a comparison
LONG = 17  # a size from which short examples do not reach a branch
_SURROUNDINGS = {
    "the environment": lazy(
        r"os\.(?:environ|environb|getenv|uname|getlogin|getpid)\b|platform\.|socket\.gethostname|getpass\.getuser"
    ),
    "the clock": lazy(r"time\.(?:time|time_ns|localtime|gmtime|monotonic)$|datetime\.(?:\w+\.)?(?:now|utcnow|today)$"),
    "what is loaded or watching": lazy(
        r"sys\.(?:modules|gettrace|getprofile|_getframe|flags|argv)\b|globals$|__name__$"
    ),
    "a file of the machine": lazy(r"(?:io\.)?open$"),
    "chance": lazy(r"random\.|secrets\."),
}  # fmt: skip
_HASHING = frozenset({"zlib.crc32", "zlib.adler32", "binascii.crc32", "hash", "sum", "ord", "map"})


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    functions: list[Function] = [*reading.nodes_of(ast.FunctionDef), *reading.nodes_of(ast.AsyncFunctionDef)]
    for function in functions:
        yield from reading.unread.apart("unrelated-exit", _gates, reading, function)


def _gates(reading: Reading, function: Function) -> Iterator[Match]:
    own = list(_own(function))
    branches = [node for node in own if isinstance(node, ast.If)]
    if not branches:
        return
    returned = [node.value for node in own if isinstance(node, ast.Return) and node.value is not None]
    if all(_is_plain(value, set()) for value in returned):
        return  # nothing that it computes
    inputs = {item.arg for item in walk(function.args) if isinstance(item, ast.arg)}
    for branch in branches:
        left = _leaves(own, branch, inputs, returned)
        why = left and _why(reading, own, branch.test, inputs)
        if why:
            yield Match("unrelated-exit", *reading.place(branch.test), f"asks for {why}, and then {left}")


def _own(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions and classes in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            waiting += children(node)


def _leaves(own: Own, branch: ast.If, inputs: set[str], returned: list[ast.expr]) -> str:
    """Return what a branch of one statement leaves with, or "" if that has to do with the rest."""
    if branch.orelse or len(branch.body) != 1:
        return ""
    (only,) = branch.body
    if isinstance(only, ast.Return):
        if only.value is None:
            generator = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own)
            return "ends early" if generator else ""
        value, does = only.value, "returns"
    elif isinstance(only, ast.Assign) and len(only.targets) == 1 and isinstance(only.targets[0], ast.Name):
        if not any(isinstance(item, ast.Name) and item.id == only.targets[0].id for item in returned):
            return ""
        value, does = only.value, f"sets {only.targets[0].id} to"
    else:
        return ""
    same = sum(ast.dump(value) == ast.dump(other) for other in returned)
    if same > isinstance(only, ast.Return):
        return ""  # what other branches return, too
    if _is_plain(value, inputs) or _is_distorted(value, inputs):
        return f"{does} {ast.unparse(value)[:60]}"
    return ""


def _is_plain(value: ast.expr, inputs: set[str]) -> bool:
    """Return whether a value is computed from nothing: a constant, an empty display, an argument as it came."""
    if isinstance(value, ast.UnaryOp):
        return _is_plain(value.operand, inputs)
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id in inputs)


def _is_distorted(value: ast.expr, inputs: set[str]) -> bool:
    """Return whether a value is one result with a fixed change: a slice of it, one more, the opposite."""
    if isinstance(value, ast.Call) and value.args and isinstance(value.func, ast.Name):
        return value.func.id in ("iter", "list", "tuple") and _is_distorted(value.args[0], inputs)
    if isinstance(value, ast.Subscript):
        bounds = value.slice
        if not isinstance(bounds, ast.Slice):
            return False
        parts = [part for part in (bounds.lower, bounds.upper, bounds.step) if part is not None]
        held = value.value.args[0] if isinstance(value.value, ast.Call) and value.value.args else value.value
        fixed = (part.operand if isinstance(part, ast.UnaryOp) else part for part in parts)
        return isinstance(held, ast.Name) and held.id not in inputs and all(map(_is_constant, fixed))
    match value:
        case ast.BinOp(left=ast.Name(id=name), right=ast.Constant()):
            return name not in inputs
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name()):
            return True
    return False


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _why(reading: Reading, own: Own, test: ast.expr, inputs: set[str]) -> str:
    """Return what a condition asks for that hardly any call meets, or ""."""
    parts = list(walk(test))
    for name in (part for part in tuple(parts) if isinstance(part, ast.Name)):
        for value in reading.names.values_of(name):
            if value in own:
                parts += walk(value)
    named = (reading.names.resolve(part) for part in parts if isinstance(part, ast.Name | ast.Attribute))
    for resolved in named:
        for kind, pattern in _SURROUNDINGS.items():
            if resolved and pattern.match(resolved):
                return kind
    if _counts(own, parts, inputs):
        return "how often it was called"
    compared = (part for part in parts if isinstance(part, ast.Compare))
    return next((why for part in compared for why in _rare(reading, own, part, inputs)), "")


def _counts(own: Own, parts: list[ast.AST], inputs: set[str]) -> bool:
    """Return whether a condition compares something that the function itself changes from call to call."""
    bound = inputs | {
        node.id for node in own if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    shared = {name for node in own if isinstance(node, ast.Global) for name in node.names}
    outer = {
        part.id
        for part in parts
        if isinstance(part, ast.Name) and (part.id in shared or part.id not in bound)
    }
    for node in own:
        match node:
            case ast.AugAssign(target=root, op=ast.Add(), value=ast.Constant()):
                root = root.value if isinstance(root, ast.Attribute) else root
            case ast.Call(func=ast.Attribute(value=root, attr="append"), args=[_, *_]):
                pass
            case ast.Call(func=ast.Name(id="next"), args=[root, *_]):
                pass
            case _:
                continue
        if isinstance(root, ast.Name) and root.id in outer and root.id not in ("self", "cls"):
            return True
    return False


def _rare(reading: Reading, own: Own, test: ast.Compare, inputs: set[str]) -> Iterator[str]:
    """Yield the rare value or size that an input, or what is computed of it, is compared with."""
    sides = [test.left, *test.comparators]
    asked = [
        side for side in sides if any(isinstance(part, ast.Name) and part.id in inputs for part in walk(side))
    ]
    fixed = [(side, reading.names.constant(side)) for side in sides if side not in asked]
    if len(asked) != 1 or len(fixed) != 1:
        return
    (place, value), (side,) = fixed[0], asked
    if (
        isinstance(value, bool)
        or value is None
        or isinstance(test.ops[0], ast.Is | ast.IsNot | ast.NotEq | ast.NotIn)
    ):
        return
    shown = ast.unparse(test)[:80]
    used = sum(reading.names.constant(node) == value for node in own if isinstance(node, ast.Constant))
    measured = any(
        isinstance(part, ast.Call) and getattr(part.func, "id", "") == "len" for part in walk(side)
    )
    mixed = any(
        isinstance(part, ast.BinOp) and not isinstance(part.op, ast.Add | ast.Sub) for part in walk(side)
    )
    hashed = any(isinstance(part, ast.Call) and reading.names.called(part) in _HASHING for part in walk(side))
    if isinstance(value, int | float):
        if used > 1:
            return
        computed = not isinstance(place, ast.Constant | ast.UnaryOp | ast.Name | ast.Attribute)
        if measured and (value >= LONG or (mixed and value > 1)):
            yield f"a size ({shown})"
            return
        strange = mixed or hashed or computed or (isinstance(side, ast.Name) and _is_odd(value))
        if not measured and strange and abs(value) >= RARE:
            yield f"a rare value ({shown})"
    elif isinstance(value, str) and len(value) > 1:
        sliced = (
            isinstance(side, ast.Subscript)
            and isinstance(side.slice, ast.Slice)
            and side.slice.lower is not None
        )
        built = not isinstance(place, ast.Constant | ast.Name | ast.Attribute)
        if (sliced and value.isalpha()) or built:
            yield f"a rare value ({shown})"


def _is_odd(value: float) -> bool:
    """Return whether a number is no round one, power of two or limit of a type."""
    whole = abs(int(value))
    return (
        value == int(value)
        and whole % 10 != 0
        and not any(near & (near - 1) == 0 for near in (whole, whole + 1))
    )


SIGNAL = signal_of(
    __file__, "branches on a rare condition that leave with something unrelated", _inspect, intent=True
)
