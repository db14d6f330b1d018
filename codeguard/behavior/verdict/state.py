"""Check whether a function is still right when it is called repeatedly and in other orders.

Poisoned code can count its calls and turn wrong after the tests. A counter can be hidden in more
places than a list of names could cover. So every candidate is repeated unless its source is a single
function that has nowhere to keep anything.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, islice

from codeguard.behavior.matching.stubs import uses_plain_values_only
from codeguard.behavior.source.definitions import parse_or_none
from codeguard.behavior.verdict.comparison import CaseResult, compare_results
from codeguard.behavior.verdict.profiles import random_for
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps
from codeguard.behavior.verdict.values import Comparison
from codeguard.sandbox import MAX_STDOUT
from codeguard.sandbox.model import CallResult

REPEATS = 4_000
SHUFFLED = 400  # repetitions of all calls, each in another order
NAMED = 3  # the smallest calls, repeated for the rest of the budget


def changed_by_repetition(
    runner: CallRunner, agreed: Sequence[CaseResult], seed: bytes
) -> Steps[list[CaseResult]]:
    """Return the results that become wrong when agreeing calls are repeated in fresh processes.

    Empty if the source is known to keep no state between calls. Calls that exceed the time limit of
    one child are left out.
    """
    if not agreed or keeps_no_state(runner.runnable.source):
        return []
    chosen = sorted(agreed, key=lambda item: item.size)
    named = chosen[:NAMED] * ((REPEATS - SHUFFLED) // min(NAMED, len(chosen)))
    mixed = chosen * (SHUFFLED // len(chosen) + 1)
    random_for(seed, "repeated", runner.runnable.source).shuffle(mixed)
    batches = [Batch(tuple(item.case.call for item in items)) for items in (mixed, named)]
    results = yield from runner.run(*batches, patient=False)
    return [
        item
        for items, result in zip((mixed, named), results, strict=False)
        for item in _wrong(items, result.calls)
    ]


def keeps_no_state(source: str) -> bool:
    """Return whether a source is one function over plain values, without a place that outlives a call."""
    tree = parse_or_none(source)
    match tree:
        case ast.Module([ast.FunctionDef(decorator_list=[]) as function]):
            arguments = function.args
        case _:
            return False
    defaults = (*arguments.defaults, *arguments.kw_defaults)
    # An address shows how much was allocated before.
    asks_address = any(isinstance(node, ast.Name) and node.id == "id" for node in ast.walk(function))
    return (
        all(item is None or isinstance(item, ast.Constant | ast.UnaryOp) for item in defaults)
        and uses_plain_values_only(function)
        and not asks_address
    )


def _wrong(agreed: Sequence[CaseResult], answers: Sequence[CallResult]) -> list[CaseResult]:
    # The sandbox keeps only so much output of one process: where it ends, nothing is known of what was printed.
    kept = accumulate((len(answer.stdout) for answer in answers), initial=0)
    whole = [
        answer if end < MAX_STDOUT else replace(answer, stdout=item.answer.stdout)
        for item, answer, end in zip(agreed, answers, islice(kept, 1, None), strict=False)
    ]
    pairs = [(item, answer) for item, answer in zip(agreed, whole, strict=False) if answer != item.answer]
    compared = compare_results([item.case for item, _ in pairs], [answer for _, answer in pairs])
    return [item for item in compared if item.comparison is Comparison.DIFFERENT]
