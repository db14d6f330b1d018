"""Whether a file holds tests, by what is in it."""

from __future__ import annotations

import ast

from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.reading import Reading
from codeguard.corpus.syntax import walk

_FRAMEWORKS = frozenset({"unittest", "pytest", "nose", "testtools", "hypothesis"})
_TESTED_SHARE = 0.25  # of the lines of all functions


def is_test_file(reading: Reading) -> bool:
    """Return whether a file contains tests in at least a quarter of its functions' lines.

    It imports a test framework, or most of the tests assert something, since pytest collects them by their names
    alone. The file's name is not used. Handlers and servers beside tests belong to them.
    """
    known = reading.shared.get(__name__)
    if not isinstance(known, bool):
        known = reading.shared[__name__] = _holds_tests(reading)
    return known


def _holds_tests(reading: Reading) -> bool:
    functions: list[FunctionNode] = [
        *reading.nodes_of(ast.FunctionDef),
        *reading.nodes_of(ast.AsyncFunctionDef),
    ]
    # All methods of a case are there for its tests, those that it inherits among them.
    cased = {item for node in reading.nodes_of(ast.ClassDef) if _is_case(node) for item in node.body}
    tests = [
        node
        for node in functions
        if node.name.startswith("test") or any(map(_is_fixture, node.decorator_list)) or node in cased
    ]
    if not tests or not (_uses_framework(reading) or 2 * sum(map(_asserts, tests)) > len(tests)):
        return False
    tested = sum(map(_lines, tests))
    return tested >= _TESTED_SHARE * (tested + sum(_lines(node) for node in functions if node not in tests))


def _asserts(function: FunctionNode) -> bool:
    """Return whether a function asserts something, by the statement or by a call: `self.assertTrue`, `eq_`."""
    return any(
        isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute | ast.Name)
            and ast.unparse(node.func).rpartition(".")[2].startswith(("assert", "eq_", "expect"))
        )
        for node in walk(function)
    )


def _is_case(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _is_fixture(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called) in ("pytest.fixture", "fixture", "pytest_asyncio.fixture")


def _uses_framework(reading: Reading) -> bool:
    for node in reading.nodes_of(ast.Import):
        if any(alias.name.partition(".")[0] in _FRAMEWORKS for alias in node.names):
            return True
    for whence in reading.nodes_of(ast.ImportFrom):
        if (whence.module or "").partition(".")[0] in _FRAMEWORKS:
            return True
    return any(map(_is_case, reading.nodes_of(ast.ClassDef)))


def _lines(node: FunctionNode) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
