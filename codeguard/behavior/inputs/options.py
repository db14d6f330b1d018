"""Calls made from written ones with optional parameters, which examples often omit.

Values of options come from the default, from constants that the body compares the parameter with, and from a
table. If a parameter is called, or is named like a function, functions are tried. The trusted
function decides which values it accepts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition, Function, Parameter, unparse
from codeguard.behavior.specs.examples import Example, value_of
from codeguard.corpus.syntax import unqualified_name

MAX_VALUES = 7
MAX_BASES = 12
# Each accepts any arguments and is deterministic.
CALLABLES = (
    "lambda *given: len(repr(given)) % 3",
    "lambda *given: given[-1]",
    "lambda *given: repr(given)",
    "lambda *given: bool(given[0])",
    "lambda *given: len(repr(given)) % 2 == 0",
)
_CALLED = """
callback cmp combiner default_factory f filter fn func function key keyfunc mapper pred predicate reducefunc
selector test transform valuefunc
"""
CALLED_NAMES = frozenset(_CALLED.split())
LEFT_OUT = ""  # the parameter is omitted although the base sets it
ANYTHING = ("0", "1", "2", "None", "'x'", "[1]")
BY_HINT = {
    "bool": ("True", "False"),
    "int": ("0", "1", "2", "3"),
    "str": ("''", "','", "'a'"),
    "float": ("0.5", "2.0"),
}


@dataclass(frozen=True, slots=True)
class OptionalParameter:
    """An optional parameter and the values to try as source text; `place` is None if it is keyword-only."""

    parameter: Parameter
    place: int | None
    values: tuple[str, ...]


Filled = tuple[Example, tuple[OptionalParameter, ...]]
"""A call with optional parameters set, and those that a candidate has to have as well."""


def options_of(definition: Definition) -> list[OptionalParameter]:
    """Return a function's optional parameters with the values to try."""
    found: list[OptionalParameter] = []
    place = 0
    for parameter in definition.parameters:
        if not parameter.required and parameter.kind in ("positional", "keyword"):
            at = place if parameter.kind == "positional" else None
            found.append(OptionalParameter(parameter, at, tuple(_values(parameter, definition.node))))
        place += parameter.kind == "positional"
    return found


def filled_calls(
    definition: Definition, bases: Sequence[Example], random: Random, count: int
) -> Iterator[Filled]:
    """Yield up to `count` calls made from `bases`: single options with each value, then several at once."""
    options = options_of(definition)
    if not options or not bases or definition.binding == "instance":
        return
    bases = random.sample(bases, min(len(bases), MAX_BASES))
    single = [{option: value} for option in options for value in (LEFT_OUT, *option.values)]
    random.shuffle(single)
    turns = max(1, count // (2 * len(single))) if single else 0
    rows = [(chosen, random.choice(bases)) for _ in range(turns) for chosen in single]
    while single and len(rows) < count:
        several = [
            option for option in random.sample(options, random.randint(1, len(options))) if option.values
        ]
        rows.append(({option: random.choice(option.values) for option in several}, random.choice(bases)))
    seen: set[str] = set()
    for chosen, base in rows[:count]:
        made = _filled(options, chosen, base)
        if made is not None and made[0].expression not in seen:
            seen.add(made[0].expression)
            yield made


def plain_base(name: str, call: Arguments) -> Example:
    """Return a call with plain values as an expression."""
    parts = [repr(value) for value in call[0]] + [f"{key}={value!r}" for key, value in call[1].items()]
    return Example(None, {}, None, "", expression=f"{name}({', '.join(parts)})", callee=name)


def _filled(
    options: Sequence[OptionalParameter], chosen: Mapping[OptionalParameter, str], base: Example
) -> Filled | None:
    """Return a call with optional parameters set; None if it cannot be written."""
    try:
        tree = ast.parse(base.expression)
        values = {
            item: ast.parse(text, mode="eval").body for item, text in chosen.items() if text != LEFT_OUT
        }
        defaults = {item: ast.parse(item.parameter.default or "None", mode="eval").body for item in options}
    except PARSE_ERRORS:
        return None
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    call = next((node for node in calls if unqualified_name(node.func) == base.callee), None)
    if call is None or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    args, named = list(call.args), {item.arg: item.value for item in call.keywords if item.arg}
    if len(named) < len(call.keywords):
        return None
    for option in chosen.keys() - values.keys():
        named.pop(option.parameter.name, None)
        args = args if option.place is None else args[: option.place]
    used = dict.fromkeys(values)
    last = max((option.place for option in values if option.place is not None), default=-1)
    for option in options:
        name, value = option.parameter.name, values.get(option)
        if option.place is None and value is not None:
            named[name] = value
        elif option.place is None or option.place > last:
            continue
        elif option.place < len(args):
            args[option.place] = value or args[option.place]
        elif option.place > len(args):
            return None  # a required one is given by keyword
        else:
            args.append(value or named.get(name, defaults[option]))
            named.pop(name, None)
            used[option] = None
    call.args, call.keywords = args, [ast.keyword(name, value) for name, value in named.items()]
    text = unparse(ast.fix_missing_locations(tree))
    return (replace(base, expression=text, expected=None), tuple(used)) if text else None


def share_options(given: int, own: Sequence[Parameter], trusted: Sequence[Parameter]) -> bool:
    """Return whether `given` positional arguments set no options of which both name and default differ."""
    return all(
        one.required or other.required or one.name == other.name or one.default == other.default
        for one, other in zip(_positional(own)[:given], _positional(trusted)[:given], strict=False)
    )


def has_option(parameters: Sequence[Parameter], option: OptionalParameter) -> bool:
    """Return whether other parameters contain this option: at its place, by its name, or by its default."""
    wanted, place = option.parameter, option.place
    if place is None:
        return any(parameter.name == wanted.name and not parameter.required for parameter in parameters)
    found = [item for item in _positional(parameters)[place : place + 1] if not item.required]
    shared = wanted.default if wanted.default != "None" else ""
    return any(item.name == wanted.name or (shared and item.default == shared) for item in found)


def _positional(parameters: Sequence[Parameter]) -> list[Parameter]:
    return [item for item in parameters if item.kind == "positional"]


def _values(parameter: Parameter, node: Function) -> list[str]:
    default = value_of(parameter.default)
    compared, found = list(compared_values(parameter.name, node)), list[object]()
    if is_called(parameter, node):
        return [*compared, *CALLABLES]
    if isinstance(default, bool):
        found = [not default]
    elif isinstance(default, int):
        found = [default + 1, 0, 1, 2, default - 1, 3]
    elif isinstance(default, float):
        found = [default + 1.0, default / 2, 2.5]
    elif isinstance(default, str):
        found = [default + default, "", ",", "x", " "]
    else:
        compared += [
            text for hint, texts in BY_HINT.items() if hint in parameter.annotation for text in texts
        ]
        compared += ANYTHING
    texts = dict.fromkeys([*compared, *map(repr, found)])
    return [text for text in texts if text != parameter.default]


def is_called(parameter: Parameter, node: Function) -> bool:
    """Return whether a parameter is a function, judged by its name, its hint and its use."""
    calls = (child.func for child in ast.walk(node) if isinstance(child, ast.Call))
    return (
        parameter.name in CALLED_NAMES
        or "Callable" in parameter.annotation
        or any(isinstance(function, ast.Name) and function.id == parameter.name for function in calls)
    )


def compared_values(name: str, node: Function) -> Iterator[str]:
    """Yield the constants that a function compares a parameter with, as texts, and those beside a number."""
    for child in ast.walk(node):
        match child:
            case ast.Compare(ast.Name(own), _, others) if own == name:
                parts = [part for other in others for part in getattr(other, "elts", [other])[:MAX_VALUES]]
                for value in (part.value for part in parts if isinstance(part, ast.Constant)):
                    if not isinstance(value, bytes):
                        yield repr(value)
                    if type(value) is int:
                        yield from (repr(value + 1), repr(value - 1))
