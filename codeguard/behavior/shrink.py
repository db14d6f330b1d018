"""Making a counterexample smaller, one step at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codeguard.behavior.pools import Arguments

MAX_DEPTH = 6


def smaller(call: Arguments) -> Iterator[Arguments]:
    """Yield calls one step simpler than this one: shorter sequences, smaller numbers, plainer characters."""
    args, kwargs = call
    for index, value in enumerate(args):
        for simpler in _simpler(value, 0):
            yield (*args[:index], simpler, *args[index + 1 :]), kwargs
    for name, value in kwargs.items():
        for simpler in _simpler(value, 0):
            yield args, {**kwargs, name: simpler}


def size(call: Arguments) -> tuple[int, str]:
    """Return a key that orders calls from simple to complicated."""
    text = repr((call[0], sorted(call[1].items())))
    return len(text), text


def _simpler(value: object, depth: int) -> Iterator[object]:
    if depth > MAX_DEPTH or isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield from _simpler_int(value)
    elif isinstance(value, float):
        yield from (number for number in (float(int(value)), value / 2, 0.0, 1.0) if abs(number) < abs(value))
    elif isinstance(value, str):
        yield from _simpler_text(value)
    elif isinstance(value, list | tuple):
        for items in _simpler_items(list(value), depth):
            yield items if isinstance(value, list) else tuple(items)
    elif isinstance(value, set | frozenset):
        for items in _simpler_items(sorted(value, key=repr), depth):
            try:
                yield type(value)(items)
            except TypeError:
                return
    elif isinstance(value, dict):
        yield from _simpler_dict(value, depth)


def _simpler_int(value: int) -> Iterator[int]:
    step = 1 if value > 0 else -1
    for number in (0, step, 2 * step, int(value / 2) if abs(value) < 1 << 60 else value // 2, value - step):
        if abs(number) < abs(value):
            yield number


def _simpler_text(value: str) -> Iterator[str]:
    half = len(value) // 2
    if half:
        yield value[:half]
        yield value[half:]
    for index in range(min(len(value), 12)):
        yield value[:index] + value[index + 1 :]
    for plain in "a0":
        for index, char in enumerate(value[:8]):
            if char != plain and (char.isalpha() if plain == "a" else char.isdigit()):
                yield value[:index] + plain + value[index + 1 :]


def _simpler_items(items: list[object], depth: int) -> Iterator[list[object]]:
    half = len(items) // 2
    if half:
        yield items[:half]
        yield items[half:]
    for index in range(min(len(items), 16)):
        yield items[:index] + items[index + 1 :]
    for index, item in enumerate(items[:8]):
        for number, simpler in enumerate(_simpler(item, depth + 1)):
            if number < 4:
                yield [*items[:index], simpler, *items[index + 1 :]]


def _simpler_dict(value: Mapping[object, object], depth: int) -> Iterator[dict[object, object]]:
    for key in list(value)[:12]:
        yield {name: item for name, item in value.items() if name != key}
    for key, item in list(value.items())[:6]:
        for simpler in _simpler(item, depth + 1):
            yield {**value, key: simpler}
