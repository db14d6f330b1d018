"""Check candidates that are edited copies of a trusted function.

An independent implementation is free in what the examples leave open. An edited copy is not: it has
to behave like the trusted function on everything that this function accepts. The same applies to
exact copies whose helper functions were changed.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from random import Random

from codeguard.behavior.inputs.bare import bare_calls
from codeguard.behavior.inputs.preconditions import excluded_by
from codeguard.behavior.inputs.shapes import matches_kinds, value_kind
from codeguard.behavior.inputs.variations import NO_VALUE, value_of
from codeguard.behavior.inputs.wide import FROM_ITERATOR, wide_calls, written_call
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.text_overlap import comparable_text
from codeguard.behavior.source.constants import constants_of, literals_of
from codeguard.behavior.source.definitions import (
    PARSE_ERRORS,
    Function,
    Parameter,
    parse_or_none,
    raised_exceptions,
    reached_exceptions,
)
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    NOT_TAKEN,
    CaseResult,
    case_of_observed,
    comparable_results,
    compare_results,
)
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.effect_tables import CHANCE
from codeguard.behavior.verdict.profiles import ObservedCall, Profile, is_stable, random_for, written_calls
from codeguard.behavior.verdict.running import SUBJECT, Batch, CallRunner, Steps, call_of
from codeguard.corpus import syntax
from codeguard.sandbox.model import Outcome

ITERATOR = "iter("
RECORDED = "recorded "  # begins the origin of an example that `codeguard learn` wrote
LEAST_RECORDED = 4  # calls that show what a function is called with


def compare_edited_copy(session: CandidateSession, profile: Profile) -> Steps[list[CaseResult] | None]:
    """Compare an edited copy with its original on calls of every kind and return the results.

    None if nothing was changed.
    """
    reference, candidate = profile.reference, session.candidate
    if not session.budget.edited:
        return None
    if any(capability.kind == CHANCE for capability in profile.capabilities):
        return None  # agreement in two worlds may be chance
    if is_same_source(candidate, reference):
        return None
    random = random_for(session.seed, "edited", reference.digest, candidate.runnable.source)
    trees = [
        tree for item in (candidate, reference) if (tree := parse_or_none(item.runnable.source)) is not None
    ]
    literals = [value for tree in trees for value in literals_of(tree, constants_of(tree))]
    bases, calls = calls_for_copies(profile, literals, random, session.budget.edited)
    seen = yield from _reference_results(
        CallRunner(reference.runnable, session.level, session.budget),
        calls,
        reached_exceptions(trees[-1], reference.definition.node.name),
    )
    made = [(case_of_observed(item, candidate.runnable, profile.silence_free), item.example) for item in seen]
    pairs = [
        (replace(case, same_number_class=True), example)
        for case, example in made
        if case is not None and _accepts_call(candidate, example)
    ]
    if not pairs:
        return None
    (result,) = yield from session.ask([case for case, _ in pairs])
    results = compare_results([case for case, _ in pairs], result.calls)
    # Rejecting more than the trusted function does is harmless.
    stricter, shown = added_refusals(candidate, reference), _known_kinds(bases, reference)
    harmless = [
        stricter & set(item.answer.exception[:1]) or _rejects_other_kind(item, example, reference, shown)
        for item, (_, example) in zip(results, pairs, strict=False)
    ]
    return comparable_results([item for item, excused in zip(results, harmless, strict=True) if not excused])


def _accepts_call(candidate: CandidateFunction, example: Example | None) -> bool:
    """Return whether a candidate accepts the arguments of a written call; True if that is unknown."""
    row = written_call(example) if example is not None else None
    return row is None or candidate.features.accepts(len(row.places), [name for name, _ in row.named])


def added_refusals(candidate: CandidateFunction, reference: Reference) -> frozenset[str]:
    """Return the exceptions that a candidate's source raises more often than the trusted one's."""
    own, trusted = parse_or_none(candidate.runnable.source), parse_or_none(reference.runnable.source)
    if own is None or trusted is None:
        return frozenset()
    return frozenset(raised_exceptions(own) - raised_exceptions(trusted))


def _rejects_other_kind(
    item: CaseResult, example: Example | None, reference: Reference, shown: Mapping[str, Collection[object]]
) -> bool:
    """Return whether a candidate rejects an argument of a kind that the trusted function may not be for.

    That is a kind that the candidate's annotation excludes, or that no known call has at this
    place.
    """
    if not NOT_TAKEN.intersection(item.answer.exception[:1]) or example is None:
        return False
    return any(
        (value is not NO_VALUE and excluded_by(part.annotation, value))
        or (part.name in shown and _is_of_other_kind(value, shown[part.name]))
        for part, value in _arguments(example, reference)
    )


def is_unlike_recorded(item: CaseResult, profile: Profile) -> bool:
    """Return whether a call is outside of what the team's own tests call the trusted function with.

    An iterator is if no recorded call has one. False where few calls were recorded, or the other arguments of
    the call are not plain.
    """
    recorded = [example for example in profile.examples if example.origin.startswith(RECORDED)]
    call, domain = item.case.call, profile.domain
    if len(recorded) < LEAST_RECORDED or domain is None:
        return False
    if call.args is not None:
        return not domain.admits(call.args, call.kwargs)
    row = written_call(Example(None, expression=call.target, callee=SUBJECT))
    texts = [] if row is None else [*row.places, *(text for _, text in row.named)]
    if call.target.startswith(FROM_ITERATOR) or any(text.startswith(ITERATOR) for text in texts):
        return not any(ITERATOR in example.expression for example in recorded)
    if row is None:
        return False
    places = [value_of(text) for text in row.places]
    named = {name: value_of(text) for name, text in row.named}
    plain = not any(value is NO_VALUE for value in (*places, *named.values()))
    return plain and not domain.admits(places, named)


def _is_of_other_kind(value: object, kinds: Collection[object]) -> bool:
    """Return whether a value is of none of these kinds; a value that is not plain is a sequence or object."""
    if value is NO_VALUE:
        return all(isinstance(kind, str) for kind in kinds)  # texts and numbers
    if value and isinstance(value, list | tuple | set | frozenset | dict):
        empty = value_kind(type(value)())  # an empty container does not show the kinds of its items
        kinds = [kind for kind in kinds if kind != empty]
    return not any(matches_kinds(value_kind(value), kind) for kind in kinds)


def _known_kinds(calls: Sequence[Example], reference: Reference) -> Mapping[str, Collection[object]]:
    """Return the kinds of values that known calls have for each parameter."""
    found: dict[str, set[object]] = {}
    for call in calls:
        for part, value in _arguments(call, reference):
            found.setdefault(part.name, set()).add(NO_VALUE if value is NO_VALUE else value_kind(value))
    return found


def _arguments(example: Example, reference: Reference) -> list[tuple[Parameter, object]]:
    """Return the values of the parameters in a written call; NO_VALUE if a value is not plain."""
    row = written_call(example)
    if row is None:
        return []
    positional = [part for part in reference.definition.parameters if part.kind == "positional"]
    named = {part.name: part for part in reference.definition.parameters}
    given = [*zip(positional, row.places, strict=False)]
    given += [(named[name], text) for name, text in row.named if name in named]
    return [(part, value_of(text)) for part, text in given]


def _reference_results(
    runner: CallRunner, made: list[Example], refusals: Counter[str]
) -> Steps[list[ObservedCall]]:
    """Return the reference's results that agree in two worlds, including its explicit refusals."""
    pairs = [(example, call) for example in made if (call := call_of(example, runner.runnable))]
    if not pairs:
        return []
    calls = tuple(call for _, call in pairs)
    first, second = yield from runner.run(Batch(calls), Batch(calls[::-1], other=True))
    return [
        ObservedCall(call, answer, example)
        for (example, call), answer, again in zip(pairs, first.calls, second.calls[::-1], strict=False)
        if answer.outcome is Outcome.RETURNED
        or (answer.outcome is Outcome.RAISED and refusals.keys() & set(answer.exception[:1]))
        if is_stable(answer, again, call)
    ]


def calls_for_copies(
    profile: Profile, literals: Sequence[object], random: Random, count: int
) -> tuple[list[Example], list[Example]]:
    """Return the known calls and those without arguments, and the additional calls for edited copies."""
    reference = profile.reference
    bare = bare_calls(reference.definition, reference.runnable.source)
    bases = written_calls(profile) or bare
    return bases, [*bare, *wide_calls(reference.definition, bases, literals, random, count)]


def is_copied_class(own: ast.ClassDef, trusted: ast.ClassDef) -> bool:
    """Return whether half of a trusted class's text is in methods that a class has, apart from names of locals."""
    texts = {comparable_text(item).renamed for item in own.body if isinstance(item, Function)}
    known = [comparable_text(item).renamed for item in trusted.body if isinstance(item, Function)]
    return 2 * sum(len(text) for text in known if text in texts) >= sum(map(len, known))


def is_same_source(candidate: CandidateFunction, reference: Reference) -> bool:
    """Return whether candidate and trusted function, with all they need, are equal except for docstrings."""
    own, trusted = candidate.runnable, reference.runnable
    if own.target != trusted.target or _without_docstrings(own.source) != _without_docstrings(trusted.source):
        return False
    return not own.borrowed or (
        own.home is not None and trusted.home is not None and own.home.has_modules_of(trusted.home)
    )


def third_party_imports(source: str) -> tuple[str, ...]:
    """Return the imported modules outside of the standard library, which may differ between the two."""
    tree = parse_or_none(source)
    found: list[str] = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append("." * node.level + (node.module or ""))
    return tuple(
        f"import {name}"
        for name in dict.fromkeys(found)
        if name.partition(".")[0] not in sys.stdlib_module_names
    )


def _without_docstrings(source: str) -> str:
    """Return a source without docstrings and comments."""
    try:
        tree = syntax.parse(source)
    except PARSE_ERRORS:
        return source
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
