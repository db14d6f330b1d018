"""Calls that set the optional parameters of a trusted function, which examples often omit.

Values come from the default, from constants that the body compares the parameter with, and from a
table. If a parameter is called, or is named like a function, functions are tried. The trusted
function decides which values it accepts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.source.definitions import Definition, Function, Parameter, parse_or_none, unparse
from codeguard.behavior.specs.calls import value_of
from codeguard.behavior.specs.examples import Example

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


@dataclass(frozen=True, slots=True)
class Filled:
    """A call with optional parameters set; `used` are those that a candidate has to have as well."""

    example: Example
    used: tuple[OptionalParameter, ...]


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
        if made is not None and made.example.expression not in seen:
            seen.add(made.example.expression)
            yield made


def plain_base(name: str, call: Arguments) -> Example:
    """Return a call with plain values as an expression."""
    parts = [repr(value) for value in call[0]] + [f"{key}={value!r}" for key, value in call[1].items()]
    return Example(None, {}, None, "", expression=f"{name}({', '.join(parts)})", callee=name)


def _filled(
    options: Sequence[OptionalParameter], chosen: Mapping[OptionalParameter, str], base: Example
) -> Filled | None:
    """Return a call with optional parameters set; None if it cannot be written."""
    tree = parse_or_none(base.expression)
    call = next((node for node in ast.walk(tree) if _calls(node, base.callee)), None) if tree else None
    if tree is None or not isinstance(call, ast.Call):
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    ):
        return None
    texts = [unparse(argument) for argument in call.args]
    named = {keyword.arg: unparse(keyword.value) for keyword in call.keywords if keyword.arg}
    dropped = {option for option, value in chosen.items() if value == LEFT_OUT}
    for option in dropped:
        named.pop(option.parameter.name, None)
        if option.place is not None:
            texts = texts[: option.place]
    chosen = {option: value for option, value in chosen.items() if option not in dropped}
    given, used = len(texts), list(chosen)
    last = max((option.place for option in chosen if option.place is not None), default=-1)
    for option in options:
        if option.place is not None and given <= option.place <= last:
            if len(texts) < option.place:
                return None  # a required one is given by keyword
            texts.append(chosen.get(option, named.pop(option.parameter.name, option.parameter.default)))
            named.pop(option.parameter.name, None)
            used.append(option)
    for option, value in chosen.items():
        if option.place is None:
            named[option.parameter.name] = value
        elif option.place < given:
            texts[option.place] = value
    written = parse_or_none(f"f({', '.join([*texts, *(f'{key}={value}' for key, value in named.items())])})")
    if written is None or not isinstance(written.body[0], ast.Expr):
        return None
    changed = written.body[0].value
    assert isinstance(changed, ast.Call)
    call.args, call.keywords = changed.args, changed.keywords
    text = unparse(ast.fix_missing_locations(tree))
    return Filled(replace(base, expression=text, expected=None), tuple(dict.fromkeys(used))) if text else None


def _calls(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return (isinstance(function, ast.Name) and function.id == name) or (
        isinstance(function, ast.Attribute) and function.attr == name
    )


def share_options(given: int, own: Sequence[Parameter], trusted: Sequence[Parameter]) -> bool:
    """Return whether `given` positional arguments set no options of which both name and default differ."""
    sides = [[item for item in side if item.kind == "positional"][:given] for side in (own, trusted)]
    return all(
        one.required or other.required or one.name == other.name or one.default == other.default
        for one, other in zip(*sides, strict=False)
    )


def has_option(parameters: Sequence[Parameter], option: OptionalParameter) -> bool:
    """Return whether other parameters contain this option: at its place, by its name, or by its default."""
    wanted = option.parameter
    if option.place is None:
        return any(parameter.name == wanted.name and not parameter.required for parameter in parameters)
    positional = [parameter for parameter in parameters if parameter.kind == "positional"]
    if option.place >= len(positional) or positional[option.place].required:
        return False
    found = positional[option.place]
    return found.name == wanted.name or (
        found.default == wanted.default and wanted.default not in ("", "None")
    )


def _values(parameter: Parameter, node: Function) -> Iterator[str]:
    found: list[str] = []
    compared = list(_compared(parameter.name, node))
    default = value_of(parameter.default)
    if is_called(parameter, node):
        found += CALLABLES
    elif isinstance(default, bool):
        found += [repr(not default)]
    elif isinstance(default, int):
        found += [repr(value) for value in (default + 1, 0, 1, 2, default - 1, 3)]
    elif isinstance(default, float):
        found += [repr(value) for value in (default + 1.0, default / 2, 2.5)]
    elif isinstance(default, str):
        found += compared + [repr(value) for value in (default + default, "", ",", "x", " ")]
        compared = []
    else:
        found += [
            value for hint, values in BY_HINT.items() if hint in parameter.annotation for value in values
        ]
        found += ANYTHING
    for text in dict.fromkeys([*compared, *found]):
        if text != parameter.default:
            yield text


def is_called(parameter: Parameter, node: Function) -> bool:
    """Return whether a parameter is a function, judged by its name, its hint and its use."""
    if parameter.name in CALLED_NAMES or "Callable" in parameter.annotation:
        return True
    return any(
        isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == parameter.name
        for child in ast.walk(node)
    )


def _compared(name: str, node: Function) -> Iterator[str]:
    """Yield the constants that a body compares a parameter with."""
    for child in ast.walk(node):
        if isinstance(child, ast.Compare) and isinstance(child.left, ast.Name) and child.left.id == name:
            for other in child.comparators:
                parts = other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other]
                for part in parts[:MAX_VALUES]:
                    if isinstance(part, ast.Constant) and not isinstance(part.value, bytes):
                        yield unparse(part)
                        if type(part.value) is int:
                            yield from (repr(part.value + 1), repr(part.value - 1))
