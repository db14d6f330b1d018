"""Compare two functions by running both on the same calls in the sandbox.

The calls are those that the checker knows of either function: its examples, inputs generated from these and from type
hints, and inputs made from the literals and conditions of the other. The checker accepts differences between
independent implementations; this comparison is strict about types, values, exceptions, output and changed arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.objects import STOOD_IN
from codeguard.behavior.inputs.tailored import tailored_inputs
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.fingerprints import result_text
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import NOT_TAKEN, short, write_call
from codeguard.behavior.verdict.coverage import unreached
from codeguard.behavior.verdict.effects import observed_effects
from codeguard.behavior.verdict.profiles import Profile, is_stable, observe, random_for
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of, worlds_for
from codeguard.behavior.verdict.values import INCONCLUSIVE_EXCEPTIONS
from codeguard.sandbox.model import Call, CallResult, Iteration, JobResult, Level, Opaque, Outcome, Tier

LEAST_CALLS = 5  # that both answered; fewer say nothing
MAX_SHOWN = 12  # observed calls used if there are no examples
_DEPTH = 40


class EquivalenceResult(StrEnum):
    """Result of comparing two functions."""

    SAME = "same"  # on everything tried
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Result of comparing two functions, with the evidence.

    `calls` were made of both, and for `compared` of them the results could be compared. If a
    difference was found, `call` is the smallest call that shows it, and `first` and `second` are
    the results. `new_effects` are the kinds of effects that only the second had, if any results could
    be compared. `not_reached` quotes the code that no call reached, by function; `reached` and `lines`
    count the executed and the executable lines of both.
    """

    result: EquivalenceResult
    reason: str
    calls: int = 0
    compared: int = 0
    call: str = ""
    first: str = ""
    second: str = ""
    new_effects: tuple[str, ...] = ()
    reached: int = 0
    lines: int = 0
    not_reached: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    level: str = ""


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two functions, its results (None where they differ between two worlds), and the run of them."""

    reference: Reference
    answers: Sequence[CallResult | None]
    run: JobResult

    @property
    def effects(self) -> frozenset[str]:
        return frozenset(capability.kind for capability in observed_effects(self.run.effects))

    @property
    def problem(self) -> str:
        ran = any(answer.outcome is not Outcome.NOT_RUN for answer in self.run.calls)
        return "" if ran else self.run.detail or self.run.status.value


def compare_functions(
    first: Reference, second: Reference, level: Level, budget: Budget, seed: bytes
) -> Steps[Equivalence]:
    """Compare two functions; `seed` determines the generated inputs and the simulated environments."""
    budget = replace(budget, worlds=worlds_for(seed))
    unknown = Equivalence(EquivalenceResult.UNKNOWN, "", level=level.name)
    for reference in (first, second):
        if reference.usable is None:
            return replace(unknown, reason=f"{reference.origin} is too large or nested too deeply")
    profiles: list[Profile] = []
    for reference in (first, second):
        profiles.append((yield from observe(reference, level, budget, seed)))
    examples = _calls(profiles, seed, budget)
    if not examples:
        problem = profiles[0].problem or profiles[1].problem
        return replace(unknown, reason=problem or "no calls are known or could be made up; write an example")
    sides: list[_Side] = []
    for reference in (first, second):
        sides.append((yield from _side(reference, examples, level, budget)))
    own, theirs = sides
    rows = [
        (call, answer, other, _differs(answer, other))
        for call, answer, other in zip(examples, own.answers, theirs.answers, strict=True)
        if answer is not None and other is not None
    ]
    found = [row for row in rows if row[3] and STOOD_IN not in row[0].expression]
    compared = [row for row in rows if row[3] is not None]
    lost = [unreached(side.reference.runnable.node, side.run.coverage) for side in sides]
    lines = [side.run.coverage for side in sides if side.run.coverage is not None]
    report = replace(
        unknown,
        calls=len(examples),
        compared=len(compared),
        new_effects=tuple(sorted(theirs.effects - own.effects)) if compared else (),
        reached=sum(len(part.reached & part.executable) for part in lines),
        lines=sum(len(part.executable) for part in lines),
        not_reached=(tuple(lost[0]), tuple(lost[1])),
    )
    if found:
        call, answer, other, _ = min(found, key=lambda row: len(_text(row[0])))
        reason = f"different results on {len(found)} of {len(examples)} calls"
        shown = _text(call, first.name), _result(answer, other), _result(other, answer)
        return replace(
            report,
            result=EquivalenceResult.DIFFERS,
            reason=reason,
            call=shown[0],
            first=shown[1],
            second=shown[2],
        )
    if any(row[3] for row in rows):
        return replace(report, reason="they differ on made-up objects alone; write examples into a docstring")
    if own.effects != theirs.effects and compared:
        kinds = [", ".join(sorted(side.effects)) or "nothing" for side in sides]
        reason = "the same results, but they reach for different things outside"
        return replace(
            report, result=EquivalenceResult.DIFFERS, reason=reason, first=kinds[0], second=kinds[1]
        )
    returned = any(row[1].outcome is Outcome.RETURNED for row in compared)
    if len(compared) < LEAST_CALLS or not returned:
        problems = [
            f"{side.reference.name} could not be run: {side.problem}" for side in sides if side.problem
        ]
        few = f"only {len(compared)} of {len(examples)} calls could be compared; write examples into a docstring"
        return replace(report, reason=problems[0] if problems else few)
    for reference in (first, second):
        if why := _candidate(reference).why_no_pass:
            return replace(report, reason=f"{reference.origin}: {why}")
    reason = f"the same on all of {len(compared)} calls that could be compared"
    return replace(report, result=EquivalenceResult.SAME, reason=reason)


def _side(reference: Reference, examples: Sequence[Example], level: Level, budget: Budget) -> Steps[_Side]:
    runner = CallRunner(
        reference.runnable, level, budget, Tier.NATIVE if level >= Level.L2 else Tier.RESTRICTED
    )
    made = [call_of(example, reference.runnable) for example in examples]
    known = tuple(call for call in made if call is not None)
    first, second = yield from runner.run(Batch(known, trace=True), Batch(known[::-1], other=True))
    steady = iter(
        answer if is_stable(answer, again, call) else None
        for call, answer, again in zip(known, first.calls, second.calls[::-1], strict=True)
    )
    return _Side(reference, [None if call is None else next(steady) for call in made], first)


def _calls(profiles: Sequence[Profile], seed: bytes, budget: Budget) -> list[Example]:
    """Return the calls to make: those of either function, and those made from the text of the other."""
    found = [example for profile in profiles for example in _known_calls(profile)]
    found += [Example(()) for profile in profiles if not profile.reference.features.least_args]
    for profile, other in (tuple(profiles), tuple(profiles[::-1])):
        seen = tuple((item.call.args, item.call.kwargs) for item in profile.generated if item.call.args)
        shown = profile.plain_calls or seen[:MAX_SHOWN]
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
    for example in profile.examples:
        yield replace(example, expected=None, origin="")
    for item in profile.generated:
        if item.example is None:
            yield Example(item.call.args, dict(item.call.kwargs))
        else:
            yield replace(item.example, expected=None, origin="")


def _text(example: Example, name: str = "f") -> str:
    if example.args is None:
        return example.expression
    return write_call(Call(name, example.args, dict(example.kwargs)))


def _result(answer: CallResult, other: CallResult) -> str:
    """Return a result, and of what else a call leaves only that in which the other one differs."""
    if answer.outcome is Outcome.RAISED:
        return f"{answer.exception[0] if answer.exception else 'an exception'} raised"
    parts = [short(answer.value)]
    if answer.args_after is not None and result_text(answer.args_after) != result_text(other.args_after):
        parts.append(f"arguments then {short(answer.args_after)}")
    if answer.stdout != other.stdout:
        parts.append(f"printed {short(answer.stdout)}")
    if answer.files != other.files:
        parts.append(f"files {short(dict(answer.files))}")
    return ", ".join(parts)


def _differs(first: CallResult, second: CallResult) -> bool | None:
    """Return whether two results of the same call differ; None if that cannot be decided."""
    outcomes = first.outcome, second.outcome
    if any(outcome not in (Outcome.RETURNED, Outcome.RAISED) for outcome in outcomes):
        return None
    raised = [answer for answer in (first, second) if answer.outcome is Outcome.RAISED]
    if any(_caused_by_missing_code(answer) for answer in raised):
        return None
    if len(raised) == 2:
        if all(NOT_TAKEN.intersection(answer.exception) for answer in raised):
            return None  # neither takes such arguments
        return first.exception[:1] != second.exception[:1]
    if raised:
        return True
    parts = [identical(first.value, second.value)]
    if first.args_after is not None or second.args_after is not None:
        parts.append(identical(first.args_after, second.args_after))
    if (first.stdout, first.files) != (second.stdout, second.files) or False in parts:
        return True
    return None if None in parts else False


def _caused_by_missing_code(answer: CallResult) -> bool:
    return answer.exception[:1] == ("NameError",) or bool(
        (INCONCLUSIVE_EXCEPTIONS | {"RecursionError"}).intersection(answer.exception)
    )


def identical(first: object, second: object, depth: int = 0) -> bool | None:
    """Return whether two results are the same for every caller, except for rounding; None if unknown."""
    if depth > _DEPTH:
        return None
    if type(first) is not type(second):
        return False
    if isinstance(first, float) and isinstance(second, float):
        return first == second or (math.isnan(first) and math.isnan(second)) or math.isclose(first, second)
    if isinstance(first, Opaque) and isinstance(second, Opaque):
        return _identical_instances(first, second, depth)
    if isinstance(first, Iteration) and isinstance(second, Iteration):
        if first.exhausted is not second.exhausted:
            return False
        return identical(first.items, second.items, depth + 1)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        if len(first) != len(second):
            return False
        return _all_identical(identical(*pair, depth + 1) for pair in zip(first, second, strict=True))
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return False
        return _all_identical(identical(value, second[key], depth + 1) for key, value in first.items())
    return bool(first == second)


def _identical_instances(first: Opaque, second: Opaque, depth: int) -> bool | None:
    if first.type_name != second.type_name:
        return False
    own, theirs = dict(first.fields), dict(second.fields)
    if own.keys() != theirs.keys():
        return False
    if not own or first.type_name == "function":
        return None
    return _all_identical(identical(value, theirs[name], depth + 1) for name, value in own.items())


def _all_identical(parts: Iterable[bool | None]) -> bool | None:
    found = list(parts)
    if False in found:
        return False
    return None if None in found else True
