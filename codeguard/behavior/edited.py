"""Is a candidate the trusted function itself, with something changed in it?

A second implementation may do as it likes outside of what the examples show.
Whoever takes the trusted text and changes a little of it takes over all of
what it does, and so does a copy whose helpers are changed. Such a candidate
is held to whatever the trusted function takes.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from codeguard.behavior.asking import Asking
from codeguard.behavior.effecttables import CHANCE
from codeguard.behavior.examples import Example
from codeguard.behavior.folding import constants_of, literals_of
from codeguard.behavior.profiles import Observed, Profile, random_for, stable, written_calls
from codeguard.behavior.running import Batch, Runner, Steps, call_of
from codeguard.behavior.source import PARSE_ERRORS, Definition, Function, name_of, parse
from codeguard.behavior.trial import Answered, compare, known, of_observed
from codeguard.behavior.wide import wide_calls
from codeguard.behavior.worlds import OTHER_WORLD
from codeguard.sandbox.model import Outcome

LEAST_NODES = 20  # a shorter text is found twice by chance
LEAST_KEPT = 0.85  # share of the trusted text's nodes that the candidate has, in their order
MAX_NODES = 1_500
MAX_UNEQUAL = 250  # nodes between the common beginning and the common end
_SKIPPED = (ast.expr_context, ast.arguments, ast.Load, ast.Expr)


def edits_shown(asking: Asking, profile: Profile) -> Steps[list[Answered] | None]:
    """Return the answers of a candidate that is the reference with something changed, on calls of every kind.

    None where it is another text, or where nothing is changed.
    """
    reference, candidate = profile.reference, asking.candidate
    if not asking.budget.edited or not is_edited(candidate.definition, reference.definition):
        return None
    if any(capability.kind == CHANCE for capability in profile.capabilities):
        return None  # what agrees in two worlds may do so by luck
    if _undocumented(candidate.runnable.source) == _undocumented(reference.runnable.source):
        return None
    random = random_for(asking.seed, "edited", reference.digest, candidate.runnable.source)
    trees = [tree for item in (candidate, reference) if (tree := parse(item.runnable.source)) is not None]
    literals = [value for tree in trees for value in literals_of(tree, constants_of(tree))]
    made = wide_calls(reference.definition, written_calls(profile), literals, random, asking.budget.edited)
    seen = yield from _given(
        Runner(reference.runnable, asking.level, asking.budget.for_reference()), made, raises(trees[-1])
    )
    asked = [of_observed(item, candidate.runnable, profile.silence_free) for item in seen]
    questions = [question for question in asked if question is not None]
    if not questions:
        return None
    (result,) = yield from asking.ask(questions)
    answered = known(compare(questions, result.calls))
    # To refuse more than the trusted function does is no harm.
    stricter = raises(trees[0]) - raises(trees[-1])
    return [
        item
        for item in answered
        if item.answer.outcome is Outcome.RETURNED or not stricter.keys() & set(item.answer.exception[:1])
    ]


def _given(runner: Runner, made: list[Example], refusals: Counter[str]) -> Steps[list[Observed]]:
    """Return what the reference gives in both of two worlds, what it refuses in so many words as well."""
    pairs = [(example, call) for example in made if (call := call_of(example, runner.runnable))]
    if not pairs:
        return []
    calls = tuple(call for _, call in pairs)
    first, second = yield from runner.run(Batch(calls), Batch(calls[::-1], OTHER_WORLD))
    return [
        Observed(call, answer, example)
        for (example, call), answer, again in zip(pairs, first.calls, second.calls[::-1], strict=False)
        if answer.outcome is Outcome.RETURNED
        or (answer.outcome is Outcome.RAISED and refusals.keys() & set(answer.exception[:1]))
        if stable(answer, again, call)
    ]


def raises(tree: ast.AST) -> Counter[str]:
    """Count the exceptions that a text raises by name."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            found[name_of(node.exc).rpartition(".")[2]] += 1
    return found


def _undocumented(source: str) -> str:
    """Return a text's tree without docstrings, written out."""
    try:
        tree = ast.parse(source)
    except PARSE_ERRORS:
        return source
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def is_edited(candidate: Definition, reference: Definition) -> bool:
    """Say whether a candidate's text is the reference's but for a small part; also where it is the very same."""
    wanted, found = _nodes(reference.node), _nodes(candidate.node)
    if not LEAST_NODES <= len(wanted) <= MAX_NODES or len(found) > MAX_NODES:
        return False
    return kept(wanted, found) >= LEAST_KEPT * len(wanted)


def kept(wanted: tuple[str, ...], found: tuple[str, ...]) -> int:
    """Return how many of the wanted nodes are found in their order, at most."""
    least = min(len(wanted), len(found))
    start = next((i for i in range(least) if wanted[i] != found[i]), least)
    rest = least - start
    end = next((i for i in range(rest) if wanted[-1 - i] != found[-1 - i]), rest)
    first, second = wanted[start : len(wanted) - end], found[start : len(found) - end]
    if max(len(first), len(second)) > MAX_UNEQUAL:
        return start + end
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return start + end + sum(block.size for block in blocks)


def _nodes(function: Function) -> tuple[str, ...]:
    """Return a function's nodes in order, docstring and annotations left out.

    With their names: of a short function, somebody else's may well have the
    same shape, but hardly the same names as well.
    """
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    body = function.body[1:] if documented else function.body
    return tuple(
        text for part in (function.args, *body) for node in _in_order(part) for text in _written(node)
    )


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if isinstance(current, ast.AnnAssign):
            children: list[ast.AST] = [current.target, *([current.value] if current.value else [])]
        elif isinstance(current, ast.arg):
            children = []
        else:
            children = list(ast.iter_child_nodes(current))
        pending.extend(reversed(children))


def _written(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Constant):
        yield repr(node.value)[:80]
    elif isinstance(node, ast.Attribute):
        yield f".{node.attr}"
    elif isinstance(node, ast.keyword):
        yield f"{node.arg}="
    elif not isinstance(node, _SKIPPED):
        yield type(node).__name__
