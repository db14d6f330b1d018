"""The guards of a candidate: comparisons with constants on the way to each branch.

A backdoor is often triggered by a comparison with a constant that ordinary inputs never equal. The
source shows the comparison: an expression over parameters, an operator and a constant. Conditions
of nested branches form one guard.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codeguard.behavior.source.constants import UnknownError, constants_of, fold, literals_of
from codeguard.behavior.source.definitions import Function, unparse
from codeguard.corpus.syntax import variables_in

MAX_GUARDS = 60


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison: an expression over parameters, an operator, and a constant."""

    subject: ast.expr
    operator: str
    constant: object


@dataclass(frozen=True, slots=True)
class Guard:
    """Conditions that together lead to a branch, as far as an input can be derived from them."""

    conditions: tuple[Condition, ...]
    text: str = ""

    @property
    def constants(self) -> tuple[object, ...]:
        """The constants that are compared with, and the constants inside the compared expressions."""
        inner = (value for condition in self.conditions for value in literals_of(condition.subject))
        return (*(condition.constant for condition in self.conditions), *inner)


@dataclass
class _Reader:
    parameters: frozenset[str]
    constants: Mapping[str, object]
    aliases: dict[str, ast.expr] = field(default_factory=dict)


def guards_of(node: Function, parameters: Sequence[str], module: ast.Module | None = None) -> list[Guard]:
    """Return the guards of a function; `parameters` are the names that a caller fills."""
    constants = {**(constants_of(module) if module is not None else {}), **constants_of(node)}
    constants = {name: value for name, value in constants.items() if name not in parameters}
    reader = _Reader(frozenset(parameters), constants, _aliases(node, frozenset(parameters)))
    found: dict[str, Guard] = {}
    for tests in _paths(node):
        for guard in _guards(tests, reader):
            found.setdefault(guard.text, guard)
    return list(found.values())[:MAX_GUARDS]


def _aliases(node: Function, parameters: frozenset[str]) -> dict[str, ast.expr]:
    """Return the locals that stand for one expression, and loop variables as elements of the iterable."""
    bound: dict[str, list[ast.expr | None]] = {}
    for child in ast.walk(node):
        if (
            isinstance(child, ast.Assign)
            and len(child.targets) == 1
            and isinstance(child.targets[0], ast.Name)
        ):
            bound.setdefault(child.targets[0].id, []).append(child.value)
        elif isinstance(child, ast.NamedExpr):
            bound.setdefault(child.target.id, []).append(child.value)
        elif isinstance(child, ast.For | ast.comprehension):
            for name, value in _loop_targets(child.target, child.iter):
                bound.setdefault(name, []).append(value)
        elif isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
            bound.setdefault(child.target.id, []).append(None)
    return {
        name: values[0]
        for name, values in bound.items()
        if name not in parameters
        and values[0] is not None
        and len({unparse(value) for value in values if value}) == 1
    }


def _loop_targets(target: ast.expr, iterated: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Read `for x in xs` and `for i, x in enumerate(xs)` as: x is an element of xs."""
    if isinstance(target, ast.Name):
        yield target.id, ast.Subscript(iterated, ast.Constant(0), ast.Load())
    elif (
        isinstance(target, ast.Tuple)
        and len(target.elts) == 2
        and isinstance(target.elts[1], ast.Name)
        and isinstance(iterated, ast.Call)
        and isinstance(iterated.func, ast.Name)
        and iterated.func.id == "enumerate"
        and iterated.args
    ):
        yield target.elts[1].id, ast.Subscript(iterated.args[0], ast.Constant(0), ast.Load())


def _paths(node: Function) -> Iterator[tuple[ast.expr, ...]]:
    """Yield the tests on the way to each branch, outermost first."""
    pending: list[tuple[ast.AST, tuple[ast.expr, ...]]] = [(child, ()) for child in node.body]
    while pending:
        current, tests = pending.pop(0)
        if isinstance(current, ast.If | ast.While):
            inner = (*tests, current.test)
            yield inner
            pending += [(child, inner) for child in current.body] + [
                (child, tests) for child in current.orelse
            ]
            pending.append((current.test, tests))
        elif isinstance(current, ast.IfExp):
            yield (*tests, current.test)
            pending += [(child, tests) for child in (current.test, current.body, current.orelse)]
        elif isinstance(current, ast.Match):
            for case in current.cases:
                test = _case_test(current.subject, case)
                inner = tests if test is None else (*tests, test)
                if test is not None:
                    yield inner
                pending += [(child, inner) for child in case.body]
        else:
            if isinstance(current, ast.Compare | ast.BoolOp):
                yield (*tests, current)
            elif isinstance(current, ast.Call | ast.Subscript):
                lookup = _lookup(current)
                if lookup is not None:
                    yield (*tests, lookup)
            elif isinstance(current, ast.comprehension):
                pending += [(test, tests) for test in current.ifs]
            pending += [(child, tests) for child in ast.iter_child_nodes(current)]


def _case_test(subject: ast.expr, case: ast.match_case) -> ast.expr | None:
    if isinstance(case.pattern, ast.MatchValue):
        test: ast.expr = ast.Compare(subject, [ast.Eq()], [case.pattern.value])
        return test if case.guard is None else ast.BoolOp(ast.And(), [test, case.guard])
    return case.guard


def _lookup(node: ast.Call | ast.Subscript) -> ast.expr | None:
    """Read `{…}[x]` and `{…}.get(x)` as `x in {…}`."""
    if isinstance(node, ast.Subscript):
        is_index = not isinstance(node.slice, ast.Slice | ast.Constant)
        return ast.Compare(node.slice, [ast.In()], [node.value]) if is_index else None
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop") and node.args:
        return ast.Compare(node.args[0], [ast.In()], [node.func.value])
    return None


def _guards(tests: Sequence[ast.expr], reader: _Reader) -> Iterator[Guard]:
    for alternative in _alternatives(list(tests)):
        conditions: list[Condition] = []
        asks_parameters = False
        for test in alternative:
            inlined = _inlined(test, reader)
            condition = _condition(inlined, reader)
            if condition is not None:
                conditions.append(condition)
            elif variables_in(inlined) & reader.parameters:
                asks_parameters = True
        if conditions or asks_parameters:
            text = " and ".join(unparse(test) for test in alternative)
            yield Guard(tuple(conditions), text)


def _alternatives(tests: list[ast.expr], depth: int = 0) -> Iterator[list[ast.expr]]:
    """Yield alternative lists of plain tests: `and` joins, `or` gives one list per side, `not` is dropped."""
    for index, test in enumerate(tests):
        if depth > 6:
            break
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield from _alternatives([*tests[:index], test.operand, *tests[index + 1 :]], depth + 1)
            return
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            yield from _alternatives([*tests[:index], *test.values, *tests[index + 1 :]], depth + 1)
            return
        if isinstance(test, ast.BoolOp):
            for value in test.values:
                yield from _alternatives([*tests[:index], value, *tests[index + 1 :]], depth + 1)
            return
    yield tests


def _inlined(test: ast.expr, reader: _Reader) -> ast.expr:
    """Replace locals by the expressions that they stand for, a few levels deep."""
    current = test
    for _ in range(4):
        if not variables_in(current) & reader.aliases.keys():
            break
        current = _Inliner(reader.aliases).visit(_copied(current))
    return current


def _copied(node: ast.expr) -> ast.expr:
    try:
        return ast.parse(unparse(node), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return node


class _Inliner(ast.NodeTransformer):
    def __init__(self, aliases: Mapping[str, ast.expr]) -> None:
        self.aliases = aliases

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.aliases.get(node.id, node)


_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "==", ast.Is: "==", ast.IsNot: "==", ast.Lt: "<", ast.LtE: "<", ast.Gt: "<",
    ast.GtE: "<", ast.In: "in", ast.NotIn: "in",
}  # fmt: skip


def _condition(test: ast.expr, reader: _Reader) -> Condition | None:
    """Read a test as a condition; negation is ignored, because both sides of a branch are of interest."""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and len(test.args) == 1:
        if test.func.attr in ("startswith", "endswith", "__contains__", "__eq__"):
            constant = _constant(test.args[0], reader)
            if constant is not None:
                return Condition(
                    test.func.value, test.func.attr.strip("_").replace("eq", "=="), constant.value
                )
        return None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    name = _OPERATORS[type(test.ops[0])]
    left, right = _constant(test.left, reader), _constant(test.comparators[0], reader)
    if right is not None and left is None:
        return Condition(test.left, name, right.value)
    if left is not None and right is None:
        return Condition(test.comparators[0], "contains" if name == "in" else name, left.value)
    return None


@dataclass(frozen=True, slots=True)
class _Constant:
    value: object


def _constant(node: ast.expr, reader: _Reader) -> _Constant | None:
    if variables_in(node) & reader.parameters:
        return None
    try:
        return _Constant(fold(node, reader.constants))
    except UnknownError:
        return None
