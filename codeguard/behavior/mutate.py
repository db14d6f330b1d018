"""Values a small step away from another one, of the same learned shape."""

from __future__ import annotations

import math
from random import Random

from codeguard.behavior.fresh import fresh, hashable, rebuilt_set, sort_key
from codeguard.behavior.mutatetext import mutate_text
from codeguard.behavior.pools import Pool
from codeguard.behavior.shapes import Numbers, Shape, ordered

MAX_ITEMS = 40


def mutate(value: object, shape: Shape, pool: Pool, random: Random, depth: int = 0) -> object:
    """Return a value a small step away from another one."""
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


def _mutate_int(value: int, numbers: Numbers | None, pool: Pool, random: Random) -> int:
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
    """Change a float in steps of an eighth, so that no rounding decides a comparison."""
    grid = 8.0 if abs(value) >= 0.25 or value == 0 else 2.0 ** (3 - math.floor(math.log2(abs(value))))
    high = min(numbers.high, 1e12) if numbers is not None else 100.0
    steps = [
        value + random.choice((-1, 1)),
        value + random.randint(-16, 16) / grid,
        random.randint(0, int(min(high, 1e6) * 8)) / 8.0,
        random.randint(0, 80) / grid,
        -value if numbers is not None and numbers.negative else value / 2,
    ]
    return round(random.choice(steps) * grid) / grid


def _mutate_items(
    items: list[object], shape: Shape, literals: tuple[object, ...], random: Random, depth: int
) -> list[object]:
    inside = shape.items
    item_shape = inside.item if inside is not None else shape
    if shape.columns is not None and items:
        place = random.randrange(len(items))
        column = shape.columns[place] if place < len(shape.columns) else item_shape
        items[place] = mutate(items[place], column, Pool((items[place],)), random, depth + 1)
        return items
    place = random.randint(0, len(items))
    pool = Pool(tuple(items) + (item_shape.seen or (0,)), literals)
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
    value: dict[object, object], shape: Shape, random: Random, depth: int
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
        changed[key] = mutate(changed[key], values_shape, Pool(tuple(changed.values())), random, depth + 1)
    elif step == 2 and keys:
        key = random.choice(keys)
        renamed = mutate(key, keys_shape, Pool(tuple(keys)), random, depth + 1)
        changed = {
            (renamed if name == key else name): item for name, item in changed.items() if hashable(renamed)
        }
    else:
        name = fresh(keys_shape, random, depth + 1)
        if hashable(name):
            changed[name] = fresh(values_shape, random, depth + 1)
    return changed
