"""The purpose of a file, as far as it affects severity: a test, a server, a client."""

from __future__ import annotations

import ast

from codeguard.analysis import Reading
from codeguard.analysis.python.dataflow.tables import SERVERS
from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.insecure.base import View

_FRAMEWORKS = frozenset({"unittest", "pytest", "nose", "testtools", "hypothesis"})
_TESTED_SHARE = 0.25  # minimum share of the lines of all functions


def is_test_file(reading: Reading) -> bool:
    """Return whether a file contains tests of a framework in at least a quarter of its functions' lines.

    The file's name is not used. Handlers and servers beside tests belong to them.
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
    """Return whether a file answers requests: it imports such a framework, or has an entry point."""
    imported: set[str] = set()
    for node in view.reading.nodes_of(ast.Import):
        imported.update(f"{alias.name}." for alias in node.names)
    for whence in view.reading.nodes_of(ast.ImportFrom):
        if not whence.level:
            imported.update(f"{whence.module}.{alias.name}." for alias in whence.names)
    return any(name.startswith(SERVERS) for name in imported)
