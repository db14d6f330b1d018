"""Inputs made from examples: recombined, mutated, at boundaries, and new values of the learned shapes.

The result is deterministic for a given random source: sets are sorted before anything is chosen
from them, so Python's hash seed has no influence.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

from codeguard.behavior.inputs.shapes import BRACKETS, Texts, ValueShape, ordered
from codeguard.behavior.specs.contract import Domain

MAX_TRIES = 12
MAX_BOUNDS = 8  # numbers of one call that a row beside them meets exactly
MAX_SMALL = 4_000  # combinations of small numbers
MAX_ITEMS = 40
MAX_NESTED = 6
MAX_DEPTH = 70  # deeper than any value that a sandboxed child may send
STRUCTURED = re.compile(
    r"\d[^\w\s]\d"
)  # numbers joined by punctuation: dates, versions, ranges, times of day
COUNTS = "counts"
LENGTHS = {
    "is as long as": 0,
    "is longer by one than": 1,
}  # relations that fix the length of one by the other's
Arguments = tuple[tuple[object, ...], Mapping[str, object]]
Made = TypeVar("Made")


def until_error(made: Iterable[Made]) -> Iterator[Made]:
    """Yield inputs until making one fails.

    Candidates determine the constants in the inputs, and arithmetic with an extreme one (`1e999`,
    `10**400`) raises. The inputs made before that are still used.
    """
    try:
        yield from made
    except (ArithmeticError, ValueError, TypeError):
        return


def key_of(call: Arguments) -> str:
    """Return a text that is equal for equal calls."""
    return repr((call[0], sorted(call[1].items())))


def parts_of(value: object, depth: int = 0) -> Iterator[object]:
    """Yield a value and everything inside it."""
    yield value
    if isinstance(value, list | tuple | set | frozenset | dict) and depth <= MAX_DEPTH:
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from parts_of(item, depth + 1)


def magnitude(value: object) -> float:
    """Return the largest absolute number in a value; 0 if there is none."""
    largest = 0.0
    for part in parts_of(value):
        if isinstance(part, bool | int | float):
            try:
                size = abs(float(part))
            except OverflowError:
                return 1e308
            largest = max(largest, size if size < 1e308 else 0.0)
    return largest


def generate(
    examples: Sequence[Arguments], domain: Domain, random: Random, count: int, literals: Sequence[object] = ()
) -> Iterator[Arguments]:
    """Yield up to `count` distinct calls inside the domain, starting with an enumeration of small ones.

    `examples` must not be empty. The examples themselves are not repeated.
    """
    if count <= 0:
        return
    known = set(map(key_of, examples))
    literals = [item for item in literals if not isinstance(item, float) or math.isfinite(item)]
    made = 0
    sources = (
        _small_calls(examples, domain),
        _random_calls(examples, domain, _Maker(random, literals), count * MAX_TRIES),
    )
    for number, source in enumerate(sources):
        share = count * (number + 1) // 2
        for call in until_error(source):
            key = key_of(call)
            if key in known or not domain.admits(*call):
                continue
            known.add(key)
            yield call
            made += 1
            if made >= share:
                break


def _small_calls(examples: Sequence[Arguments], domain: Domain) -> Iterator[Arguments]:
    """Yield all combinations of small numbers, which show off-by-one errors first, or changes of one argument."""
    base_args, base_kwargs = examples[0]
    choices = [_small_values(shape, len(domain.shapes)) for shape in domain.shapes[: len(base_args)]]
    if choices and all(choices):
        if math.prod(map(len, choices)) <= MAX_SMALL:
            # The first argument changes fastest.
            yield from ((row[::-1], base_kwargs) for row in itertools.product(*choices[::-1]))
        return
    for args, kwargs in examples:
        made = (
            itertools.islice(_met_bounds(args), MAX_BOUNDS),
            ((place, value) for place, values in enumerate(choices[: len(args)]) for value in values),
        )
        for place, value in itertools.chain(*made):
            yield (*args[:place], value, *args[place + 1 :]), kwargs


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
    found: list[object] = [False, True] if "bool" in shape.kinds else []
    if "int" in shape.kinds and shape.numbers is not None:
        numbers = [number for size in range(most) for number in ((size, -size) if size else (0,))]
        found += [number for number in shape.numbers.limits if shape.numbers.admits(number)]
        found += [number for number in numbers if shape.numbers.admits(number)][:most]
    return [] if shape.kinds - {"bool", "int"} else found


def _random_calls(
    examples: Sequence[Arguments], domain: Domain, maker: _Maker, tries: int
) -> Iterator[Arguments]:
    random = maker.random
    width = max(len(args) for args, _ in examples)
    seen = [[args[place] for args, _ in examples if place < len(args)] for place in range(width)]
    for _ in range(tries):
        args, kwargs = random.choice(examples)
        choice = random.random()
        if choice < 0.25:
            args = tuple(maker.fresh(shape) for shape in domain.shapes[: len(args)])
        elif choice < 0.35 and len(examples) > 1:
            args = tuple(random.choice(seen[place]) for place in range(len(args)))
        else:
            for _ in range(1 if random.random() < 0.6 else random.randint(2, 3)):
                args = _mutated_arguments(args, domain, seen, maker) if args else args
        if kwargs and random.random() < 0.5:
            name = random.choice(sorted(kwargs))
            shape = domain.keywords[name]
            kwargs = {**kwargs, name: maker.mutated(kwargs[name], shape, shape.seen)}
        if len(domain.counts) > 1 and len(domain.shapes) >= max(domain.counts) and random.random() > 0.6:
            count = random.choice(sorted(domain.counts))  # of the arguments of a variadic function
            args = (*args[:count], *(maker.fresh(domain.shapes[place]) for place in range(len(args), count)))
        yield args, kwargs


def _mutated_arguments(
    args: tuple[object, ...], domain: Domain, seen: Sequence[Sequence[object]], maker: _Maker
) -> tuple[object, ...]:
    """Return arguments with one changed, and those that have a relation to its length adapted."""
    place = maker.random.randrange(min(len(args), len(seen)))
    is_seen = maker.random.random() < 0.1
    value = (
        maker.pick(seen[place]) if is_seen else maker.mutated(args[place], domain.shapes[place], seen[place])
    )
    changed = [*args[:place], value, *args[place + 1 :]]
    for relation in domain.relations:
        if place not in (relation.first, relation.second) or not isinstance(value, str | list | tuple):
            continue
        other = relation.second if relation.first == place else relation.first
        if relation.kind == COUNTS and place == relation.second:
            changed[other] = len(value)
        elif relation.kind in LENGTHS and other < len(changed):
            more = LENGTHS[relation.kind] * (1 if other == relation.first else -1)
            changed[other] = maker.resized(changed[other], max(0, len(value) + more), domain.shapes[other])
    return tuple(changed)


class _Maker:
    """Makes values of a shape, new ones and mutations; `literals` are constants of the code that is tested."""

    def __init__(self, random: Random, literals: Sequence[object] = ()) -> None:
        self.random = random
        self._literals = literals

    def pick(self, seen: Sequence[object]) -> object:
        """Return a value of the examples, or a literal."""
        return self.random.choice(self._literals if self._literals and self.random.random() < 0.3 else seen)

    def fresh(self, shape: ValueShape, depth: int = 0) -> object:
        """Return a new value of a shape."""
        random = self.random
        kind = random.choice(sorted(shape.kinds)) if shape.kinds else "int"
        if kind == "bool":
            return random.random() < 0.5
        if kind in ("int", "float") and shape.numbers is not None:
            # Small numbers are as likely as the whole range, so that ties and zeros occur.
            high = min(shape.numbers.high, 1e12)
            top = high if random.random() < 0.3 else min(high, 10.0)
            low = -top if shape.numbers.negative else max(0.0, min(shape.numbers.low, top))
            step = 1 if kind == "int" else 8
            first = math.ceil(low * step)
            number = random.randint(first, max(first, math.floor(top * step)))
            return number if kind == "int" else number / step
        if kind == "str" and shape.texts is not None:
            return self._fresh_text(shape.texts, shape)
        if shape.columns is not None and kind == "tuple":
            return tuple(self.fresh(column, depth + 1) for column in shape.columns)
        if kind in _KINDS and shape.items is not None and depth < MAX_NESTED:
            least, longest = shape.items.shortest, min(shape.items.longest, 12 if depth == 0 else 5)
            length = random.randint(least, max(least, longest))
            made = [self.fresh(shape.items.item, depth + 1) for _ in range(length)]
            distinct = list({repr(item): item for item in made}.values()) if shape.items.distinct else made
            return _composed(kind, distinct, shape)
        return random.choice(shape.seen) if shape.seen else None

    def _fresh_text(self, texts: Texts, shape: ValueShape) -> str:
        random = self.random
        if texts.template is not None or texts.brackets:
            model = random.choice([value for value in shape.seen if isinstance(value, str)] or [""])
            for _ in range(4):
                model = self._mutated_text(model, texts, (model,))
            return model
        characters = sorted(texts.characters) or ["a"]
        few = [random.choice(characters) for _ in range(random.randint(1, 4))]
        length = random.randint(texts.shortest, max(texts.shortest, min(texts.longest, 10)))
        chosen = few if random.random() < 0.6 else characters
        return "".join(random.choice(chosen) for _ in range(length))

    def resized(self, value: object, length: int, shape: ValueShape) -> object:
        """Return a sequence with another length."""
        if isinstance(value, str):
            return (value * (length // max(1, len(value)) + 1))[:length]
        if not isinstance(value, list | tuple):
            return value
        items = list(value)[:length]
        while len(items) < length:
            new = self.fresh(shape.items.item) if shape.items is not None else 0
            items.append(self.random.choice(items) if items else new)
        return type(value)(items)

    def mutated(self, value: object, shape: ValueShape, seen: Sequence[object], depth: int = 0) -> object:
        """Return a small mutation of a value; `seen` are the values at its place."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | float):
            return self._mutated_number(value, shape, seen)
        if isinstance(value, str):
            return self._mutated_text(value, shape.texts, seen)
        if isinstance(value, list | tuple | set | frozenset | dict):
            return _composed(type(value).__name__, self._mutated_items(ordered(value), shape, depth), shape)
        return self.pick(seen)

    def _mutated_number(self, value: float, shape: ValueShape, seen: Sequence[object]) -> float:
        """Change a number, a float in steps of 1/8 or less, so that rounding decides no comparison."""
        random, is_int = self.random, isinstance(value, int)
        value = value if is_int or math.isfinite(value) else 0.0
        if shape.kinds >= {"int", "float"} and abs(value) < 1 << 53 and random.random() < 0.2:
            return round(value) if not is_int else float(value)
        grid = 1.0 if is_int else 8.0
        if not is_int and 0 < abs(value) < 0.25:
            grid = 2.0 ** (3 - max(-1000, math.floor(math.log2(abs(value)))))
        numbers = shape.numbers
        high = int(min(numbers.high, 1e15 if is_int else 1e6)) if numbers is not None else 100
        low = -high if numbers is not None and numbers.negative else 0
        others = [item for item in (*seen, *self._literals) if type(item) is type(value)] or [value]
        near, small = random.randint(-10, 10), random.randint(0, 20 if is_int else 80)
        steps = [
            value + random.choice((-1, 1, -2, 2)),
            value + (near if is_int else near / grid),
            random.randint(low, high),
            small if is_int else small / grid,
            -value if low < 0 else value // 2,
            random.choice(others) + random.choice((-1, 0, 1)),
        ]
        chosen = random.choice(steps)
        return chosen if is_int or not math.isfinite(chosen * grid) else round(chosen * grid) / grid

    def _mutated_text(self, value: str, texts: Texts | None, seen: Sequence[object]) -> str:
        """Return a small mutation of a string, within its template if it has one."""
        random = self.random
        characters = sorted(texts.characters if texts is not None else value) or sorted(value) or ["a"]
        templated = texts is not None and texts.template is not None
        if random.random() < (0.8 if templated else 0.5) and (templated or STRUCTURED.search(value)):
            return self._same_template(value, characters)
        start, end = sorted((random.randint(0, len(value)), random.randint(0, len(value))))
        if texts is not None and texts.brackets and random.random() < 0.7:
            opening = random.choice(texts.brackets)
            closing = BRACKETS[opening]
            steps = [
                value[:start] + opening + value[start:end] + closing + value[end:],
                value[:start] + opening + closing + value[start:],
                value.replace(opening + closing, "", 1),
                value + value,
            ]
            return random.choice(steps)
        other = random.choice([text for text in (*seen, *self._literals) if isinstance(text, str)] or [value])
        one = random.choice(sorted(set(value)) if value and random.random() < 0.5 else characters)
        steps = [
            value[:end] + one * random.randint(1, 4) + value[end:],
            value[:start] + one + value[start + 1 :],
            value[:start] + value[start + 1 :],
            value[:end] + value[start:],
            value[:start] + value[end:],
            value + other,
            value[start:] + value[:start],
            value[::-1],
            value + value[::-1],
            value.swapcase(),
            self._same_template(value, characters),
        ]
        if " " in value:
            parts = value.split(" ")
            random.shuffle(parts)
            steps += [" ".join(parts), " ".join(parts[:-1]), " ".join((*parts, random.choice(parts)))]
        return random.choice(steps)

    def _same_template(self, value: str, characters: Sequence[str]) -> str:
        """Replace a number, or some letters and digits, and leave every other character."""
        random, places = self.random, list(re.finditer(r"\d+", value))
        if places and random.random() < 0.5:
            place = random.choice(places)
            known = [item for item in self._literals if type(item) is int and 0 <= item < 10**9]
            near = random.choice([int(place.group()[:15]), *known]) + random.choice((-1, 0, 1))
            number = max(0, random.choice((0, 1, near, near, random.randint(0, 99))))
            return value[: place.start()] + str(number).zfill(len(place.group())) + value[place.end() :]
        digits = [char for char in characters if char.isdigit()] or ["0", "1"]
        letters = [char for char in characters if char.isalpha()] or ["a", "b"]
        share = random.choice((0.1, 0.5))
        return "".join(
            random.choice(digits if char.isdigit() else letters)
            if char.isalnum() and random.random() < share
            else char
            for char in value
        )

    def _mutated_items(self, items: list[object], shape: ValueShape, depth: int) -> list[object]:
        random, inside = self.random, shape.items
        item_shape = inside.item if inside is not None else shape
        place = random.randint(0, len(items))
        at = min(place, len(items) - 1)
        seen = (*items, *(item_shape.seen or (0,)))
        if shape.columns is not None and items:
            column = shape.columns[at] if at < len(shape.columns) else item_shape
            items[at] = self.mutated(items[at], column, (items[at],), depth + 1)
            return items
        step = random.randrange(10)
        if step <= 1 and items:
            items[at] = self.mutated(items[at], item_shape, seen, depth + 1)
        elif step == 2 and items:
            del items[at]
        elif step == 3:
            items.insert(place, self.pick(seen))
        elif step == 4:
            items.insert(place, self.fresh(item_shape, depth + 1))
        elif step == 5:
            random.shuffle(items)
        elif step == 6 and items:
            items.insert(place, random.choice(items))
        elif step == 7:
            items = [self.mutated(item, item_shape, seen, depth + 1) for item in items]
        elif step == 8:
            items.reverse()
        else:
            items = items[: max(1, place)]
        return items[:MAX_ITEMS]


_KINDS: Mapping[str, Callable[[Iterable[Any]], object]] = {
    kind.__name__: kind for kind in (list, tuple, set, frozenset, dict)
}


def _composed(kind: str, items: Iterable[object], shape: ValueShape) -> object:
    """Return a value of a kind with these items as far as it takes them, in order if the shape asks for it."""
    if shape.items is not None and shape.items.ascending:
        with contextlib.suppress(TypeError):  # items of several kinds are not admitted
            items = sorted(items)  # type: ignore[type-var]
    if kind == "dict":
        items = [item for item in items if isinstance(item, tuple) and len(item) == 2 and _hashable(item[0])]
    elif kind in ("set", "frozenset"):
        items = filter(_hashable, items)
    return _KINDS[kind](items)


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
