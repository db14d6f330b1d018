"""How many single edits of a trusted function its calls notice: a pass on calls that notice few shows little.

This is mutation analysis (DeMillo, Lipton and Sayward 1978) of the calls rather than of a test suite. An edit that no
call notices may as well be the same function in other words, so that the share is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from codeguard.behavior.budget import Budget
from codeguard.behavior.matching.repairs import single_edits
from codeguard.behavior.verdict.profiles import ObservedCall, Profile
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps
from codeguard.behavior.verdict.values import Comparison, compare_with_reference
from codeguard.sandbox.model import Level, Outcome

MOST_EDITS = 24
LEAST_EDITS = 3  # of fewer, a share says nothing
FIRST_CALLS = 6  # most edits are noticed by any call
MOST_CALLS = 64
LEAST_NOTICED = 0.5
Item = TypeVar("Item")


def adequacy_of(profile: Profile, level: Level, budget: Budget) -> Steps[float]:
    """Return the share of a function's single edits that its own calls notice; 1 if it has hardly any edits."""
    runnable = profile.reference.runnable
    calls = [item for item in profile.generated if item.call.args is not None]
    made = [] if "()" in runnable.target else single_edits(profile.reference.definition.node)
    if len(made) < LEAST_EDITS or not calls:
        return 1.0
    edits = _spread(made, MOST_EDITS)
    runner = CallRunner(runnable.extended(item.text for item in edits), level, budget)
    unnoticed = [item.name for item in edits]
    for some in (_spread(calls, FIRST_CALLS), _spread(calls, MOST_CALLS)):
        unnoticed = yield from _unnoticed(runner, unnoticed, some)
    return 1 - len(unnoticed) / len(edits)


def _unnoticed(runner: CallRunner, names: Sequence[str], calls: Sequence[ObservedCall]) -> Steps[list[str]]:
    """Return the edits that give on all calls what the function gives; each has a child of its own."""
    same = []
    for name in names:
        batch = Batch(tuple(replace(item.call, target=name) for item in calls))
        (result,) = yield from runner.run(batch, patient=False)
        pairs = zip(calls, result.calls, strict=False)
        differs = any(
            (item.answer.outcome is Outcome.RETURNED) is not (answer.outcome is Outcome.RETURNED)
            or compare_with_reference(item.answer, answer, item.call.args) is Comparison.DIFFERENT
            for item, answer in pairs
        )
        if not differs:
            same.append(name)
    return same


def _spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most so many items, evenly spread."""
    return [items[place * len(items) // min(most, len(items))] for place in range(min(most, len(items)))]
