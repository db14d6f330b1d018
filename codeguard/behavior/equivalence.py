"""Compare two functions by running both on the same calls in the sandbox.

The calls are those that the checker knows of either function: its examples, inputs generated from these and from type
hints, and inputs made from the literals and conditions of the other. The checker accepts differences between
independent implementations; this comparison is strict about types, values, exceptions, output and changed arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.tailored import tailored_inputs
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    NOT_TAKEN,
    Comparison,
    is_inconclusive,
    same_value,
    short,
    write_call,
    write_result,
)
from codeguard.behavior.verdict.profiles import Profile, is_stable, observe, random_for
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of, worlds_for
from codeguard.sandbox.model import Call, CallResult, JobResult, Level, Outcome, Tier
from codeguard.syntax.capabilities import observed_effects

LEAST_CALLS = 5  # that both answered; fewer say nothing


class EquivalenceResult(StrEnum):
    """Result of comparing two functions."""

    SAME = "same"  # on everything tried
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Result of comparing two functions: if they differ, the smallest call that shows it with both results.

    `new_effects` are the kinds of effects that only the second had, if any results could be compared.
    """

    result: EquivalenceResult
    reason: str
    call: str = ""
    first: str = ""
    second: str = ""
    new_effects: tuple[str, ...] = ()


def compare_functions(
    first: Reference, second: Reference, level: Level, budget: Budget, seed: bytes
) -> Steps[Equivalence]:
    """Compare two functions; `seed` determines the generated inputs and the simulated environments."""
    budget, both = replace(budget, worlds=worlds_for(seed)), (first, second)
    profiles: list[Profile] = []
    for reference in both:
        if reference.usable is None:
            reason = f"{reference.origin} is too large or nested too deeply"
            return Equivalence(EquivalenceResult.UNKNOWN, reason)
        profiles.append((yield from observe(reference, level, budget, seed)))
    examples = _calls(profiles, seed, budget)
    if not examples:
        problem = profiles[0].problem or profiles[1].problem
        reason = problem or "no calls are known or could be made up; write an example"
        return Equivalence(EquivalenceResult.UNKNOWN, reason)
    answers: list[list[CallResult | None]] = []
    effects: list[set[str]] = []
    problems: list[str] = []
    for reference in both:
        given, run = yield from _run(reference, examples, level, budget)
        answers.append(given)
        effects.append({capability.kind for capability in observed_effects(run.effects)})
        if all(answer.outcome is Outcome.NOT_RUN for answer in run.calls):
            problems.append(f"{reference.name} could not be run: {run.detail or run.status.value}")
    rows = [
        (
            Call(example.expression or first.name, example.args, dict(example.kwargs)),
            one,
            other,
            _compared(one, other),
        )
        for example, one, other in zip(examples, *answers, strict=True)
        if one is not None and other is not None
    ]
    wrong = [row for row in rows if row[3] is Comparison.DIFFERENT]
    compared = [row for row in rows if row[3] is not Comparison.UNKNOWN]
    new = tuple(sorted(effects[1] - effects[0])) if compared else ()
    if wrong:
        call, one, other, _ = min(wrong, key=lambda row: len(write_call(row[0])))
        reason = f"different results on {len(wrong)} of {len(examples)} calls"
        shown = write_call(call), _shown(call, one, other), _shown(call, other, one)
        return Equivalence(EquivalenceResult.DIFFERS, reason, *shown, new)
    if len(compared) < LEAST_CALLS or not any(row[1].outcome is Outcome.RETURNED for row in compared):
        few = f"only {len(compared)} of {len(examples)} calls could be compared; write examples into a docstring"
        return Equivalence(EquivalenceResult.UNKNOWN, next(iter(problems), few), new_effects=new)
    for reference in both:
        if why := _candidate(reference).why_no_pass:
            return Equivalence(EquivalenceResult.UNKNOWN, f"{reference.origin}: {why}", new_effects=new)
    reason = f"the same on all of {len(compared)} calls that could be compared"
    return Equivalence(EquivalenceResult.SAME, reason, new_effects=new)


def _run(
    reference: Reference, examples: Sequence[Example], level: Level, budget: Budget
) -> Steps[tuple[list[CallResult | None], JobResult]]:
    """Return a function's results, None where they differ between two worlds, and the run in the first."""
    tier = Tier.NATIVE if level >= Level.L2 else Tier.RESTRICTED
    made = [call_of(example, reference.runnable) for example in examples]
    known = tuple(call for call in made if call is not None)
    runner = CallRunner(reference.runnable, level, budget, tier)
    first, second = yield from runner.run(Batch(known), Batch(known[::-1], other=True))
    steady = iter(
        answer if is_stable(answer, again, call) else None
        for call, answer, again in zip(known, first.calls, second.calls[::-1], strict=True)
    )
    return [None if call is None else next(steady) for call in made], first


def _calls(profiles: Sequence[Profile], seed: bytes, budget: Budget) -> list[Example]:
    """Return the calls to make: those of either function, and those made from the text of the other."""
    found = [example for profile in profiles for example in _known_calls(profile)]
    found += [Example(()) for profile in profiles if not profile.reference.features.least_args]
    for profile, other in (tuple(profiles), tuple(profiles[::-1])):
        shown = profile.shown_calls
        if profile.domain is None or not shown:
            continue
        random = random_for(seed, "equivalence", profile.reference.digest, other.reference.digest)
        candidate = _candidate(other.reference)
        made = tailored_inputs(candidate, profile.reference, shown, profile.domain, random, budget.tailored)
        found += [Example(item.args, item.kwargs) for item in made if item.inside or item.magic]
    return list({example.fingerprint(): example for example in found}.values())


def _candidate(reference: Reference) -> CandidateFunction:
    return CandidateFunction(reference.definition, reference.features, reference.module)


def _known_calls(profile: Profile) -> Iterator[Example]:
    made = [item.example or Example(item.call.args, item.call.kwargs) for item in profile.generated]
    yield from (replace(example, expected=None, origin="") for example in (*profile.examples, *made))


def _shown(call: Call, answer: CallResult, other: CallResult) -> str:
    """Return a result, and of what else a call leaves only that in which the other one differs."""
    parts = [write_result(call, answer)]
    if answer.value is not None and answer.args_after != other.args_after:
        parts.append(f"arguments then {short(answer.args_after)}")
    if answer.stdout != other.stdout:
        parts.append(f"printed {short(answer.stdout)}")
    return ", ".join(parts)


def _compared(first: CallResult, second: CallResult) -> Comparison:
    """Compare two results of the same call for every caller, except for rounding."""
    both = first, second
    raised = [answer for answer in both if answer.outcome is Outcome.RAISED]
    unknown = any(is_inconclusive(answer) or "RecursionError" in answer.exception for answer in raised)
    if unknown or any(answer.outcome not in (Outcome.RETURNED, Outcome.RAISED) for answer in both):
        return Comparison.UNKNOWN
    if len(raised) == 2 and all(NOT_TAKEN.intersection(answer.exception) for answer in raised):
        return Comparison.UNKNOWN  # neither takes such arguments
    left = [(one.outcome, one.exception[:1]) if raised else (one.stdout, one.files) for one in both]
    if raised or left[0] != left[1]:
        return Comparison.SAME if left[0] == left[1] else Comparison.DIFFERENT
    values = [(answer.value, answer.args_after) for answer in both]
    return same_value(values[0], values[1], strict=True)
