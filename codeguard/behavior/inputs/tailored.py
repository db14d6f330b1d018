"""Inputs made for one candidate from its own guards and literals."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from codeguard.behavior.inputs.generation import Arguments, generate, until_error
from codeguard.behavior.inputs.guards import (
    Guard,
    Slots,
    guards_of,
    nearby,
)
from codeguard.behavior.inputs.shapes import ValueShape
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.source.constants import literals_of
from codeguard.behavior.source.definitions import parse_or_none
from codeguard.behavior.specs.calls import NotPlainError, read_literal
from codeguard.behavior.specs.contract import Domain
from codeguard.behavior.specs.references import Reference

MAX_BASES = 3
MAX_LITERALS = 40
MAX_TWINS = 12
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
    known = known_literals(reference, examples)
    literals = own_literals(candidate, known)
    found: dict[str, Tailored] = {}
    sources = (
        _guard_inputs(candidate, examples, known, domain),
        _literal_inputs(examples, domain, literals),
        _inputs_in_domain(examples, domain, random, literals, count // 3),
    )
    for source in sources:
        for made in until_error(source):
            found.setdefault(repr((made.args, sorted(made.kwargs.items()))), made)
            if len(found) >= count:
                return list(found.values())
    return list(found.values())


def own_literals(candidate: CandidateFunction, known: frozenset[str]) -> list[object]:
    """Return the constants of the candidate that the reference and its examples do not contain."""
    tree = parse_or_none(candidate.runnable.source)
    if tree is None:
        return []
    found: dict[str, object] = {}
    for value in literals_of(tree):
        if is_magic(value, known):
            found.setdefault(repr(value), value)
    return list(found.values())[:MAX_LITERALS]


def is_magic(value: object, known: frozenset[str]) -> bool:
    """Return whether a function of this purpose has no reason to contain a constant."""
    if value is None or isinstance(value, bool) or repr(value) in known:
        return False
    if isinstance(value, int | float):
        return abs(value) > ORDINARY_NUMBER or (isinstance(value, float) and not (value * 8).is_integer())
    if isinstance(value, str | bytes):
        return len(value) > 1
    if isinstance(value, list | tuple | set | frozenset):
        return len(value) > 1 or any(is_magic(item, known) for item in value)
    return isinstance(value, dict) and bool(value)


def known_literals(reference: Reference, examples: Sequence[Arguments]) -> frozenset[str]:
    """Return the constants of the trusted function, its docstring and its examples, as text."""
    known: set[str] = set()
    tree = parse_or_none(reference.runnable.source)
    if tree is not None:
        known.update(repr(value) for value in literals_of(tree))
    text = reference.definition.docstring
    for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text):
        with contextlib.suppress(NotPlainError):
            known.add(repr(read_literal(number)))
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


def _guard_inputs(
    candidate: CandidateFunction, examples: Sequence[Arguments], known: frozenset[str], domain: Domain
) -> Iterator[Tailored]:
    """Yield inputs that satisfy the candidate's guards."""
    names = [
        parameter.name for parameter in candidate.definition.parameters if parameter.kind == "positional"
    ]
    tree = parse_or_none(candidate.runnable.source)
    guards = guards_of(candidate.runnable.node, names, tree)
    guards.sort(key=lambda guard: not any(is_magic(value, known) for value in guard.constants))
    for guard in guards:
        magic = any(is_magic(value, known) for value in guard.constants)
        ordered = any(condition.operator == "<" for condition in guard.conditions)
        for base in largest_examples(examples, MAX_BASES):
            variants = partial(_guard_variants, guard, base, names)
            for args, kwargs in _rows(guard, base, names):
                yield Tailored(args, kwargs, magic, domain.admits(args, kwargs), ordered, variants)


def _rows(guard: Guard, base: Arguments, names: Sequence[str]) -> Iterator[Arguments]:
    args, kwargs = base
    slots: Slots = dict(zip(names, args, strict=False))
    slots.update(kwargs)
    for row in guard.inputs(slots):
        yield (
            tuple(row[name] for name in names[: len(args)]),
            {name: row.get(name, kwargs[name]) for name in kwargs},
        )


def _guard_variants(guard: Guard, base: Arguments, names: Sequence[str]) -> list[Arguments]:
    found = [base]
    for shut in guard.not_satisfied():
        found.extend(itertools.islice(_rows(shut, base, names), 4))
    return found[:MAX_TWINS]


def largest_examples(examples: Sequence[Arguments], count: int) -> list[Arguments]:
    """Return `count` examples, the largest first: they keep most of their structure if one part changes."""
    return sorted(examples, key=lambda call: -len(repr(call)))[:count]


def _literal_inputs(
    examples: Sequence[Arguments], domain: Domain, literals: Sequence[object]
) -> Iterator[Tailored]:
    """Yield examples with an argument, or an element of one, replaced by a literal of the candidate."""
    for literal in literals:
        for base in largest_examples(examples, MAX_BASES):
            for position in range(min(len(base[0]), len(domain.shapes))):
                for way, (args, kwargs) in enumerate(_replaced(base, position, literal, domain)):
                    variants = partial(_literal_variants, base, position, literal, way, domain)
                    yield Tailored(args, kwargs, True, domain.admits(args, kwargs), False, variants)


def _replaced(base: Arguments, position: int, literal: object, domain: Domain) -> Iterator[Arguments]:
    args, kwargs = base
    for changed in _with_literal(args[position], literal, domain.shapes[position]):
        yield (*args[:position], changed, *args[position + 1 :]), kwargs


def _literal_variants(
    base: Arguments, position: int, literal: object, way: int, domain: Domain
) -> list[Arguments]:
    found = [base]
    for moved in nearby(literal):
        found.extend(itertools.islice(_replaced(base, position, moved, domain), way, way + 1))
    return found[:MAX_TWINS]


def _with_literal(value: object, literal: object, shape: ValueShape) -> Iterator[object]:
    kind = type(literal).__name__
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


def _inputs_in_domain(
    examples: Sequence[Arguments], domain: Domain, random: Random, literals: Sequence[object], count: int
) -> Iterator[Tailored]:
    """Yield inputs inside the domain that are made with the candidate's literals."""
    if literals:
        for args, kwargs in generate(examples, domain, random, count, literals):
            yield Tailored(args, kwargs, False, True, False, list)
