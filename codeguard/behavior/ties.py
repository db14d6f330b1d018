"""Inputs on which the trusted function's own answer is arbitrary.

Where the order of a list plays no part in any example, an input on which it
does is a tie: of several right answers the reference gives the first it
meets, and another implementation may give another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codeguard.behavior.pools import Arguments
from codeguard.behavior.profiles import Observed, Profile
from codeguard.behavior.running import Batch, Runner, Steps
from codeguard.behavior.values import Comparison, agrees
from codeguard.sandbox.model import Call, CallResult, Outcome

MAX_EXAMPLES = 8


def reordered(args: Sequence[object]) -> Iterator[tuple[object, ...]]:
    """Yield a call's arguments with one list in another order."""
    for position, value in enumerate(args):
        if isinstance(value, list) and len(value) > 1:
            half = len(value) // 2
            for items in (value[::-1], value[half:] + value[:half], sorted(value, key=repr)):
                if repr(items) != repr(value):
                    yield (*args[:position], items, *args[position + 1 :])


def arbitrary(profile: Profile, runner: Runner, inputs: Sequence[Arguments]) -> Steps[list[bool]]:
    """Say of each input whether the reference's answer depends on an order that no example depends on."""
    target = profile.reference.runnable.target
    rows = [*profile.plain_calls[:MAX_EXAMPLES], *inputs]
    own = [Call(target, tuple(args), dict(kwargs)) for args, kwargs in rows]
    variants = [[Call(target, made, dict(kwargs)) for made in reordered(args)] for args, kwargs in rows]
    count = len(rows) - len(inputs)
    if not any(variants[:count]) or not any(variants[count:]):
        return [False] * len(inputs)
    (result,) = yield from runner.run(Batch((*own, *(call for calls in variants for call in calls))))
    answers, others = result.calls[: len(own)], iter(result.calls[len(own) :])
    moves = []
    for call, answer, calls in zip(own, answers, variants, strict=True):
        moved = [_differs(Observed(call, answer), next(others)) for _ in calls]
        moves.append(any(moved))
    return [False] * len(inputs) if any(moves[:count]) else moves[count:]


def _differs(first: Observed, other: CallResult) -> bool:
    return other.outcome is not Outcome.RETURNED or agrees(first.answer, other) is Comparison.DIFFERENT
