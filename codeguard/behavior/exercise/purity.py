"""Decide whether a candidate is pure and whether every part of it was exercised."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast

from codeguard.behavior.exercise.closed import first_impure_construct
from codeguard.behavior.exercise.instrument import instrument
from codeguard.behavior.source.constants import constants_of
from codeguard.behavior.source.definitions import parse_or_none
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.verdict.comparison import Case, compare_results
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps
from codeguard.behavior.verdict.values import Comparison
from codeguard.sandbox.model import Call, CallResult, Level, Outcome, Tier

MAX_CALLS = 400
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)


def keeps_no_state(runnable: Runnable) -> bool:
    """Return whether the code is known to keep no state between calls."""
    tree = parse_or_none(runnable.source)
    if tree is None or first_impure_construct(tree, constants_of(tree), frozenset()):
        return False
    return not any(
        isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, _MUTABLE)
        for statement in tree.body
    )


@dataclass(frozen=True, slots=True)
class BeyondExamples:
    """Calls slightly outside of the domain of the examples, with the trusted function's results."""

    cases: tuple[Case, ...] = ()

    def differences(self, answers: Sequence[CallResult]) -> list[str]:
        """Return the calls on which a candidate returns something else than the trusted function.

        An honest function may do so and is not convicted. To refuse such a call is no difference.
        """
        results = compare_results(self.cases, answers)
        wrong = [
            item
            for item in results
            if item.comparison is not Comparison.SAME and item.answer.outcome is Outcome.RETURNED
        ]
        unanswered = [item for item in results if item.answer.outcome is Outcome.NOT_RUN]
        return [f"the same beyond the examples: {item.text}" for item in (*wrong, *unanswered)[:1]]


NO_CALLS_BEYOND = BeyondExamples()


def not_exercised(
    session: CandidateSession,
    cases: Sequence[Case],
    known: frozenset[str],
    beyond: BeyondExamples = NO_CALLS_BEYOND,
) -> Steps[list[str]]:
    """Return the parts of a candidate's code that no call shows to matter; empty if all of them do.

    `cases` are the calls on which it agreed, `known` the constants of the trusted function as
    text. The first entry is the reason if the code is outside of the closed subset or behaves
    differently when instrumented.
    """
    runnable = session.candidate.runnable
    tree = parse_or_none(runnable.source)
    if tree is None:
        return ["it does not parse"]
    constants = constants_of(tree)
    opening = first_impure_construct(tree, constants, known)
    if opening:
        return [f"not known to depend on its arguments alone: {opening}"]
    if session.level < Level.L2:
        return [f"the sandbox offers {session.level.name}"]
    made = instrument(copy.deepcopy(tree), constants)
    if made is None:
        return ["it cannot be written out"]
    noted = replace(runnable, source=f"{made.future_imports}\n{_recorder()}\n{made.source}")
    asked = list(cases[:MAX_CALLS])
    state = Call("_codeguard_state()", None)
    records = Call("_codeguard_report()", None)
    calls = (state, *(case.call for case in asked), state, records)
    further = tuple(case.call for case in beyond.cases)
    runner = CallRunner(noted, session.level, session.budget, Tier.NATIVE)
    (result,) = yield from runner.run(Batch((*calls, *further, records), other=True))
    before, *answers, after, report = result.calls[: len(calls)]
    *answers_beyond, complete = result.calls[len(calls) :]
    if complete.outcome is Outcome.RETURNED:
        report = complete
    if report.outcome is not Outcome.RETURNED:
        return ["it took too long with notes taken"]
    if before.value is None or before.value != after.value:
        return ["it keeps something from one call for the next"]
    noted_bits, faults = cast("tuple[list[tuple[int, int]], list[str]]", report.value)
    if faults:
        return [f"not known to depend on its arguments alone: {faults[0]}"]
    if any(item.comparison is not Comparison.SAME for item in compare_results(asked, answers)):
        return ["it answers otherwise in another world"]
    bits = dict(noted_bits)
    missing = [need.missing(bits.get(number, 0)) for number, need in made.needs.items()]
    return [text for text in dict.fromkeys(missing) if text] or beyond.differences(answers_beyond)


@cache
def _recorder() -> str:
    """Return the source of the recorder without comments and docstrings."""
    tree = ast.parse((Path(__file__).parent / "recorder.py").read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)
