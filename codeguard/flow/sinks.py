"""Sinks: calls that are harmful with an untrusted value, and the values that reached them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codeguard.flow.values import Origin, Reach, Use, Value, joined
from codeguard.syntax.names import Names


@dataclass(frozen=True, slots=True)
class LanguagePattern:
    """Recognises texts of a language: `begins` matches their start, `holds` a whole text with holes.

    A hole is `codeguard.syntax.constants.HOLE`.
    """

    begins: re.Pattern[str]
    holds: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Sink:
    """Calls that are harmful with an untrusted value in some of their arguments.

    `names` are dotted names, `methods` names of methods of any object. `arguments` are positions
    and keywords (`*`: all of them, `**`: mappings unpacked into keywords); with `receiver`, the
    object of the method counts as well. `wording` makes every composed text of a kind a sink, wherever it is used.
    """

    key: str
    use: Use
    names: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    arguments: tuple[int | str, ...] = (0,)
    receiver: bool = False
    needs_built: bool = False
    wording: LanguagePattern | None = None

    def nodes(self, call: ast.Call) -> Iterator[ast.expr]:
        """Yield the arguments that count."""
        for argument in self.arguments:
            if argument == "*":
                yield from call.args
                yield from (keyword.value for keyword in call.keywords)
            elif isinstance(argument, int):
                if argument < len(call.args):
                    yield call.args[argument]
                elif call.args and isinstance(call.args[-1], ast.Starred):
                    yield call.args[-1]
            else:
                yield from (keyword.value for keyword in call.keywords if keyword.arg in (argument, None))
        if self.receiver and isinstance(call.func, ast.Attribute):
            yield call.func.value


@dataclass(slots=True, eq=False)
class SinkHit:
    """A value at a sink; `function` is the enclosing one, None at module level.

    `call` is the call, or the composed text if that is the sink.
    """

    sink: Sink
    call: ast.expr
    argument: ast.expr
    value: Value
    function: ast.AST | None


@dataclass(slots=True, eq=False)
class StoredValue:
    """A value that is returned, or stored in an attribute or under a key (`target`)."""

    node: ast.AST
    value: Value
    function: ast.AST | None
    target: ast.expr | None = None


class Hits:
    """The values at sinks; a value that reaches a sink in several ways is one hit."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ast.AST, ast.AST], SinkHit] = {}

    def note(
        self, sink: Sink, call: ast.expr, argument: ast.expr, value: Value, function: ast.AST | None
    ) -> None:
        """Record a value at a sink."""
        if sink.needs_built and not value.built:
            value = Value(frozenset(o for o in value.origins if o.reach is not Reach.CALLER), value.clean)
            if not value.origins:
                return
        key = (sink.key, call, argument)
        known = self._known.get(key)
        if known is None:
            self._known[key] = SinkHit(sink, call, argument, value, function)
        else:
            known.value = joined([known.value, value])

    def listed(self) -> list[SinkHit]:
        """Return the hits in order of discovery.

        A composed text counts only if its parts reach no other sink of the function and no earlier
        text.
        """
        reported: dict[tuple[str, ast.AST | None], set[Origin]] = {}
        for hit in self._known.values():
            if hit.sink.wording is None:
                reported.setdefault((hit.sink.use, hit.function), set()).update(_bare(hit.value))
        listed = []
        for hit in self._known.values():
            if hit.sink.wording is not None:
                known = reported.setdefault((hit.sink.use, hit.function), set())
                if _bare(hit.value) <= known:
                    continue
                known |= _bare(hit.value)
            listed.append(hit)
        return listed


def _bare(value: Value) -> set[Origin]:
    return {origin.bare for origin in value.origins}


class SinkIndex:
    """The sinks by name of the called function."""

    def __init__(self, sinks: Iterable[Sink]) -> None:
        self._names: dict[str, list[Sink]] = {}
        self._methods: dict[str, list[Sink]] = {}
        self._of_texts: list[Sink] = []
        for sink in sinks:
            if sink.wording is not None:
                self._of_texts.append(sink)
            for name in sink.names:
                self._names.setdefault(name, []).append(sink)
            for method in sink.methods:
                self._methods.setdefault(method, []).append(sink)

    def has(self, called: ast.expr, resolved: Iterable[str]) -> bool:
        """Return whether a called expression may be a sink; faster than `of` and less precise."""
        method = isinstance(called, ast.Attribute) and called.attr in self._methods
        return method or any(name in self._names for name in resolved)

    def begins(self, value: object) -> bool:
        """Return whether a text that starts with this constant may be a sink."""
        return isinstance(value, str) and any(
            sink.wording.begins.match(value) for sink in self._of_texts if sink.wording
        )

    def of_namespace(self, node: ast.Subscript, names: Names) -> list[Sink]:
        """Return the sinks for `globals()[name]`, whose name is `globals()[]`."""
        if not isinstance(node.value, ast.Call) or not isinstance(node.ctx, ast.Load):
            return []
        return self._names.get(f"{names.called(node.value)}()[]", [])

    def of_text(self, text: str) -> list[Sink]:
        """Return the sinks for a text with `HOLE` in place of its values."""
        return [sink for sink in self._of_texts if sink.wording and sink.wording.holds.match(text)]

    def of(self, names: Names, call: ast.Call, resolved: Iterable[str]) -> list[Sink]:
        """Return the sinks for a call."""
        found: list[Sink] = []
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in self._methods:
            last = next(iter(resolved), "")
            made_by = names.definition(last.rpartition(".")[0]) if last.startswith(":") else None
            if not last.startswith(":") or isinstance(made_by, ast.FunctionDef | ast.AsyncFunctionDef):
                found += self._methods[function.attr]
        for name in resolved:
            found += self._names.get(name, ())
        return list(dict.fromkeys(found))
