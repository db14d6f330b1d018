"""Inputs made for one candidate from its own guards and literals."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from codeguard.behavior.inputs.generation import Arguments, generate, key_of, parts_of, until_error
from codeguard.behavior.inputs.guards import (
    Guard,
    guards_of,
    nearby,
)
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
    known = _known_literals(reference, examples)
    literals = _own_literals(candidate, known)
    bases = sorted(examples, key=lambda call: -len(repr(call)))[:MAX_BASES]
    general = generate(examples, domain, random, count // 3, literals) if literals else iter(())
    sources = (
        _guard_inputs(candidate, bases, known, domain),
        _literal_inputs(bases, domain, literals),
        (Tailored(args, kwargs, False, True, False, list) for args, kwargs in general),
    )
    found: dict[str, Tailored] = {}
    for made in itertools.chain.from_iterable(map(until_error, sources)):
        found.setdefault(key_of((made.args, made.kwargs)), made)
        if len(found) >= count:
            break
    return list(found.values())


def _own_literals(candidate: CandidateFunction, known: frozenset[str]) -> list[object]:
    """Return the constants of the candidate that the reference and its examples do not contain."""
    tree = parse_or_none(candidate.runnable.source)
    if tree is None:
        return []
    found: dict[str, object] = {}
    for value in literals_of(tree):
        if _is_magic(value, known):
            found.setdefault(repr(value), value)
    return list(found.values())[:MAX_LITERALS]


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
    text = reference.definition.docstring
    for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text):
        with contextlib.suppress(NotPlainError):
            known.add(repr(read_literal(number)))
    known.update(repr(quoted) for _, quoted in re.findall(r"(['\"])(.*?)\1", text))
    for args, kwargs in examples:
        for value in (*args, *kwargs.values()):
            known.update(map(repr, parts_of(value)))
    return frozenset(known)


def _guard_inputs(
    candidate: CandidateFunction, bases: Sequence[Arguments], known: frozenset[str], domain: Domain
) -> Iterator[Tailored]:
    """Yield inputs that satisfy the candidate's guards, made from the largest examples."""
    names = [item.name for item in candidate.definition.parameters if item.kind == "positional"]
    guards = guards_of(candidate.runnable.node, names, parse_or_none(candidate.runnable.source))
    magic = {id(guard): any(_is_magic(value, known) for value in guard.constants) for guard in guards}
    for guard in sorted(guards, key=lambda guard: not magic[id(guard)]):
        ordered = any(condition.operator == "<" for condition in guard.conditions)
        for base in bases:
            variants = partial(_guard_variants, guard, base, names)
            for args, kwargs in _rows(guard, base, names):
                inside = domain.admits(args, kwargs)
                yield Tailored(args, kwargs, magic[id(guard)], inside, ordered, variants)


def _rows(guard: Guard, base: Arguments, names: Sequence[str]) -> Iterator[Arguments]:
    args, kwargs = base
    for row in guard.inputs({**dict(zip(names, args, strict=False)), **kwargs}):
        yield tuple(row[name] for name in names[: len(args)]), {name: row[name] for name in kwargs}


def _guard_variants(guard: Guard, base: Arguments, names: Sequence[str]) -> list[Arguments]:
    made = (itertools.islice(_rows(shut, base, names), 4) for shut in guard.not_satisfied())
    return [base, *itertools.chain.from_iterable(made)][:MAX_TWINS]


def _literal_inputs(
    bases: Sequence[Arguments], domain: Domain, literals: Sequence[object]
) -> Iterator[Tailored]:
    """Yield examples with an argument, or an element of one, replaced by a literal of the candidate."""
    for literal, base in itertools.product(literals, bases):
        for place in range(min(len(base[0]), len(domain.shapes))):
            for way, (args, kwargs) in enumerate(_with_literal(base, place, literal, domain)):
                variants = partial(_literal_variants, base, place, literal, way, domain)
                yield Tailored(args, kwargs, True, domain.admits(args, kwargs), False, variants)


def _literal_variants(
    base: Arguments, place: int, literal: object, way: int, domain: Domain
) -> list[Arguments]:
    made = (_with_literal(base, place, moved, domain) for moved in nearby(literal))
    rows = itertools.chain.from_iterable(itertools.islice(row, way, way + 1) for row in made)
    return [base, *rows][:MAX_TWINS]


def _with_literal(base: Arguments, place: int, literal: object, domain: Domain) -> Iterator[Arguments]:
    (args, kwargs), shape, kind = base, domain.shapes[place], type(literal).__name__
    value, made = args[place], list[object]()
    if kind in shape.kinds:
        made.append(literal)
    elif isinstance(literal, int) and kind == "int" and "float" in shape.kinds:
        made.append(float(literal))
    if isinstance(literal, str) and isinstance(value, str) and value:
        made += [literal + value, value + literal]
    is_item = shape.items is not None and kind in shape.items.item.kinds and shape.columns is None
    if is_item and isinstance(value, list | tuple):
        made += map(type(value), ([literal], [*value, literal], [literal, *value[1:]]))
    yield from (((*args[:place], changed, *args[place + 1 :]), kwargs) for changed in made)
