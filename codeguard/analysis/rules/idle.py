"""Effects and imports that have nothing to do with what a function is called for.

Whoever calls a function for its result gives it arguments and takes the result. A connection, a process, a file or a
variable of the environment in a statement that shares no name with the rest is there for somebody else.
What takes nothing is called for its effects, so only functions that take something are looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codeguard.analysis import Reading
from codeguard.analysis.python.test_files import is_in_test
from codeguard.analysis.rules.base import DetectorContext, Match, signal_of
from codeguard.analysis.rules.imports import PYTHON_PACKAGES, STANDARD_LIBRARY, imports_of, normalised
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import RUNNING_CODE
from codeguard.syntax.capabilities import DOES, effect_of_name
from codeguard.syntax.scopes import FunctionNode

_ALONE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.With, ast.AsyncWith)


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    for function in reading.functions:
        yield from reading.unread.apart("effect", _effects, reading, function)
    yield from reading.unread.apart("import", _imports, reading)


def _effects(reading: Reading, function: FunctionNode) -> Iterator[Match]:
    """Yield the first effect in a statement that shares nothing with the rest of a function that takes something."""
    nodes = list(walk(function))
    given = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    local = given.union(node.id for node in names if isinstance(node.ctx, ast.Store))
    for node in nodes:
        if not isinstance(node, ast.Call | ast.Attribute) or reading.names.function_of(node) is not function:
            continue
        does = _effect(reading, node)
        around = _statement(reading, node) if does and given else None
        inside = set(walk(around)) if isinstance(around, _ALONE) else set()
        if not inside or any(map(_leaves, inside)):
            continue
        bound = {name.id for name in names if name in inside and isinstance(name.ctx, ast.Store)}
        loads = (name for name in names if isinstance(name.ctx, ast.Load))
        shared = (name.id in (local - bound if name in inside else bound) for name in loads)
        if not any(shared) and not is_in_test(reading, reading.place(node)[0]):
            reason = f"{function.name} {does} that no argument chooses and no result needs"
            yield Match("effect", *reading.place(node), reason)
            return


def _statement(reading: Reading, node: ast.AST) -> ast.AST | None:
    """Return the statement around a node, with all of its block if it is a `with`."""
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        at = reading.parents.get(at)
    above = None if at is None else reading.parents.get(at)
    return above if isinstance(above, ast.With | ast.AsyncWith) else at


def _leaves(node: ast.AST) -> bool:
    """Return whether a node hands something on in another way than by a name."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Raise)


def _effect(reading: Reading, node: ast.Call | ast.Attribute) -> str:
    if isinstance(node, ast.Call):
        named = reading.names.called(node)
    else:
        named = reading.names.resolve(node)
        if named not in ("os.environ", "os.environb"):
            return ""
    if named in RUNNING_CODE and named != "compile":  # which does nothing by itself
        return "runs code from a text"
    return DOES.get(effect_of_name(named), "")


def _imports(reading: Reading) -> Iterator[Match]:
    """Yield functions whose file imports a package that nobody knows, and makes no use of it."""
    if reading.tree is None:
        return
    statements = {reading.place(node)[0] for node in reading.nodes_of(ast.Import)}
    idle = {
        name: f"imports {name}, which is no well-known package, and does nothing with it"
        for imported in imports_of(reading)
        if (name := imported.package) not in STANDARD_LIBRARY
        and normalised(name) not in PYTHON_PACKAGES
        and not imported.guarded
        and imported.start in statements
    }
    if not idle:
        return
    for node in reading.nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            idle.pop(node.module.partition(".")[0], None)  # names of it may be for others to import
        elif (
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not _is_bare_call(reading, node)
        ):
            for named in reading.names.names_of(node):
                idle.pop(named.partition(".")[0], None)
    for reason in idle.values():
        for function in reading.functions:
            if not isinstance(reading.parents.get(function), ast.FunctionDef | ast.AsyncFunctionDef):
                yield Match("import", *reading.place(function), reason)


def _is_bare_call(reading: Reading, node: ast.Name) -> bool:
    """Return whether a module is named for nothing but a call without arguments whose result nobody takes."""
    around = reading.parents.get(node)
    while isinstance(around, ast.Attribute):
        around = reading.parents.get(around)
    if not isinstance(around, ast.Call) or around.args or around.keywords:
        return False
    return isinstance(reading.parents.get(around), ast.Expr)


SIGNAL = signal_of(
    __file__, "effects and imports that serve neither arguments nor result", _inspect, intent=True
)
