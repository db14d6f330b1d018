"""Rules as rows: what a rule's table lists under `match`, found in one file.

A row has
- `find`, a pattern or several (see `patterns`), with `where` on what their metavariables may be;
- `but`, patterns of the same node that are harmless, and `unless`, patterns that make it harmless anywhere in the
  function, or in the module for a node outside of functions; `nowhere` the same in the whole file; `with`, patterns of
  which one, or groups of which one each, must be there; `beside`, groups of which one each occurs in the file, `$X` any
  text: such a row reports one place;
- `in`, a vocabulary of `words.toml` that the name of the function around has;
- `of`, libraries of which the file imports one; `purpose`, a vocabulary of `words.toml` that one of the names has which
  get the value, or the function's; `asked`, a vocabulary of what a branch asks that makes a finding low;
- `says`, the reason; `severity` and `confidence`, where they are not the rule's.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from codeguard.analysis.rules.base import OUTRIGHT, Match, Rule
from codeguard.analysis.rules.insecure.base import Check, View, mentions, parameters_of, vocabulary
from codeguard.analysis.rules.insecure.patterns import Matcher, Pattern, names_of, patterns_of, purposes
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.models import Confidence, Severity
from codeguard.syntax.scopes import FUNCTIONS

_KEY = f"{__name__}.places"  # in what the signals share of a file
_SETTINGS = (ast.keyword, ast.Assign, ast.AnnAssign, ast.Dict, ast.Call, ast.Tuple)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a rule."""

    patterns: tuple[Pattern, ...]
    says: str
    but: tuple[Pattern, ...] = ()
    unless: tuple[Pattern, ...] = ()
    nowhere: tuple[Pattern, ...] = ()
    needed: tuple[tuple[Pattern, ...], ...] = ()
    beside: tuple[tuple[Pattern, ...], ...] = ()
    of: frozenset[str] = frozenset()
    inside: str = ""
    purpose: str = ""
    asked: str = ""
    severity: Severity | None = None
    confidence: Confidence | None = None

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Row:
        """Return the row of a table.

        Raises:
            KeyError, SyntaxError, TypeError: the table does not describe a row.
        """
        given = dict(table)
        where = given.pop("where", {})
        patterns: dict[str, Any] = {
            name: patterns_of(given.pop(key, ()), where)
            for key, name in (("find", "patterns"), *((key, key) for key in ("but", "unless", "nowhere")))
        }
        needed = given.pop("with", [])
        needed = needed if isinstance(needed, list) and isinstance((needed or [""])[0], list) else [needed]
        return cls(
            **patterns,
            says=str(given.pop("says")),
            needed=tuple(patterns_of(group, where) for group in needed if group),
            beside=tuple(patterns_of(group, where) for group in given.pop("beside", ())),
            of=frozenset(given.pop("of", ())),
            inside=given.pop("in", ""),
            severity=Severity[given.pop("severity").upper()] if "severity" in given else None,
            confidence=Confidence[given.pop("confidence").upper()] if "confidence" in given else None,
            **given,
        )

    def at(self, matcher: Matcher, rule: Rule, pattern: Pattern, node: ast.AST) -> Match | None:
        """Return the match of one of the row's patterns at a node, or None."""
        view = matcher.view
        bound = None if self.of and not _imports(view, node, self.of) else matcher.matches(pattern, node)
        if bound is None or any(matcher.matches(each, node, bound) is not None for each in self.but):
            return None
        function = view.names.function_of(node)
        if self.inside and (function is None or not mentions(function.name, vocabulary(self.inside))):
            return None
        words = vocabulary(self.purpose) if self.purpose else None
        if words is not None and not any(mentions(name, words) for name in purposes(view, node)):
            return None
        around = function or view.reading.tree
        if matcher.occurs(self.unless, around, bound) or matcher.occurs(
            self.nowhere, view.reading.tree, bound
        ):
            return None
        if not all(matcher.occurs(group, around, bound) for group in self.needed):
            return None
        if not all(matcher.occurs(group, view.reading.tree, {}) for group in self.beside):
            return None
        severity = Severity.LOW if self.asked and _is_asked(view, node, self.asked) else self.severity
        place = next(matcher.settings(node))[1] if isinstance(node, ast.Dict) else node
        found = view.match(rule, place, self.says, severity, self.confidence)
        outright = rule.outright and not _is_chosen(view, node)
        return replace(found, measurements={OUTRIGHT: True}) if outright else found


Entry = tuple[Check, Row, Pattern]


class RowIndex:
    """The rows of all rules by what they are found at: a file's cost does not grow with the number of rules."""

    def __init__(self, rows: Iterable[tuple[Check, Row]]) -> None:
        self._entries: dict[tuple[str, str | type[ast.AST]], list[Entry]] = {}
        for check, row in rows:
            for pattern in row.patterns:
                for key in pattern.keys:
                    self._entries.setdefault(key, []).append((check, row, pattern))
        self._named = self._entries.pop(("setting", ""), [])

    def found(self, view: View) -> Iterator[Match]:
        """Yield what the rows find in a file; an exception costs one rule at one node."""
        matcher = Matcher(view)
        decided: set[int] = set()  # rows about the whole file
        for (check, row, pattern), node in self._candidates(matcher):
            if id(row) in decided:
                continue
            try:
                match = row.at(matcher, check.rule, pattern, node)
            except Exception as error:  # hostile text meets code that did not expect it
                view.reading.unread.fail(check.rule.id, error)
                continue
            if match is not None:
                if row.beside:
                    decided.add(id(row))
                yield match

    def _candidates(self, matcher: Matcher) -> Iterator[tuple[Entry, ast.AST]]:
        places = _places_in(matcher)
        for (kind, name), entries in self._entries.items():
            at = (
                matcher.view.reading.nodes_of(name)
                if isinstance(name, type)
                else places.get((kind, name), ())
            )
            yield from ((entry, node) for node in at for entry in entries)
        for (kind, name), at in places.items() if self._named else ():
            if kind == "setting":
                likely = [entry for entry in self._named if entry[2].is_named(name)]
                yield from ((entry, node) for entry in likely for node in at)


def _places_in(matcher: Matcher) -> Mapping[tuple[str, str], list[ast.AST]]:
    """Return the nodes of a file by the keys of patterns, which the rules of all signals share."""
    shared = matcher.view.reading.shared
    if _KEY not in shared:
        found: dict[tuple[str, str], list[ast.AST]] = defaultdict(list)
        for kind, name, node in _keyed(matcher):
            found[kind, name].append(node)
        shared[_KEY] = found
    return shared[_KEY]  # type: ignore[return-value]


def _keyed(matcher: Matcher) -> Iterator[tuple[str, str, ast.AST]]:
    """Yield each node of a file with the kinds and names under which patterns may be found at it."""
    nodes_of, names = matcher.view.reading.nodes_of, matcher.view.names
    for call in nodes_of(ast.Call):
        yield from (("call", name, call) for name in names.names_of(call.func))
        if isinstance(call.func, ast.Attribute):
            yield "method", call.func.attr, call
    yield from (("name", node.attr, node) for node in nodes_of(ast.Attribute))
    yield from (("name", node.id, node) for node in nodes_of(ast.Name))
    for kind in _SETTINGS:
        for setting in nodes_of(kind):
            yield from (("setting", name, setting) for name, _ in matcher.settings(setting))
    for keyword in nodes_of(ast.keyword):
        yield "keyword", keyword.arg or "", matcher.view.reading.parents[keyword]
    for assignment in nodes_of(ast.Assign):
        for target in assignment.targets:
            own = names_of(target)[:1]
            for name in {*own, ""} if isinstance(target, ast.Subscript) else own:
                yield "target", name, assignment
    for definition in (*matcher.view.reading.functions, *nodes_of(ast.ClassDef)):
        yield "definition", definition.name, definition
        yield from (("decorator", "", decorator) for decorator in definition.decorator_list)


def _imports(view: View, node: ast.AST, libraries: frozenset[str]) -> bool:
    """Return whether the file uses one of some libraries, and a keyword is not passed to another one."""
    if not view.modules & libraries:
        return False
    call = view.reading.parents.get(node) if isinstance(node, ast.keyword) else None
    root = view.names.called(call).partition(".")[0] if isinstance(call, ast.Call) else ""
    return root not in view.modules or root in libraries


def _is_chosen(view: View, node: ast.AST, *, followed: bool = True) -> bool:
    """Return whether a node, or a value that it is given by a name, is in a branch of its function."""
    at = view.reading.parents.get(node)
    while at is not None and not isinstance(at, FUNCTIONS):
        if isinstance(at, ast.If | ast.IfExp | ast.ExceptHandler) and not _runs_as_program(at):
            return True
        at = view.reading.parents.get(at)
    given: list[ast.expr] = [item.value for item in node.keywords] if isinstance(node, ast.Call) else []
    if isinstance(node, ast.Assign | ast.keyword):
        given = [node.value]
    values = (value for item in given for value in (item, *view.names.values_of(item)))
    return followed and any(
        isinstance(value, ast.IfExp) or _is_branched(view, value, node) for value in values
    )


def _is_branched(view: View, value: ast.expr, node: ast.AST) -> bool:
    """Return whether a value is given to a name elsewhere than in the statement of a node, in a branch."""
    return view.statement(value) is not view.statement(node) and _is_chosen(view, value, followed=False)


def _runs_as_program(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(unqualified_name(part) == "__name__" for part in walk(node.test))


def _is_asked(view: View, node: ast.AST, words: str) -> bool:
    """Return whether a node is in a branch that an option or attribute of some name leads to: `if not self.verify:`."""
    pattern = vocabulary(words)
    child: ast.AST = node
    at = view.reading.parents.get(node)
    while at is not None and not isinstance(at, FUNCTIONS):
        if isinstance(at, ast.If | ast.IfExp) and child is not at.test:
            given = parameters_of(view.names.function_of(at))
            for part in walk(at.test):
                name = unqualified_name(part)
                if (isinstance(part, ast.Attribute) or name in given) and mentions(name, pattern):
                    return True
        child, at = at, view.reading.parents.get(at)
    return False
