"""Whether a candidate's answers can depend on nothing but its arguments, and whether every part of it mattered."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast

from codeguard.behavior.exercise.closed import first_opening
from codeguard.behavior.exercise.instrument import instrument
from codeguard.behavior.source.constants import constants_of
from codeguard.behavior.source.definitions import parse
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.verdict.comparison import Question, compare
from codeguard.behavior.verdict.contracts import contrast
from codeguard.behavior.verdict.differential import Asking
from codeguard.behavior.verdict.running import Batch, Runner, Steps
from codeguard.behavior.verdict.values import Comparison
from codeguard.sandbox.model import Call, CallResult, Level, Outcome, Tier

MAX_CALLS = 400
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)


def keeps_nothing(runnable: Runnable) -> bool:
    """Return whether a text can keep nothing from one call for the next; False where that is not known."""
    tree = parse(runnable.source)
    if tree is None or first_opening(tree, constants_of(tree), frozenset()):
        return False
    return not any(
        isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, _MUTABLE)
        for statement in tree.body
    )


@dataclass(frozen=True, slots=True)
class Beyond:
    """Calls a step beyond the examples, and what the trusted function says of itself: what it asks of its arguments."""

    told: str = ""
    questions: tuple[Question, ...] = ()

    def apart(self, answers: Sequence[CallResult]) -> list[str]:
        """Return where a candidate gives something else than the trusted function.

        An honest function may, and is not accused. What refuses such a call gives nothing that is wrong.
        """
        answered = compare(self.questions, answers)
        wrong = [
            item for item in contrast(answered, self.told).wrong if item.answer.outcome is Outcome.RETURNED
        ]
        unanswered = [item for item in answered if item.answer.outcome is Outcome.NOT_RUN]
        return [f"the same beyond the examples: {item.text}" for item in (*wrong, *unanswered)[:1]]


NOTHING_BEYOND = Beyond()


def not_exercised(
    asking: Asking, questions: Sequence[Question], known: frozenset[str], beyond: Beyond = NOTHING_BEYOND
) -> Steps[list[str]]:
    """Return what of a candidate's text no call shows to matter; empty where all of it did.

    `questions` are calls on which it agreed, `known` the constants that the
    trusted function spells out, as text. The first entry says so where the
    text is not in the closed part of Python, or answers otherwise here.
    """
    runnable = asking.candidate.runnable
    tree = parse(runnable.source)
    if tree is None:
        return ["it does not parse"]
    constants = constants_of(tree)
    opening = first_opening(tree, constants, known)
    if opening:
        return [f"not known to depend on its arguments alone: {opening}"]
    if asking.level < Level.L2:
        return [f"the sandbox offers {asking.level.name}"]
    made = instrument(copy.deepcopy(tree), constants)
    if made is None:
        return ["it cannot be written out"]
    noted = replace(runnable, source=f"{_recorder()}\n{made.source}")
    asked = list(questions[:MAX_CALLS])
    state = Call("_codeguard_state()", None)
    calls = (state, *(question.call for question in asked), state, Call("_codeguard_report()", None))
    further = tuple(question.call for question in beyond.questions)
    runner = Runner(noted, asking.level, asking.budget, Tier.NATIVE)
    (result,) = yield from runner.run(Batch((*calls, *further), other=True))
    before, *answers, after, report = result.calls[: len(calls)]
    if report.outcome is not Outcome.RETURNED:
        return ["it took too long with notes taken"]
    if before.value is None or before.value != after.value:
        return ["it keeps something from one call for the next"]
    if any(item.comparison is not Comparison.SAME for item in compare(asked, answers)):
        return ["it answers otherwise in another world"]
    noted_bits, faults = cast("tuple[list[tuple[int, int]], list[str]]", report.value)
    if faults:
        return [f"not known to depend on its arguments alone: {faults[0]}"]
    bits = dict(noted_bits)
    missing = [need.missing(bits.get(number, 0)) for number, need in made.needs.items()]
    return [text for text in dict.fromkeys(missing) if text] or beyond.apart(result.calls[len(calls) :])


@cache
def _recorder() -> str:
    """Return the recorder's source, without what is there for readers."""
    tree = ast.parse((Path(__file__).parent / "recorder.py").read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)
