"""Find candidates that are the trusted function that they are named after, but for a single edit.

Such a candidate may agree with it on no input. Each variant with one edit (see `codeguard.behavior.matching.repairs`)
is run on a few calls of the trusted function, and those that agree on nearly all of its calls.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.repairs import Repair, repairs
from codeguard.behavior.verdict.comparison import (
    Case,
    CaseResult,
    Comparison,
    case_of_observed,
    comparable_results,
    compare_results,
    result_text,
    wrong_results,
)
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.profiles import Profile
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of

SHARP = 5  # calls with different results, for the first run of a variant
MOST_CONFIRMED = 3  # variants that are run on all calls
LEAST_FIRST = 0.75  # share of results that has to agree in the first run
LEAST_SHARE = 0.9  # share of all results: edge cases may follow other conventions
LEAST_AGREED = 10
LEAST_RARE = 4  # results other than the most common one
SHORT_BODY = 12  # nodes; smaller ones are one edit away from many functions


@dataclass(frozen=True, slots=True)
class Repaired:
    """An edit after which a candidate agrees with a trusted function, and a call on which it is wrong without."""

    repair: Repair
    agreed: int
    wrong: CaseResult


def repaired_namesake(
    session: CandidateSession, profile: Profile, whole_name: bool
) -> Steps[Repaired | None]:
    """Return the edit after which a candidate is the trusted function that it is named after, or None.

    What it is meant to do is known by its name, and so it may describe itself. Few nodes are one edit away from many
    functions, so that only the whole name shows which is meant.
    """
    candidate = session.candidate
    is_short = candidate.features.body.total() < SHORT_BODY
    made = [] if is_short and not whole_name else repairs(candidate.runnable.node)
    cases = _plain_cases(profile, candidate)
    answers = [result_text(case.expected.value) for case in cases]
    rare = len(answers) - max(Counter(answers).values(), default=0)
    if not made or rare < LEAST_RARE or profile.contradicts_itself:
        return None
    sample = list(dict(zip(answers, cases, strict=True)).values())[:SHARP]
    runnable = candidate.runnable.extended(item.text for item in made)
    runner = CallRunner(runnable, session.level, session.budget, session.runner.tier)
    tried = [replace(case.call, target=item.name) for item in made for case in sample]
    session.calls += len(tried)
    (result,) = yield from runner.run(Batch(tuple(tried)))
    rows = [result.calls[place : place + len(sample)] for place in range(0, len(tried), len(sample))]
    right = [
        (-sum(item.comparison is Comparison.SAME for item in compare_results(sample, row)), place)
        for place, row in enumerate(rows)
    ]
    for negative, place in sorted(right)[:MOST_CONFIRMED]:
        if -negative < LEAST_FIRST * len(sample):
            break
        found = yield from _confirmed(runner, cases, made[place])
        if found is not None:
            return found
    return None


def _confirmed(runner: CallRunner, cases: list[Case], repair: Repair) -> Steps[Repaired | None]:
    """Return the call on which the candidate is wrong, if the variant matches the trusted function."""
    edited = [replace(item.call, target=repair.name) for item in cases]
    own, other = yield from runner.run(Batch(tuple(item.call for item in cases)), Batch(tuple(edited)))
    compared = comparable_results(compare_results(cases, other.calls))
    agreed = [item for item in compared if item.comparison is Comparison.SAME]
    plain = compare_results(cases, own.calls)
    if len(agreed) < max(LEAST_AGREED, LEAST_SHARE * len(compared)) or all(
        map(_is_opposite, comparable_results(plain))
    ):
        return None
    same = {id(item.case) for item in agreed}
    shown = next((item for item in wrong_results(plain) if id(item.case) in same), None)
    return Repaired(repair, len(agreed), shown) if shown is not None else None


def _plain_cases(profile: Profile, candidate: CandidateFunction) -> list[Case]:
    """Return the trusted function's calls with plain arguments, as calls of the candidate."""
    runnable = candidate.runnable
    found = [case_of_observed(item, runnable, profile.silence_free) for item in profile.generated]
    pairs = [(item, call_of(item, runnable)) for item in profile.examples]
    found += [Case(call, item) for item, call in pairs if call is not None]
    return [item for item in found if item is not None and item.call.args is not None]


def _is_opposite(item: CaseResult) -> bool:
    """Return whether a call has True for False, or the other way round.

    Odd and even are two functions: where all results are opposite, nothing shows which of them is meant.
    """
    value, got = item.case.expected.value, item.answer.value
    return isinstance(value, bool) and isinstance(got, bool) and got is not value
