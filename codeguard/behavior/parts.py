"""Top-level statements, written out the way a sandboxed child gets them, each once however often it is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from weakref import WeakKeyDictionary

from codeguard.behavior.effects import Facts, facts_of
from codeguard.behavior.layout import spread_out
from codeguard.behavior.source import Function, name_of, parse, unparse

# Decorators that do not read annotations; others might.
PLAIN_DECORATORS = frozenset(
    {
        "staticmethod",
        "classmethod",
        "property",
        "lru_cache",
        "cache",
        "functools.lru_cache",
        "functools.cache",
    }
)


class Part:
    """A statement as text, and what it can do to the world; each worked out when it is wanted.

    The texts are empty where the statement is nested too deeply to be written out.
    """

    def __init__(self, statement: ast.stmt) -> None:
        self.plain = _written(statement)

    @cached_property
    def text(self) -> str:
        """The statement laid out for coverage."""
        return spread_out(self.plain)

    @cached_property
    def facts(self) -> Facts:
        """What it contributes to the capabilities of its module."""
        tree = parse(self.plain)
        return facts_of(tree) if tree is not None else Facts()


_parts: WeakKeyDictionary[ast.stmt, Part] = WeakKeyDictionary()


def part_of(statement: ast.stmt) -> Part:
    """Return a statement written out; remembered as long as the statement lives."""
    part = _parts.get(statement)
    if part is None:
        part = _parts[statement] = Part(statement)
    return part


def _written(statement: ast.stmt) -> str:
    """Write a statement without the annotations of functions: they run at import and need imports of their own."""
    removed: list[tuple[ast.arg, ast.expr | None]] = []
    returns: list[tuple[Function, ast.expr | None]] = []
    for node in ast.walk(statement):
        if isinstance(node, Function) and _drops_annotations(node):
            returns.append((node, node.returns))
            removed.extend((argument, argument.annotation) for argument in _arguments(node.args))
    for function, _ in returns:
        function.returns = None
    for argument, _ in removed:
        argument.annotation = None
    text = unparse(statement)
    for function, annotation in returns:
        function.returns = annotation
    for argument, annotation in removed:
        argument.annotation = annotation
    return text


def _drops_annotations(node: Function) -> bool:
    return all(name_of(decorator) in PLAIN_DECORATORS for decorator in node.decorator_list)


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None)
