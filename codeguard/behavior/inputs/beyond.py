"""Calls slightly outside of the domain of the examples: negative, other characters, wider spacing, longer.

A difference here convicts nobody, because an honest function is free outside of its domain. A full
pass, however, requires the trusted function's result or an exception on these calls as well.
"""

from __future__ import annotations

import ast
import itertools
import string
from collections.abc import Iterator, Sequence

from codeguard.behavior.inputs.domain import Domain
from codeguard.behavior.inputs.pools import Arguments
from codeguard.behavior.inputs.shapes import ValueShape, is_ascending
from codeguard.behavior.source.definitions import Function

MOST = 64
MOST_BASES = 3
LONG = 26  # items of a row
LONGEST = 200  # items of a row and characters of a text, in a call of its own
LEAST_RULED = 3  # texts that show a template: fewer may have it by chance
MANIFOLD = 10  # a number beside a long row, such as that of a page
LARGE = (1 << 60) + 1  # more than a float can represent exactly
LARGEST = (1 << 300) + 1  # more than the digits that a Decimal keeps
_NEIGHBORS = "@[`{/:_-.~"  # of the ASCII letters and digits, and what names are made with
_OTHER_DIGITS = str.maketrans("0123456789", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669")
_LOOPS = (ast.For, ast.While, ast.comprehension)


def calls_beyond(calls: Sequence[Arguments], domain: Domain, function: Function) -> list[Arguments]:
    """Return calls with one argument outside of the domain and the others as in a known call.

    Conditions that the examples imply still hold: relations between arguments, order, templates and
    limits named in the docstring.
    """
    large = not any(isinstance(node, _LOOPS) or _repeats(node, function.name) for node in ast.walk(function))
    made: list[Iterator[Arguments]] = []
    further: list[Arguments] = []
    for args, kwargs in list(calls)[:MOST_BASES]:
        for place, (value, shape) in enumerate(zip(args, domain.shapes, strict=False)):
            others = _others(value, shape, large)
            made.append(((*args[:place], other, *args[place + 1 :]), kwargs) for other in others)
        further += [(other, kwargs) for other in _further_on(args, domain)]
    in_turn = (call for turn in itertools.zip_longest(*made) for call in turn if call is not None)
    kept = [call for call in in_turn if all(relation.holds(call[0]) for relation in domain.relations)]
    # That a number is among the items of the examples is no rule for longer rows.
    relations = [relation for relation in domain.relations if relation.kind != "contained"]
    kept += [call for call in further if all(relation.holds(call[0]) for relation in relations)]
    short = [call for call in kept if not _is_long(call)][:MOST]
    long = [call for call in kept if _is_long(call)][:MOST]
    # The long ones at the end: one that does not finish takes none of the others along.
    return list({repr(call): call for call in (*short, *long)}.values())


def _further_on(args: tuple[object, ...], domain: Domain) -> Iterator[tuple[object, ...]]:
    """Yield arguments with long rows, and each number so large that it may point far into them."""
    shapes = domain.shapes
    long = [
        type(value)((list(value) * LONGEST)[:LONGEST])
        if isinstance(value, list | tuple) and value and shape.columns is None
        else value
        for value, shape in zip(args, shapes, strict=False)
    ]
    if len(long) < len(args) or not any(isinstance(value, list | tuple) for value in long):
        return
    for place, (value, shape) in enumerate(zip(args, shapes, strict=False)):
        if isinstance(value, int) and not isinstance(value, bool) and shape.numbers is not None:
            yield (*long[:place], value * MANIFOLD, *long[place + 1 :])


def _is_long(call: Arguments) -> bool:
    return any(isinstance(value, str | list | tuple) and len(value) >= LONGEST for value in call[0])


def _repeats(node: ast.AST, own: str) -> bool:
    """Return whether a call may take a number of steps that grows with one of its numbers."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in (own, "range")


def _others(value: object, shape: ValueShape, large: bool) -> Iterator[object]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float) and shape.numbers is not None:
        if not shape.numbers.limits:
            yield -value - 1
            if large:
                yield value + LARGE if isinstance(value, int) else value * 1e11
                if isinstance(value, int):
                    yield value + LARGEST
    elif isinstance(value, str) and shape.texts is not None:
        ruled = (shape.texts.choices, shape.texts.template)
        if shape.texts.choices is None and (
            shape.texts.template is None or len(set(shape.seen)) < LEAST_RULED
        ):
            yield from (f"{value}{mark}" for mark in ("\"'", string.punctuation))  # what is escaped
        if ruled == (None, None) and not shape.texts.balanced:
            yield from (f"{value}é", value.replace(" ", "  "), f"ß{value.upper()} ", f"\t{value.title()}\n")
            yield from (f"{value}\n", f" {value} ", value.swapcase(), value.translate(_OTHER_DIGITS))
            yield from (f"{value[:-1]}{mark}" for mark in _NEIGHBORS)
            yield (f"{value} " * LONGEST)[:LONGEST]
    elif isinstance(value, list | tuple) and shape.items is not None and shape.columns is None:
        items = shape.items
        for changed in _rows(list(value), shape):
            if items.lengths is not None and len(changed) not in items.lengths:
                continue
            if items.distinct and len({repr(item) for item in changed}) < len(changed):
                continue
            if not items.ascending or is_ascending(changed):
                yield type(value)(changed)


def _rows(items: list[object], shape: ValueShape) -> Iterator[list[object]]:
    if not items or shape.items is None:
        return
    for other in _others(items[-1], shape.items.item, large=True):
        yield [*items[:-1], other]
        yield [other, *items[1:]]
    if all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        yield list(range(-LONG // 2, LONG // 2))
    yield (items * LONG)[:LONG]
    yield (items * LONGEST)[:LONGEST]
