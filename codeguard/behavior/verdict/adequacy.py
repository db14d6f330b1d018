"""What a trusted function does beyond its examples, and how many of its single edits its calls notice.

This is mutation analysis (DeMillo, Lipton and Sayward 1978) of the calls rather than of a test suite. An edit that no
call notices may as well be the same function in other words, so that the share is a lower bound.

Calls beyond the examples have other characters, sizes, depths and types, iterators, and results in use: a second
implementation may agree on all that is made of few and similar examples and still be another function. They convict
nobody: what nobody has shown may be outside of what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.generation import Arguments, key_of, until_error
from codeguard.behavior.inputs.options import plain_base
from codeguard.behavior.inputs.tailored import own_inputs
from codeguard.behavior.matching.repairs import single_edits
from codeguard.behavior.source.definitions import Definition
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.verdict.comparison import Comparison, compare_with_reference, same_value
from codeguard.behavior.verdict.profiles import ObservedCall, Profile, reference_results, run_written
from codeguard.behavior.verdict.running import SUBJECT, Batch, CallRunner, Steps, rows_of
from codeguard.sandbox.model import Call, CallResult, Level, Outcome

MOST_EDITS = 24
LEAST_EDITS = 3  # of fewer, a share says nothing
FIRST_CALLS = 6  # most edits are noticed by any call
MOST_CALLS = 64
MOST_BEYOND, MOST_BASES = 96, 2
# White space, punctuation, digits and letters of each kind that a program may treat in a way of its own.
CHARACTERS, RUN, MOST_RUNS = "\t\n\u00a0,'-_7Zéß²", 20, 8  # runs of one character, and at how many places
POWERS, LONG = (2, 3, 4, 6, 18), 300  # of numbers, of items: quadratic functions still take so many
DEEPER: Mapping[type, Callable[[Any], object]] = {
    dict: lambda value: {"x": value}, list: lambda value: [value], tuple: lambda value: (value,),
}  # fmt: skip
LEAST_NOTICED, LEAST_NOTICED_OF_EDITED = 0.5, 0.9
PAIR = {"iterator", "row"}
BEYOND_S = 0.25  # CPU seconds of a trusted function on calls beyond its examples, some of which are large
_OF_CLASS = re.compile(r"\bsuper\(|\b__(?!\w*__\b)\w")  # what a method means only in the text of its class
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Strength:
    """What agreement with a function shows: the share of its edits that its calls notice, and calls `beyond` them.

    The share is None where there is nothing to measure it on.
    """

    noticed: float | None
    beyond: tuple[ObservedCall, ...]


def strength_of(profile: Profile, level: Level, budget: Budget) -> Steps[Strength]:
    """Return what a function gives beyond its examples, and the share of its single edits that all its calls notice."""
    domain, beyond = profile.domain, list[ObservedCall]()
    if not profile.generated:
        return Strength(None, ())
    if domain is not None:
        reference, shown = profile.reference, profile.shown_calls
        runner = CallRunner(reference.runnable, level, replace(budget, wall_s=4 * BEYOND_S, cpu_s=BEYOND_S))
        made = [*own_inputs(reference, shown, domain), *calls_beyond(shown)]
        made = [(args, kwargs) for args, kwargs in made if domain.permits(args)]
        refusals, twice = {guard.exception for guard in profile.contract.guards}, not profile.steady
        beyond += yield from reference_results(runner, reference, made, profile.examples, twice, refusals)
        if "()" not in reference.runnable.target:
            used = yield from run_written(runner, list(uses_beyond(reference.definition, shown)))
            given = ((item, item.answer.value) for item in used)
            pairs = {id(item): one for item, one in given if isinstance(one, dict) and one.keys() == PAIR}
            if any(same_value(one["iterator"], one["row"]) is not Comparison.SAME for one in pairs.values()):
                used = [item for item in used if id(item) not in pairs]
            beyond += used
    return Strength((yield from _noticed(profile, beyond, level, budget)), tuple(beyond))


def _noticed(
    profile: Profile, beyond: Sequence[ObservedCall], level: Level, budget: Budget
) -> Steps[float | None]:
    """Return the share of a function's single edits that its calls notice; None if it has hardly any edits.

    Where they notice a copy without an edit as well, they show nothing.
    """
    reference, runnable = profile.reference, profile.reference.runnable
    calls = [*profile.generated, *(item for item in beyond if item.call.args is not None)]
    owner = reference.definition.owner
    # Of a function without parameters there is a single call, which is all of it.
    stays = _OF_CLASS.search(reference.definition.text) if owner else not reference.definition.parameters
    made = [] if stays else single_edits(reference.definition.node)
    if len(made) <= LEAST_EDITS or not calls:
        return None
    same, *others = made
    edits = _spread(others, MOST_EDITS)
    put = "" if owner is None else f"\n{owner.name}.{{0}} = {{0}}"
    runner = CallRunner(
        runnable.extended(item.text + put.format(item.name) for item in (same, *edits)), level, budget
    )
    unnoticed = [item.name for item in edits]
    most = _spread(calls, MOST_CALLS)
    if not (yield from _unnoticed(runner, [same.name], most)):
        return 0.0
    for some in (_spread(calls, FIRST_CALLS), most):
        unnoticed = yield from _unnoticed(runner, unnoticed, some)
    return 1 - len(unnoticed) / len(edits)


def _edited(call: Call, runnable: Runnable, name: str) -> Call:
    """Return the same call of an edit of the function, or of its method."""
    if "." in runnable.target:
        return replace(call, target=re.sub(rf"\.{runnable.name}\b", f".{name}", call.target))
    return replace(call, target=name if call.args is not None else call.target.replace(SUBJECT, name))


def _unnoticed(runner: CallRunner, names: Sequence[str], calls: Sequence[ObservedCall]) -> Steps[list[str]]:
    """Return the edits that give on all calls what the function gives; one that ends its child gives something else."""
    same: list[str] = []
    while names:
        asked = tuple(_edited(item.call, runner.runnable, name) for name in names for item in calls)
        (result,) = yield from runner.run(Batch(asked), patient=False)
        rows = rows_of(result, len(calls))
        whole = [all(item.outcome is not Outcome.NOT_RUN for item in row) for row in rows]
        ended = whole.index(False) if False in whole else len(names)
        same += [name for name, row in zip(names[:ended], rows, strict=False) if not _notice(calls, row)]
        names = names[ended + 1 :]
    return same


def _notice(calls: Sequence[ObservedCall], answers: Sequence[CallResult]) -> bool:
    """Return whether an edit gives something else on a call than the function."""
    return any(
        (item.answer.outcome is Outcome.RETURNED) is not (answer.outcome is Outcome.RETURNED)
        or compare_with_reference(item.answer, answer, item.call.args) is Comparison.DIFFERENT
        for item, answer in zip(calls, answers, strict=True)
    )


def _spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most so many items, evenly spread."""
    return [items[place * len(items) // min(most, len(items))] for place in range(min(most, len(items)))]


def calls_beyond(shown: Sequence[Arguments]) -> list[Arguments]:
    """Return calls made from shown ones with one argument of another kind, or all containers one level deeper."""
    found: dict[str, Arguments] = {}
    for args, kwargs in shown[:MOST_BASES]:
        rows = [tuple(DEEPER[type(value)](value) if type(value) in DEEPER else value for value in args)]
        for place, value in enumerate(args):
            rows += [(*args[:place], other, *args[place + 1 :]) for other in until_error(_others(value))]
        found |= {key_of(made): made for made in ((row, kwargs) for row in rows)}
    return list(found.values())[:MOST_BEYOND]


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
            for at in range(min(len(value), MOST_RUNS)):
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
    for call in shown[:MOST_BASES]:
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
