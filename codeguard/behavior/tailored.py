"""Inputs made for one candidate: what its own guards and literals ask for, and the neighbours of such inputs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from codeguard.behavior.candidate import Candidate
from codeguard.behavior.domain import Domain, Shape, kind_of
from codeguard.behavior.folding import UnknownError, constants_of, fold, literals_of
from codeguard.behavior.generate import Arguments, generate
from codeguard.behavior.guards import Slots, guards_of, openings
from codeguard.behavior.references import Reference
from codeguard.behavior.source import parse

MAX_BASES = 3
MAX_LITERALS = 40
ORDINARY_NUMBER = 16  # constants up to here are in every program


@dataclass(frozen=True, slots=True)
class Tailored:
    """One input, and the example that it was made from.

    `magic` says that a constant of the candidate's own is in it, `inside`
    that it is in the learned domain.
    """

    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    base: Arguments
    magic: bool
    inside: bool


def tailored_inputs(
    candidate: Candidate,
    reference: Reference,
    examples: Sequence[Arguments],
    domain: Domain,
    random: Random,
    count: int,
) -> list[Tailored]:
    """Return up to `count` inputs, those that guards ask for first."""
    known = _known_literals(reference, examples)
    literals = own_literals(candidate, known)
    found: dict[str, Tailored] = {}
    sources = (
        _opened(candidate, examples, known),
        _substituted(examples, domain, literals),
        _around(examples, domain, random, literals, count // 3),
    )
    for source in sources:
        for args, kwargs, base, magic in source:
            key = repr((args, sorted(kwargs.items())))
            if key not in found:
                found[key] = Tailored(args, kwargs, base, magic, domain.admits(args, kwargs))
            if len(found) >= count:
                return list(found.values())
    return list(found.values())


Made = tuple[tuple[object, ...], Mapping[str, object], Arguments, bool]


def own_literals(candidate: Candidate, known: frozenset[str]) -> list[object]:
    """Return the constants that the candidate spells out and the reference and its examples do not."""
    tree = parse(candidate.runnable.source)
    if tree is None:
        return []
    found: dict[str, object] = {}
    for value in literals_of(tree, constants_of(tree)):
        if is_magic(value, known):
            found.setdefault(repr(value), value)
    return list(found.values())[:MAX_LITERALS]


def is_magic(value: object, known: frozenset[str]) -> bool:
    """Say whether a constant is one that a function of this purpose has no reason to know."""
    if value is None or isinstance(value, bool) or repr(value) in known:
        return False
    if isinstance(value, int | float):
        return abs(value) > ORDINARY_NUMBER or (isinstance(value, float) and not (value * 8).is_integer())
    if isinstance(value, str | bytes):
        return len(value) > 1
    if isinstance(value, list | tuple | set | frozenset):
        return len(value) > 1 or any(is_magic(item, known) for item in value)
    return isinstance(value, dict) and bool(value)


def _known_literals(reference: Reference, examples: Sequence[Arguments]) -> frozenset[str]:
    """Return what the trusted function, its docstring and its examples spell out, as text."""
    known: set[str] = set()
    tree = parse(reference.runnable.source)
    if tree is not None:
        known.update(repr(value) for value in literals_of(tree, constants_of(tree)))
    text = reference.definition.docstring
    for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text):
        try:
            known.add(repr(fold(ast.parse(number, mode="eval").body)))
        except (UnknownError, SyntaxError, ValueError):
            continue
    known.update(repr(quoted) for _, quoted in re.findall(r"(['\"])(.*?)\1", text))
    for args, kwargs in examples:
        for value in (*args, *kwargs.values()):
            known.update(repr(part) for part in _parts(value, 0))
    return frozenset(known)


def _parts(value: object, depth: int) -> Iterator[object]:
    yield value
    if isinstance(value, list | tuple | set | frozenset) and depth < 6:
        for item in value:
            yield from _parts(item, depth + 1)


def _opened(candidate: Candidate, examples: Sequence[Arguments], known: frozenset[str]) -> Iterator[Made]:
    """Yield inputs that open the candidate's guards."""
    names = [
        parameter.name for parameter in candidate.definition.parameters if parameter.kind == "positional"
    ]
    tree = parse(candidate.runnable.source)
    guards = guards_of(candidate.runnable.node, names, tree)
    guards.sort(key=lambda guard: not any(is_magic(value, known) for value in guard.constants))
    for guard in guards:
        magic = any(is_magic(value, known) for value in guard.constants)
        for args, kwargs in spread(examples, MAX_BASES):
            slots: Slots = dict(zip(names, args, strict=False))
            slots.update(kwargs)
            for row in openings(guard, slots):
                made = tuple(row[name] for name in names[: len(args)])
                yield (
                    made,
                    {name: row.get(name, value) for name, value in kwargs.items()},
                    (args, kwargs),
                    magic,
                )


def spread(examples: Sequence[Arguments], count: int) -> list[Arguments]:
    """Return a few examples, the largest first: there is more in them to keep while one part changes."""
    return sorted(examples, key=lambda call: -len(repr(call)))[:count]


def _substituted(examples: Sequence[Arguments], domain: Domain, literals: Sequence[object]) -> Iterator[Made]:
    """Yield examples with one argument, or one element of one, replaced by a literal of the candidate's."""
    for literal in literals:
        for args, kwargs in spread(examples, MAX_BASES):
            for position, value in enumerate(args[: len(domain.shapes)]):
                for changed in _with_literal(value, literal, domain.shapes[position]):
                    made = (*args[:position], changed, *args[position + 1 :])
                    yield made, kwargs, (args, kwargs), True


def _with_literal(value: object, literal: object, shape: Shape) -> Iterator[object]:
    kind = kind_of(literal)
    if kind in shape.kinds:
        yield literal
    elif kind == "int" and "float" in shape.kinds and isinstance(literal, int):
        yield float(literal)
    if isinstance(literal, str) and isinstance(value, str) and value:
        yield literal + value
        yield value + literal
    inside = shape.items
    if (
        inside is not None
        and isinstance(value, list | tuple)
        and kind in inside.item.kinds
        and shape.columns is None
    ):
        yield type(value)([literal])
        yield type(value)([*value, literal])
        yield type(value)([literal, *value[1:]])


def _around(
    examples: Sequence[Arguments], domain: Domain, random: Random, literals: Sequence[object], count: int
) -> Iterator[Made]:
    """Yield inputs inside the domain that use the candidate's literals as material."""
    if literals:
        for args, kwargs in generate(examples, domain, random, count, literals):
            yield args, kwargs, (args, kwargs), False


def neighbours(made: Tailored) -> list[Arguments]:
    """Return calls next to one: its base, and each changed argument moved by a step."""
    found: list[Arguments] = [made.base]
    base = made.base[0]
    for position, value in enumerate(made.args):
        if position < len(base) and repr(base[position]) == repr(value):
            continue
        for moved in _moved(value):
            found.append(((*made.args[:position], moved, *made.args[position + 1 :]), made.kwargs))
    return found[:12]


def _moved(value: object) -> Iterator[object]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield from (value - 1, value + 1, value - 7, value + 10)
    elif isinstance(value, float):
        yield from (value - 1.0, value + 1.0, value + 10.5)
    elif isinstance(value, str) and value:
        yield from (value[:-1], value[1:], value + value[-1], value[:-1] + ("b" if value[-1] != "b" else "c"))
    elif isinstance(value, list | tuple) and value:
        items = list(value)
        yield type(value)(items[:-1])
        yield type(value)([*items, items[-1]])
        for moved in list(_moved(items[-1]))[:2]:
            yield type(value)([*items[:-1], moved])
        for moved in list(_moved(items[0]))[:2]:
            yield type(value)([moved, *items[1:]])
