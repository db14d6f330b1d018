"""Run functions on the probes of a library, which match them to trusted functions by their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from codeguard.behavior.matching.fingerprints import (
    MOST_KINDS,
    Calls,
    FingerprintIndex,
    Kinds,
    answer_of,
)
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, rows_of
from codeguard.sandbox.model import Call

Answers = list[str | None]
Fingerprint = Mapping[Kinds, Answers]
Answered = dict[str, list[Answers]]
"""The answers of functions to probes, by a digest of everything they depend on."""


def answers_of(runner: CallRunner, targets: Sequence[str], calls: Calls) -> Steps[list[Answers]]:
    """Return the answers of several functions of one source to the same calls, None where there is none."""
    (result,) = yield from runner.run(
        Batch(tuple(Call(target, args) for target in targets for args in calls))
    )
    return [
        [answer_of(answer, args) for answer, args in zip(row, calls, strict=True)]
        for row in rows_of(result, len(calls))
    ]


def own_answers(runner: CallRunner, calls: Calls) -> Steps[Answers]:
    """Return the answers of a runner's function itself."""
    (row,) = yield from answers_of(runner, [runner.runnable.target], calls)
    return row


def fingerprint(
    ask: Callable[[Calls], Steps[Answers]],
    index: FingerprintIndex,
    trials: Mapping[Kinds, Calls],
    sure: bool = False,
) -> Steps[Fingerprint]:
    """Return a function's answers to the calls of the kinds that it accepts.

    With `sure`, `trials` has the function's own kinds of arguments, so all of them are used.
    """
    taken = list(trials)
    if taken and not sure:
        tried = iter((yield from ask(tuple(call for calls in trials.values() for call in calls))))
        taken = index.informative_kinds(
            {kinds: [next(tried) for _ in calls] for kinds, calls in trials.items()}
        )
    taken = taken[:MOST_KINDS]
    if not taken:
        return {}
    given = iter((yield from ask(tuple(call for kinds in taken for call in index.calls(kinds)))))
    return {kinds: [next(given) for _ in index.calls(kinds)] for kinds in taken}


def fingerprint_rows(key: str, found: Fingerprint) -> list[Answers]:
    """Return a fingerprint as rows: the function's key, then each kind of arguments and the answers to its calls."""
    rows: list[Answers] = [[key]]
    for kinds, answers in found.items():
        rows.append(list(kinds))
        rows.append(answers)
    return rows


def fingerprint_from(rows: Sequence[Answers] | None, index: FingerprintIndex) -> Fingerprint | None:
    """Inverse of `fingerprint_rows`; None if they are not of the calls of this index, or there are none."""
    if rows is None:
        return None
    try:
        found = {tuple(map(str, rows[at])): rows[at + 1] for at in range(1, len(rows), 2)}
        fits = all(len(answers) == len(index.calls(kinds)) for kinds, answers in found.items())
    except LookupError:
        return None
    return found if fits else None
