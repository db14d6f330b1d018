"""The parts of a rule about insecure code, and the view of a file that rules use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import Match, Rule
from codeguard.corpus.patterns import lazy, stored
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.flow.engine import Flow
from codeguard.flow.sinks import SinkIndex
from codeguard.models import Confidence, Severity
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from codeguard.analysis.rules.insecure.flows import FlowRow
    from codeguard.analysis.rules.insecure.rows import Row

_MOST_BEHIND = 40  # expressions that another is made of
_ALTERNATIVES: Mapping[str, list[str]] = stored(Path(__file__).with_name("words.toml"))


def vocabulary(name: str) -> re.Pattern[str]:
    """Return a pattern for a list of `words.toml`, for names in lower case; raise KeyError if there is none."""
    return lazy("|".join(_ALTERNATIVES[name]))


def mentions(text: str, pattern: re.Pattern[str]) -> bool:
    """Return whether a name, or a line of code, matches a pattern in any case."""
    return pattern.search(text[:2000].lower()) is not None


def last_name(node: ast.expr) -> str:
    """Return the last name of an expression: of a variable, an attribute, or a key."""
    if isinstance(node, ast.Call):
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            return node.args[0].value
        return last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node, ast.Subscript):
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else last_name(node.value)
    return unqualified_name(node)


class View:
    """One file as the rules see it."""

    def __init__(self, reading: Reading, sinks: SinkIndex) -> None:
        self.reading = reading
        self.names: Names = reading.names
        self._sinks = sinks
        self._returned: dict[ast.AST, list[ast.expr]] = {}

    @cached_property
    def flow(self) -> Flow:
        """The data flow through the file, computed when first used."""
        tree = self.reading.tree or ast.Module([], [])
        return Flow(self.names, tree, self.reading.nodes, self._sinks)

    @cached_property
    def modules(self) -> frozenset[str]:
        """The first parts of all names that are imported in the file."""
        names = (*self.names.imported, *self.names.scopes.module.stars)
        return frozenset(name.partition(".")[0] for name in names if not name.startswith("."))

    def argument(self, call: ast.Call, keyword: str, position: int | None = None) -> ast.expr | None:
        """Return an argument of a call by keyword or position."""
        for item in call.keywords:
            if item.arg == keyword:
                return item.value
            if item.arg is None:
                found = self._spread(item.value, keyword)
                if found is not None:
                    return found
        if position is not None and position < len(call.args):
            found = call.args[position]
            return None if isinstance(found, ast.Starred) else found
        return None

    def _spread(self, node: ast.expr, keyword: str) -> ast.expr | None:
        """Return an entry of a mapping that is unpacked into keywords, if it is written in the file."""
        for value in [node, *self.names.values_of(node)]:
            if isinstance(value, ast.Dict):
                for key, given in zip(value.keys, value.values, strict=True):
                    if key is not None and self.names.text(key) == keyword:
                        return given
        return None

    def value(self, node: ast.expr | None, default: object = None) -> object:
        """Return the value of a constant expression, or that a parameter has where a caller names none."""
        found = self.names.constant(node, ...)
        if found is ... and node is not None:
            found = self.names.constant(self.names.omitted(node), ...)
        return default if found is ... else found

    def behind(self, node: ast.expr, depth: int = 3) -> Iterator[ast.AST]:
        """Yield the nodes of an expression and of what it is made of, at most `_MOST_BEHIND`.

        Variables and attributes lead to the values that they are bound to, calls of functions of the file to what
        these return.
        """
        waiting: list[tuple[ast.AST, int]] = [(node, 0)]
        seen = {node}
        for at, far in waiting:
            for part in walk(at):
                yield part
                if far == depth or not isinstance(part, ast.Name | ast.Attribute | ast.Call):
                    continue
                for value in self.made_of(part):
                    if value not in seen and len(waiting) < _MOST_BEHIND:
                        seen.add(value)
                        waiting.append((value, far + 1))

    def made_of(self, node: ast.Name | ast.Attribute | ast.Call) -> list[ast.expr]:
        """Return the values that a name or an attribute is bound to, or that a function of the file returns."""
        if not isinstance(node, ast.Call):
            return self.names.values_of(node)
        called = self.names.definition(self.names.called(node))
        if not isinstance(called, FUNCTIONS) or called in self._returned:
            return self._returned.get(called, [])  # type: ignore[arg-type]
        found = [
            part.value for part in walk(called) if isinstance(part, ast.Return) and part.value is not None
        ]
        return self._returned.setdefault(called, found)

    def match(
        self,
        rule: Rule,
        node: ast.AST,
        reason: str,
        severity: Severity | None,
        confidence: Confidence | None,
    ) -> Match:
        """Return the match of a rule at a node; severity and confidence default to the rule's."""
        severity = rule.severity if severity is None else severity
        confidence = rule.confidence if confidence is None else confidence
        return Match(rule.id, *self.reading.place(node), reason, severity, confidence)

    def statement(self, node: ast.AST) -> ast.AST:
        """Return the statement that contains a node."""
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = self.reading.parents.get(at)
        return node if at is None else at


@dataclass(frozen=True, slots=True)
class Check:
    """A rule with the rows of its table: `rows` under `match`, `flows` under `flow`."""

    rule: Rule
    rows: tuple[Row, ...] = ()
    flows: tuple[FlowRow, ...] = ()


def parameters_of(function: FunctionNode | None) -> frozenset[str]:
    """Return the names of a function's parameters; empty for None."""
    if function is None:
        return frozenset()
    listed = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return frozenset(argument.arg for argument in listed)
