"""Calls beyond the shown ones: other characters, and sizes that the constants of two functions do not reach.

Examples of a function rarely hold a quote, a tab or forty items, so that an edited split, a limit or a cache behaves
on them as the right one does.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Collection, Iterator, Sequence
from random import Random

from codeguard.behavior.inputs.generation import Arguments

LARGEST_EXAMPLES = 2
MOST_CALLS = 96
LONG = 40
LARGEST_CONSTANT = 4_100  # a limit above it makes calls that cost more than a check may
INSERTED = (*string.punctuation, "\t", "\n", "  ", "\xa0", "7", "Z", "ß", "中")


def calls_beyond(
    examples: Sequence[Arguments], constants: Collection[int], random: Random
) -> list[Arguments]:
    """Return variants of the largest examples, each with one argument changed.

    Args:
        examples: arguments that the trusted function takes.
        constants: the whole numbers in both functions.
        random: decides where a character is inserted.
    """
    largest = sorted(examples, key=lambda made: len(repr(made)))[-LARGEST_EXAMPLES:]
    limits = {2 * value + 1 for value in constants if LONG <= value <= LARGEST_CONSTANT}
    found: dict[str, Arguments] = {}
    in_turn = [_variants(value, [LONG, *sorted(limits)], random) for args, _ in largest for value in args]
    places = [(made, place) for made in largest for place in range(len(made[0]))]
    for row in itertools.zip_longest(*in_turn):
        for ((args, kwargs), place), changed in zip(places, row, strict=True):
            if changed is not None:
                call = ((*args[:place], changed, *args[place + 1 :]), kwargs)
                found.setdefault(repr(call), call)
    return list(found.values())[:MOST_CALLS]


def _variants(value: object, sizes: Sequence[int], random: Random) -> Iterator[object]:
    """Yield the value empty, longer, and with a character inserted; no None, which ends a row."""
    if not isinstance(value, str | list | tuple):
        return
    yield value[:0]
    if not value:
        return
    yield from (_lengthened(value, size) for size in sizes)
    texts = [place for place, item in enumerate(value) if isinstance(item, str) and _has_letters(item)]
    for character in INSERTED:
        if isinstance(value, str):
            if _has_letters(value):
                yield _inserted(value, character, random)
        elif texts:
            place = random.choice(texts)
            row = [*value[:place], _inserted(value[place], character, random), *value[place + 1 :]]
            yield type(value)(row)


def _lengthened(value: str | list[object] | tuple[object, ...], size: int) -> object:
    if isinstance(value, str):
        return (value * (size // len(value) + 1))[:size]
    numbers = [item for item in value if type(item) is int]
    if len(numbers) == len(value):
        # Upward, because a function of numbers often asks for ascending or distinct ones; where an example repeats or
        # mixes them, so does the end, so that what is forgotten in between shows.
        again = [] if sorted(set(numbers)) == list(value) else numbers
        first = max(numbers) + 1
        return type(value)([*value, *range(first, first + size - 2 * len(value)), *again])
    return type(value)(itertools.islice(itertools.cycle(value), size))


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _inserted(text: str, character: str, random: Random) -> str:
    place = random.randint(0, len(text))
    return text[:place] + character + text[place:]
