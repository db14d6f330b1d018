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
from codeguard.syntax.scopes import FUNCTIONS, FunctionNode

Own = Sequence[ast.AST]  # the nodes of a function without those of functions and classes in it
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
    for function in reading.functions:
        yield from reading.unread.apart("unrelated-exit", _gates, reading, function)


def _gates(reading: Reading, function: FunctionNode) -> Iterator[Match]:
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


def _own(function: FunctionNode) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions and classes in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
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
        computed = isinstance(held, ast.Name) and held.id not in inputs
        return computed and all(isinstance(part, ast.Constant) for part in fixed)
    match value:
        case ast.BinOp(left=ast.Name(id=name), right=ast.Constant()):
            return name not in inputs
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name()):
            return True
    return False


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
    fixed = [side for side in sides if side not in asked]
    if len(asked) != 1 or len(fixed) != 1:
        return
    (side,), (place,) = asked, fixed
    value, parts = reading.names.constant(place), list(walk(side))
    if isinstance(value, bool) or isinstance(test.ops[0], ast.Is | ast.IsNot | ast.NotEq | ast.NotIn):
        return
    calls = [part for part in parts if isinstance(part, ast.Call)]
    measured = any(getattr(call.func, "id", "") == "len" for call in calls)
    operators = (part.op for part in parts if isinstance(part, ast.BinOp))
    mixed = any(not isinstance(each, ast.Add | ast.Sub) for each in operators)
    computed = not isinstance(place, ast.Constant | ast.Name | ast.Attribute)
    size = rare = False
    if isinstance(value, int | float):
        once = (
            sum(reading.names.constant(node) == value for node in own if isinstance(node, ast.Constant)) < 2
        )
        hashed = any(reading.names.called(call) in _HASHING for call in calls)
        put_together = computed and not isinstance(place, ast.UnaryOp)
        strange = mixed or hashed or put_together or (isinstance(side, ast.Name) and _is_odd(value))
        size = once and measured and (value >= LONG or (mixed and value > 1))
        rare = once and not measured and strange and abs(value) >= RARE
    elif isinstance(value, str) and len(value) > 1:
        sliced = isinstance(side, ast.Subscript) and getattr(side.slice, "lower", None) is not None
        rare = computed or (sliced and value.isalpha())
    if size or rare:
        yield f"a {'size' if size else 'rare value'} ({ast.unparse(test)[:80]})"


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
