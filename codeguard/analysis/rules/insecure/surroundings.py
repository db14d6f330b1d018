"""The purpose of a file, as far as it affects severity: a test, a server, a client."""

from __future__ import annotations

import ast
import re

from codeguard.analysis import Reading
from codeguard.analysis.python.dataflow.tables import SERVERS
from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.insecure.base import View
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy

_FRAMEWORKS = frozenset({"unittest", "pytest", "nose", "testtools", "hypothesis"})
_TESTED_SHARE = 0.25  # minimum share of the lines of all functions


def is_test_file(reading: Reading) -> bool:
    """Return whether a file holds tests: at least a quarter of the lines of its functions.

    They are of a framework that the file imports, or most of them assert something, as tests that pytest collects
    by their names do. What the file is called plays no part. Handlers and servers that stand beside tests are there
    for them.
    """
    functions: list[FunctionNode] = [
        *reading.nodes_of(ast.FunctionDef),
        *reading.nodes_of(ast.AsyncFunctionDef),
    ]
    tests = [
        node
        for node in functions
        if node.name.startswith("test") or any(map(_is_fixture, node.decorator_list))
    ]
    if not tests or not (_uses_framework(reading) or 2 * sum(map(_asserts, tests)) > len(tests)):
        return False
    tested = sum(map(_lines, tests))
    return tested >= _TESTED_SHARE * (tested + sum(_lines(node) for node in functions if node not in tests))


def _asserts(function: FunctionNode) -> bool:
    """Return whether a function asserts something, by the statement or by a method of its class."""
    return any(
        isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr.startswith("assert")
        )
        for node in ast.walk(function)
    )


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
    bases = (base for node in reading.nodes_of(ast.ClassDef) for base in node.bases)
    return any(ast.unparse(base).endswith("TestCase") for base in bases)


def _lines(node: FunctionNode) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


_MOST_NAMES = 3  # that lead from a path to `__file__`


def of_own_folder(view: View, node: ast.expr, depth: int = 0) -> bool:
    """Return whether a path is built from the place of the module itself: `os.path.join(HERE, "x")`."""
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return any(part.id == "__file__" for part in names) or (
        depth < _MOST_NAMES
        and any(of_own_folder(view, value, depth + 1) for part in names for value in view.names.values_of(part))
    )


_DEBUGGING = lazy(r"^(?:is_|in_)?(?:debug\w*|dev|devel|development|testing)(?:_mode)?$", re.IGNORECASE)


def is_for_debugging(view: View, node: ast.AST) -> bool:
    """Return whether a node is reached only where a switch for developers is on: `if self.debug:`."""
    child, at = node, view.parent(node)
    while at is not None and not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        body = at.body if isinstance(at, ast.If | ast.IfExp) else []
        if isinstance(at, ast.If | ast.IfExp) and (child is body or (isinstance(body, list) and child in body)):
            parts = at.test.values if isinstance(at.test, ast.BoolOp) and isinstance(at.test.op, ast.And) else [at.test]
            if any(_DEBUGGING.match(last_name(part)) for part in parts):
                return True
        child, at = at, view.parent(at)
    return False


def is_server(view: View) -> bool:
    """Return whether a file answers requests: it imports such a framework, or has an entry point."""
    imported: set[str] = set()
    for node in view.reading.nodes_of(ast.Import):
        imported.update(f"{alias.name}." for alias in node.names)
    for whence in view.reading.nodes_of(ast.ImportFrom):
        if not whence.level:
            imported.update(f"{whence.module}.{alias.name}." for alias in whence.names)
    return any(name.startswith(SERVERS) for name in imported)
