"""Compare two functions by running both on the same calls in the sandbox.

The calls are the examples of both functions, inputs generated from these and from type hints, and
inputs made from the literals and conditions of both. The checker accepts differences between
independent implementations; this comparison is strict about types, values, exceptions, output and
changed arguments.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.objects import STOOD_IN
from codeguard.behavior.inputs.pools import Arguments
from codeguard.behavior.inputs.shapes import matches_kinds, value_kind
from codeguard.behavior.inputs.tailored import tailored_inputs
from codeguard.behavior.inputs.wide import wide_calls
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.source.constants import constants_of, literals_of
from codeguard.behavior.source.definitions import parse_or_none
from codeguard.behavior.specs.calls import plain_call
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import NOT_TAKEN, short, write_call
from codeguard.behavior.verdict.coverage import merged_coverage, unreached
from codeguard.behavior.verdict.differential import size, smaller
from codeguard.behavior.verdict.effects import observed_effects
from codeguard.behavior.verdict.profiles import Profile, is_stable, observe, random_for, written_calls
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of, worlds_for
from codeguard.behavior.verdict.values import INCONCLUSIVE_EXCEPTIONS
from codeguard.sandbox.model import (
    Call,
    CallResult,
    Iteration,
    JobResult,
    Level,
    LineCoverage,
    Opaque,
    Outcome,
    Tier,
)

LEAST_CALLS = 5  # that both answered; fewer say nothing
MAX_CALLS = 600
ABREAST = 100  # calls of one child
SHRINK_ROUNDS, SHRINK_WIDTH = 4, 40
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
    the results. `not_reached` quotes the code that no call reached, by function; `reached` and
    `lines` count the executed and the executable lines of both.
    """

    result: EquivalenceResult
    reason: str
    calls: int = 0
    compared: int = 0
    call: str = ""
    first: str = ""
    second: str = ""
    reached: int = 0
    lines: int = 0
    not_reached: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    level: str = ""


@dataclass
class _Side:
    """One of the two functions, with the coverage and effects of its runs."""

    reference: Reference
    runner: CallRunner
    coverage: LineCoverage | None = None
    effects: frozenset[str] = frozenset()
    problem: str = ""

    def answers(self, calls: Sequence[Example]) -> Steps[list[CallResult | None]]:
        """Return the result of each call, or None if it differs between two worlds."""
        found: list[CallResult | None] = []
        for start in range(0, len(calls), ABREAST):
            made = [call_of(example, self.runner.runnable) for example in calls[start : start + ABREAST]]
            known = [call for call in made if call is not None]
            if not known:
                found.extend([None] * len(made))
                continue
            first, second = yield from self.runner.run(
                Batch(tuple(known), trace=True), Batch(tuple(known[::-1]), other=True)
            )
            self._record_run(first)
            steady = iter(
                answer if is_stable(answer, again, call) or _same_failure(answer, again) else None
                for call, answer, again in zip(known, first.calls, second.calls[::-1], strict=True)
            )
            found.extend(None if call is None else next(steady) for call in made)
        return found

    def _record_run(self, result: JobResult) -> None:
        self.coverage = merged_coverage([self.coverage, result.coverage])
        self.effects |= {capability.kind for capability in observed_effects(result.effects)}
        if not any(call.outcome is not Outcome.NOT_RUN for call in result.calls):
            self.problem = result.detail or result.status.value


def _same_failure(answer: CallResult, again: CallResult) -> bool:
    return answer.outcome is again.outcome is Outcome.RAISED and answer.exception == again.exception


def compare_functions(
    first: Reference, second: Reference, level: Level, budget: Budget, seed: bytes
) -> Steps[Equivalence]:
    """Compare two functions; `seed` determines the generated inputs and the simulated environments."""
    budget = replace(budget, worlds=worlds_for(seed))
    for reference in (first, second):
        if reference.usable is None:
            return Equivalence(
                EquivalenceResult.UNKNOWN, f"{reference.origin} is too large or nested too deeply"
            )
    sides = [_Side(item, _runner(item, level, budget)) for item in (first, second)]
    profiles = []
    for reference in (first, second):
        profiles.append((yield from observe(reference, level, budget, seed)))
    calls, sorts = _calls(profiles, seed, budget)
    own, theirs = sides
    answers = yield from own.answers(calls)
    others = yield from theirs.answers(calls)
    # Where no example and no hint says what they are for, it is what either of them takes.
    sorts = sorts or frozenset(
        _argument_kinds(call)
        for call, *both in zip(calls, answers, others, strict=True)
        if any(answer is not None and answer.outcome is Outcome.RETURNED for answer in both)
    )
    rows = [
        (call, answer, other)
        for call, answer, other in zip(calls, answers, others, strict=True)
        if answer is not None
        and other is not None
        and (call.args is None or any(matches_kinds(_argument_kinds(call), sort) for sort in sorts))
    ]
    judged = [(row, _differs(row[1], row[2])) for row in rows]
    found = [row for row, differs in judged if differs]
    wrong = [row for row in found if STOOD_IN not in row[0].expression]
    compared = sum(differs is not None for _, differs in judged)
    returned = sum(differs is False and row[1].outcome is Outcome.RETURNED for row, differs in judged)
    report = _report(sides, len(calls), compared, level)
    if wrong:
        smallest = yield from _shrink(sides, min(wrong, key=lambda row: _length(row[0])))
        return _difference(report, sides, smallest, len(wrong))
    if found:
        return replace(report, reason="they differ on made-up objects alone; write examples into a docstring")
    if own.effects != theirs.effects and compared:
        shown = [", ".join(sorted(side.effects)) or "nothing" for side in sides]
        reason = "the same results, but they reach for different things outside"
        return replace(
            report, result=EquivalenceResult.DIFFERS, reason=reason, first=shown[0], second=shown[1]
        )
    if compared < LEAST_CALLS or not returned:
        return replace(report, reason=_why_unknown(sides, profiles, calls, compared))
    for reference in (first, second):
        if why := _candidate(reference).why_no_pass:
            return replace(report, reason=f"{reference.origin}: {why}")
    reason = f"the same on all of {compared} calls that could be compared"
    return replace(report, result=EquivalenceResult.SAME, reason=reason)


def _runner(reference: Reference, level: Level, budget: Budget) -> CallRunner:
    tier = Tier.NATIVE if level >= Level.L2 else Tier.RESTRICTED
    return CallRunner(reference.runnable, level, budget, tier)


def _calls(
    profiles: Sequence[Profile], seed: bytes, budget: Budget
) -> tuple[list[Example], frozenset[object]]:
    """Return the calls to make and the argument types that either function is meant for."""
    own = [example for profile in profiles for example in _known_calls(profile)]
    own += [Example(()) for profile in profiles if not profile.reference.features.least_args]
    sorts = frozenset(_argument_kinds(example) for example in own if example.args is not None)
    first, second = (profile.reference for profile in profiles)
    literals = []
    for reference in (first, second):
        tree = parse_or_none(reference.runnable.source)
        literals += [] if tree is None else list(literals_of(tree, constants_of(tree)))
    made: list[Example] = []
    for profile, other in (tuple(profiles), tuple(profiles[::-1])):
        purpose = (profile.reference.digest, other.reference.digest)
        random = random_for(seed, "equivalence", *purpose)
        if profile.domain is not None and profile.plain_calls:
            candidate = _candidate(other.reference)
            wanted = tailored_inputs(
                candidate, profile.reference, profile.plain_calls, profile.domain, random, budget.tailored
            )
            made += [Example(item.args, item.kwargs) for item in wanted]
        wide = wide_calls(
            profile.reference.definition, written_calls(profile), literals, random, budget.edited
        )
        made += [call for example in wide if (call := _plain_example(example, profile.reference)) is not None]
    distinct = {example.fingerprint(): example for example in (*own, *made)}
    return list(distinct.values())[:MAX_CALLS], sorts


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


def _plain_example(example: Example, reference: Reference) -> Example | None:
    """Return a call that is written as an expression as one with plain arguments; None if impossible."""
    tree = parse_or_none(example.expression)
    node = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or example.setup:
        return None
    found = plain_call(call, reference.definition.parameters) if call.func.id == reference.name else None
    return None if found is None else Example(found[0], found[1])


def _argument_kinds(example: Example) -> object:
    """Return the argument types of a call, to tell calls inside the function's domain from others."""
    named = sorted(example.kwargs.items())
    return (
        ("positional", *(value_kind(value) for value in example.args or ())),
        ("named", *((name, value_kind(value)) for name, value in named)),
    )


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


_Row = tuple[Example, CallResult, CallResult]


def _shrink(sides: Sequence[_Side], row: _Row) -> Steps[_Row]:
    """Return a smaller call on which the two functions still differ."""
    best = row
    for _ in range(SHRINK_ROUNDS):
        if best[0].args is None:
            break
        current: Arguments = (best[0].args, best[0].kwargs)
        steps = sorted(smaller(current), key=size)[:SHRINK_WIDTH]
        calls = [Example(args, dict(kwargs)) for args, kwargs in steps]
        kinds, length = _argument_kinds(best[0]), _length(best[0])
        calls = [call for call in calls if _argument_kinds(call) == kinds and _length(call) < length]
        if not calls:
            break
        own = yield from sides[0].answers(calls)
        theirs = yield from sides[1].answers(calls)
        found = [
            (call, answer, other)
            for call, answer, other in zip(calls, own, theirs, strict=True)
            if answer is not None and other is not None and _differs(answer, other)
        ]
        if not found:
            break
        best = min(found, key=lambda item: _length(item[0]))
    return best


def _length(example: Example) -> int:
    if example.args is None:
        return len(example.setup) + len(example.expression)
    return len(repr((example.args, example.kwargs)))


def _report(sides: Sequence[_Side], calls: int, compared: int, level: Level) -> Equivalence:
    traced = [side.coverage for side in sides]
    missing = [tuple(unreached(side.runner.runnable.node, side.coverage)) for side in sides]
    inside = [_lines_of(side) for side in sides]
    return Equivalence(
        EquivalenceResult.UNKNOWN,
        "",
        calls,
        compared,
        reached=sum(len(lines & item.reached) for lines, item in zip(inside, traced, strict=True) if item),
        lines=sum(len(lines) for lines in inside),
        not_reached=(missing[0], missing[1]),
        level=level.name,
    )


def _lines_of(side: _Side) -> frozenset[int]:
    node, coverage = side.runner.runnable.node, side.coverage
    if coverage is None:
        return frozenset()
    return coverage.executable & frozenset(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _difference(report: Equivalence, sides: Sequence[_Side], row: _Row, count: int) -> Equivalence:
    example, answer, other = row
    call = call_of(example, sides[0].runner.runnable)
    return replace(
        report,
        result=EquivalenceResult.DIFFERS,
        reason=f"they differ on {count} of {report.compared} calls that could be compared",
        call=write_call(call) if call is not None else "",
        first=_shown_result(call, answer, other),
        second=_shown_result(call, other, answer),
    )


def _shown_result(call: Call | None, answer: CallResult, other: CallResult) -> str:
    if answer.outcome is Outcome.RAISED:
        text = f"raises {answer.exception[0] if answer.exception else 'an exception'}"
        return f"{text}: {short(answer.message)}" if answer.message else text
    parts = [short(answer.value)]
    if answer.stdout != other.stdout:
        parts.append(f"prints {short(answer.stdout)}")
    if answer.files != other.files:
        parts.append(f"leaves files {short(dict(answer.files))}")
    if answer.args_after != other.args_after and call is not None:
        parts.append(
            f"arguments afterwards {short(answer.args_after if answer.args_after is not None else call.args)}"
        )
    return ", ".join(parts)


def _why_unknown(
    sides: Sequence[_Side], profiles: Sequence[Profile], calls: Sequence[Example], compared: int
) -> str:
    for side, profile in zip(sides, profiles, strict=True):
        problem = side.problem or profile.problem
        if problem:
            return f"{side.reference.name} ({side.reference.origin}) could not be run: {problem}"
    if not calls:
        return "no calls are known or could be made up; write an example into one of the docstrings"
    if not compared:
        return f"none of {len(calls)} calls gave results that can be compared"
    return f"only {compared} of {len(calls)} calls could be compared; write examples into a docstring"
