"""Places in memory, and in lists, that a number decides which nothing compares with the size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.python.dataflow.outside import from_outside
from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, names, parameters_of
from codeguard.models import Severity

_RULES = rules_of(__file__)

_SIZED = names("len ctypes.sizeof min")


def _beyond(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """`ctypes.string_at(base + offset, size)` with parameters that no test compares with the size of what is there."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    used = {
        part.id
        for argument in node.args
        for part in ast.walk(argument)
        if isinstance(part, ast.Name) and part.id in parameters_of(function)
    }
    if function is None or not used or not _names_place(view, node):
        return
    bounds = list(_bounds(view, function, used))
    if not bounds:
        yield NodeMatch(node, f"nothing compares {min(used)} with the size of what is there")
    elif any(map(_one_too_far, bounds)):
        yield NodeMatch(node, f"{ast.unparse(bounds[0])[:60]} lets the place right behind the end through")


def _names_place(view: View, node: ast.Call) -> bool:
    """Return whether a call says itself where, by an address and an offset, and does not just take a whole object."""
    return any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add)
        for argument in node.args[:2]
        for value in (argument, *view.names.values_of(argument))
        for part in ast.walk(value)
    )


def _bounds(view: View, function: FunctionNode, used: set[str]) -> Iterator[ast.Compare]:
    for part in ast.walk(function):
        if not isinstance(part, ast.Compare):
            continue
        inside = list(ast.walk(part))
        if any(isinstance(item, ast.Name) and item.id in used for item in inside) and any(
            isinstance(item, ast.Call) and view.names.called(item) in _SIZED for item in inside
        ):
            yield part


def _one_too_far(test: ast.Compare) -> bool:
    """`offset > len(buffer)`, which is false for the place behind the last."""
    return (
        len(test.ops) == 1
        and isinstance(test.ops[0], ast.Gt)
        and isinstance(test.left, ast.Name)
        and isinstance(test.comparators[0], ast.Call)
    )


def _below_zero(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """`if index >= len(items): raise` and then `items[index]`: -1 passes, and is the last one."""
    assert isinstance(node, FUNCTIONS)
    given = parameters_of(node)
    for statement in node.body:
        if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], ast.Raise | ast.Return):
            continue
        test = statement.test
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name)):
            continue
        size = test.comparators[0]
        held = test.left.id
        if (
            held not in given
            or not isinstance(test.ops[0], ast.GtE | ast.Gt)
            or not isinstance(size, ast.Call)
        ):
            continue
        if view.names.called(size) != "len" or not size.args or _looks_below(node, held):
            continue
        for part in ast.walk(node):
            if (
                isinstance(part, ast.Subscript)
                and isinstance(part.slice, ast.Name)
                and part.slice.id == held
                and ast.dump(part.value) == ast.dump(size.args[0])
            ):
                asked = held in from_outside(node) or view.is_route(statement)
                yield NodeMatch(
                    test,
                    f"{held} may be below zero, which counts from the end",
                    None if asked else Severity.LOW,
                )
                return


def _looks_below(function: FunctionNode, held: str) -> bool:
    """Return whether anything asks if a number is negative, or makes sure that it is not."""
    for part in ast.walk(function):
        if isinstance(part, ast.Compare):
            sides = [part.left, *part.comparators]
            named = any(isinstance(side, ast.Name) and side.id == held for side in sides)
            if named and any(isinstance(side, ast.Constant) and side.value in (0, 1, -1) for side in sides):
                return True
        if isinstance(part, ast.Call) and getattr(part.func, "id", "") in (
            "abs",
            "max",
            "range",
            "enumerate",
        ):
            return True
        if isinstance(part, ast.AugAssign | ast.For):
            return True  # a number of one's own, which goes up or down
    return False


CHECKS = (
    Check(
        _RULES["memory-by-input"],
        calls=names("ctypes.string_at ctypes.wstring_at ctypes.memmove ctypes.memset"),
        look=_beyond,
    ),
    Check(_RULES["place-below-zero"], nodes=FUNCTIONS, look=_below_zero),
)
