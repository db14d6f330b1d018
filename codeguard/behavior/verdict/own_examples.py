"""A candidate's own examples: what its description shows is held against what it does.

A copy of a known function whose body was changed often keeps the description, and no trusted code is needed to see
that the two contradict each other. Meeting one's own examples earns nothing, because one author wrote both.
"""

from __future__ import annotations

import ast
import doctest
import math
from collections.abc import Iterator

from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.stubs import COMPUTING
from codeguard.behavior.source.definitions import parse_or_none
from codeguard.behavior.specs.docstrings import docstring_examples
from codeguard.behavior.specs.examples import Example, Returns
from codeguard.behavior.specs.references import with_needed_code
from codeguard.behavior.verdict.comparison import Case, CaseResult, case_of_example, compare_results
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.effect_tables import OUTWARD
from codeguard.behavior.verdict.profiles import UNSTEADY
from codeguard.behavior.verdict.reports import row_report
from codeguard.behavior.verdict.running import Steps, call_of
from codeguard.behavior.verdict.table import named
from codeguard.behavior.verdict.values import Comparison, same_value
from codeguard.models import CheckReport
from codeguard.sandbox.model import CallResult, Iteration, Outcome
from codeguard.syntax.names import dotted_name

ROUNDED = 0.01  # relative: descriptions round numbers
# What arguments alone can raise. Whoever catches anything else may give another result for what the sandbox refuses.
OF_ARGUMENTS = frozenset(
    {"TypeError", "ValueError", "KeyError", "IndexError", "ZeroDivisionError", "StopIteration"}
)


def shown_examples(candidate: CandidateFunction) -> tuple[Example, ...]:
    """Return the examples in a candidate's description that need nothing else and show a plain result.

    Methods are left out, because their objects are described elsewhere, and so are sessions in which anything is called
    but the function and what computes, which may have changed a state.
    """
    definition = candidate.definition
    if definition.owner is not None or not _stands_alone(definition.docstring, definition.name):
        return ()
    return tuple(
        with_needed_code(example, definition.name, candidate.module)
        for example in docstring_examples(definition, "")
        if isinstance(example.expected, Returns)
    )


def _stands_alone(description: str, callee: str) -> bool:
    """Return whether the session in a description calls nothing but the function and what computes."""
    try:
        sources = [example.source for example in doctest.DocTestParser().get_examples(description)]
    except ValueError:
        return False
    tree = parse_or_none("".join(sources))
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree is not None else []
    names = {"__file__", "__name__"}
    return (
        tree is not None
        and all(isinstance(item, ast.Name) and (item.id == callee or item.id in COMPUTING) for item in calls)
        and not any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(tree))
    )


def _hides_failures(source: str) -> bool:
    """Return whether code goes on after exceptions that may come from where it runs."""
    tree = parse_or_none(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if not all(isinstance(item, ast.Name) and item.id in OF_ARGUMENTS for item in caught):
                return True
        elif isinstance(node, ast.Call) and dotted_name(node.func).rpartition(".")[2] == "suppress":
            return True
    return tree is None


def _depends_on_more(candidate: CandidateFunction) -> bool:
    """Return whether a function may give something else elsewhere: by chance, at another time, with other files."""
    return any(item.kind in OUTWARD | UNSTEADY for item in candidate.reach.possible)


def against_own_examples(session: CandidateSession) -> Steps[CheckReport | None]:
    """Report a candidate that contradicts an example in its own description, in both worlds.

    Only an answer counts that is of the kind of what is written: descriptions grow old, and say "2" of a number or
    show the text for bytes. An exception may be the sandbox's.
    """
    pairs = [(item, call_of(item, session.candidate.runnable)) for item in shown_examples(session.candidate)]
    cases = [case_of_example(example, call) for example, call in pairs if call is not None]
    if not cases or _hides_failures(session.candidate.runnable.source) or _depends_on_more(session.candidate):
        return None
    ordinary, other = yield from session.ask(cases, twice=True)
    twice = zip(compare_results(cases, ordinary.calls), other.calls[::-1], strict=False)
    found = [result for result, again in twice if _contradicts(result, again)]
    if not found:
        return None
    found.sort(key=lambda result: result.size)
    row, claims = named("contradicts-itself"), "what its description shows"
    return row_report(row, session, ordinary, {}, claims=claims, weighed=found)


def _contradicts(result: CaseResult, again: CallResult) -> bool:
    expected, answer = _written(result.case), result.answer
    returned = answer.outcome is again.outcome is Outcome.RETURNED
    if not returned or result.comparison is not Comparison.DIFFERENT or _shortened(expected):
        return False
    if same_value(answer.value, again.value) is not Comparison.SAME:
        return False
    if answer.value is None:  # unless it shows its result in another way
        return not answer.stdout
    got = answer.value
    if isinstance(got, Iteration) and got.exhausted and isinstance(expected, list | tuple):
        got = type(expected)(got.items)
    written, made = _kinds(expected), _kinds(got)
    alike = type(expected) is type(got) and (written <= made or made <= written)
    return alike and not _rounded(expected, got)


def _written(case: Case) -> object:
    shown = None if case.example is None else case.example.expected
    return shown.value if isinstance(shown, Returns) else None


def _kinds(value: object) -> set[type]:
    """Return the types of a plain value and of all that it holds."""
    return {type(item) for item in _all_of(value)}


def _all_of(value: object) -> Iterator[object]:
    yield value
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if isinstance(parts, list | tuple | set | frozenset):
        for part in parts:
            yield from _all_of(part)


def _shortened(expected: object) -> bool:
    """Return whether a written value leaves something out, as doctest's ELLIPSIS does."""
    return any(item is ... or (isinstance(item, str) and "..." in item) for item in _all_of(expected))


def _rounded(expected: object, got: object) -> bool:
    """Return whether two values may be the same but for digits that a description leaves out."""
    near = [
        math.isclose(written, made, rel_tol=ROUNDED)
        for written, made in zip(_all_of(expected), _all_of(got), strict=False)
        if isinstance(written, float) and isinstance(made, float)
    ]
    return bool(near) and all(near)
