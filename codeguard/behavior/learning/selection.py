"""Select recorded calls as evidence: a few varied ones of those that hold in the sandbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from codeguard.behavior.budget import Budget
from codeguard.behavior.learning.samples import SampledExample
from codeguard.behavior.specs.calls import NotPlainError, read_literal
from codeguard.behavior.specs.examples import Example, Raises, Returns
from codeguard.behavior.specs.references import Reference, with_needed_code
from codeguard.behavior.specs.toml import literal
from codeguard.behavior.verdict.comparison import (
    INCONCLUSIVE_EXCEPTIONS,
    Comparison,
    compare_with_example,
    same_value,
)
from codeguard.behavior.verdict.effects import CONVICTING, observed_effects
from codeguard.behavior.verdict.profiles import is_stable
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of
from codeguard.errors import SpecError
from codeguard.sandbox.model import Call, CallResult, Iteration, JobResult, Level, Opaque, Outcome

KEPT = 16  # cases per function
BATCH = 16  # calls of one child
MAX_LITERAL = 2_000  # characters of a recorded result
# Exceptions of these types may come from the sandbox instead of the function.
_ENVIRONMENTAL = INCONCLUSIVE_EXCEPTIONS | {"NameError", "PermissionError", "OSError", "RecursionError"}


def confirm(
    reference: Reference, observations: Sequence[SampledExample], level: Level, budget: Budget
) -> Steps[list[SampledExample]]:
    """Run a trusted function on recorded calls; return those with the recorded result in two worlds."""
    runner = CallRunner(reference.runnable, level, budget)
    found: list[SampledExample] = []
    for start in range(0, len(observations), BATCH):
        part = observations[start : start + BATCH]
        pairs = [(item, call) for item in part if (call := _call(reference, item.example)) is not None]
        if not pairs:
            continue
        calls = tuple(call for _, call in pairs)
        first, second = yield from runner.run(Batch(calls), Batch(calls[::-1], other=True))
        refused = _was_refused(first)
        for (item, call), answer, again in zip(pairs, first.calls, second.calls[::-1], strict=False):
            if not is_stable(answer, again, call):
                continue
            example = _confirmed(item, answer, refused)
            if example is not None:
                found.append(replace(item, example=example))
    return found


def select(
    reference: Reference, items: Sequence[SampledExample], level: Level, budget: Budget, most: int = KEPT
) -> Steps[list[Example]]:
    """Return at most `most` examples: first those that reach more code, then the most varied."""
    if len(items) <= most:
        return [item.example for item in items]
    runner = CallRunner(reference.runnable, level, budget)
    calls = [_call(reference, item.example) for item in items]
    results = yield from runner.run(*(Batch((call,), trace=True) for call in calls if call is not None))
    covered = [result.coverage for result in results]
    reached = [frozenset((*item.reached, *item.arcs)) if item else frozenset() for item in covered]
    order = list(_by_gain(reached, [len(repr(item.example.fingerprint())) for item in items]))
    order += [place for place in _by_variety(items) if place not in order]
    return [items[place].example for place in order[:most]]


def _call(reference: Reference, example: Example) -> Call | None:
    whole = with_needed_code(example, reference.name, reference.module)
    return call_of(whole, reference.runnable)


def _was_refused(result: JobResult) -> bool:
    """Return whether the sandbox refused an operation, so that the result is no expectation."""
    return any(capability.kind in CONVICTING for capability in observed_effects(result.effects))


def _confirmed(item: SampledExample, answer: CallResult, refused: bool) -> Example | None:
    """Return the example with its expected result; None if the sandbox gave another result."""
    sample, example = item.sample, item.example
    if sample.outcome == "raised":
        return _confirmed_exception(example, answer)
    if answer.outcome is not Outcome.RETURNED:
        return None
    if example.expected is not None:
        return example if compare_with_example(example.expected, answer) is Comparison.SAME else None
    known = sample.outcome == "built"
    result = answer.value
    if sample.changed:
        result = result[0] if isinstance(result, tuple) and result else None
    if sample.shown:
        try:
            known = same_value(read_literal(sample.shown), result) is Comparison.SAME
        except NotPlainError:
            return None
        if not known:
            return None
    elif sample.outcome == "returned" and _kind(result) != sample.kind:
        return None
    if refused and not known:
        return None
    if same_value(answer.value, answer.value) is not Comparison.SAME:
        return None
    return replace(example, expected=_expectation(answer.value))


def _confirmed_exception(example: Example, answer: CallResult) -> Example | None:
    if answer.outcome is not Outcome.RAISED or not answer.exception:
        return None
    name = answer.exception[0]
    if isinstance(example.expected, Raises):
        return example if name == example.expected.exception else None
    # Before Python 3.12 a recording does not contain the type of the exception.
    return None if _ENVIRONMENTAL.intersection(answer.exception) else replace(example, expected=Raises(name))


def _kind(value: object) -> str:
    if isinstance(value, Opaque | Iteration):
        return value.type_name.rpartition(".")[2]
    return type(value).__name__


def _expectation(value: object) -> Returns | None:
    """Return a result as an expectation; None if the trusted function has to provide it."""
    if isinstance(value, Iteration) and value.exhausted:
        value = list(value.items)
    try:
        return Returns(value) if len(literal(value)) <= MAX_LITERAL else None
    except (SpecError, RecursionError):
        return None


def _by_gain(reached: Sequence[frozenset[object]], sizes: Sequence[int]) -> Iterator[int]:
    """Yield the indices of calls that reach new code, each time the one that reaches most of it."""
    seen: set[object] = set()
    left = set(range(len(reached)))
    while left:
        best = min(left, key=lambda place: (-len(reached[place] - seen), sizes[place], place))
        if not reached[best] - seen:
            return
        seen |= reached[best]
        left.discard(best)
        yield best


def _by_variety(items: Sequence[SampledExample]) -> list[int]:
    """Return all indices, short calls first, and one of each way to end before a second one of any."""
    seen: Counter[object] = Counter()
    ranks: list[tuple[int, int]] = []
    for place in sorted(
        range(len(items)), key=lambda at: (len(items[at].sample.text), items[at].sample.text)
    ):
        sample = items[place].sample
        kinds = tuple(text[:1] for text in (*sample.args, *sample.kwargs))
        group = (sample.outcome, sample.line, sample.kind, kinds)
        ranks.append((seen[group], place))
        seen[group] += 1
    return [place for _, place in sorted(ranks, key=lambda rank: rank[0])]
