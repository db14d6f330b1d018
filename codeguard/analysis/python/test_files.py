"""Which code of a file is there for tests alone: test functions, and what only they use."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import replace

from codeguard.analysis.reading import Reading
from codeguard.analysis.rules.base import IN_TEST, Match
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.syntax.scopes import FUNCTIONS, FunctionNode

_FRAMEWORKS = ("unittest.", "pytest.", "pytest_asyncio.", "hypothesis.", "mock.")
_AROUND_TESTS = frozenset(
    {"setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown", "setup_method"}
)
_HARMLESS = frozenset({"staticmethod", "classmethod", "property", "contextlib.contextmanager"})
_Unit = FunctionNode | ast.ClassDef


def is_in_test(reading: Reading, offset: int) -> bool:
    """Return whether an offset is in a test function, or in a function or class that only test functions use.

    A test function is named so, asserts something, has no decorator but those of a test framework, and is named
    nowhere else in the file: nothing but a framework calls it. Imports and the rest of the file decide nothing,
    because whoever wants to be taken for a test could write them beside anything.
    """
    known = reading.shared.get(__name__)
    if not isinstance(known, tuple):
        known = reading.shared[__name__] = _tested_lines(reading)
    line = reading.line_of(offset)
    return any(first <= line <= last for first, last in known)


def marked(reading: Reading, match: Match) -> Match:
    """Return a match, with a measurement if it is in a test."""
    if not is_in_test(reading, match.start):
        return match
    return replace(match, measurements={**match.measurements, IN_TEST: True})


def _tested_lines(reading: Reading) -> tuple[tuple[int, int], ...]:
    """Return the first and the last line of each test function, and of what only those use."""
    units: list[_Unit] = [
        *reading.nodes_of(ast.FunctionDef),
        *reading.nodes_of(ast.AsyncFunctionDef),
        *reading.nodes_of(ast.ClassDef),
    ]
    if not any(unit.name.startswith("test") for unit in units if isinstance(unit, FUNCTIONS)):
        return ()
    uses = _uses(reading)
    tested = [unit for unit in units if isinstance(unit, FUNCTIONS) and _is_test(reading, unit, uses)]
    asked = {item.arg for unit in tested for item in (*unit.args.args, *unit.args.kwonlyargs)}
    cases = {reading.parents.get(unit) for unit in tested}
    lines = [
        _lines(unit)
        for unit in units
        if unit in tested
        or (unit.name in _AROUND_TESTS and reading.parents.get(unit) in cases)
        or (unit.name in asked and unit.decorator_list and _is_plain(reading, unit, frozenset()))
    ]
    waiting = [unit for unit in units if uses.get(unit.name) and _is_plain(reading, unit, _HARMLESS)]
    before = -1
    while before != len(lines):
        before = len(lines)
        for unit in tuple(waiting):
            inside = [*lines, _lines(unit)]
            places = uses[unit.name]
            if all(_is_within(line, inside) for line in places) and any(_is_within(x, lines) for x in places):
                waiting.remove(unit)
                lines.append(_lines(unit))
    return tuple(lines)


def _uses(reading: Reading) -> dict[str, list[int]]:
    """Return the lines in which each name occurs, other than where it is defined, also as a text."""
    found: dict[str, list[int]] = defaultdict(list)
    for name in reading.nodes_of(ast.Name):
        found[name.id].append(name.lineno)
    for attribute in reading.nodes_of(ast.Attribute):
        found[attribute.attr].append(attribute.end_lineno or attribute.lineno)
    for constant in reading.nodes_of(ast.Constant):
        if isinstance(constant.value, str) and constant.value.isidentifier():
            found[constant.value].append(constant.lineno)
    return found


def _is_test(reading: Reading, unit: FunctionNode, uses: dict[str, list[int]]) -> bool:
    return (
        unit.name.startswith("test")
        and not uses.get(unit.name)
        and _is_plain(reading, unit, frozenset())
        and any(map(_asserts, walk(unit)))
    )


def _asserts(node: ast.AST) -> bool:
    """Return whether a node asserts something, by the statement or by a call: `self.assertTrue`, `pytest.raises`."""
    return isinstance(node, ast.Assert) or (
        isinstance(node, ast.Call)
        and unqualified_name(node.func).startswith(("assert", "eq_", "expect", "raises"))
    )


def _is_plain(reading: Reading, unit: _Unit, harmless: frozenset[str]) -> bool:
    """Return whether nothing but its name, or a test framework, registers a function or class somewhere."""
    called = (item.func if isinstance(item, ast.Call) else item for item in unit.decorator_list)
    names = [reading.names.resolve(item) for item in called]
    return all(name in harmless or name.startswith(_FRAMEWORKS) for name in names)


def _lines(unit: _Unit) -> tuple[int, int]:
    return unit.lineno, unit.end_lineno or unit.lineno


def _is_within(line: int, ranges: list[tuple[int, int]]) -> bool:
    return any(first <= line <= last for first, last in ranges)
