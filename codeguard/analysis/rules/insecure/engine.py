"""Run the rules on one file: one pass over its calls and nodes, and one over its data flow."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import Match, rule_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, arrived, word_set
from codeguard.analysis.rules.insecure.rows import Row, RowIndex
from codeguard.flow.sinks import Sink, SinkIndex
from codeguard.flow.values import Reach
from codeguard.workers.deadline import DeadlineError

P = ParamSpec("P")
_MORE = tomllib.loads(Path(__file__).with_name("sinks.toml").read_text("utf-8"))


def _with_more(sink: Sink) -> Sink:
    """Return a sink with the calls that `sinks.toml` adds to it."""
    more = _MORE.get(sink.key, {})
    return replace(
        sink,
        names=sink.names | word_set(more.get("names", "")),
        methods=sink.methods | word_set(more.get("methods", "")),
    )


def load_checks(package: str, path: Iterable[str]) -> tuple[Check, ...]:
    """Return the checks of every module of a package that defines `CHECKS`, and of the rules that are rows alone."""
    folders = list(path)
    found: list[Check] = []
    for info in sorted(pkgutil.iter_modules(folders), key=lambda info: info.name):
        found += getattr(importlib.import_module(f"{package}.{info.name}"), "CHECKS", ())
    known = {check.rule.id for check in found}
    for place in sorted(place for folder in folders for place in Path(folder).glob("*.toml")):
        for id_, table in tomllib.loads(place.read_text("utf-8")).items():
            if not isinstance(table, dict) or "summary" not in table:
                continue  # a vocabulary, or the calls of a sink
            if id_ not in known:
                found.append(Check(rule_of(id_, table)))
            rows = tuple(Row.read(row) for row in table.get("match", ()))
            if rows:
                place_in = next(index for index, check in enumerate(found) if check.rule.id == id_)
                found[place_in] = replace(found[place_in], rows=rows)
    return tuple(found)


class RuleIndex:
    """The rules, indexed by the names and node types they apply to."""

    def __init__(self, checks: Iterable[Check]) -> None:
        self.checks = tuple(checks)
        self._calls: dict[str, list[Check]] = {}
        self._methods: dict[str, list[Check]] = {}
        self._nodes: dict[type[ast.AST], list[Check]] = {}
        self._by_sink: dict[str, Check] = {}
        self._rows = RowIndex((check, row) for check in self.checks for row in check.rows)
        self._sinks = SinkIndex(
            replace(_with_more(sink), least=_least(check)) for check in self.checks for sink in check.sinks
        )
        for check in self.checks:
            for name in check.calls:
                self._calls.setdefault(name, []).append(check)
            for method in check.methods:
                self._methods.setdefault(method, []).append(check)
            for kind in check.nodes:
                self._nodes.setdefault(kind, []).append(check)
            for sink in check.sinks:
                if self._by_sink.setdefault(sink.key, check) is not check:
                    raise ValueError(f"two rules share the sink key {sink.key!r}")

    def inspect(self, reading: Reading) -> Iterator[Match]:
        """Yield the matches in a file, each rule once per position.

        Raises:
            DeadlineError: the time ran out, after what was found until then.
        """
        if reading.tree is None:
            return
        view = View(reading, self._sinks)
        seen: dict[tuple[str, int, int], Match] = {}
        ended: DeadlineError | None = None
        try:
            _collect(view, self._found(view), seen)
        except DeadlineError as error:
            ended = error
            with suppress(DeadlineError):  # what the data flow found in other functions until then
                _collect(view, self._arrived(view), seen)
        yield from sorted(seen.values(), key=lambda item: (item.start, item.end, item.rule))
        if ended is not None:
            raise ended

    def _found(self, view: View) -> Iterator[tuple[Check, NodeMatch]]:
        unread = view.reading.unread
        for call in view.reading.nodes_of(ast.Call):
            yield from unread.apart("the names of calls", self._of_call, view, call)
        for kind, checks in self._nodes.items():
            for node in _each_assigned(view, kind):
                for check in checks:
                    if check.look is None:
                        continue
                    try:  # as `_apart`, which takes longer than most rules at a node
                        for found in check.look(view, node, ""):
                            yield check, found
                    except Exception as error:  # hostile text meets code that did not expect it
                        unread.fail(check.rule.id, error)
        for check in self.checks:
            if check.look_at_file is not None:
                yield from _apart(view, check, check.look_at_file, view)
        yield from unread.apart("the rules that are rows", self._rows.found, view)
        yield from self._arrived(view)

    def _arrived(self, view: View) -> Iterator[tuple[Check, NodeMatch]]:
        with view.reading.unread.alone("the data flow"):
            view.flow.follow()
        for hit in view.flow.hits:
            check = self._by_sink[hit.sink.key]
            yield from _apart(view, check, arrived, check, view, hit)

    def _of_call(self, view: View, node: ast.Call) -> Iterator[tuple[Check, NodeMatch]]:
        resolved = view.names.names_of(node.func)
        done: set[str] = set()
        for name in resolved:
            for check in self._calls.get(name, ()):
                if check.look is not None and check.rule.id not in done:
                    done.add(check.rule.id)
                    yield from _apart(view, check, check.look, view, node, name)
        if isinstance(node.func, ast.Attribute):
            for check in self._methods.get(node.func.attr, ()):
                if check.look is not None and check.rule.id not in done:
                    name = resolved[-1] if resolved else ""
                    yield from _apart(view, check, check.look, view, node, name)


def _apart(
    view: View, check: Check, look: Callable[P, Iterable[NodeMatch]], *args: P.args, **kwargs: P.kwargs
) -> Iterator[tuple[Check, NodeMatch]]:
    """Yield what a check finds; an exception costs this check alone."""
    try:
        for found in look(*args, **kwargs):
            yield check, found
    except Exception as error:  # hostile text meets code that did not expect it
        view.reading.unread.fail(check.rule.id, error)


def _collect(
    view: View, found: Iterable[tuple[Check, NodeMatch]], seen: dict[tuple[str, int, int], Match]
) -> None:
    """Add the matches, of each rule the most severe one per position."""
    for check, item in found:
        match = _match(view.reading, check, item)
        key = (match.rule, match.start, match.end)
        known = seen.get(key)
        if known is None or (known.severity or 0) < (match.severity or 0):
            seen[key] = match


def _each_assigned(view: View, kind: type[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a type; `a.x, b = 1, 2` is split into single assignments."""
    for node in view.reading.nodes_of(kind):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        value = node.value if isinstance(node, ast.Assign) else None
        if (
            isinstance(target, ast.Tuple | ast.List)
            and isinstance(value, ast.Tuple | ast.List)
            and len(target.elts) == len(value.elts)
        ):
            for part, given in zip(target.elts, value.elts, strict=True):
                yield view.stands_for(ast.copy_location(ast.Assign([part], given), node), node)
        else:
            yield node


def _least(check: Check) -> Reach:
    """Return the minimum reach of a value for a check to report it."""
    told = [
        Reach(Reach.REMOTE - index) for index, severity in enumerate(check.grades) if severity is not None
    ]
    if check.also:
        told.append(Reach.LOCAL)
    return min(told, default=Reach.CALLER)  # checks without grades inspect the hits themselves


def _match(reading: Reading, check: Check, found: NodeMatch) -> Match:
    start, end = reading.place(found.node)
    return Match(
        check.rule.id,
        start,
        end,
        found.reason,
        check.rule.severity if found.severity is None else found.severity,
        check.rule.confidence if found.confidence is None else found.confidence,
    )
