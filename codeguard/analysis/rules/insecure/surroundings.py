"""What a file is for, where that decides how much a weakness in it matters: a test, a server, a client."""

from __future__ import annotations

import ast

from codeguard.analysis import Reading
from codeguard.analysis.python.dataflow.tables import SERVERS
from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.insecure.base import View

_FRAMEWORKS = frozenset({"unittest", "pytest", "nose", "testtools", "hypothesis"})
_TESTED_SHARE = 0.25  # of the lines of all functions


def is_test_file(reading: Reading) -> bool:
    """Return whether a file holds tests: of a framework, and at least a quarter of the lines of its functions.

    What it is called plays no part. Handlers and servers that stand beside tests are there for them.
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
    if not tests or not _uses_framework(reading):
        return False
    tested = sum(map(_lines, tests))
    return tested >= _TESTED_SHARE * (tested + sum(_lines(node) for node in functions if node not in tests))


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


def is_server(view: View) -> bool:
    """Return whether a file answers requests: it imports a framework for that, or has a function that one calls."""
    imported: set[str] = set()
    for node in view.reading.nodes_of(ast.Import):
        imported.update(f"{alias.name}." for alias in node.names)
    for whence in view.reading.nodes_of(ast.ImportFrom):
        if not whence.level:
            imported.update(f"{whence.module}.{alias.name}." for alias in whence.names)
    return any(name.startswith(SERVERS) for name in imported)
