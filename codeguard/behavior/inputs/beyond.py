"""Calls beyond those that examples show: other characters, sizes, depths and types, iterators, results in use.

The examples of a function are few and alike: plain words, short rows, small numbers. A second implementation may agree
on all that is made of them and still be another function. The trusted function, run in the sandbox, decides which of
these calls mean something. They convict nobody: what nobody has shown may be outside of what was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from codeguard.behavior.inputs.generation import Arguments, key_of, until_error
from codeguard.behavior.inputs.options import plain_base
from codeguard.behavior.source.definitions import Definition
from codeguard.behavior.specs.examples import Example

MAX_CALLS, MAX_BASES = 96, 2
# White space, punctuation, digits and letters of each kind that a program may treat in a way of its own.
CHARACTERS, RUN, MAX_RUNS = "\t\n\u00a0,'-_7Zéß²", 20, 8  # runs of one character, and at how many places
POWERS, LONG = (2, 3, 4, 6, 18), 300  # of numbers, of items: quadratic functions still take so many
DEEPER: Mapping[type, Callable[[Any], object]] = {
    dict: lambda value: {"x": value}, list: lambda value: [value], tuple: lambda value: (value,),
}  # fmt: skip


def calls_beyond(shown: Sequence[Arguments]) -> list[Arguments]:
    """Return calls made from shown ones with one argument of another kind, or all containers one level deeper."""
    found: dict[str, Arguments] = {}
    for args, kwargs in shown[:MAX_BASES]:
        rows = [tuple(DEEPER[type(value)](value) if type(value) in DEEPER else value for value in args)]
        for place, value in enumerate(args):
            rows += [(*args[:place], other, *args[place + 1 :]) for other in until_error(_others(value))]
        found |= {key_of(made): made for made in ((row, kwargs) for row in rows)}
    return list(found.values())[:MAX_CALLS]


def _others(value: object) -> Iterator[object]:
    """Yield values to put in the place of one."""
    yield type(value)()  # zero, or nothing in it
    match value:
        case int() | float() if not isinstance(value, bool):
            yield from (*(value + 10**power for power in POWERS), value + 2**53 + 1)
        case str():
            half = len(value) // 2
            for char in CHARACTERS:
                yield f"{value[:half]}{char}{value[half:]}"
                yield f"{char}{value[:half]}{char}{char}{value[half:]}"
                yield f"{value}{char}"
            yield from (value.swapcase(), value * (LONG // max(1, len(value)) + 1))
            for at in range(min(len(value), MAX_RUNS)):
                yield value[:at] + value[at] * RUN + value[at + 1 :]
        case list() | tuple():
            items = list(value)
            yield tuple(items) if isinstance(value, list) else items
            made = [
                items * (LONG // max(1, len(items)) + 1),
                [*items, *items[::-1]],
                [*items, [items, items]],
            ]
            made += [[*items[:-1], other] for item in items[-1:] for other in _others(item)]
            yield from (type(value)(row) for row in made)
        case dict():
            yield dict(enumerate(value.values(), 9))
            for key, item in list(value.items())[-1:]:
                yield from ({**value, key: other} for other in _others(item))


def uses_beyond(definition: Definition, shown: Sequence[Arguments]) -> Iterator[Example]:
    """Yield uses of a function as expressions: arguments by name, a result that is read twice, given again or cleared.

    A dictionary has what the function gives for an iterator in the place of a row, and for the row itself.
    """
    name = definition.name
    names = [item.name for item in definition.parameters if item.kind == "positional"]
    for call in shown[:MAX_BASES]:
        made, args = plain_base(name, call).expression, [repr(value) for value in call[0]]
        texts = list[str]()
        for place, value in enumerate(call[0]):
            if isinstance(value, list | tuple):
                read = ", ".join((*args[:place], f"iter({args[place]})", *args[place + 1 :]))
                texts.append(f"{{'iterator': {name}({read}), 'row': {made}}}")
        texts.append(f"{name}({', '.join(map('='.join, zip(names, args, strict=False)))})")
        if any(type(value) in DEEPER for value in call[0]):
            texts.append(f"(lambda *given: [{name}(*given) is one for one in given])({', '.join(args)})")
            texts.append(f"(lambda given: {name}(given) is given)({made})")
        texts.append(f"(lambda made: (*made, *made))({made})")
        texts.append(f"(lambda made: (getattr(made, 'clear', lambda: None)() and None, {made}))({made})")
        yield from (Example(None, {}, None, "", expression=text, callee=name) for text in texts)
