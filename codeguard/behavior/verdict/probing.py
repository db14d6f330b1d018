"""Run functions on the probes of a library, which match them to trusted functions by their results.

What a trusted function answers does not change with the other trusted code, so its answers are kept from one run to
the next: after an edit of trusted code, only what is new or has changed is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from codeguard.behavior.matching.fingerprints import (
    MOST_KINDS,
    Calls,
    FingerprintIndex,
    Kinds,
    answer_of,
)
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, rows_of
from codeguard.models import parts_digest
from codeguard.sandbox.model import Call, JobResult, Status

MOST_KEPT = 5_000  # characters of answers to some calls; what answers with more is run again
Answers = list[str | None]
Fingerprint = Mapping[Kinds, Answers]
Answered = dict[str, list[Answers]]
"""The answers of functions to probes, by a digest of everything they depend on."""


@dataclass
class Probes:
    """Runs one function and variants of it on probes.

    `basis` is the digest of what all answers depend on besides the function and the calls. `known` are the
    answers of earlier runs, `used` those that this run has needed.
    """

    basis: str
    known: Answered = field(default_factory=dict)
    used: Answered = field(default_factory=dict)
    passing: set[int] = field(default_factory=set)  # ids of runners of which an answer is not to be stored

    def rows(self, runner: CallRunner, targets: Sequence[str], calls: Calls) -> Steps[list[Answers]]:
        """Return the answers of several functions of one source to the same calls, None where there is none."""
        home = runner.runnable.home
        around = "" if home is None else home.digest()  # an answer beside another helper is another answer
        key = parts_digest(self.basis, runner.runnable.source, around, *targets, *map(_written, calls))
        kept = self.used.get(key) or self.known.get(key)
        if kept is not None and [len(row) for row in kept] == [len(calls)] * len(targets):
            self.used[key] = kept
            return kept
        (result,) = yield from runner.run(
            Batch(tuple(Call(target, args) for target in targets for args in calls))
        )
        rows = [
            [answer_of(answer, args) for answer, args in zip(row, calls, strict=True)]
            for row in rows_of(result, len(calls))
        ]
        if _lasting(result, runner) and sum(len(text or "") for row in rows for text in row) <= MOST_KEPT:
            self.used[key] = rows
        else:
            self.passing.add(id(runner))
        return rows

    def answers(self, runner: CallRunner, calls: Calls) -> Steps[Answers]:
        """Return the answers of the function itself."""
        (row,) = yield from self.rows(runner, [runner.runnable.target], calls)
        return row


def _lasting(result: JobResult, runner: CallRunner) -> bool:
    """Return whether a run would end the same way again; a busy machine or an interruption may have ended it."""
    late = result.status is Status.TIMEOUT and result.wall_s >= runner.budget.wall_s
    return not late and result.status not in (Status.NO_SIGNAL, Status.UNSUPPORTED)


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


def fingerprint_rows(found: Fingerprint) -> list[Answers]:
    """Return a fingerprint as rows: each kind of arguments, and the answers to its calls."""
    rows: list[Answers] = []
    for kinds, answers in found.items():
        rows.append(list(kinds))
        rows.append(answers)
    return rows


def fingerprint_from(rows: Sequence[Answers] | None, index: FingerprintIndex) -> Fingerprint | None:
    """Inverse of `fingerprint_rows`; None if they are not of the calls of this index, or there are none."""
    if rows is None:
        return None
    try:
        found = {tuple(map(str, rows[at])): rows[at + 1] for at in range(0, len(rows), 2)}
        fits = all(len(answers) == len(index.calls(kinds)) for kinds, answers in found.items())
    except LookupError:
        return None
    return found if fits else None


def _written(value: object) -> str:
    """Return a plain value as text, different for different values and the same in every process."""
    if isinstance(value, dict):
        return f"dict({', '.join(f'{_written(key)}: {_written(item)}' for key, item in value.items())})"
    if isinstance(value, list | tuple | set | frozenset):
        items = map(_written, value)
        ordered = sorted(items) if isinstance(value, set | frozenset) else items
        return f"{type(value).__name__}({', '.join(ordered)})"
    # Python refuses to write an integer of many digits in the decimal system.
    return hex(value) if type(value) is int else repr(value)
