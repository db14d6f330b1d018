"""Inputs made from examples: recombined, mutated, at boundaries, and new values of the learned shapes.

The result is deterministic for a given random source: sets are sorted before anything is chosen
from them, so Python's hash seed has no influence.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from codeguard.behavior.inputs.mutation import STRUCTURED, fresh, mutate, numbers_inside
from codeguard.behavior.inputs.pools import Arguments, ValuePool, until_error
from codeguard.behavior.inputs.shapes import ValueShape
from codeguard.behavior.specs.contract import Domain

MAX_TRIES = 12
MAX_ORDERS = 6  # orders of one call's arguments
MAX_BOUNDS = 8  # numbers of one call that a row beside them meets exactly


def generate(
    examples: Sequence[Arguments], domain: Domain, random: Random, count: int, literals: Sequence[object] = ()
) -> Iterator[Arguments]:
    """Yield up to `count` distinct calls inside the domain, starting with an enumeration of small ones.

    `examples` must not be empty. The examples themselves are not repeated.
    """
    if count <= 0:
        return
    known = {_key(call) for call in examples}
    literals = [item for item in literals if not isinstance(item, float) or math.isfinite(item)]
    made = 0
    sources = (
        _small_calls(examples, domain, literals),
        _random_calls(examples, domain, random, count * MAX_TRIES, literals),
    )
    for number, source in enumerate(sources):
        share = count * (number + 1) // 2
        for call in until_error(source):
            key = _key(call)
            if key in known or not domain.admits(*call):
                continue
            known.add(key)
            yield call
            made += 1
            if made >= share:
                break


def _key(call: Arguments) -> str:
    return repr((call[0], sorted(call[1].items())))


def _small_calls(
    examples: Sequence[Arguments], domain: Domain, literals: Sequence[object]
) -> Iterator[Arguments]:
    """Yield all combinations of small numbers and short texts, which show off-by-one errors first."""
    base_args, base_kwargs = examples[0]
    choices = [_small_values(shape, len(domain.shapes)) for shape in domain.shapes[: len(base_args)]]
    if choices and all(choices):
        sizes = [len(values) for values in choices]
        total = math.prod(sizes)
        if total <= 4_000:  # the digits of the index in mixed radix select a value for each parameter
            for index in range(total):
                placed: list[object] = []
                rest = index
                for values in choices:
                    rest, place = divmod(rest, len(values))
                    placed.append(values[place])
                yield tuple(placed), base_kwargs
            return
    for args, kwargs in examples:
        for position, value in itertools.islice(_met_bounds(args), MAX_BOUNDS):
            yield (*args[:position], value, *args[position + 1 :]), kwargs
    for args, kwargs in examples:
        for position, text in enumerate(args):
            if isinstance(text, str) and STRUCTURED.search(text):
                for changed in numbers_inside(text, literals):
                    yield (*args[:position], changed, *args[position + 1 :]), kwargs
    for args, kwargs in examples:
        for swapped in itertools.islice(itertools.permutations(args), 1, MAX_ORDERS):
            yield swapped, kwargs
    for args, kwargs in examples:
        for position, values in enumerate(choices[: len(args)]):
            for value in values:
                yield (*args[:position], value, *args[position + 1 :]), kwargs


def _met_bounds(args: tuple[object, ...]) -> Iterator[tuple[int, object]]:
    """Yield the places of numbers with what a row beside them may be compared to: a step between items, an item, a sum.

    A number that is met exactly is what tells `<` from `<=`.
    """
    places = [place for place, value in enumerate(args) if type(value) in (int, float)]
    for row in args:
        if not isinstance(row, list | tuple) or len(row) < 2 or not all(type(x) in (int, float) for x in row):
            continue
        steps = [abs(first - second) for first, second in itertools.pairwise(row)]
        for value in dict.fromkeys((*steps, *row, sum(row), len(row))):
            yield from ((place, value) for place in places if type(args[place]) is type(value))


def _small_values(shape: ValueShape, arity: int) -> list[object]:
    """Return the small numbers and booleans that a shape admits; empty for larger structures."""
    most = {1: 60, 2: 12}.get(arity, 6)
    found: list[object] = []
    if "bool" in shape.kinds:
        found += [False, True]
    if "int" in shape.kinds and shape.numbers is not None:
        numbers = [number for size in range(most) for number in ((size, -size) if size else (0,))]
        found += [number for number in shape.numbers.limits if shape.numbers.admits(number)]
        found += [number for number in numbers if shape.numbers.admits(number)][:most]
    if shape.kinds - {"bool", "int"} and found:
        return []
    return found


def _random_calls(
    examples: Sequence[Arguments], domain: Domain, random: Random, tries: int, literals: Sequence[object]
) -> Iterator[Arguments]:
    pools = _pools(examples, literals)
    for _ in range(tries):
        args, kwargs = random.choice(examples)
        choice = random.random()
        if choice < 0.25:
            args = tuple(fresh(shape, random) for shape in domain.shapes[: len(args)])
        elif choice < 0.35 and len(examples) > 1:
            args = tuple(random.choice(pools[index].seen) for index in range(len(args)))
        else:
            changes = 1 if random.random() < 0.6 else random.randint(2, 3)
            for _ in range(changes):
                args = _mutated_arguments(args, domain, pools, random)
        if kwargs and random.random() < 0.5:
            kwargs = _with_keyword(kwargs, domain, literals, random)
        yield _with_other_arity(args, domain, random), kwargs


def _with_keyword(
    kwargs: Mapping[str, object], domain: Domain, literals: Sequence[object], random: Random
) -> Mapping[str, object]:
    name = random.choice(sorted(kwargs))
    shape = domain.keywords[name]
    pool = ValuePool(shape.seen, tuple(literals))
    return {**kwargs, name: mutate(kwargs[name], shape, pool, random)}


def _with_other_arity(args: tuple[object, ...], domain: Domain, random: Random) -> tuple[object, ...]:
    """Return a variadic function's arguments with another number of them."""
    if len(domain.counts) == 1 or len(domain.shapes) < max(domain.counts) or random.random() < 0.6:
        return args
    width = random.choice(sorted(domain.counts))
    return args[:width] + tuple(fresh(domain.shapes[index], random) for index in range(len(args), width))


def _pools(examples: Sequence[Arguments], literals: Sequence[object]) -> list[ValuePool]:
    width = max(len(args) for args, _ in examples)
    return [
        ValuePool(tuple(args[index] for args, _ in examples if index < len(args)), tuple(literals))
        for index in range(width)
    ]


def _mutated_arguments(
    args: tuple[object, ...], domain: Domain, pools: Sequence[ValuePool], random: Random
) -> tuple[object, ...]:
    if not args:
        return args
    position = random.randrange(min(len(args), len(pools)))
    shape, pool = domain.shapes[position], pools[position]
    value = pool.pick(random) if random.random() < 0.1 else mutate(args[position], shape, pool, random)
    changed = [*args[:position], value, *args[position + 1 :]]
    for relation in domain.relations:
        if (
            relation.kind == "counts"
            and position == relation.second
            and isinstance(value, str | list | tuple)
        ):
            changed[relation.first] = len(value)
        if relation.kind in ("equal_lengths", "one_longer") and position in (relation.first, relation.second):
            other = relation.second if relation.first == position else relation.first
            more = 0 if relation.kind == "equal_lengths" else (1 if other == relation.first else -1)
            if other < len(changed) and isinstance(value, str | list | tuple):
                length = max(0, len(value) + more)
                changed[other] = _resized(changed[other], length, domain.shapes[other], random)
    return tuple(changed)


def _resized(value: object, length: int, shape: ValueShape, random: Random) -> object:
    """Return a sequence with another length."""
    if isinstance(value, str):
        return (value * (length // max(1, len(value)) + 1))[:length] if value else value
    if isinstance(value, list | tuple):
        items = list(value)[:length]
        while len(items) < length:
            items.append(random.choice(items) if items else _item(shape, random))
        return type(value)(items)
    return value


def _item(shape: ValueShape, random: Random) -> object:
    return fresh(shape.items.item, random) if shape.items is not None else 0
