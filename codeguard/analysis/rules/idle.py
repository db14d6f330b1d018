"""Effects and imports that have nothing to do with what a function is called for.

Whoever calls a function for its result gives it arguments and takes the result. A connection, a process, a file or a
variable of the environment that no argument chooses and that changes nothing of the result is there for somebody else.
A procedure without a result is called for its effects, so only functions that compute one are looked at.
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

ROUNDS = 8  # assignments that a value is followed through


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    for function in reading.functions:
        yield from reading.unread.apart("effect", _effects, reading, function)
    yield from reading.unread.apart("import", _imports, reading)


def _effects(reading: Reading, function: FunctionNode) -> Iterator[Match]:
    calls = [node for node in walk(function) if isinstance(node, ast.Call | ast.Attribute)]
    calls = [node for node in calls if reading.names.function_of(node) is function]
    acting = [(node, does) for node in calls if (does := _effect(reading, node))]
    if not acting or not _computes(function):
        return
    given = _followed(function, _inputs(function), back=False)
    wanted = _followed(function, _wanted(function), back=True)
    for node, does in acting:
        statement = _statement(reading, node)
        if statement is None or _chosen(node, given) or _is_used(statement, node, wanted):
            continue
        start, end = reading.place(node)
        if not is_in_test(reading, start):
            reason = f"{function.name} {does} that no argument chooses and no result needs"
            yield Match("effect", start, end, reason)
        return


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


def _computes(function: FunctionNode) -> bool:
    """Return whether a function takes something beside its object, or returns something that it computes."""
    arguments = function.args
    taken = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    returned = (
        node.value for node in walk(function) if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)
    )
    computed = any(not isinstance(value, ast.Constant | None) for value in returned)
    return (computed and bool(taken or arguments.vararg)) or any(
        item.arg not in ("self", "cls") for item in taken
    )


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


def _inputs(function: FunctionNode) -> set[str]:
    return {item.arg for item in walk(function.args) if isinstance(item, ast.arg)}


def _wanted(function: FunctionNode) -> set[str]:
    """Return the names that the result, a condition, an argument's change or an error depends on."""
    known: set[str] = set()
    given = _inputs(function)
    for node in walk(function):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Raise):
            known |= _names(node)
        elif isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            known |= _names(node.test)
        elif isinstance(node, ast.Call) and _names(node.func) & given:
            known |= _names(node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            known |= set(node.names)
    return known


def _followed(function: FunctionNode, known: set[str], *, back: bool) -> set[str]:
    """Return the names that get something of some names, or backwards those that they get something of."""
    bound = [(targets, _names(value)) for node in walk(function) for targets, value in _bound(node)]
    for _ in range(ROUNDS):
        before = len(known)
        for targets, values in bound:
            if (targets if back else values) & known:
                known |= values if back else targets
        if len(known) == before:
            break
    return known


def _bound(node: ast.AST) -> Iterator[tuple[set[str], ast.AST]]:
    """Yield the names that a node binds or changes, and what they get."""
    if isinstance(node, ast.Assign):
        yield set().union(*map(_names, node.targets)), node.value
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield _names(node.target), node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield _names(node.target), node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield _names(node.optional_vars), node.context_expr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        for argument in node.args:  # `found.append(x)`
            yield _names(node.func.value), argument


def _statement(reading: Reading, node: ast.AST) -> ast.AST | None:
    """Return the statement around a node, of a compound one the part that the node stands in."""
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt | ast.withitem | ast.ExceptHandler):
        at = reading.parents.get(at)
    return at


def _chosen(node: ast.AST, given: set[str]) -> bool:
    """Return whether arguments choose what an effect is on: its object, or the first thing that it is given."""
    if not isinstance(node, ast.Call):
        return False
    first = [*node.args[:1], *(item.value for item in node.keywords[: 0 if node.args else 1])]
    return any(_names(part) & given for part in (node.func, *first))


def _is_used(statement: ast.AST, node: ast.AST, wanted: set[str]) -> bool:
    """Return whether the result depends on what the statement of an effect gives."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Yield | ast.YieldFrom)
    if isinstance(statement, ast.Delete | ast.Pass):
        return False
    if isinstance(statement, ast.withitem):
        return statement.optional_vars is None or bool(_names(statement.optional_vars) & wanted)
    bound = [targets for targets, _ in _bound(statement)]
    return not bound or any(targets & wanted or not targets for targets in bound)


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
