"""The observed behavior of a trusted function: confirmed examples, its domain, and further calls."""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.discovery import file_guesses, guesses, related_guesses
from codeguard.behavior.inputs.expressions import written_guesses
from codeguard.behavior.inputs.generation import Arguments, generate, key_of, magnitude
from codeguard.behavior.inputs.options import (
    OptionalParameter,
    filled_calls,
    has_option,
    plain_base,
)
from codeguard.behavior.inputs.tailored import own_inputs
from codeguard.behavior.source.constants import literals_of
from codeguard.behavior.source.definitions import Parameter, parse_or_none
from codeguard.behavior.source.reach import module_capabilities
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.specs.contract import (
    Contract,
    Domain,
    learned_domain,
    open_respects,
    written_contract,
)
from codeguard.behavior.specs.examples import Example, Prints, Raises, Returns
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    INCONCLUSIVE_EXCEPTIONS,
    Case,
    Comparison,
    compare_with_example,
    compare_with_reference,
    result_kind,
    same_value,
)
from codeguard.behavior.verdict.planted import sent
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of, makes_an_instance
from codeguard.sandbox.model import Call, CallResult, Level, Outcome
from codeguard.syntax.capabilities import (
    CHANCE,
    CLOCK,
    ENVIRONMENT,
    FILES,
    Capability,
    observed_effects,
)

MAX_GROUPS = 60  # kinds of input to try on a function without examples
MAX_SHOWN = 12  # observed calls used if there are no examples
LUCKY = 8  # repetitions in each of two worlds that code with randomness has to agree in
UNSTEADY = frozenset({CHANCE, CLOCK, ENVIRONMENT})


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """One call of the reference and its result.

    `example` is the form of a call that is not plain; `options` are the optional parameters that
    were set in addition.
    """

    call: Call
    answer: CallResult
    example: Example | None = None
    options: tuple[OptionalParameter, ...] = ()

    def case(self, runnable: Runnable) -> Case | None:
        """Return the same call of another function, with this result; None if it cannot be made."""
        call: Call | None = Call(runnable.target, self.call.args, self.call.kwargs)
        if self.example is not None:
            call = call_of(self.example, runnable)
        return None if call is None else Case(call, None, self.answer)

    def has_options(self, parameters: Sequence[Parameter]) -> bool:
        """Return whether a function with these parameters has the optional ones that the call sets."""
        return all(has_option(parameters, option) for option in self.options)


@dataclass(frozen=True, slots=True)
class Profile:
    """A reference after its run: its contract, confirmed examples, and results on generated inputs.

    `problem` is the reason why the reference could not be run, or "". `steady` means that none of its results depended
    on more than the arguments, `sends` that a planted secret left in its calls.
    """

    reference: Reference
    examples: tuple[Example, ...]
    generated: tuple[ObservedCall, ...]
    contract: Contract
    capabilities: frozenset[Capability]
    problem: str = ""
    steady: bool = False
    sends: bool = False

    @property
    def domain(self) -> Domain | None:
        """The arguments that it takes, None if no plain call is known."""
        return self.contract.takes

    @property
    def plain_calls(self) -> tuple[Arguments, ...]:
        """The arguments of the examples with plain values."""
        return tuple((example.args, example.kwargs) for example in self.examples if example.args is not None)

    @property
    def shown_calls(self) -> tuple[Arguments, ...]:
        """The same, or a few of the observed calls if there are none."""
        seen = tuple((item.call.args, item.call.kwargs) for item in self.generated if item.call.args)
        return self.plain_calls or seen[:MAX_SHOWN]

    @property
    def contradicts_itself(self) -> bool:
        """Whether the function gives something else than half of the plain examples in its own description show."""
        contradicted = len(self.contract.contradicted)
        return contradicted > 0 and contradicted >= len(self.plain_calls)


def random_for(seed: bytes, *purpose: str) -> Random:
    """Return a random source that depends only on the installation's seed and a purpose."""
    text = "\0".join(purpose).encode("utf-8", "surrogatepass")
    return Random(int.from_bytes(hmac.new(seed, text, hashlib.sha256).digest(), "big"))


def observe(reference: Reference, level: Level, budget: Budget, seed: bytes) -> Steps[Profile]:
    """Run a reference on its examples, write down its contract, and run it on generated inputs, all twice."""
    runner = CallRunner(reference.runnable, level, budget)
    able = module_capabilities(reference.runnable.source)
    examples, doubted, problem = yield from _confirmed_examples(reference, runner)
    random = random_for(seed, "inputs", reference.digest)
    unknown = not examples and not problem and budget.generated > 0
    seen = [item for _, item in doubted]
    if unknown:
        seen += yield from _discover_inputs(runner, reference)
    calls = [(item.args, item.kwargs) for item in examples if item.args is not None]
    calls += [(item.call.args, item.call.kwargs) for item in seen if item.call.args is not None]
    domain, steady = None, False
    if calls:
        domain = learned_domain(calls, reference.definition)
        tree = parse_or_none(reference.runnable.source)
        literals = [] if tree is None else literals_of(tree)
        inputs = list(generate(calls, domain, random, budget.generated, literals))
        inputs += [call for call in own_inputs(reference, calls, domain) if domain.admits(*call)]
        more = yield from reference_results(runner, reference, inputs, examples)
        steady = bool(more) and not any(item.kind in UNSTEADY for item in able)
        seen += more
    bases = _written_calls(reference, seen, examples)
    filled = list(filled_calls(reference.definition, bases, random, budget.generated // 2))
    used = {example.expression: options for example, options in filled}
    seen += yield from run_written(runner, [example for example, _ in filled], used)
    # A candidate may have the same effects as the trusted function on these calls.
    capabilities = able | observed_effects(runner.effects)
    if seen and any(capability.kind == CHANCE for capability in capabilities):
        # Agreement in two worlds may be chance: if one of many repetitions differs, nothing is expected.
        repeated = tuple(item.call for item in seen) * LUCKY
        first, second = yield from runner.run(Batch(repeated), Batch(repeated, other=True))
        again = zip(itertools.cycle(seen), (*first.calls, *second.calls), strict=False)
        seen = seen if all(is_stable(item.answer, answer, item.call) for item, answer in again) else []
    results = [item.answer.value for item in seen if item.answer.outcome is Outcome.RETURNED]
    results += [item.expected.value for item in examples if isinstance(item.expected, Returns)]
    if runner.lacking and not examples and not seen:
        problem = problem or f"the trusted function cannot be run: {runner.lacking}"
    contract = replace(
        written_contract(
            reference.prose,
            [item.args for item in examples if item.args],
            reference.definition.node,
            reference.runnable.source,
        ),
        takes=domain,
        raises=expected_exceptions(examples),
        contradicted=tuple(  # shows another result of the kind that the function returns
            example
            for example, item in doubted
            if isinstance(example.expected, Returns)
            and result_kind(example.expected.value) == result_kind(item.answer.value)
        ),
        leaves_open=open_respects(reference.prose, results),
    )
    sends = sent(seed, runner.leaving) > 0
    return Profile(reference, examples, tuple(seen), contract, capabilities, problem, steady, sends)


def _discover_inputs(runner: CallRunner, reference: Reference) -> Steps[list[ObservedCall]]:
    """Find inputs that a function without examples accepts; empty if it accepts none of the guesses."""
    sources = [guesses, related_guesses]
    if not makes_an_instance(reference.runnable.target, reference.runnable.source):
        sources = []
    elif any(item.kind == FILES for item in module_capabilities(reference.runnable.source)):
        sources.insert(0, file_guesses)
    monotonous: list[ObservedCall] = []
    for made in sources:
        taken = yield from _accepted_groups(runner, reference, made(reference.definition))
        # All accepted kinds of files; of other groups the first one is its domain of which the results differ.
        if made is not file_guesses:
            telling = (group for group in taken if len(set(map(_outcome, group))) > 1)
            monotonous = monotonous or next(iter(taken), [])
            taken = list(itertools.islice(telling, 1))
        if taken:
            return [item for group in taken for item in group]
    if monotonous:
        return monotonous
    written = written_guesses(reference.definition, reference.module)
    used = {example.expression: options for example, options in written}
    seen = yield from run_written(runner, [example for example, _ in written], used)
    # What gives nothing may do anything.
    return [item for item in seen if item.answer.value is not None or item.answer.stdout or item.answer.files]


def _accepted_groups(
    runner: CallRunner, reference: Reference, guessed: Iterator[list[Arguments]]
) -> Steps[list[list[ObservedCall]]]:
    """Return the groups of calls of which the function accepts nearly all."""
    groups = list(itertools.islice(guessed, MAX_GROUPS))
    rows = [call for group in groups for call in group]
    seen = yield from reference_results(runner, reference, rows, ())
    by_key = {key_of((item.call.args or (), item.call.kwargs)): item for item in seen}
    shown = ((item.answer, item.call.args) for item in seen)
    if not any(one.value is not None or one.files or one.args_after != args for one, args in shown):
        return []
    taken: list[list[ObservedCall]] = []
    for group in groups:
        answered = [by_key.get(key_of(made)) for made in group]
        kept = [item for item in answered if item is not None]
        if kept and len(kept) * 4 >= len(group) * 3:
            taken.append(kept)
    return taken


def _outcome(item: ObservedCall) -> str:
    answer = item.answer
    changed = answer.args_after if answer.args_after != item.call.args else None
    return repr((answer.value, answer.stdout, answer.files, changed))


def _written_calls(
    reference: Reference, seen: Sequence[ObservedCall], examples: Sequence[Example]
) -> list[Example]:
    shown = [(item.args, item.kwargs) for item in examples if item.args]
    calls = [(item.call.args, item.call.kwargs) for item in seen if item.call.args]
    plain = [plain_base(reference.name, (args or (), kwargs)) for args, kwargs in (*shown, *calls)]
    known = plain + [item for item in examples if item.args is None]
    return known or [item.example for item in seen if item.example is not None]


def run_written(
    runner: CallRunner,
    made: Sequence[Example],
    used: Mapping[str, tuple[OptionalParameter, ...]] | None = None,
) -> Steps[list[ObservedCall]]:
    """Run calls that are not plain in two worlds; return those with equal results."""
    pairs = [(example, call) for example in made if (call := call_of(example, runner.runnable))]
    if not pairs:
        return []
    (first,) = yield from runner.run(Batch(tuple(call for _, call in pairs)))
    returned = [
        ObservedCall(call, answer, example, (used or {}).get(example.expression, ()))
        for (example, call), answer in zip(pairs, first.calls, strict=False)
        if answer.outcome is Outcome.RETURNED
    ]
    return (yield from _steady(runner, returned))


def _steady(runner: CallRunner, seen: Sequence[ObservedCall]) -> Steps[list[ObservedCall]]:
    """Return the calls that give the same in the other world, where they are made in the reverse order."""
    if not seen:
        return []
    (second,) = yield from runner.run(Batch(tuple(item.call for item in reversed(seen)), other=True))
    return [
        item
        for item, again in zip(seen, second.calls[::-1], strict=False)
        if compare_with_reference(item.answer, again, item.call.args) is Comparison.SAME
    ]


def reference_results(
    runner: CallRunner,
    reference: Reference,
    inputs: Sequence[Arguments],
    examples: Sequence[Example],
    twice: bool = True,
    refusals: Collection[str] = (),
) -> Steps[list[ObservedCall]]:
    """Run the reference on inputs; return those with a result that may be expected, or one of these exceptions.

    With `twice`, they are run in another world as well, and results that differ are left out.
    """
    # Small calls first; what does not fit into the reference's time limit is left out.
    inputs = sorted(inputs, key=lambda made: len(repr(made)))
    calls = tuple(Call(reference.runnable.target, tuple(args), dict(kwargs)) for args, kwargs in inputs)
    if not calls:
        return []
    (first,) = yield from runner.run(Batch(calls))
    usual = {result_kind(item.expected.value) for item in examples if isinstance(item.expected, Returns)}
    documented = expected_exceptions(examples).union(refusals)
    returned = [
        ObservedCall(call, answer)
        for call, answer in zip(calls, first.calls, strict=False)
        if (answer.outcome is Outcome.RETURNED and (not usual or result_kind(answer.value) in usual))
        or (answer.outcome is Outcome.RAISED and documented.intersection(answer.exception[:1]))
    ]
    return (yield from _steady(runner, returned)) if twice else returned


def expected_exceptions(examples: Sequence[Example]) -> frozenset[str]:
    """Return the exceptions in the examples, which are part of the function's contract."""
    shown = (item.expected.exception for item in examples if isinstance(item.expected, Raises))
    return frozenset(name.rpartition(".")[2] for name in shown) - INCONCLUSIVE_EXCEPTIONS


def _confirmed_examples(
    reference: Reference, runner: CallRunner
) -> Steps[tuple[tuple[Example, ...], list[tuple[Example, ObservedCall]], str]]:
    """Return the examples that the trusted function itself meets, because documentation may be wrong.

    Also returned are the other examples with the actual result, which may be used instead, and the reason if the
    function could not run.
    """
    by_chance = any(item.kind == CHANCE for item in module_capabilities(reference.runnable.source))
    pairs = [
        (example, call)
        for example in reference.examples
        # A call that only prepares the next one, such as random.seed(70), would do so in every run.
        if (call := call_of(example, reference.runnable)) and not (by_chance and example.expected is None)
    ]
    if not pairs:
        return (), [], ""
    calls = tuple(call for _, call in pairs) * (LUCKY if by_chance else 1)
    result, again = yield from runner.run(Batch(calls), Batch(calls[::-1], other=True))
    if not any(answer.outcome is not Outcome.NOT_RUN for answer in result.calls):
        written = tuple(item for item, _ in pairs if item.args is not None and item.expected is not None)
        return written, [], result.detail or result.status.value
    confirmed: list[Example] = []
    doubted: list[tuple[Example, ObservedCall]] = []
    others = again.calls[::-1]
    for place, ((example, call), answer) in enumerate(zip(pairs, result.calls, strict=False)):
        seen = (*result.calls[place :: len(pairs)], *others[place :: len(pairs)])
        if not all(is_stable(answer, other, call) for other in seen):
            continue
        kept = _confirm(example, answer)
        if kept is not None:
            confirmed.append(kept)
        elif example.args is not None and answer.outcome is Outcome.RETURNED:
            doubted.append((example, ObservedCall(call, answer)))
    return tuple(confirmed), doubted, ""


def is_stable(answer: CallResult, other: CallResult, call: Call) -> bool:
    """Return whether a result is the same in two worlds: chance, clocks and addresses are not expected."""
    if answer.outcome is Outcome.RETURNED:
        return compare_with_reference(answer, other, call.args) is Comparison.SAME
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
    return example if compare_with_example(example.expected, answer, scale) is Comparison.SAME else None
