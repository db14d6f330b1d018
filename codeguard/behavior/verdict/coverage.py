"""Find the branches of a candidate that no call reached.

The child reports its own coverage, so the result can only prevent a full pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codeguard.behavior.source.definitions import Function, unparse
from codeguard.sandbox.model import LineCoverage

BRANCHES = (ast.If, ast.While, ast.For)


def merged_coverage(parts: Sequence[LineCoverage | None]) -> LineCoverage | None:
    """Return the combined coverage of several runs; None if none was traced."""
    traced = [part for part in parts if part is not None]
    if not traced:
        return None
    return LineCoverage(
        executable=frozenset().union(*(part.executable for part in traced)),
        reached=frozenset().union(*(part.reached for part in traced)),
        arcs=frozenset().union(*(part.arcs for part in traced)),
    )


def unreached(node: Function, coverage: LineCoverage | None) -> list[str]:
    """Return an entry for each line or branch that no call reached; empty if all were.

    The line numbers are those of the extracted source and mean nothing to a reader, so the entries
    quote the code.
    """
    if coverage is None or not coverage.executable:
        return ["coverage was not reported"]
    missing: list[str] = []
    for statement in _statements(node):
        lines = set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
        own = {statement.lineno} & coverage.executable
        if own and not lines & coverage.reached:
            missing.append(_first_line(statement))
        elif (
            isinstance(statement, BRANCHES)
            and len(_ways_out(statement, coverage)) < 2
            and not _endless(statement)
        ):
            missing.append(f"one way out of: {_first_line(statement)}")
    return missing + _unreached_parts(node, coverage)


def _unreached_parts(node: Function, coverage: LineCoverage) -> list[str]:
    """Return the parts of conditional expressions that were never evaluated; each is on its own line."""
    missing: list[str] = []
    for child in ast.walk(node):
        if isinstance(child, ast.IfExp):
            parts: list[ast.expr] = [child.body, child.orelse]
        elif isinstance(child, ast.BoolOp):
            parts = child.values
        elif isinstance(child, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            parts = [child.elt]
        else:
            continue
        for part in parts:
            lines = set(range(part.lineno, (part.end_lineno or part.lineno) + 1)) & coverage.executable
            if lines and not lines & coverage.reached:
                missing.append(unparse(part)[:80])
    return missing


def _statements(node: Function) -> Iterator[ast.stmt]:
    pending: list[ast.AST] = list(reversed(node.body))
    while pending:
        current = pending.pop()
        if isinstance(current, ast.stmt):
            if isinstance(current, ast.Expr) and isinstance(current.value, ast.Constant):
                continue
            yield current
        pending.extend(
            reversed([child for child in ast.iter_child_nodes(current) if not isinstance(child, ast.expr)])
        )


def _ways_out(statement: ast.If | ast.While | ast.For, coverage: LineCoverage) -> set[int]:
    """Return the lines reached from a branching statement's head, which may span several lines."""
    head = statement.iter if isinstance(statement, ast.For) else statement.test
    lines = range(statement.lineno, max(statement.lineno, head.end_lineno or 0) + 1)
    return {to for start, to in coverage.arcs if start in lines and to not in lines}


def _endless(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.While) and isinstance(statement.test, ast.Constant)


def _first_line(statement: ast.stmt) -> str:
    return unparse(statement).partition("\n")[0][:80]
