"""New values of a learned shape, made from nothing but what is known of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from codeguard.behavior.mutatetext import mutate_text
from codeguard.behavior.pools import Pool
from codeguard.behavior.shapes import Items, Numbers, Shape, Texts


def fresh(shape: Shape, random: Random, depth: int = 0) -> object:
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
    """Return a number: small ones are as likely as the whole range, so that ties and zeros occur."""
    high = min(numbers.high, 1e12)
    top = high if random.random() < 0.3 else min(high, 10.0)
    low = -top if numbers.negative else max(0.0, min(numbers.low, top))
    if kind == "int":
        return random.randint(math.ceil(low), max(math.ceil(low), math.floor(top)))
    return random.randint(math.ceil(low * 8), max(math.ceil(low * 8), math.floor(top * 8))) / 8.0


def _fresh_text(texts: Texts, shape: Shape, random: Random) -> str:
    if texts.choices is not None:
        return random.choice(sorted(texts.choices))
    if texts.template is not None or texts.balanced:
        model = random.choice([value for value in shape.seen if isinstance(value, str)] or [""])
        for _ in range(4):
            model = mutate_text(model, texts, Pool((model,)), random)
        return model
    characters = sorted(texts.characters) or ["a"]
    few = [random.choice(characters) for _ in range(random.randint(1, 4))]
    length = random.randint(texts.shortest, max(texts.shortest, min(texts.longest, 10)))
    chosen = few if random.random() < 0.6 else characters
    return "".join(random.choice(chosen) for _ in range(length))


def _fresh_items(kind: str, shape: Shape, random: Random, depth: int) -> object:
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
    """Return a key that puts values of mixed kinds in one order."""
    if isinstance(value, bool | int | float):
        return "number", float(value), ""
    return type(value).__name__, 0.0, str(value)


def rebuilt_set(model: object, items: Sequence[object]) -> object:
    """Return a set of the same type, or the model itself where an item cannot be in one."""
    try:
        return frozenset(items) if isinstance(model, frozenset) else set(items)
    except TypeError:
        return model


def hashable(value: object) -> bool:
    """Say whether a value can be a key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True
