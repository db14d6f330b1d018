"""The purpose of a file or a branch, as far as it affects severity: a server, debugging, files of the module itself."""

from __future__ import annotations

import ast
import re

from codeguard.analysis.rules.insecure.base import View
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.tables import SERVERS

_MOST_NAMES = 3  # that lead from a path to `__file__`


def of_own_folder(view: View, node: ast.expr, depth: int = 0) -> bool:
    """Return whether a path is built from the place of the module itself: `os.path.join(HERE, "x")`."""
    names = [part for part in walk(node) if isinstance(part, ast.Name)]
    return any(part.id == "__file__" for part in names) or (
        depth < _MOST_NAMES
        and any(
            of_own_folder(view, value, depth + 1) for part in names for value in view.names.values_of(part)
        )
    )


_DEBUGGING = lazy(r"^(?:is_|in_)?(?:debug\w*|dev|devel|development|testing)(?:_mode)?$", re.IGNORECASE)


def is_for_debugging(view: View, node: ast.AST) -> bool:
    """Return whether a node is reached only where a switch for developers is on: `if self.debug:`."""
    child, at = node, view.parent(node)
    while at is not None and not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        body = at.body if isinstance(at, ast.If | ast.IfExp) else []
        if isinstance(at, ast.If | ast.IfExp) and (
            child is body or (isinstance(body, list) and child in body)
        ):
            parts = (
                at.test.values
                if isinstance(at.test, ast.BoolOp) and isinstance(at.test.op, ast.And)
                else [at.test]
            )
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
