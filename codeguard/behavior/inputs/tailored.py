"""Inputs made for one candidate from its own guards and literals, and inputs made in the same way that miss them.

A backdoor is often triggered by a comparison with a constant that ordinary inputs never equal. The source shows the
comparison: an expression over parameters, an operator and a constant. Conditions of nested branches form one guard.
The expression is inverted step by step: the literal itself, a sequence of the required length, a text with the prefix,
an element set to the value, arithmetic undone.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from codeguard.behavior.inputs.discovery import described_values
from codeguard.behavior.inputs.generation import Arguments, generate, key_of, parts_of, until_error
from codeguard.behavior.inputs.shapes import ValueShape
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.source.constants import Constants, literals_of
from codeguard.behavior.source.definitions import Function, parse_or_none, unparse
from codeguard.behavior.specs.contract import Domain, is_real
from codeguard.behavior.specs.references import Reference
from codeguard.syntax.constants import UnknownValueError

MAX_GUARDS = 60
MAX_LENGTH = 20_000  # elements of a sequence that is made to reach a length
MAX_ROWS = 12
MAX_NESTED = 6
Slots = dict[str, object]  # parameter name to value
_EQUAL, _LESS, _IN, _CONTAINS = "==", "<", "in", "contains"
_OPERATORS = {
    **dict.fromkeys((ast.Eq, ast.NotEq, ast.Is, ast.IsNot), _EQUAL),
    **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), _LESS),
    **dict.fromkeys((ast.In, ast.NotIn), _IN),
}
_METHODS = {"startswith": "startswith", "endswith": "endswith", "__contains__": _CONTAINS, "__eq__": _EQUAL}
_SAME_TEXT = frozenset(
    {"lower", "upper", "strip", "casefold", "rstrip", "lstrip", "copy", "title", "swapcase"}
)
# The operands that may give a value beside a constant one: `x * 3 + 1 == 22` requires `x * 3 == 21`.
_INVERSES: Mapping[type[ast.operator], Callable[[Any, Any], tuple[float, ...]]] = {
    ast.Add: lambda value, other: (value - other,),
    ast.Sub: lambda value, other: (value + other, other - value),
    ast.Mult: lambda value, other: (value // other, value / other),
    ast.FloorDiv: lambda value, other: (value * other,),
    ast.Div: lambda value, other: (value * other,),
    ast.Mod: lambda value, other: (value, value + 7 * other),
    ast.BitXor: lambda value, other: (value ^ other,),
    ast.Pow: lambda value, other: (round(abs(value) ** (1 / other)),),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison: an expression over parameters, an operator, and a constant."""

    subject: ast.expr
    operator: str
    constant: object


@dataclass(frozen=True, slots=True)
class Guard:
    """Conditions that together lead to a branch; `aliases` are the locals that are one expression each."""

    conditions: tuple[Condition, ...]
    aliases: Mapping[str, ast.expr]

    @property
    def constants(self) -> tuple[object, ...]:
        """The constants that are compared with, and the constants inside the compared expressions."""
        inner = (value for condition in self.conditions for value in Constants().literals(condition.subject))
        return (*(condition.constant for condition in self.conditions), *inner)

    def inputs(self, base: Slots) -> Iterator[Slots]:
        """Yield arguments, made from `base`, that satisfy the conditions or lie at their boundary."""
        rows: list[Slots] = [dict(base)]
        for item in self.conditions:
            made = [
                found
                for row in rows
                for value in _targets(item)
                for found in self._with_value(item.subject, value, row, item.operator)
            ]
            rows = made[:MAX_ROWS] or rows
        yield from (row for row in rows if row != base)

    def not_satisfied(self) -> Iterator[Guard]:
        """Yield the guard with one constant changed; inputs for it do not satisfy the original guard."""
        for index, condition in enumerate(self.conditions):
            for moved in nearby(condition.constant):
                changed = replace(condition, constant=moved)
                conditions = (*self.conditions[:index], changed, *self.conditions[index + 1 :])
                yield replace(self, conditions=conditions)

    def _with_value(
        self, subject: ast.expr, value: object, slots: Slots, sign: str = _EQUAL, depth: int = 0
    ) -> Iterator[Slots]:
        """Yield arguments for which an expression over parameters takes a value."""
        if depth > MAX_NESTED:
            return
        solve = partial(self._with_value, depth=depth + 1)
        match subject:
            case ast.Name(name) if name in slots:
                yield {**slots, name: _combined(slots[name], value, sign)}
            case ast.Name(name) if name in self.aliases:
                yield from solve(self.aliases[name], value, slots, sign)
            case ast.Call(ast.Name("len" | "sum" | "max" | "min" as function), [argument]) if (
                name := self._slot(argument, slots)
            ):
                yield from ({**slots, name: made} for made in _remade(function, slots[name], value))
            case ast.Call(ast.Attribute(value=owner, attr=method), []) if method in _SAME_TEXT:
                yield from solve(owner, value, slots, sign)
            case ast.Subscript(value=owner, slice=part) if name := self._slot(owner, slots):
                yield from ({**slots, name: made} for made in _with_part(slots[name], part, value))
            case ast.BinOp(left, kind, right):
                is_square = unparse(left) == unparse(right)
                for part, other in ((left, right), (right, left)):
                    for wanted in _undone(kind, value, other, is_square):
                        yield from solve(part, wanted, slots, sign)
            case ast.UnaryOp(ast.USub(), operand) if isinstance(value, int | float):
                yield from solve(operand, -value, slots, sign)
            case ast.Tuple(parts) if isinstance(value, tuple) and len(parts) == len(value):
                rows = [slots]
                for inner, item in zip(parts, value, strict=True):
                    rows = [made for row in rows for made in solve(inner, item, row)]
                yield from rows

    def _slot(self, node: ast.expr, slots: Slots) -> str:
        """Return the parameter that an expression is, directly or under another name; "" if it is none."""
        for _ in range(MAX_NESTED):
            match node:
                case ast.Call(ast.Name("sorted" | "list" | "tuple"), [node, *_]):  # its items
                    continue
            if not isinstance(node, ast.Name):
                return ""
            if node.id in slots:
                return node.id
            node = self.aliases.get(node.id, ast.Constant(None))
        return ""


def guards_of(node: Function, parameters: Sequence[str], module: ast.Module | None = None) -> list[Guard]:
    """Return the guards of a function; `parameters` are the names that a caller fills."""
    known = Constants(*([module] if module is not None else []), node, hidden=parameters)
    aliases = _aliases(node)
    found: dict[str, Guard] = {}
    for tests in _paths(node.body, ()):
        for part in _alternatives(list(tests), 0):
            conditions = tuple(item for test in part if (item := _condition(test, known)) is not None)
            if conditions:
                found.setdefault(" and ".join(map(unparse, part)), Guard(conditions, aliases))
        if len(found) >= MAX_GUARDS:
            break
    return list(found.values())[:MAX_GUARDS]


def _aliases(node: Function) -> dict[str, ast.expr]:
    """Return the locals that are one expression each, and loop variables as elements of the iterable."""
    bound: dict[str, list[ast.expr]] = {}
    for child in ast.walk(node):
        match child:
            case ast.Assign([ast.Name(name)], value) | ast.NamedExpr(ast.Name(name), value):
                bound.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(name)):
                bound.setdefault(name, []).extend([child.target, child.value])
            case ast.For(ast.Name(name), rows) | ast.comprehension(ast.Name(name), rows):
                bound.setdefault(name, []).append(ast.Subscript(rows, ast.Constant(0), ast.Load()))
    return {name: values[0] for name, values in bound.items() if len(values) == 1}


def _paths(nodes: Sequence[ast.AST], tests: tuple[ast.expr, ...]) -> Iterator[tuple[ast.expr, ...]]:
    """Yield the tests on the way to each branch, outermost first."""
    pending = [(node, tests) for node in nodes]
    while pending:
        current, tests = pending.pop(0)
        match current:
            case ast.If(test, body, rest) | ast.While(test, body, rest) | ast.IfExp(test, body, rest):
                yield (*tests, test)
                inner = body if isinstance(body, list) else [body]
                outer = rest if isinstance(rest, list) else [rest]
                pending += [(item, (*tests, test)) for item in inner]
                pending += [(item, tests) for item in (*outer, test)]
            case _:
                if isinstance(current, ast.Compare | ast.BoolOp):
                    yield (*tests, current)
                pending += [(item, tests) for item in ast.iter_child_nodes(current)]


def _alternatives(tests: list[ast.expr], depth: int) -> Iterator[list[ast.expr]]:
    """Yield alternative lists of plain tests: `and` joins, `or` gives one list per side, `not` is dropped."""
    for index, test in enumerate(tests):
        before, after = tests[:index], tests[index + 1 :]
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and depth <= MAX_NESTED:
            yield from _alternatives([*before, test.operand, *after], depth + 1)
            return
        if isinstance(test, ast.BoolOp) and depth <= MAX_NESTED:
            parts = [test.values] if isinstance(test.op, ast.And) else [[value] for value in test.values]
            for part in parts:
                yield from _alternatives([*before, *part, *after], depth + 1)
            return
    yield tests


def _condition(test: ast.expr, known: Constants) -> Condition | None:
    """Read a test as a condition; negation is ignored, because both sides of a branch are of interest."""
    match test:
        case ast.Call(ast.Attribute(value=subject, attr=method), [other]) if method in _METHODS:
            sides, name = (subject, other), _METHODS[method]
        case ast.Compare(left, [sign], [other]):
            sides, name = (left, other), _OPERATORS[type(sign)]
        case _:
            return None
    found = []
    for side, subject in (sides, sides[::-1]):
        with contextlib.suppress(UnknownValueError):
            found.append((subject, known.fold(side)))
    if len(found) != 1:
        return None
    subject, constant = found[0]
    return Condition(subject, _CONTAINS if name == _IN and subject is sides[1] else name, constant)


def _targets(condition: Condition) -> list[object]:
    constant = condition.constant
    if condition.operator == _IN and isinstance(constant, str):
        return [constant, constant[:1], constant[-1:]]
    if condition.operator == _IN:
        rows = isinstance(constant, list | tuple | set | frozenset | dict)
        return sorted(constant, key=repr)[:6] if rows else []  # type: ignore[call-overload]
    if condition.operator == _LESS and isinstance(constant, int) and not isinstance(constant, bool):
        return [constant, constant + 1, constant - 1]
    if isinstance(constant, float) and math.isfinite(constant):
        beside = [math.nextafter(constant, math.inf), math.nextafter(constant, -math.inf)]
        return [constant, *beside, constant + 1.0, constant - 1.0]
    return [constant]


def _combined(old: object, value: object, sign: str) -> object:
    """Return the value of a parameter: the target, or a value that starts with, ends with or contains it."""
    if isinstance(old, str) and isinstance(value, str) and sign in ("startswith", "endswith", _CONTAINS):
        half = {"startswith": 0, "endswith": len(old)}.get(sign, len(old) // 2)
        return old[:half] + value + old[half:]
    if sign == _CONTAINS and isinstance(old, list | tuple):
        return type(old)([*old, value])
    if sign == _CONTAINS and isinstance(old, dict):
        return {**old, value: next(iter(old.values()), 0)}
    if sign == _CONTAINS and isinstance(old, set):
        return old | {value}
    return float(value) if isinstance(old, float) and type(value) is int else value


def _remade(function: str, current: object, value: object) -> Iterator[object]:
    """Yield sequences of a length, a sum or an extreme."""
    if not isinstance(value, int | float) or not isinstance(current, str | bytes | list | tuple):
        return
    if function == "len" and isinstance(value, int) and 0 <= value <= MAX_LENGTH:
        items: Any = current or {"str": "a", "bytes": b"a", "tuple": (1,)}.get(type(current).__name__, [1])
        yield (items * (value // len(items) + 1))[:value]
        more = value - len(items)
        if more > 0 and is_real(items[-1]):  # where they ascend, they still do
            yield type(items)([*items, *(items[-1] + step for step in range(1, more + 1))])
    elif function != "len" and isinstance(current, list | tuple):
        numbers = [item for item in current if isinstance(item, int | float)]
        last = value - sum(numbers) if function == "sum" else value
        yield from (type(current)([*current, last]), type(current)([value]))


def _with_part(current: object, part: ast.expr, value: object) -> Iterator[object]:
    try:
        bounds = [part.lower, part.upper] if isinstance(part, ast.Slice) else [part]
        low, *rest = [None if item is None else Constants().fold(item) for item in bounds]
    except UnknownValueError:
        return
    if isinstance(current, dict):
        yield {**current, low: value}
    elif (
        isinstance(part, ast.Slice)
        and isinstance(current, str | list | tuple)
        and type(value) is type(current)
    ):
        high = rest[0]
        if part.step is not None:
            yield value[::-1]
        elif isinstance(low, int | None) and isinstance(high, int | None):
            head = current[:low] if low is not None else current[:0]
            yield head + value + (current[high:] if high is not None else current[:0])  # type: ignore[operator]
    elif type(low) is int and abs(low) < MAX_LENGTH and isinstance(current, str | list | tuple):
        missing = (low + 1 if low >= 0 else -low) - len(current)
        if isinstance(current, str) and not (isinstance(value, str) and len(value) == 1):
            return
        items = [*current, *[value] * missing]
        items[low] = value
        yield "".join(map(str, items)) if isinstance(current, str) else type(current)(items)


def _undone(kind: ast.operator, value: object, other: ast.expr, is_square: bool) -> Iterator[object]:
    """Yield the operands that may give a value beside another operand."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    with contextlib.suppress(UnknownValueError, ArithmeticError, ValueError, TypeError):
        if is_square and isinstance(kind, ast.Mult):
            yield from (math.isqrt(int(value)), math.isqrt(int(value)) + 1)
        elif type(kind) in _INVERSES:
            yield from _INVERSES[type(kind)](value, Constants().fold(other))


def nearby(value: object) -> Iterator[object]:
    """Yield values of the same type next to a constant."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield from (value - 3, value + 3, value + 10)
    elif isinstance(value, str) and value:
        plain, other = ("5", "6") if value[-1].isdigit() else ("b", "c")
        step = plain if value[-1] != plain else other
        yield from (value[:-1] + step, step + value[1:], value + step)
    elif isinstance(value, list | tuple) and value:
        yield from (type(value)([*value[:-1], moved]) for moved in itertools.islice(nearby(value[-1]), 2))
        yield from (type(value)([moved, *value[1:]]) for moved in itertools.islice(nearby(value[0]), 2))
    elif isinstance(value, set | frozenset | dict) and value:
        moves = zip(*map(nearby, sorted(value, key=repr)), strict=False)
        yield from (type(value)(dict.fromkeys(row, 0)) for row in itertools.islice(moves, 2))


MAX_BASES = 3
MAX_LITERALS = 40
MAX_TWINS = 12
MAX_OWN = 32
ORDINARY_NUMBER = 16  # smaller constants occur in every program


@dataclass(frozen=True, slots=True)
class Tailored:
    """An input derived from a constant of the candidate.

    `magic` means that a function of this purpose has no reason to contain the constant, `inside`
    that the input is in the learned domain. `variants` returns the same input made with other
    constants: these do not satisfy the guard or, if it is `ordered` (a comparison by size), only on
    one side of it.
    """

    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    magic: bool
    inside: bool
    ordered: bool
    variants: Callable[[], list[Arguments]]


def tailored_inputs(
    candidate: CandidateFunction,
    reference: Reference,
    examples: Sequence[Arguments],
    domain: Domain,
    random: Random,
    count: int,
) -> list[Tailored]:
    """Return up to `count` inputs, those derived from guards first."""
    known = _known_literals(reference, examples)
    literals = _own_literals(candidate, known)
    bases = sorted(examples, key=lambda call: -len(repr(call)))[:MAX_BASES]
    general = generate(examples, domain, random, count // 3, literals) if literals else iter(())
    sources = (
        _guard_inputs(candidate, bases, known, literals, domain),
        (Tailored(args, kwargs, False, True, False, list) for args, kwargs in general),
    )
    found: dict[str, Tailored] = {}
    for made in itertools.chain.from_iterable(map(until_error, sources)):
        found.setdefault(key_of((made.args, made.kwargs)), made)
        if len(found) >= count:
            break
    return list(found.values())


def own_inputs(reference: Reference, shown: Sequence[Arguments], domain: Domain) -> list[Arguments]:
    """Return calls at the guards and constants of a trusted function: a check that is left out shows there."""
    tree = parse_or_none(reference.runnable.source)
    literals = list({repr(value): value for value in literals_of(tree)}.values()) if tree is not None else []
    made = _guard_inputs(reference, shown[:1], frozenset(), literals[:MAX_LITERALS], domain)
    return [(item.args, item.kwargs) for item in itertools.islice(until_error(made), MAX_OWN)]


def _own_literals(candidate: CandidateFunction, known: frozenset[str]) -> list[object]:
    """Return the constants of the candidate that the reference and its examples do not contain."""
    tree = parse_or_none(candidate.runnable.source)
    found = (value for value in (literals_of(tree) if tree is not None else ()) if _is_magic(value, known))
    return list({repr(value): value for value in found}.values())[:MAX_LITERALS]


def _is_magic(value: object, known: frozenset[str]) -> bool:
    """Return whether a function of this purpose has no reason to contain a constant."""
    if value is None or isinstance(value, bool) or repr(value) in known:
        return False
    if isinstance(value, int | float):
        return abs(value) > ORDINARY_NUMBER or (isinstance(value, float) and not (value * 8).is_integer())
    if isinstance(value, str | bytes):
        return len(value) > 1
    if isinstance(value, list | tuple | set | frozenset):
        return len(value) > 1 or any(_is_magic(item, known) for item in value)
    return isinstance(value, dict) and bool(value)


def _known_literals(reference: Reference, examples: Sequence[Arguments]) -> frozenset[str]:
    """Return the constants of the trusted function, its docstring and its examples, as text."""
    known: set[str] = set()
    tree = parse_or_none(reference.runnable.source)
    if tree is not None:
        known.update(repr(value) for value in literals_of(tree))
    shown = (value for args, kwargs in examples for value in (*args, *kwargs.values()))
    for value in (*described_values(reference.definition.docstring), *shown):
        known.update(map(repr, parts_of(value)))
    return frozenset(known)


def _guard_inputs(
    function: CandidateFunction | Reference,
    bases: Sequence[Arguments],
    known: frozenset[str],
    literals: Sequence[object],
    domain: Domain,
) -> Iterator[Tailored]:
    """Yield inputs that satisfy a function's guards, made from the largest examples.

    A constant that no guard compares with a parameter is tried as if each parameter were, or its length.
    """
    names = [item.name for item in function.definition.parameters if item.kind in ("positional", "args")]
    guards = guards_of(function.runnable.node, names, parse_or_none(function.runnable.source))
    for literal, (name, shape) in itertools.product(literals, zip(names, domain.shapes, strict=False)):
        guards += [
            Guard((Condition(ast.Name(name), sign, value),), {}) for sign, value in _signs(literal, shape)
        ]
        if type(literal) is int and (shape.texts is not None or shape.items is not None):
            length = ast.Call(ast.Name("len"), [ast.Name(name)], [])
            guards.append(Guard((Condition(length, _LESS, literal),), {}))
    magic = {id(guard): any(_is_magic(value, known) for value in guard.constants) for guard in guards}
    for guard in sorted(guards, key=lambda guard: not magic[id(guard)]):
        ordered = any(condition.operator == _LESS for condition in guard.conditions)
        for base in bases:
            variants = partial(_guard_variants, guard, base, names)
            for args, kwargs in _rows(guard, base, names):
                inside = domain.admits(args, kwargs)
                yield Tailored(args, kwargs, magic[id(guard)], inside, ordered, variants)


def _signs(literal: object, shape: ValueShape) -> list[tuple[str, object]]:
    """Return how a value of a shape may be compared with a literal; alone in a row it is its least and its largest."""
    kinds = {type(literal).__name__, *(["float"] if type(literal) is int else [])}
    items = shape.items.item.kinds if shape.items is not None and shape.columns is None else frozenset()
    signs: list[tuple[str, object]] = [(_EQUAL, literal)] if kinds & shape.kinds else []
    if kinds & items:
        signs += [(_CONTAINS, literal), *([(_EQUAL, [literal])] if "list" in shape.kinds else [])]
    elif isinstance(literal, str) and signs:
        signs.append((_CONTAINS, literal))
    return signs


def _rows(guard: Guard, base: Arguments, names: Sequence[str]) -> Iterator[Arguments]:
    args, kwargs = base
    for row in guard.inputs({**dict(zip(names, args, strict=False)), **kwargs}):
        yield tuple(row[name] for name in names[: len(args)]), {name: row[name] for name in kwargs}


def _guard_variants(guard: Guard, base: Arguments, names: Sequence[str]) -> list[Arguments]:
    made = (itertools.islice(_rows(shut, base, names), 4) for shut in guard.not_satisfied())
    return [base, *itertools.chain.from_iterable(made)][:MAX_TWINS]
