"""Calls outside of the domain of the examples: other types, empty, negative, iterators, known literals.

They are used for candidates that are edited copies of the trusted function. Calls that the trusted
function rejects are dropped later, so nearly anything may be tried.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from codeguard.behavior.inputs.objects import object_guesses, objects_used
from codeguard.behavior.inputs.options import LEFT_OUT, options_of
from codeguard.behavior.inputs.variations import ANYTHING, composed_of, rows_of, value_of, variations
from codeguard.behavior.source.definitions import (
    PARSE_ERRORS,
    Definition,
    Function,
    parse_or_none,
    unparse,
)
from codeguard.behavior.specs.examples import Example
from codeguard.syntax.names import dotted_name

MAX_BASES = 10
MAX_TEXT = 4_000
MAX_LITERALS = 24
TAKEN = 2  # items to consume of a result before looking at the rest of the input
GIVEN = "given_rows"
FROM_ITERATOR = (
    f"(lambda {GIVEN}: "  # begins a call that is given an iterator, and shows what it leaves of it
)
# Ways to call a returned function; the trusted function decides which of them it accepts.
CALLED = ("(3)", "([3, 1])", "('ab')", "(3, 2)", "(lambda *given: given)(1, 2)", "({'a': 1})", "()")


@dataclass(frozen=True, slots=True)
class Written:
    """A call within an example's expression, with its arguments as source text by position or name."""

    base: Example
    places: tuple[str, ...]
    named: tuple[tuple[str, str], ...]

    def with_text(self, place: int | str, text: str) -> Written | None:
        """Return the call with one argument replaced; None if the place does not exist and cannot be added."""
        if isinstance(place, int):
            if place > len(self.places) or (place == len(self.places) and text == LEFT_OUT):
                return None
            if text == LEFT_OUT:
                return replace(self, places=self.places[:place])
            return replace(self, places=(*self.places[:place], text, *self.places[place + 1 :]))
        rest = tuple(pair for pair in self.named if pair[0] != place)
        return replace(self, named=rest if text == LEFT_OUT else (*rest, (place, text)))

    def example(self) -> Example | None:
        """Return the example with these arguments; None if it cannot be written."""
        if len(self.base.expression) > MAX_TEXT:
            return None
        try:
            tree = ast.parse(self.base.expression)  # a separate tree, changed below
            made = ast.parse(self.text("f"))
        except PARSE_ERRORS:
            return None
        if not isinstance(made.body[0], ast.Expr):
            return None
        call, changed = _call_in(tree, self.base.callee), made.body[0].value
        if call is None or not isinstance(changed, ast.Call):
            return None
        call.args, call.keywords = changed.args, changed.keywords
        text = unparse(tree)
        return replace(self.base, expression=text, expected=None) if 0 < len(text) <= MAX_TEXT else None

    def text(self, callee: str) -> str:
        """Return the source of the call only."""
        named = (f"{name}={text}" for name, text in self.named)
        return f"{callee}({', '.join([*self.places, *named])})"


def written_call(base: Example) -> Written | None:
    """Return the call within an example's expression; None if it cannot be changed."""
    tree = parse_or_none(base.expression) if base.args is None else None
    call = _call_in(tree, base.callee) if tree is not None else None
    if call is None or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    named = tuple((keyword.arg or "", unparse(keyword.value)) for keyword in call.keywords)
    return Written(base, tuple(unparse(item) for item in call.args), named)


def _call_in(tree: ast.AST, callee: str) -> ast.Call | None:
    name = callee.rpartition(".")[2]  # a method's callee includes its class
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return next((node for node in calls if _last_name(node.func) == name), None)


def _last_name(function: ast.expr) -> str:
    """Return the last name of a called expression, without the object that it is called on."""
    return function.attr if isinstance(function, ast.Attribute) else dotted_name(function)


def wide_calls(
    definition: Definition, bases: Sequence[Example], literals: Sequence[object], random: Random, count: int
) -> list[Example]:
    """Return up to `count` calls: one argument changed, several changed, and results consumed in part."""
    rows = [row for base in bases if (row := written_call(base)) is not None]
    rows = random.sample(rows, min(len(rows), MAX_BASES)) or [
        *_base_calls(definition),
        *_object_calls(definition),
    ]
    known, setups = _usable(literals), "".join(kind.setup for kind in objects_used(definition))
    rows = [replace(row, base=replace(row.base, setup=setups + row.base.setup)) for row in rows]
    singles: dict[tuple[int | str, str], Written] = {}
    for row in rows:
        for place, text in _changes(definition, row, known, random):
            made = row.with_text(place, text)
            if made is not None:
                singles.setdefault((place, text), made)
    changed = _round_robin(singles, {*ANYTHING, *(repr(item) for item in known)}, random)
    several = _calls_with_several_changes(list(singles), changed, random, count) if changed else []
    partly = [made for row in (*rows, *changed) for made in _partially_consumed(row, definition)]
    called = (
        _calls_of_results((*rows, *changed), random, count // 2) if _returns_functions(definition) else []
    )
    shares = ((changed, count * 6 // 10), (several, count * 3 // 10))
    found = [item for part, share in shares for row in part[:share] if (item := row.example()) is not None]
    found += partly[: count - len(found)]
    found = [*called, *found[: count - len(called)]]
    unique = {item.fingerprint(): item for item in found}
    for row in changed[count * 6 // 10 :]:  # where several changes are the same call, as with one argument
        if len(unique) >= count:
            break
        if (item := row.example()) is not None:
            unique.setdefault(item.fingerprint(), item)
    return list(unique.values())


def _round_robin(
    singles: Mapping[tuple[int | str, str], Written], first: set[str], random: Random
) -> list[Written]:
    """Return the changed calls round-robin by place, so that a place with many values crowds out no other."""
    by_place: dict[int | str, list[tuple[str, Written]]] = {}
    for (place, text), made in singles.items():
        by_place.setdefault(place, []).append((text, made))
    for made_here in by_place.values():
        random.shuffle(made_here)
        made_here.sort(key=lambda pair: pair[0] not in first)
    turns = itertools.zip_longest(*by_place.values())
    return [pair[1] for turn in turns for pair in turn if pair is not None]


def _returns_functions(definition: Definition) -> bool:
    """Return whether a function returns functions, whose behavior shows only when they are called."""
    inside = [node for part in definition.node.body for node in ast.walk(part)]
    return any(isinstance(node, Function | ast.Lambda) for node in inside)


def _calls_of_results(rows: Sequence[Written], random: Random, count: int) -> list[Example]:
    """Return calls whose result is called twice, which shows whether it keeps state."""
    found = []
    for row in rows[: count // 2]:
        whole = row.example()
        for called in random.sample(CALLED, 2):
            if whole is not None:
                text = f"(lambda made: [made{called}, made{called}])({whole.expression})"
                found.append(replace(whole, expression=text))
    return found[:count]


def _base_calls(definition: Definition) -> list[Written]:
    """Return calls of a function without known calls, as a base for changes."""
    needed = sum(item.required for item in definition.parameters if item.kind == "positional")
    base = Example(None, {}, None, "", expression=f"{definition.name}()", callee=definition.name)
    return [Written(base, (text,) * needed, ()) for text in ("[1, 2]", "2", "'ab'", "{'a': 1}")]


def _object_calls(definition: Definition) -> list[Written]:
    """Return calls with objects of a function without known calls, one for each kind of object."""
    made = (written_call(group[0]) for group in object_guesses(definition))
    return [row for row in made if row is not None][:MAX_BASES]


def _calls_with_several_changes(
    changes: Sequence[tuple[int | str, str]], changed: Sequence[Written], random: Random, count: int
) -> list[Written]:
    """Return calls with several arguments changed."""
    found = []
    for _ in range(count):
        made: Written | None = random.choice(changed)
        for place, text in random.sample(changes, min(len(changes), random.randint(1, 2))):
            made = made.with_text(place, text) if made is not None else None
        if made is not None:
            found.append(made)
    return found


def _partially_consumed(row: Written, definition: Definition) -> Iterator[Example]:
    """Yield calls that consume a few items of the result and show what is left of the input."""
    for place, text in enumerate(row.places):
        value = value_of(text)
        if isinstance(value, list | tuple) and value and row.base.expression.startswith(definition.name):
            made = row.with_text(place, GIVEN)
            if made is not None:
                taken = f"[item for item, _ in zip({made.text(definition.name)}, range({TAKEN}))]"
                text = f"{FROM_ITERATOR}[{taken}, list({GIVEN})])(iter({value!r}))"
                yield replace(row.base, expression=text, expected=None)


def _usable(literals: Sequence[object]) -> Sequence[object]:
    kinds = (int, float, str, bytes)
    found = [item for item in literals if isinstance(item, kinds) and not isinstance(item, bool)]
    finite = [item for item in found if not isinstance(item, float) or math.isfinite(item)]
    return list({repr(item): item for item in finite if len(repr(item)) <= 80}.values())[:MAX_LITERALS]


def _changes(
    definition: Definition, row: Written, literals: Sequence[object], random: Random
) -> Iterator[tuple[int | str, str]]:
    """Yield a place and its replacement: variations of the current value, and values of every type."""
    objects = [text for kind in objects_used(definition) for text in kind.texts]
    texts = [item for item in literals if isinstance(item, str)]
    made = [*rows_of(texts, random), *composed_of(texts, random)]
    for place, text in enumerate(row.places):
        for other in (*variations(text, literals, random), *objects, *made):
            yield place, other
    for name, text in row.named:
        for other in (LEFT_OUT, *variations(text, literals, random)):
            yield name, other
    for option in options_of(definition):
        at = option.place
        if at is not None and at == len(row.places):
            yield from ((at, text) for text in (*option.values, *ANYTHING))
        elif at is None or at > len(row.places):
            values = (*option.values, *variations(option.parameter.default, literals, random))
            yield from ((option.parameter.name, text) for text in values)
        else:
            yield at, LEFT_OUT
    for parameter in definition.parameters:
        if parameter.kind == "args":
            yield from ((len(row.places), text) for text in (*row.places, *ANYTHING))
