"""Inputs that satisfy a guard's conditions, and inputs made in the same way that do not.

Examples: the literal itself, a sequence of the required length, a string with the prefix, an
element set to the value, arithmetic inverted step by step.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from codeguard.behavior.inputs.guards import Condition, Guard
from codeguard.behavior.source.constants import UnknownError, fold
from codeguard.behavior.source.definitions import unparse

MAX_LENGTH = 4_000  # elements of a sequence that is made to reach a length
MAX_ROWS = 12
Slots = dict[str, object]  # parameter name to value


def inputs_satisfying(guard: Guard, base: Slots) -> Iterator[Slots]:
    """Yield arguments, made from `base`, that satisfy a guard's conditions or lie at their boundary."""
    rows: list[Slots] = [dict(base)]
    for condition in guard.conditions:
        rows = [made for row in rows for made in _satisfied(condition, row)][:MAX_ROWS] or rows
    for row in rows:
        if row != base:
            yield row


def _satisfied(condition: Condition, slots: Slots) -> Iterator[Slots]:
    for value in _targets(condition):
        yield from _with_value(condition.subject, value, slots, condition.operator)


def _targets(condition: Condition) -> list[object]:
    """Return the values that the subject of a condition should take."""
    constant = condition.constant
    if condition.operator == "in":
        if isinstance(constant, str):
            return [constant, constant[:1], constant[-1:]]
        if isinstance(constant, list | tuple | set | frozenset | dict):
            return sorted(constant, key=repr)[:6]
        return []
    if condition.operator == "<" and isinstance(constant, int) and not isinstance(constant, bool):
        return [constant, constant + 1, constant - 1]
    if isinstance(constant, float) and math.isfinite(constant) and condition.operator in ("<", "=="):
        beside = [math.nextafter(constant, math.inf), math.nextafter(constant, -math.inf)]
        return [constant, *beside, constant + 1.0, constant - 1.0]
    return [constant]


def _with_value(subject: ast.expr, value: object, slots: Slots, operator: str) -> Iterator[Slots]:
    """Yield arguments for which an expression over parameters takes a value."""
    if isinstance(subject, ast.Name):
        if subject.id in slots:
            yield {**slots, subject.id: _combined(slots[subject.id], value, operator)}
    elif isinstance(subject, ast.Call):
        yield from _with_call_result(subject, value, slots, operator)
    elif isinstance(subject, ast.Subscript):
        yield from _with_item(subject, value, slots)
    elif isinstance(subject, ast.BinOp):
        yield from _with_arithmetic_result(subject, value, slots, operator)
    elif (
        isinstance(subject, ast.UnaryOp)
        and isinstance(subject.op, ast.USub)
        and isinstance(value, int | float)
    ):
        yield from _with_value(subject.operand, -value, slots, operator)
    elif isinstance(subject, ast.Tuple) and isinstance(value, tuple) and len(subject.elts) == len(value):
        rows = [slots]
        for part, item in zip(subject.elts, value, strict=True):
            rows = [made for row in rows for made in _with_value(part, item, row, "==")]
        yield from rows


def _combined(old: object, value: object, operator: str) -> object:
    """Return the value of a parameter: the target, or a value that starts with, ends with or contains it."""
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


def _with_call_result(subject: ast.Call, value: object, slots: Slots, operator: str) -> Iterator[Slots]:
    function = subject.func
    if isinstance(function, ast.Name) and len(subject.args) == 1:
        argument = subject.args[0]
        if function.id in _THROUGH:
            yield from _through_builtin(function.id, argument, value, slots)
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
            yield from _with_value(function.value, value, slots, operator)
        elif function.attr == "count" and subject.args and isinstance(value, int) and 0 <= value <= 200:
            yield from _with_count(function.value, subject.args[0], value, slots)


_PASSING = "len sum max min str int float abs sorted tuple list set reversed repr"
_THROUGH = frozenset(_PASSING.split())


def _through_builtin(name: str, argument: ast.expr, value: object, slots: Slots) -> Iterator[Slots]:
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
                yield from _with_value(argument, kind(value), slots, "==")
            except ValueError:
                continue
    elif name in ("int", "float") and isinstance(value, int | float):
        yield from _with_value(argument, value, slots, "==")
        yield from _with_value(argument, str(value), slots, "==")
    elif name == "abs":
        yield from _with_value(argument, value, slots, "==")
    elif name in ("sorted", "tuple", "list", "set", "reversed") and isinstance(value, list | tuple | set):
        made = type(current)(value) if isinstance(current, list | tuple) else value
        yield from _with_value(argument, made, slots, "==")


def _resized(value: object, length: int) -> object:
    if isinstance(value, str):
        filler = value or "a"
        return (filler * (length // len(filler) + 1))[:length]
    if isinstance(value, list | tuple):
        items = list(value) or [1]
        return type(value)((items * (length // len(items) + 1))[:length])
    return None


def _with_count(owner: ast.expr, item: ast.expr, count: int, slots: Slots) -> Iterator[Slots]:
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


def _with_item(subject: ast.Subscript, value: object, slots: Slots) -> Iterator[Slots]:
    """Yield arguments with an item or a slice of a parameter replaced; short sequences are extended."""
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


def _with_arithmetic_result(
    subject: ast.BinOp, value: object, slots: Slots, operator: str
) -> Iterator[Slots]:
    """Invert one arithmetic operation with a constant: `x * 3 + 1 == 22` requires `x * 3 == 21`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if isinstance(subject.op, ast.Mult) and unparse(subject.left) == unparse(subject.right):
        if 0 <= value < 1e12:
            for root in (math.isqrt(int(value)), math.isqrt(int(value)) + 1):
                yield from _with_value(subject.left, root, slots, operator)
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
        for wanted in _inverted(subject.op, value, constant, part_is_left):
            yield from _with_value(part, wanted, slots, operator)


def _inverted(
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
        # the residue itself, and members of its class that other inputs are unlikely to contain
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


def guards_not_satisfied(guard: Guard) -> Iterator[Guard]:
    """Yield the guard with one constant changed; inputs for it do not satisfy the original guard."""
    for index, condition in enumerate(guard.conditions):
        for moved in nearby(condition.constant):
            changed = replace(condition, constant=moved)
            conditions = (*guard.conditions[:index], changed, *guard.conditions[index + 1 :])
            yield replace(guard, conditions=conditions)


def nearby(value: object) -> Iterator[object]:
    """Yield values of the same type next to a constant."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield from (value - 3, value + 3, value + 10)
    elif isinstance(value, float):
        yield from (value - 1.5, value + 1.5, value + 10.0)
    elif isinstance(value, str) and value:
        plain, other = ("5", "6") if value[-1].isdigit() else ("b", "c")
        step = plain if value[-1] != plain else other
        yield from (value[:-1] + step, step + value[1:], value + step)
    elif isinstance(value, list | tuple) and value:
        items = list(value)
        for moved in list(nearby(items[-1]))[:2]:
            yield type(value)([*items[:-1], moved])
        for moved in list(nearby(items[0]))[:2]:
            yield type(value)([moved, *items[1:]])
    elif isinstance(value, set | frozenset | dict) and value:
        moves = [list(nearby(item)) for item in sorted(value, key=repr)]
        for number in range(2):
            row = [move[number] for move in moves if len(move) > number]
            yield dict.fromkeys(row, 0) if isinstance(value, dict) else set(row)
