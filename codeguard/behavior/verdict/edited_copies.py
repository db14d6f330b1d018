"""Is a candidate the trusted function itself, with something changed in it?

A second implementation may do as it likes outside of what the examples show.
Anyone who takes the trusted text and changes a little of it takes over all of
what it does, and so does a copy whose helpers are changed. Such a candidate
is held to whatever the trusted function takes.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random

from codeguard.behavior.inputs.bare import bare_calls
from codeguard.behavior.inputs.preconditions import excluded_by
from codeguard.behavior.inputs.shapes import kinds_of, matches_kinds
from codeguard.behavior.inputs.variations import NO_VALUE, value_of
from codeguard.behavior.inputs.wide import wide_calls, written_call
from codeguard.behavior.matching.candidate import Candidate
from codeguard.behavior.source.constants import constants_of, literals_of
from codeguard.behavior.source.definitions import PARSE_ERRORS, Function, Parameter, name_of, parse
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import NOT_TAKEN, Answered, compare, known, of_observed
from codeguard.behavior.verdict.differential import Asking
from codeguard.behavior.verdict.effect_tables import CHANCE
from codeguard.behavior.verdict.profiles import Observed, Profile, random_for, stable, written_calls
from codeguard.behavior.verdict.running import Batch, Runner, Steps, call_of
from codeguard.corpus import syntax
from codeguard.sandbox.model import Outcome


def edits_shown(asking: Asking, profile: Profile) -> Steps[list[Answered] | None]:
    """Return the answers of a candidate that is the reference with something changed, on calls of every kind.

    None where nothing is changed.
    """
    reference, candidate = profile.reference, asking.candidate
    if not asking.budget.edited:
        return None
    if any(capability.kind == CHANCE for capability in profile.capabilities):
        return None  # what agrees in two worlds may do so by luck
    if same_text(candidate, reference):
        return None
    random = random_for(asking.seed, "edited", reference.digest, candidate.runnable.source)
    trees = [tree for item in (candidate, reference) if (tree := parse(item.runnable.source)) is not None]
    literals = [value for tree in trees for value in literals_of(tree, constants_of(tree))]
    bases, calls = calls_of_copies(profile, literals, random, asking.budget.edited)
    seen = yield from _given(
        Runner(reference.runnable, asking.level, asking.budget), calls, raises(trees[-1])
    )
    made = [(of_observed(item, candidate.runnable, profile.silence_free), item.example) for item in seen]
    pairs = [
        (question, example)
        for question, example in made
        if question is not None and _binds(candidate, example)
    ]
    if not pairs:
        return None
    (result,) = yield from asking.ask([question for question, _ in pairs])
    answered = compare([question for question, _ in pairs], result.calls)
    # To refuse more than the trusted function does is no harm.
    stricter, shown = refusals_added(candidate, reference), _kinds_shown(bases, reference)
    harmless = [
        stricter & set(item.answer.exception[:1]) or _refuses_another_kind(item, example, reference, shown)
        for item, (_, example) in zip(answered, pairs, strict=False)
    ]
    return known([item for item, excused in zip(answered, harmless, strict=True) if not excused])


def _binds(candidate: Candidate, example: Example | None) -> bool:
    """Return whether a written call can be made of a candidate; True where nobody can tell."""
    row = written_call(example) if example is not None else None
    return row is None or candidate.features.accepts(len(row.places), [name for name, _ in row.named])


def refusals_added(candidate: Candidate, reference: Reference) -> frozenset[str]:
    """Return the exceptions that a candidate's text raises by name more often than the trusted one."""
    mine, theirs = parse(candidate.runnable.source), parse(reference.runnable.source)
    return (
        frozenset(raises(mine) - raises(theirs)) if mine is not None and theirs is not None else frozenset()
    )


def _refuses_another_kind(
    item: Answered, example: Example | None, reference: Reference, shown: Mapping[str, Collection[object]]
) -> bool:
    """Return whether a candidate cannot use an argument of a kind that nothing says the trusted function is for.

    What its annotation excludes is such a kind, and what no known call has in that place.
    """
    if not NOT_TAKEN.intersection(item.answer.exception[:1]) or example is None:
        return False
    return any(
        (value is not NO_VALUE and excluded_by(part.annotation, value))
        or (part.name in shown and _unlike(value, shown[part.name]))
        for part, value in _arguments(example, reference)
    )


def _unlike(value: object, kinds: Collection[object]) -> bool:
    """Return whether a value is of none of these kinds; what is no plain value is a row or an object."""
    if value is NO_VALUE:
        return all(isinstance(kind, str) for kind in kinds)  # texts and numbers
    if value and isinstance(value, list | tuple | set | frozenset | dict):
        empty = kinds_of(type(value)())  # shows nothing of what may be in it
        kinds = [kind for kind in kinds if kind != empty]
    return not any(matches_kinds(kinds_of(value), kind) for kind in kinds)


def _kinds_shown(calls: Sequence[Example], reference: Reference) -> Mapping[str, Collection[object]]:
    """Return the kinds of values that known calls have for each parameter."""
    found: dict[str, set[object]] = {}
    for call in calls:
        for part, value in _arguments(call, reference):
            found.setdefault(part.name, set()).add(NO_VALUE if value is NO_VALUE else kinds_of(value))
    return found


def _arguments(example: Example, reference: Reference) -> list[tuple[Parameter, object]]:
    """Return what a written call gives for the parameters, NO_VALUE for what is no plain value."""
    row = written_call(example)
    if row is None:
        return []
    positional = [part for part in reference.definition.parameters if part.kind == "positional"]
    named = {part.name: part for part in reference.definition.parameters}
    given = [*zip(positional, row.places, strict=False)]
    given += [(named[name], text) for name, text in row.named if name in named]
    return [(part, value_of(text)) for part, text in given]


def _given(runner: Runner, made: list[Example], refusals: Counter[str]) -> Steps[list[Observed]]:
    """Return what the reference gives in both of two worlds, what it refuses in so many words as well."""
    pairs = [(example, call) for example in made if (call := call_of(example, runner.runnable))]
    if not pairs:
        return []
    calls = tuple(call for _, call in pairs)
    first, second = yield from runner.run(Batch(calls), Batch(calls[::-1], other=True))
    return [
        Observed(call, answer, example)
        for (example, call), answer, again in zip(pairs, first.calls, second.calls[::-1], strict=False)
        if answer.outcome is Outcome.RETURNED
        or (answer.outcome is Outcome.RAISED and refusals.keys() & set(answer.exception[:1]))
        if stable(answer, again, call)
    ]


def calls_of_copies(
    profile: Profile, literals: Sequence[object], random: Random, count: int
) -> tuple[list[Example], list[Example]]:
    """Return the calls that are known, or that need no argument, and those that a changed copy is held to."""
    reference = profile.reference
    bare = bare_calls(reference.definition, reference.runnable.source)
    bases = written_calls(profile) or bare
    return bases, [*bare, *wide_calls(reference.definition, bases, literals, random, count)]


def raises(tree: ast.AST) -> Counter[str]:
    """Count the exceptions that a text raises by name."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            found[name_of(node.exc).rpartition(".")[2]] += 1
    return found


def same_text(candidate: Candidate, reference: Reference) -> bool:
    """Return whether a candidate is the trusted function and all that either needs is the same, but for docstrings."""
    mine, theirs = candidate.runnable, reference.runnable
    return mine.target == theirs.target and _undocumented(mine.source) == _undocumented(theirs.source)


def imported_elsewhere(source: str) -> tuple[str, ...]:
    """Return the modules beyond the standard library that a text imports: they may not be the trusted one's."""
    tree = parse(source)
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


def _undocumented(source: str) -> str:
    """Return a text's tree without docstrings, written out."""
    try:
        tree = syntax.parse(source)
    except PARSE_ERRORS:
        return source
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
