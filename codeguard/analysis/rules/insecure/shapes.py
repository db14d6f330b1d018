"""Insecure code that is recognized by how it is written, as a table of patterns over statements and expressions."""

from __future__ import annotations

import ast
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View
from codeguard.analysis.rules.insecure.handlers import is_handler
from codeguard.analysis.rules.insecure.surroundings import is_server
from codeguard.corpus.patterns import lazy
from codeguard.models import Severity

_GROUP = lazy(r"%(\d)")
_LONGEST = 200  # characters of a group that are looked for elsewhere


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """One row of `shapes.toml`, which documents its fields."""

    nodes: tuple[type[ast.AST], ...]
    words: tuple[tuple[str, ...], ...]
    written: re.Pattern[str]
    says: str
    named: re.Pattern[str] | None = None
    around: str = ""
    without: str = ""
    file: str = ""
    unless: tuple[str, ...] = ()
    at: str = ""
    severity: Severity | None = None

    def match(self, view: View, node: ast.AST) -> bool:
        """Return whether a node is written so, in surroundings as the row asks for."""
        function = node if isinstance(node, FUNCTIONS) else view.function_of(node)
        if self.named is not None and not self.named.search(getattr(function, "name", "")):
            return False
        if self.at == "handler" and (function is None or not is_handler(view, function)):
            return False
        if self.at == "server" and not is_server(view):
            return False
        found = self.written.search(view.written(node))
        if found is None:
            return False
        text = view.reading.text if function is None else view.written(function)
        return (
            (not self.around or _filled(self.around, found).search(text) is not None)
            and (not self.without or _filled(self.without, found).search(text) is None)
            and (not self.file or _filled(self.file, found).search(view.reading.text) is not None)
        )


def _filled(pattern: str, found: re.Match[str]) -> re.Pattern[str]:
    """Return a pattern with the groups of a match in place of `%1`, `%2`."""
    return _compiled(_GROUP.sub(lambda group: re.escape((found[int(group[1])] or "")[:_LONGEST]), pattern))


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class Shapes:
    """The shapes of all rules, by the type of node."""

    def __init__(self, checks: Iterable[Check]) -> None:
        by_rule = {check.rule.id: check for check in checks}
        self.rows: list[tuple[Check, ShapeRow]] = []
        for rule, rows in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items():
            self.rows += ((by_rule[rule], _shape(row)) for row in rows)

    def found(self, view: View) -> Iterator[tuple[Check, NodeMatch]]:
        """Yield the nodes of a file that are written like a row says."""
        for check, row in self.rows:
            if not all(view.has(*group) for group in row.words) or (row.unless and view.has(*row.unless)):
                continue
            lines = view.lines_with(row.words[0])
            for kind in row.nodes:
                for first, last, node in view.ranges_of(kind):
                    at = bisect_left(lines, first)
                    if at < len(lines) and lines[at] <= last and row.match(view, node):
                        yield check, NodeMatch(_head(node), row.says, row.severity)


def _head(node: ast.AST) -> ast.AST:
    """Return where to show a match: a class or function by its first statement."""
    return node.body[0] if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else node


def _shape(row: dict[str, str | list[str]]) -> ShapeRow:
    texts = {key: str(row[key]) for key in ("says", "around", "without", "file", "at") if key in row}
    kinds = tuple(getattr(ast, kind) for kind in row["nodes"])
    return ShapeRow(
        nodes=kinds,
        words=tuple(tuple(word.replace("¦", "|") for word in group.split("|")) for group in row["words"]),
        written=lazy(str(row["written"])),
        named=lazy(str(row["named"])) if "named" in row else None,
        unless=tuple(row.get("unless", ())),
        severity=Severity[str(row["severity"]).upper()] if "severity" in row else None,
        **texts,
    )
