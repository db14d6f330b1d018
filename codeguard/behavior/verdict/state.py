"""Does a function still answer right when it is called again and again, in other orders?

Poison can count its calls and turn wrong when no test is left. What counts
has to be kept somewhere that outlives a call, and there are more ways to keep
something than a list of names could hold. So every candidate is repeated
whose text is not known to keep nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from codeguard.behavior.exercise.purity import keeps_no_state
from codeguard.behavior.verdict.comparison import Answered, compare
from codeguard.behavior.verdict.profiles import random_for
from codeguard.behavior.verdict.running import Batch, Runner, Steps
from codeguard.behavior.verdict.values import Comparison
from codeguard.sandbox.model import CallResult

REPEATS = 4_000
SHUFFLED = 400  # of them calls of every kind, in another order each time
NAMED = 3  # calls that make up the others: the smallest, each as often as the rest


def changed_by_repetition(runner: Runner, agreed: Sequence[Answered], seed: bytes) -> Steps[list[Answered]]:
    """Return the answers that turn wrong when calls that agreed are repeated in fresh processes.

    None where the text is known to keep nothing from one call for the next.
    What does not fit into the time of one child is left out.
    """
    if not agreed or keeps_no_state(runner.runnable):
        return []
    chosen = sorted(agreed, key=lambda item: item.size)
    named = chosen[:NAMED] * ((REPEATS - SHUFFLED) // min(NAMED, len(chosen)))
    mixed = chosen * (SHUFFLED // len(chosen) + 1)
    random_for(seed, "repeated", runner.runnable.source).shuffle(mixed)
    batches = [Batch(tuple(item.question.call for item in items)) for items in (mixed, named)]
    results = yield from runner.run(*batches, patient=False)
    return [
        item
        for items, result in zip((mixed, named), results, strict=False)
        for item in _wrong(items, result.calls)
    ]


def _wrong(agreed: Sequence[Answered], answers: Sequence[CallResult]) -> list[Answered]:
    pairs = [(item, answer) for item, answer in zip(agreed, answers, strict=False) if answer != item.answer]
    compared = compare([item.question for item, _ in pairs], [answer for _, answer in pairs])
    return [item for item in compared if item.comparison is Comparison.DIFFERENT]
