"""Small mutations of values, and new values of a shape."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from random import Random

from codeguard.behavior.inputs.pools import ValuePool
from codeguard.behavior.inputs.shapes import Items, Numbers, Texts, ValueShape, ordered
from codeguard.behavior.inputs.texts import BRACKETS

MAX_PLACES = 6
STRUCTURED = re.compile(
    r"\d[^\w\s]\d"
)  # numbers joined by punctuation: dates, versions, ranges, times of day


def mutate_text(value: str, texts: Texts | None, pool: ValuePool, random: Random) -> str:
    """Return a small mutation of a string, within its template if it has one."""
    characters = (
        sorted(texts.characters) if texts is not None and texts.characters else sorted(set(value)) or ["a"]
    )
    near = sorted(set(value)) or characters
    if texts is not None and texts.choices is not None:
        return random.choice(sorted(texts.choices))
    templated = texts is not None and texts.template is not None
    if random.random() < (0.8 if templated else 0.5) and (templated or STRUCTURED.search(value)):
        return _same_template(value, characters, pool, random)
    if texts is not None and texts.balanced and random.random() < 0.7:
        return _mutate_balanced(value, sorted(texts.balanced), random)
    place = random.randint(0, len(value))
    other = random.choice([text for text in (*pool.seen, *pool.literals) if isinstance(text, str)] or [value])
    one = random.choice(near if random.random() < 0.5 else characters)
    start, end = sorted((random.randint(0, len(value)), random.randint(0, len(value))))
    if random.random() < 0.2 and (changed := _number_inside(value, pool, random)) is not None:
        return changed
    steps = [
        value[:place] + one + value[place:],
        value[: max(0, place - 1)] + value[place:],
        value[: max(0, place - 1)] + one + value[place:],
        value[:end] + value[start:],
        value[:start] + value[end:],
        value + other,
        value[place:] + value[:place],
        value[::-1],
        value.swapcase(),
        value + value[::-1],
        value[:place] + one * random.randint(1, 4) + value[place:],
    ]
    if " " in value:
        parts = value.split(" ")
        random.shuffle(parts)
        steps += [" ".join(parts), " ".join(parts[:-1]), " ".join((*parts, random.choice(parts)))]
    return random.choice(steps)


def _same_template(value: str, characters: Sequence[str], pool: ValuePool, random: Random) -> str:
    """Replace letters and digits and keep every other character."""
    if random.random() < 0.5:
        changed = _number_inside(value, pool, random)
        if changed is not None:
            return changed
    digits = [char for char in characters if char.isdigit()] or ["0", "1"]
    letters = [char for char in characters if char.isalpha()] or ["a", "b"]
    share = random.choice((0.1, 0.5))
    made = []
    for char in value:
        keep = random.random() >= share or not char.isalnum()
        made.append(char if keep else random.choice(digits if char.isdigit() else letters))
        if char.isalnum() and random.random() < 0.05:
            made.append(made[-1])
    return "".join(made)


def numbers_inside(value: str, literals: Sequence[object]) -> Iterator[str]:
    """Yield a string with each number in it replaced by values next to known literals."""
    known = sorted({item for item in literals if type(item) is int and 0 <= item < 10**6})
    edges = dict.fromkeys([0, 1, *(known[-1:] and (known[-1] + 1, known[-1])), 99])
    places = list(re.finditer(r"\d+", value))[:MAX_PLACES]
    for number in edges:
        for place in places:
            text = str(number).zfill(len(place.group()))
            yield value[: place.start()] + text + value[place.end() :]


def _number_inside(value: str, pool: ValuePool, random: Random) -> str | None:
    """Replace one of the numbers in a string, mostly by small numbers and known limits."""
    places = list(re.finditer(r"\d+", value))
    if not places:
        return None
    place = random.choice(places)
    numbers = [item for item in pool.literals if type(item) is int and 0 <= item < 10**9]
    near = int(place.group()[:15]) + random.choice((-1, 1))
    chosen = random.choice(
        [0, 1, max(0, near), random.randint(0, 99)]
        + ([max(0, random.choice(numbers) + random.choice((-1, 0, 1)))] * 2 if numbers else [])
    )
    text = str(chosen).zfill(len(place.group())) if random.random() < 0.7 else str(chosen)
    return value[: place.start()] + text + value[place.end() :]


def _mutate_balanced(value: str, openings: Sequence[str], random: Random) -> str:
    opening = random.choice(openings)
    start, end = sorted((random.randint(0, len(value)), random.randint(0, len(value))))
    steps = [
        value[:start] + opening + BRACKETS[opening] + value[start:],
        opening + value + BRACKETS[opening],
        value[:start] + opening + value[start:end] + BRACKETS[opening] + value[end:],
        value.replace(opening + BRACKETS[opening], "", 1),
        value + value,
        " ".join(reversed(value.split(" "))),
    ]
    return random.choice(steps)


def fresh(shape: ValueShape, random: Random, depth: int = 0) -> object:
    """Return a new value of a shape."""
    kind = random.choice(sorted(shape.kinds)) if shape.kinds else "int"
    if kind == "bool":
        return random.random() < 0.5
    if kind in ("int", "float") and shape.numbers is not None:
        return _fresh_number(shape.numbers, kind, random)
    if kind == "str" and shape.texts is not None:
        return _fresh_text(shape.texts, shape, random)
    if kind in ("list", "tuple", "set", "frozenset") and shape.items is not None and depth < 6:
        return _fresh_items(kind, shape, random, depth)
    if kind == "dict" and shape.keys is not None and shape.values is not None and depth < 6:
        count = random.randint(shape.keys.shortest, max(shape.keys.shortest, min(shape.keys.longest, 6)))
        keys = [fresh(shape.keys.item, random, depth + 1) for _ in range(count)]
        return {key: fresh(shape.values.item, random, depth + 1) for key in keys if hashable(key)}
    return random.choice(shape.seen) if shape.seen else None


def _fresh_number(numbers: Numbers, kind: str, random: Random) -> int | float:
    """Return a number; small ones are as likely as the whole range, so that ties and zeros occur."""
    high = min(numbers.high, 1e12)
    top = high if random.random() < 0.3 else min(high, 10.0)
    low = -top if numbers.negative else max(0.0, min(numbers.low, top))
    if kind == "int":
        return random.randint(math.ceil(low), max(math.ceil(low), math.floor(top)))
    return random.randint(math.ceil(low * 8), max(math.ceil(low * 8), math.floor(top * 8))) / 8.0


def _fresh_text(texts: Texts, shape: ValueShape, random: Random) -> str:
    if texts.choices is not None:
        return random.choice(sorted(texts.choices))
    if texts.template is not None or texts.balanced:
        model = random.choice([value for value in shape.seen if isinstance(value, str)] or [""])
        for _ in range(4):
            model = mutate_text(model, texts, ValuePool((model,)), random)
        return model
    characters = sorted(texts.characters) or ["a"]
    few = [random.choice(characters) for _ in range(random.randint(1, 4))]
    length = random.randint(texts.shortest, max(texts.shortest, min(texts.longest, 10)))
    chosen = few if random.random() < 0.6 else characters
    return "".join(random.choice(chosen) for _ in range(length))


def _fresh_items(kind: str, shape: ValueShape, random: Random, depth: int) -> object:
    inside: Items | None = shape.items
    assert inside is not None
    if shape.columns is not None:
        return tuple(fresh(column, random, depth + 1) for column in shape.columns)
    longest = min(inside.longest, 12 if depth == 0 else 5)
    length = random.randint(inside.shortest, max(inside.shortest, longest))
    items: list[object] = [fresh(inside.item, random, depth + 1) for _ in range(length)]
    if inside.distinct:
        items = list({repr(item): item for item in items}.values())
    if inside.ascending:
        items.sort(key=sort_key)
    if kind in ("set", "frozenset"):
        return rebuilt_set(frozenset() if kind == "frozenset" else set(), items)
    return items if kind == "list" else tuple(items)


def sort_key(value: object) -> tuple[str, float, str]:
    """Return a key that sorts values of mixed types."""
    if isinstance(value, bool | int | float):
        return "number", float(value), ""
    return type(value).__name__, 0.0, str(value)


def rebuilt_set(model: object, items: Sequence[object]) -> object:
    """Return a set of the model's type, or the model itself if an item is not hashable."""
    try:
        return frozenset(items) if isinstance(model, frozenset) else set(items)
    except TypeError:
        return model


def hashable(value: object) -> bool:
    """Return whether a value can be a dictionary key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


MAX_ITEMS = 40


def mutate(value: object, shape: ValueShape, pool: ValuePool, random: Random, depth: int = 0) -> object:
    """Return a small mutation of a value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        if "float" in shape.kinds and random.random() < 0.2:
            return float(value) if abs(value) < 1 << 53 else value
        return _mutate_int(value, shape.numbers, pool, random)
    if isinstance(value, float):
        if "int" in shape.kinds and value.is_integer() and random.random() < 0.2:
            return int(value)
        return _mutate_float(value, shape.numbers, random)
    if isinstance(value, str):
        return mutate_text(value, shape.texts, pool, random)
    if isinstance(value, list | tuple):
        changed = _mutate_items(list(value), shape, pool.literals, random, depth)
        return changed if isinstance(value, list) else tuple(changed)
    if isinstance(value, set | frozenset):
        return rebuilt_set(value, _mutate_items(ordered(value), shape, pool.literals, random, depth))
    if isinstance(value, dict):
        return _mutate_dict(value, shape, random, depth)
    return pool.pick(random)


def _mutate_int(value: int, numbers: Numbers | None, pool: ValuePool, random: Random) -> int:
    others = [item for item in (*pool.seen, *pool.literals) if type(item) is int]
    high = int(min(numbers.high, 1e15)) if numbers is not None else 100
    low = -high if numbers is not None and numbers.negative else 0
    steps = [
        value + random.choice((-1, 1, -2, 2)),
        value + random.randint(-10, 10),
        random.randint(low, high),
        random.randint(low, max(low, min(high, 20))),
        -value if low < 0 else value // 2,
        random.choice(others) + random.choice((-1, 0, 1)) if others else value + 1,
    ]
    return random.choice(steps)


def _mutate_float(value: float, numbers: Numbers | None, random: Random) -> float:
    """Change a float in steps of 1/8, so that rounding decides no comparison."""
    if not math.isfinite(value):
        value = 0.0
    grid = (
        8.0
        if abs(value) >= 0.25 or value == 0
        else 2.0 ** (3 - max(-1000, math.floor(math.log2(abs(value)))))
    )
    high = min(numbers.high, 1e12) if numbers is not None else 100.0
    steps = [
        value + random.choice((-1, 1)),
        value + random.randint(-16, 16) / grid,
        random.randint(0, int(min(high, 1e6) * 8)) / 8.0,
        random.randint(0, 80) / grid,
        -value if numbers is not None and numbers.negative else value / 2,
    ]
    chosen = random.choice(steps) * grid
    return round(chosen) / grid if math.isfinite(chosen) else 0.0


def _mutate_items(
    items: list[object], shape: ValueShape, literals: tuple[object, ...], random: Random, depth: int
) -> list[object]:
    inside = shape.items
    item_shape = inside.item if inside is not None else shape
    if shape.columns is not None and items:
        place = random.randrange(len(items))
        column = shape.columns[place] if place < len(shape.columns) else item_shape
        items[place] = mutate(items[place], column, ValuePool((items[place],)), random, depth + 1)
        return items
    place = random.randint(0, len(items))
    pool = ValuePool(tuple(items) + (item_shape.seen or (0,)), literals)
    step = random.randrange(10)
    if step <= 1 and items:
        place = min(place, len(items) - 1)
        items[place] = mutate(items[place], item_shape, pool, random, depth + 1)
    elif step == 2 and items:
        del items[min(place, len(items) - 1)]
    elif step == 3:
        items.insert(place, pool.pick(random))
    elif step == 4:
        items.insert(place, fresh(item_shape, random, depth + 1))
    elif step == 5:
        random.shuffle(items)
    elif step == 6 and items:
        items.insert(place, random.choice(items))
    elif step == 7:
        items = [mutate(item, item_shape, pool, random, depth + 1) for item in items]
    elif step == 8:
        items.reverse()
    else:
        items = items[: max(1, place)]
    if inside is not None and inside.ascending:
        items.sort(key=sort_key)
    return items[:MAX_ITEMS]


def _mutate_dict(
    value: dict[object, object], shape: ValueShape, random: Random, depth: int
) -> dict[object, object]:
    changed = dict(value)
    keys = list(changed)
    if shape.keys is None or shape.values is None:
        return changed
    keys_shape, values_shape = shape.keys.item, shape.values.item
    step = random.randrange(4)
    if step == 0 and keys:
        del changed[random.choice(keys)]
    elif step == 1 and keys:
        key = random.choice(keys)
        changed[key] = mutate(
            changed[key], values_shape, ValuePool(tuple(changed.values())), random, depth + 1
        )
    elif step == 2 and keys:
        key = random.choice(keys)
        renamed = mutate(key, keys_shape, ValuePool(tuple(keys)), random, depth + 1)
        changed = {
            (renamed if name == key else name): item for name, item in changed.items() if hashable(renamed)
        }
    else:
        name = fresh(keys_shape, random, depth + 1)
        if hashable(name):
            changed[name] = fresh(values_shape, random, depth + 1)
    return changed
