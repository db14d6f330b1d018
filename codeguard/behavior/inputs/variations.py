"""Values near another value, and values of every type, as source text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from random import Random

from codeguard.behavior.inputs.options import CALLABLES
from codeguard.behavior.inputs.pools import until_error
from codeguard.behavior.specs.calls import NotPlainError, literal_value

MAX_ITEMS = 40
SAMPLES = 6  # random combinations for each list or text in a base call
COMPOSED = 24  # texts that are put together from several known ones
MOST_PIECES = 9
LONGEST_PIECE = 12  # characters
ANYTHING = (
    "None", "0", "1", "-1", "2", "2.5", "True", "''", "'ab'", "b''", "b'ab\\n'", "b'\\xffa'", "[]", "[1, 'a', None]",
    "['ab', 'c']", "()", "(2, 1)", "{}", "{'a': 1}", "{'b': 1, 'a': [2]}", "{2}", "[[1, 2], [3]]", "[{'a': 1}]",
    "iter([3, 1, 2])", "iter(['b', 'a'])", "len", "int", "KeyError('a')",
)  # fmt: skip


def rows_of(texts: Sequence[str], random: Random) -> Iterator[str]:
    """Yield lists made of the given texts."""
    pool = [*texts, "a", "b"]
    for _ in range(SAMPLES if texts else 0):
        yield repr([random.choice(pool) for _ in range(random.randint(1, 5))])


def composed_of(texts: Sequence[str], random: Random) -> Iterator[str]:
    """Yield texts made of several of the given ones, as functions expect that take a text apart.

    A single known text, or one beside another value, reaches few branches of what reads separators or escapes.
    """
    short = [text for text in texts if 0 < len(text) <= LONGEST_PIECE]
    separators = [text for text in short if len(text) <= 2 and not text.isalnum()] or [" "]
    pieces = [*short, "a", "b1", "é"]
    for number in range(COMPOSED if short else 0):
        separator = random.choice(separators) if number % 4 else ""
        yield repr(separator.join(random.choice(pieces) for _ in range(random.randint(2, MOST_PIECES))))


def variations(text: str, literals: Sequence[object], random: Random) -> Iterator[str]:
    """Yield replacements for an argument: values of every type, and values near its own."""
    if "lambda" in text:
        yield from CALLABLES
    yield from ANYTHING
    yield from (repr(item) for item in literals)
    value = value_of(text)
    if value is NO_VALUE:
        return
    for other in until_error(_near(value, literals, random)):
        yield other if isinstance(other, _Text) else repr(other)


class _Text(str):
    """Source text in a place where a value is expected."""


NO_VALUE = object()


def value_of(text: str) -> object:
    """Return the plain value that a source text denotes, or NO_VALUE."""
    try:
        return literal_value(ast.parse(text, mode="eval").body)
    except (NotPlainError, SyntaxError, ValueError, RecursionError, MemoryError):
        return NO_VALUE


def _near(value: object, literals: Sequence[object], random: Random) -> Iterator[object]:
    """Yield values near another one, of its type or made from it."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, -value, 2 * value, 10 * value, value + 0.5)
        numbers = [item for item in literals if isinstance(item, int | float)]
        yield from (near for number in numbers for near in (number, number + 1, number - 1, -number))
    elif isinstance(value, str):
        yield from _near_text(value, [item for item in literals if isinstance(item, str)], random)
    elif isinstance(value, bytes):
        yield from (value + value, value[:1], value[::-1], value.decode("latin-1"))
        yield from (value + item for item in literals if isinstance(item, bytes))
    elif isinstance(value, list | tuple):
        yield from _near_row(value, literals, random)
    elif isinstance(value, dict):
        yield from _near_map(value, literals)
    elif isinstance(value, set | frozenset):
        yield from (list(value), *({item} for item in literals[:4]))


def _near_text(value: str, literals: Sequence[str], random: Random) -> Iterator[object]:
    yield from (
        value.encode("utf-8", "surrogatepass"),
        value.upper(),
        value.lower(),
        value.title(),
        value[::-1],
        value + value,
    )
    yield from (
        value[:1],
        value[:2],
        value[1:],
        f" {value}\n",
        f"{value}\n",
        f"{value}é",
        f"{value}1",
        [value],
        value.split(),
    )
    for literal in literals:
        half = len(value) // 2
        yield from (literal, value + literal, literal + value, value[:half] + literal + value[half:])
    inside = [random.choice(literal) for literal in literals if literal]
    parts = [*literals, *inside, *value.split(), *value[:4], " ", "a"]
    for _ in range(SAMPLES):
        yield "".join(random.choice(parts) for _ in range(random.randint(1, 5)))


def _near_row(
    value: list[object] | tuple[object, ...], literals: Sequence[object], random: Random
) -> Iterator[object]:
    items = list(value)[:MAX_ITEMS]
    again = type(value)
    yield from (_Text(f"iter({items!r})"), list(value) if isinstance(value, tuple) else tuple(value))
    yield from (
        again(items[:1]),
        again(items[:2]),
        again(items[1:]),
        again(items[::-1]),
        again(items + items),
    )
    yield from (again([*items, None]), again([*items, [1]]), again([[1], *items]), again([items, items]))
    yield _Text(f"set({items!r})")
    if all(isinstance(item, str) for item in items):
        yield "".join(str(item) for item in items)
    kinds = {type(item) for item in items}
    alike = [item for item in literals if type(item) in kinds]
    for literal in alike:
        yield from (again([*items, literal]), again([literal, *items]), again([literal]))
    pool = [*items, *alike] or [1, 2]
    for _ in range(SAMPLES):
        yield again([random.choice(pool) for _ in range(random.randint(2, 6))])
        if items:
            place = random.randrange(len(items))
            near = list(_near(items[place], literals, random))
            near = [item for item in near if not isinstance(item, _Text)] or [None]
            yield again([*items[:place], random.choice(near), *items[place + 1 :]])


def _near_map(value: dict[object, object], literals: Sequence[object]) -> Iterator[object]:
    pairs = list(value.items())[:MAX_ITEMS]
    yield from (dict(pairs[1:]), dict(pairs[:1]), dict(pairs[::-1]), pairs, _Text(f"iter({pairs!r})"))
    yield from ({**value, "other": None}, dict.fromkeys(value, value), {key: [item] for key, item in pairs})
    yield from ({**value, literal: 1} for literal in literals)
    yield dict.fromkeys(value)
