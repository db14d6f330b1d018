"""Inputs that open a candidate's own guards.

A trigger hides behind a comparison with a constant that no ordinary input
meets. The comparison is in the text, so the input can be made from it: the
literal itself, a sequence of the length asked for, a string with the prefix,
an element set to the value. Conditions that enclose each other are met
together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from codeguard.behavior.folding import UnknownError, constants_of, fold
from codeguard.behavior.source import Function, unparse

MAX_GUARDS = 60
MAX_LENGTH = 4_000  # elements of a sequence that is made to reach a length
Slots = dict[str, object]  # parameter name to value


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison: an expression over parameters, an operator, and the constant it is compared with."""

    subject: ast.expr
    operator: str
    constant: object


@dataclass(frozen=True, slots=True)
class Guard:
    """Conditions that together open one branch; `unsolved` are tests that no rule here can meet."""

    conditions: tuple[Condition, ...]
    unsolved: tuple[ast.expr, ...] = ()
    text: str = ""

    @property
    def constants(self) -> tuple[object, ...]:
        """The constants compared with."""
        return tuple(condition.constant for condition in self.conditions)


@dataclass
class _Reader:
    parameters: frozenset[str]
    constants: Mapping[str, object]
    aliases: dict[str, ast.expr] = field(default_factory=dict)


def guards_of(node: Function, parameters: Sequence[str], module: ast.Module | None = None) -> list[Guard]:
    """Return the guards of a function; `parameters` are the names a caller fills."""
    constants = {**(constants_of(module) if module is not None else {}), **constants_of(node)}
    constants = {name: value for name, value in constants.items() if name not in parameters}
    reader = _Reader(frozenset(parameters), constants, _aliases(node, frozenset(parameters)))
    found: dict[str, Guard] = {}
    for tests in _paths(node):
        for guard in _guards(tests, reader):
            found.setdefault(guard.text, guard)
    return list(found.values())[:MAX_GUARDS]


def _aliases(node: Function, parameters: frozenset[str]) -> dict[str, ast.expr]:
    """Return locals that stand for one expression, and loop variables as an element of what they run over."""
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
    """Read `for x in xs` and `for i, x in enumerate(xs)`: x is some element of xs."""
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
    """Yield the tests on the way to every branch, from the outermost in."""
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
        unsolved: list[ast.expr] = []
        for test in alternative:
            inlined = _inlined(test, reader)
            condition = _condition(inlined, reader)
            if condition is not None:
                conditions.append(condition)
            elif _names(inlined) & reader.parameters:
                unsolved.append(inlined)
        if conditions or unsolved:
            text = " and ".join(unparse(test) for test in alternative)
            yield Guard(tuple(conditions), tuple(unsolved), text)


def _alternatives(tests: list[ast.expr], depth: int = 0) -> Iterator[list[ast.expr]]:
    """Split tests into rows of plain ones: `and` joins them, `or` gives a row for each side, `not` is dropped."""
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
    """Put what locals stand for in their place, a few levels deep."""
    current = test
    for _ in range(4):
        if not _names(current) & reader.aliases.keys():
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


def _names(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "==", ast.Is: "==", ast.IsNot: "==", ast.Lt: "<", ast.LtE: "<", ast.Gt: "<",
    ast.GtE: "<", ast.In: "in", ast.NotIn: "in",
}  # fmt: skip


def _condition(test: ast.expr, reader: _Reader) -> Condition | None:
    """Read one test; which side of it is which does not matter, for both sides of a branch are of interest."""
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
    if _names(node) & reader.parameters:
        return None
    try:
        return _Constant(fold(node, reader.constants))
    except UnknownError:
        return None


def openings(guard: Guard, base: Slots) -> Iterator[Slots]:
    """Yield arguments, made from `base`, that meet a guard's conditions or stand on their edge."""
    rows: list[Slots] = [dict(base)]
    for condition in guard.conditions:
        rows = [made for row in rows for made in _met(condition, row)][:12] or rows
    for row in rows:
        if row != base:
            yield row


def _met(condition: Condition, slots: Slots) -> Iterator[Slots]:
    for value in _targets(condition):
        yield from _placed(condition.subject, value, slots, condition.operator)


def _targets(condition: Condition) -> list[object]:
    """Return the values that the subject should take."""
    constant = condition.constant
    if condition.operator == "in":
        if isinstance(constant, str):
            return [constant, constant[:1], constant[-1:]]
        if isinstance(constant, list | tuple | set | frozenset | dict):
            return sorted(constant, key=repr)[:6]
        return []
    if condition.operator == "<" and isinstance(constant, int) and not isinstance(constant, bool):
        return [constant, constant + 1, constant - 1]
    if condition.operator == "<" and isinstance(constant, float):
        return [constant, constant + 1.0, constant - 1.0]
    return [constant]


def _placed(subject: ast.expr, value: object, slots: Slots, operator: str) -> Iterator[Slots]:
    """Yield arguments in which an expression over parameters takes a value."""
    if isinstance(subject, ast.Name):
        if subject.id in slots:
            yield {**slots, subject.id: _joined(slots[subject.id], value, operator)}
    elif isinstance(subject, ast.Call):
        yield from _placed_call(subject, value, slots, operator)
    elif isinstance(subject, ast.Subscript):
        yield from _placed_item(subject, value, slots)
    elif isinstance(subject, ast.BinOp):
        yield from _placed_arithmetic(subject, value, slots, operator)
    elif (
        isinstance(subject, ast.UnaryOp)
        and isinstance(subject.op, ast.USub)
        and isinstance(value, int | float)
    ):
        yield from _placed(subject.operand, -value, slots, operator)
    elif isinstance(subject, ast.Tuple) and isinstance(value, tuple) and len(subject.elts) == len(value):
        rows = [slots]
        for part, item in zip(subject.elts, value, strict=True):
            rows = [made for row in rows for made in _placed(part, item, row, "==")]
        yield from rows


def _joined(old: object, value: object, operator: str) -> object:
    """Return what a parameter has to be: the value, or something that begins with, ends with or holds it."""
    if operator == "startswith" and isinstance(old, str) and isinstance(value, str):
        return value + old
    if operator == "endswith" and isinstance(old, str) and isinstance(value, str):
        return old + value
    if operator == "contains":
        if isinstance(old, str) and isinstance(value, str):
            return old[: len(old) // 2] + value + old[len(old) // 2 :]
        if isinstance(old, list):
            return [*old, value]
        if isinstance(old, tuple):
            return (*old, value)
        if isinstance(old, dict):
            return {**old, value: next(iter(old.values()), 0)}
        if isinstance(old, set):
            return old | {value}
    if isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _placed_call(subject: ast.Call, value: object, slots: Slots, operator: str) -> Iterator[Slots]:
    function = subject.func
    if isinstance(function, ast.Name) and len(subject.args) == 1:
        argument = subject.args[0]
        if function.id in _THROUGH:
            yield from _through(function.id, argument, value, slots)
    elif isinstance(function, ast.Attribute):
        if function.attr in (
            "lower",
            "upper",
            "strip",
            "casefold",
            "rstrip",
            "lstrip",
            "copy",
            "title",
            "swapcase",
        ):
            yield from _placed(function.value, value, slots, operator)
        elif function.attr == "count" and subject.args and isinstance(value, int) and 0 <= value <= 200:
            yield from _counted(function.value, subject.args[0], value, slots)


_PASSING = "len sum max min str int float abs sorted tuple list set reversed repr"
_THROUGH = frozenset(_PASSING.split())


def _through(name: str, argument: ast.expr, value: object, slots: Slots) -> Iterator[Slots]:
    current = slots.get(argument.id) if isinstance(argument, ast.Name) else None
    if name == "len" and isinstance(value, int) and 0 <= value <= MAX_LENGTH and current is not None:
        resized = _resized(current, value)
        if resized is not None and isinstance(argument, ast.Name):
            yield {**slots, argument.id: resized}
    elif (
        name in ("sum", "max", "min") and isinstance(value, int | float) and isinstance(current, list | tuple)
    ):
        numbers = [item for item in current if isinstance(item, int | float)]
        item = value - sum(numbers) if name == "sum" else value
        if isinstance(argument, ast.Name):
            yield {**slots, argument.id: type(current)([*current, item])}
            yield {**slots, argument.id: type(current)([value])}
    elif name in ("str", "repr") and isinstance(value, str):
        for kind in (int, float):
            try:
                yield from _placed(argument, kind(value), slots, "==")
            except ValueError:
                continue
    elif name in ("int", "float") and isinstance(value, int | float):
        yield from _placed(argument, value, slots, "==")
        yield from _placed(argument, str(value), slots, "==")
    elif name == "abs":
        yield from _placed(argument, value, slots, "==")
    elif name in ("sorted", "tuple", "list", "set", "reversed") and isinstance(value, list | tuple | set):
        made = type(current)(value) if isinstance(current, list | tuple) else value
        yield from _placed(argument, made, slots, "==")


def _resized(value: object, length: int) -> object:
    if isinstance(value, str):
        filler = value or "a"
        return (filler * (length // len(filler) + 1))[:length]
    if isinstance(value, list | tuple):
        items = list(value) or [1]
        return type(value)((items * (length // len(items) + 1))[:length])
    return None


def _counted(owner: ast.expr, item: ast.expr, count: int, slots: Slots) -> Iterator[Slots]:
    if not isinstance(owner, ast.Name) or owner.id not in slots:
        return
    try:
        wanted = fold(item)
    except UnknownError:
        return
    current = slots[owner.id]
    if isinstance(current, str) and isinstance(wanted, str):
        yield {**slots, owner.id: current.replace(wanted, "") + wanted * count if wanted else current}
    elif isinstance(current, list):
        yield {**slots, owner.id: [other for other in current if other != wanted] + [wanted] * count}


def _placed_item(subject: ast.Subscript, value: object, slots: Slots) -> Iterator[Slots]:
    """Set an item or a slice of a parameter, lengthened where it is too short."""
    if not isinstance(subject.value, ast.Name) or subject.value.id not in slots:
        return
    name, current = subject.value.id, slots[subject.value.id]
    if isinstance(subject.slice, ast.Slice):
        if isinstance(current, str | list | tuple):
            made = _spliced(current, subject.slice, value)
            if made is not None:
                yield {**slots, name: made}
        return
    try:
        key = fold(subject.slice)
    except UnknownError:
        return
    if isinstance(current, dict):
        yield {**slots, name: {**current, key: value}}
    elif isinstance(key, int) and -MAX_LENGTH < key < MAX_LENGTH and isinstance(current, str | list | tuple):
        needed = key + 1 if key >= 0 else -key
        if isinstance(current, str):
            if isinstance(value, str) and len(value) == 1:
                text = current + "a" * (needed - len(current))
                index = key % len(text)
                yield {**slots, name: text[:index] + value + text[index + 1 :]}
            return
        items = list(current) + [value] * (needed - len(current))
        items[key] = value
        yield {**slots, name: type(current)(items)}


def _spliced(current: str | list[object] | tuple[object, ...], part: ast.Slice, value: object) -> object:
    bounds: list[int | None] = []
    for edge in (part.lower, part.upper):
        try:
            bound = None if edge is None else fold(edge)
        except UnknownError:
            return None
        if bound is not None and not isinstance(bound, int):
            return None
        bounds.append(bound)
    if part.step is not None:
        reverses = unparse(part.step) == "-1" and bounds == [None, None]
        return value[::-1] if reverses and isinstance(value, str | list | tuple) else None
    low, high = bounds
    if isinstance(current, str) and isinstance(value, str):
        return _splice(current, low, high, value)
    if isinstance(current, list) and isinstance(value, list):
        return _splice(current, low, high, value)
    if isinstance(current, tuple) and isinstance(value, tuple):
        return _splice(current, low, high, value)
    return None


Row = TypeVar("Row", str, list[object], tuple[object, ...])


def _splice(current: Row, low: int | None, high: int | None, value: Row) -> Row:
    head = current[:low] if low is not None else current[:0]
    tail = current[high:] if high is not None else current[:0]
    return head + value + tail


def _placed_arithmetic(subject: ast.BinOp, value: object, slots: Slots, operator: str) -> Iterator[Slots]:
    """Undo one step of arithmetic with a constant: `x * 3 + 1 == 22` asks for `x * 3 == 21`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    for part, other, part_is_left in (
        (subject.left, subject.right, True),
        (subject.right, subject.left, False),
    ):
        try:
            constant = fold(other)
        except UnknownError:
            continue
        if isinstance(constant, bool) or not isinstance(constant, int | float):
            continue
        for wanted in _undone(subject.op, value, constant, part_is_left):
            yield from _placed(part, wanted, slots, operator)


def _undone(
    kind: ast.operator, value: int | float, constant: int | float, part_is_left: bool
) -> list[int | float]:
    whole = isinstance(value, int) and isinstance(constant, int)
    if isinstance(kind, ast.Add):
        return [value - constant]
    if isinstance(kind, ast.Sub):
        return [value + constant if part_is_left else constant - value]
    if isinstance(kind, ast.Mult) and constant:
        if whole:
            return [value // constant] if value % constant == 0 else []
        return [value / constant]
    if isinstance(kind, ast.BitXor) and isinstance(value, int) and isinstance(constant, int):
        return [value ^ constant]
    if not part_is_left or not constant:
        return []
    if isinstance(kind, ast.Mod) and whole:
        # the residue itself, and members of its class that are unlikely to be met otherwise
        return [value, value + constant, value + 7 * constant] if 0 <= value < abs(constant) else []
    if isinstance(kind, ast.FloorDiv) and whole:
        return [value * constant, value * constant + abs(constant) - 1]
    if isinstance(kind, ast.Div):
        return [value * constant]
    if isinstance(kind, ast.Pow) and constant in (2, 3) and value >= 0:
        return [round(value ** (1 / constant))]
    if isinstance(kind, ast.RShift | ast.LShift) and whole and 0 <= constant < 64:
        return [int(value) << int(constant) if isinstance(kind, ast.RShift) else int(value) >> int(constant)]
    return []
