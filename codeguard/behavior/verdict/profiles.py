"""What a trusted function was seen to do: confirmed examples, its domain, and many more calls of it."""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.arrays import array_guesses
from codeguard.behavior.inputs.beyond import calls_beyond
from codeguard.behavior.inputs.bounds import bounds_of
from codeguard.behavior.inputs.discovery import callable_guesses, guesses
from codeguard.behavior.inputs.domain import Domain, learn_domain
from codeguard.behavior.inputs.files import file_guesses, requires_path
from codeguard.behavior.inputs.generation import generate
from codeguard.behavior.inputs.objects import object_guesses
from codeguard.behavior.inputs.options import Option, filled_calls, has_option, plain_base
from codeguard.behavior.inputs.pools import Arguments
from codeguard.behavior.inputs.related import related_guesses
from codeguard.behavior.inputs.variations import value_of
from codeguard.behavior.inputs.wide import written_call
from codeguard.behavior.source.constants import constants_of, literals_of
from codeguard.behavior.source.definitions import Definition, Parameter, parse
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.specs.examples import Example, Prints, Raises, Returns
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.specs.templates import filled, holes
from codeguard.behavior.verdict.effect_tables import CHANCE, CLOCK, ENVIRONMENT, FILES
from codeguard.behavior.verdict.effects import Capability, capabilities, observed
from codeguard.behavior.verdict.running import Batch, Runner, Steps, call_of
from codeguard.behavior.verdict.values import (
    INCONCLUSIVE_EXCEPTIONS,
    Comparison,
    agrees,
    magnitude,
    meets,
    same_value,
    says_nothing,
)
from codeguard.sandbox.model import Call, CallResult, Iteration, Level, Opaque, Outcome

MAX_GROUPS = 60  # kinds of input that are tried on a function without examples
MAX_TEMPLATES = 6
LUCKY = 8  # times, in each of two worlds, that what uses chance has to answer the same
UNSTEADY = frozenset({CHANCE, CLOCK, ENVIRONMENT})


@dataclass(frozen=True, slots=True)
class Observed:
    """One call of the reference and what it gave.

    `example` is the call's form where it is no plain call; `options` are the
    optional parameters that it fills on our own account.
    """

    call: Call
    answer: CallResult
    example: Example | None = None
    options: tuple[Option, ...] = ()

    def for_function(self, runnable: Runnable) -> Call | None:
        """Return the same call of another function."""
        if self.example is not None:
            return call_of(self.example, runnable)
        return Call(runnable.target, self.call.args, self.call.kwargs)

    def suits(self, parameters: Sequence[Parameter]) -> bool:
        """Return whether a function with these parameters has those that the call fills."""
        return all(has_option(parameters, option) for option in self.options)


@dataclass(frozen=True, slots=True)
class Profile:
    """A reference, run: what it confirmed of its examples, and its results on generated inputs.

    `domain` is None where no example shows plain values. `problem` says why
    the reference could not be run, empty where it could. `steady` says that
    no result of it was seen to depend on more than the arguments. `beyond`
    are its results a step beyond the examples.
    """

    reference: Reference
    examples: tuple[Example, ...]
    generated: tuple[Observed, ...]
    domain: Domain | None
    capabilities: frozenset[Capability]
    problem: str = ""
    steady: bool = False
    beyond: tuple[Observed, ...] = ()

    @property
    def plain_calls(self) -> tuple[Arguments, ...]:
        """The arguments of the examples that are plain values."""
        return tuple((example.args, example.kwargs) for example in self.examples if example.args is not None)

    @property
    def silence_free(self) -> bool:
        """Whether no example shows what comes out where there is nothing to give."""
        shown = [item.expected.value for item in self.examples if isinstance(item.expected, Returns)]
        return not any(says_nothing(value) for value in shown)


def random_for(seed: bytes, *purpose: str) -> Random:
    """Return a random source that depends on the installation's seed and a purpose alone."""
    text = "\0".join(purpose).encode("utf-8", "surrogatepass")
    return Random(int.from_bytes(hmac.new(seed, text, hashlib.sha256).digest(), "big"))


def observe(reference: Reference, level: Level, budget: Budget, seed: bytes) -> Steps[Profile]:
    """Run a reference on its examples, learn its domain, and run it on generated inputs, twice."""
    runner = Runner(reference.runnable, level, budget)
    able = capabilities(reference.runnable.source)
    examples, doubted, problem, effects = yield from _confirmed(reference, runner)
    profile = Profile(reference, examples, tuple(doubted), None, able | observed(effects), problem)
    calls: list[Arguments] = [*profile.plain_calls]
    calls += [(item.call.args or (), item.call.kwargs) for item in doubted]
    random = random_for(seed, "inputs", reference.digest)
    if not examples and not problem and budget.generated:
        tried = yield from _discovered(runner, reference)
        profile = replace(profile, generated=(*doubted, *tried))
        calls += [(item.call.args or (), item.call.kwargs) for item in tried]
    seen = list(profile.generated)
    if calls:
        parameters = reference.definition.parameters
        variadic = next((place for place, item in enumerate(parameters) if item.kind == "args"), None)
        domain = learn_domain(calls, bounds_of(reference.definition.docstring, parameters), variadic)
        tree = parse(reference.runnable.source)
        literals = [] if tree is None else list(literals_of(tree, constants_of(tree)))
        inputs = list(generate(calls, domain, random, budget.generated, literals))
        more, effects = yield from answers(runner, reference, inputs, examples)
        profile = replace(profile, domain=domain, capabilities=profile.capabilities | observed(effects))
        profile = replace(profile, steady=bool(more) and not any(item.kind in UNSTEADY for item in able))
        seen += more
        further = calls_beyond(calls, domain, reference.definition.node)
        outer, _ = yield from answers(runner, reference, further, examples, twice=not profile.steady)
        profile = replace(profile, beyond=tuple(outer))
    more, effects = yield from _variants(runner, examples, profile.domain, random, budget)
    seen += more
    if not seen and not examples and not problem and budget.generated:
        seen, effects = yield from _run_written(runner, callable_guesses(reference.definition))
        if not seen:
            source = reference.runnable.source
            seen, effects = yield from _taken(runner, array_guesses(reference.definition, source))
        if not seen:
            seen, effects = yield from _taken(runner, object_guesses(reference.definition))
    bases = _written_calls(reference, seen, examples)
    filled = list(filled_calls(reference.definition, bases, random, budget.generated // 2))
    used = {item.example.expression: item.used for item in filled}
    more, others = yield from _run_written(runner, [item.example for item in filled], used)
    seen += more
    # What the trusted function does on these calls, a candidate may do as well.
    profile = replace(profile, capabilities=profile.capabilities | observed((*effects, *others)))
    if any(capability.kind == CHANCE for capability in profile.capabilities):
        seen = []  # what agreed in two worlds may have done so by luck
    return replace(profile, generated=tuple(seen))


Guesses = Callable[[Definition], Iterator[list[Arguments]]]


def makers(reference: Reference) -> list[Guesses]:
    """Return what makes the first inputs of a function without examples, the most telling first."""
    made: list[Guesses] = [guesses, related_guesses]
    if any(item.kind == FILES for item in capabilities(reference.runnable.source)):
        # who takes any text for a path would take one that names nothing as well
        made.insert(0 if requires_path(reference.definition) else 1, file_guesses)
    return made


def _discovered(runner: Runner, reference: Reference) -> Steps[list[Observed]]:
    """Find out what a function without examples takes; nothing where it takes none of the guesses."""
    for made in makers(reference):
        taken = yield from _groups_taken(runner, reference, made(reference.definition))
        if taken:  # files of every kind that it takes; else the first kind is what it is for
            kept = [item for group in (taken if made is file_guesses else taken[:1]) for item in group]
            return list({_key(item.call): item for item in kept}.values())
    return []


def _groups_taken(
    runner: Runner, reference: Reference, guessed: Iterator[list[Arguments]]
) -> Steps[list[list[Observed]]]:
    """Return the groups of calls that a function takes throughout, or nearly so."""
    groups = list(itertools.islice(guessed, MAX_GROUPS))
    rows = [call for group in groups for call in group]
    seen, _ = yield from answers(runner, reference, rows, ())
    by_key = {_key(item.call): item for item in seen}
    telling = [
        item
        for item in seen
        if item.answer.value is not None or item.answer.files or item.answer.args_after != item.call.args
    ]
    if not telling:
        return []
    taken: list[list[Observed]] = []
    for group in groups:
        answered = [by_key.get(repr((args, sorted(kwargs.items())))) for args, kwargs in group]
        kept = [item for item in answered if item is not None]
        if kept and len(kept) * 4 >= len(group) * 3:
            taken.append(kept)
    return taken


def _taken(runner: Runner, guessed: Iterable[list[Example]]) -> Steps[tuple[list[Observed], tuple[str, ...]]]:
    """Find out which kinds of objects a function takes: those of which it takes every call."""
    groups = list(itertools.islice(guessed, MAX_GROUPS))
    seen, effects = yield from _run_written(runner, [example for group in groups for example in group])
    taken = {item.example.expression for item in seen if item.example is not None}
    whole = {
        item.expression for group in groups if all(one.expression in taken for one in group) for item in group
    }
    return [item for item in seen if item.example is not None and item.example.expression in whole], effects


def _key(call: Call) -> str:
    return repr((call.args, sorted(call.kwargs.items())))


def _variants(
    runner: Runner, examples: Sequence[Example], domain: Domain | None, random: Random, budget: Budget
) -> Steps[tuple[list[Observed], tuple[str, ...]]]:
    """Run examples that are no plain calls with their literals changed, as far as they meet what plain ones show."""
    made: list[Example] = []
    for example in [item for item in examples if item.args is None][:MAX_TEMPLATES]:
        base = holes(example)
        if base and not _unsteady(f"{runner.runnable.source}\n{example.setup}\n{example.expression}"):
            shown: Arguments = (base, {})
            rows = generate([shown], learn_domain([shown]), random, budget.generated // MAX_TEMPLATES)
            variants = [variant for values, _ in rows if (variant := filled(example, values))]
            made.extend(variant for variant in variants if domain is None or _related(variant, domain))
    return (yield from _run_written(runner, made))


def _related(variant: Example, domain: Domain) -> bool:
    """Return whether a written call is known to meet the conditions between arguments that all plain calls meet."""
    row = written_call(variant)
    return row is None or all(item.holds([*map(value_of, row.places)]) for item in domain.relations)


def _unsteady(source: str) -> bool:
    """Return whether a call reads what no two runs have alike: other digits than its author chose would show it."""
    return any(item.kind in UNSTEADY for item in capabilities(source))


def written_calls(profile: Profile) -> list[Example]:
    """Return a profile's calls as expressions."""
    return _written_calls(profile.reference, profile.generated, profile.examples)


def _written_calls(
    reference: Reference, seen: Sequence[Observed], examples: Sequence[Example]
) -> list[Example]:
    shown = [(item.args, item.kwargs) for item in examples if item.args]
    calls = [(item.call.args, item.call.kwargs) for item in seen if item.call.args]
    plain = [plain_base(reference.name, (args or (), kwargs)) for args, kwargs in (*shown, *calls)]
    known = plain + [item for item in examples if item.args is None]
    return known or [item.example for item in seen if item.example is not None]


def _run_written(
    runner: Runner, made: Sequence[Example], used: Mapping[str, tuple[Option, ...]] | None = None
) -> Steps[tuple[list[Observed], tuple[str, ...]]]:
    """Run calls that are no plain ones, in two worlds; keep those that return the same in both, and the effects."""
    pairs = [(example, call) for example in made if (call := call_of(example, runner.runnable))]
    if not pairs:
        return [], ()
    calls = tuple(call for _, call in pairs)
    first, second = yield from runner.run(Batch(calls), Batch(calls[::-1], other=True))
    kept = [
        Observed(call, answer, example, (used or {}).get(example.expression, ()))
        for (example, call), answer, again in zip(pairs, first.calls, second.calls[::-1], strict=False)
        if answer.outcome is Outcome.RETURNED and agrees(answer, again) is Comparison.SAME
    ]
    return kept, (*first.effects, *second.effects)


def answers(
    runner: Runner,
    reference: Reference,
    inputs: Sequence[Arguments],
    examples: Sequence[Example],
    twice: bool = True,
) -> Steps[tuple[list[Observed], tuple[str, ...]]]:
    """Run the reference on inputs; keep those on which it returns what it may return.

    With `twice`, in another world as well, so that nothing stays that
    depends on more than the arguments.
    """
    # Small calls first: what is too long for the reference's own share of the time is left out.
    inputs = sorted(inputs, key=lambda made: len(repr(made)))
    calls = tuple(Call(reference.runnable.target, tuple(args), dict(kwargs)) for args, kwargs in inputs)
    if not calls:
        return [], ()
    (first,) = yield from runner.run(Batch(calls))
    usual, documented = result_kinds(examples), refusals(examples)
    returned = [
        Observed(call, answer)
        for call, answer in zip(calls, first.calls, strict=False)
        if (answer.outcome is Outcome.RETURNED and (not usual or result_kind(answer.value) in usual))
        or (answer.outcome is Outcome.RAISED and documented.intersection(answer.exception[:1]))
    ]
    if not returned or not twice:
        return returned, first.effects
    (second,) = yield from runner.run(Batch(tuple(item.call for item in reversed(returned)), other=True))
    pairs = zip(returned, second.calls[::-1], strict=False)
    stable = [item for item, again in pairs if agrees(item.answer, again, item.call.args) is Comparison.SAME]
    return stable, first.effects


def refusals(examples: Sequence[Example]) -> frozenset[str]:
    """Return the exceptions that examples show: to raise them is part of what the function is for."""
    shown = (item.expected.exception for item in examples if isinstance(item.expected, Raises))
    return frozenset(name.rpartition(".")[2] for name in shown) - INCONCLUSIVE_EXCEPTIONS


def result_kinds(examples: Sequence[Example]) -> frozenset[str]:
    """Return the kinds of results that examples show; empty where they show none."""
    return frozenset(
        result_kind(item.expected.value) for item in examples if isinstance(item.expected, Returns)
    )


def result_kind(value: object) -> str:
    """Return a result's kind; all numbers are one, and all rows are: lists, tuples, arrays, what iterators yield."""
    if isinstance(value, Opaque) and value.fields and not value.fields[0][0]:
        value = value.fields[0][1]
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, list | tuple | Iteration):
        return "row"
    return "number" if isinstance(value, int | float | complex) else type(value).__name__


def _confirmed(
    reference: Reference, runner: Runner
) -> Steps[tuple[tuple[Example, ...], list[Observed], str, tuple[str, ...]]]:
    """Keep the examples that the trusted function itself meets: documentation may be wrong, too.

    Returned with the calls of those that it does not meet (its own answer
    may count there), the problem where it could not run, and its effects.
    """
    by_chance = any(item.kind == CHANCE for item in capabilities(reference.runnable.source))
    pairs = [
        (example, call)
        for example in reference.examples
        # What only prepares the next one would prepare it for every run in the same way: random.seed(70).
        if (call := call_of(example, reference.runnable)) and not (by_chance and example.expected is None)
    ]
    if not pairs:
        return (), [], "", ()
    calls = tuple(call for _, call in pairs) * (LUCKY if by_chance else 1)
    result, again = yield from runner.run(Batch(calls), Batch(calls[::-1], other=True))
    if not any(answer.outcome is not Outcome.NOT_RUN for answer in result.calls):
        written = tuple(item for item, _ in pairs if item.args is not None and item.expected is not None)
        return written, [], result.detail or result.status.value, result.effects
    confirmed: list[Example] = []
    doubted: list[Observed] = []
    others = again.calls[::-1]
    for place, ((example, call), answer) in enumerate(zip(pairs, result.calls, strict=False)):
        seen = (*result.calls[place :: len(pairs)], *others[place :: len(pairs)])
        if not all(stable(answer, other, call) for other in seen):
            continue
        kept = _confirm(example, answer)
        if kept is not None:
            confirmed.append(kept)
        elif example.args is not None and answer.outcome is Outcome.RETURNED:
            doubted.append(Observed(call, answer))
    return tuple(confirmed), doubted, "", result.effects


def stable(answer: CallResult, other: CallResult, call: Call) -> bool:
    """Return whether two worlds saw the same: chance, clocks and addresses are no expectation."""
    if answer.outcome is Outcome.RETURNED:
        return agrees(answer, other, call.args) is Comparison.SAME
    return answer.outcome is other.outcome and answer.exception == other.exception


def _confirm(example: Example, answer: CallResult) -> Example | None:
    if example.expected is None:
        if (
            answer.outcome is not Outcome.RETURNED
            or same_value(answer.value, answer.value) is not Comparison.SAME
        ):
            return None
        printed = answer.value is None and answer.stdout
        return replace(example, expected=Prints(answer.stdout) if printed else Returns(answer.value))
    scale = magnitude(example.args) if example.args is not None else 1.0
    return example if meets(example.expected, answer, scale) is Comparison.SAME else None
