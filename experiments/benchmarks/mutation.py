"""Mutants of a function by the operators of cosmic-ray (install `codeguard-rag[mutation]`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from random import Random
from typing import Any

FAMILY = re.compile(r"^(ReplaceBinaryOperator|ReplaceComparisonOperator|ReplaceUnaryOperator)_(\w+)$")
# The variable operators take a variable's name as an argument; they rewrite whole statements at random.
# A removed decorator is a cache gone, or a function that is another one.
LEFT_OUT = ("VariableReplacer", "VariableInserter", "RemoveDecorator")


def mutants(code: str, name: str, each: int, random: Random) -> Iterator[tuple[str, str]]:
    """Yield mutants of one function of a file, chosen at random: `(operator, code of the file)`.

    Each is of another family of operators as far as there are as many.
    Annotations are removed first, for a change there changes nothing.
    """
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.operators.provider import OperatorProvider

    tree = ast.parse(code)
    target = next(
        (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name), None
    )
    if target is None:
        return
    place = tree.body.index(target)
    text = ast.unparse(unannotated(target))
    before = "\n".join(ast.unparse(node) for node in tree.body[:place])
    after = "\n".join(ast.unparse(node) for node in tree.body[place + 1 :])
    provider = OperatorProvider()
    made = 0
    for operator, occurrence in _in_turn(_places(text), random):
        try:
            changed = mutate_code(text, provider[operator](), occurrence)
        except (AttributeError, TypeError, IndexError, ValueError):
            continue  # an operator that does not cope with this syntax
        if changed is not None and _parses(changed):
            yield operator, f"{before}\n\n{changed}\n\n{after}".strip("\n") + "\n"
            made += 1
            if made == each:
                return


def _places(text: str) -> dict[str, list[tuple[str, int]]]:
    """Return where operators apply, by family: `(operator, occurrence)`."""
    from cosmic_ray.ast import Visitor, get_ast
    from cosmic_ray.operators.provider import OperatorProvider

    nodes: list[Any] = []

    class Collector(Visitor):  # type: ignore[misc]
        def visit(self, node: Any) -> Any:
            nodes.append(node)
            return node

    Collector().walk(get_ast(text))
    provider = OperatorProvider()
    found: dict[str, list[tuple[str, int]]] = {}
    for operator in provider:
        if operator not in LEFT_OUT:
            instance = provider[operator]()
            count = sum(len(list(instance.mutation_positions(node))) for node in nodes)
            found.setdefault(family(operator), []).extend((operator, index) for index in range(count))
    return {name: places for name, places in found.items() if places}


def _in_turn(places: dict[str, list[tuple[str, int]]], random: Random) -> Iterator[tuple[str, int]]:
    names = sorted(places)
    random.shuffle(names)
    for name in names:
        random.shuffle(places[name])
    while any(places.values()):
        for name in names:
            if places[name]:
                yield places[name].pop()


def family(operator: str) -> str:
    """Return the operator without what it replaces by what."""
    found = FAMILY.match(operator)
    return found.group(1) if found else operator


def unannotated(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without the annotations of its signature."""
    copied = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(copied, ast.FunctionDef)
    copied.returns = None
    for node in ast.walk(copied.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return copied


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True
