"""Does a function that keeps state still answer right after thousands of calls?

Poison can count its calls and turn wrong when no test is left. What counts
has to be kept somewhere that outlives a call; functions that keep nothing are
not repeated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codeguard.behavior.running import Batch, Runner, Steps
from codeguard.behavior.source import Function, parse
from codeguard.behavior.trial import Answered, compare
from codeguard.behavior.values import Comparison

REPEATS = 4_000
NAMED = 3  # calls that are repeated: the smallest, each as often as the others
CHANGING = frozenset(
    {"add", "append", "appendleft", "extend", "insert", "pop", "popleft", "popitem", "push", "remove"}
    | {"setdefault", "update", "clear", "discard", "__next__", "send", "write"}
)


def worn(runner: Runner, agreed: Sequence[Answered]) -> Steps[list[Answered]]:
    """Return the answers that turn wrong when calls that agreed are repeated; none where no state is kept."""
    tree = parse(runner.runnable.source)
    chosen = sorted(agreed, key=lambda item: item.size)[:NAMED]
    if tree is None or not chosen or not any(keeps_state(tree)):
        return []
    questions = [item.question for item in chosen] * (REPEATS // len(chosen))
    (result,) = yield from runner.run(Batch(tuple(question.call for question in questions)))
    return [item for item in compare(questions, result.calls) if item.comparison is Comparison.DIFFERENT]


def keeps_state(tree: ast.Module) -> Iterator[str]:
    """Yield what functions of a module change that outlives a call: globals, their own attributes, defaults."""
    outside = {
        name.id
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for name in ast.walk(statement)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    outside |= {function.name for function in functions}
    for function in functions:
        kept = outside | {
            name for name, default in _defaults(function) if not isinstance(default, ast.Constant)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Global | ast.Nonlocal):
                yield from node.names
            elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                yield from _named(node.value, kept)
            elif isinstance(node, ast.Call):
                yield from _changed_by(node, kept)


def _changed_by(call: ast.Call, kept: set[str]) -> Iterator[str]:
    if isinstance(call.func, ast.Attribute) and call.func.attr in CHANGING:
        yield from _named(call.func.value, kept)
    elif isinstance(call.func, ast.Name) and call.func.id in ("next", "setattr") and call.args:
        yield from _named(call.args[0], kept)


def _named(node: ast.expr, kept: set[str]) -> Iterator[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name) and node.id in kept:
        yield node.id


def _defaults(function: Function) -> Iterator[tuple[str, ast.expr]]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = positional[len(positional) - len(arguments.defaults) :]
    for argument, default in zip(optional, arguments.defaults, strict=True):
        yield argument.arg, default
    for argument, keyword in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if keyword is not None:
            yield argument.arg, keyword
