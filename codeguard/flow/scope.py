"""Function summaries, stored attributes and sink hits of the data flow, and the functions to follow."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from codeguard.corpus.syntax import unqualified_name
from codeguard.flow.sinks import Sink, SinkHit, SinkIndex
from codeguard.flow.tables import FILLERS, HEADER_HOLDERS, HEADER_NAME
from codeguard.flow.values import Origin, Reach, Value, joined
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FunctionNode


@dataclass(slots=True, eq=False)
class Summary:
    """The summary of a function that has been read."""

    returned: list[Value] = field(default_factory=list)
    checks: dict[str, frozenset[str]] = field(default_factory=dict)
    stops: bool = False
    done: bool = False

    def checked(self, function: FunctionNode, by_method: bool) -> tuple[tuple[int, frozenset[str]], ...]:
        """Return the positions of a call's arguments that the function checks, and the uses checked for."""
        listed = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
        if listed[:1] in (["self"], ["cls"]) and by_method:
            listed = listed[1:]
        return tuple((index, self.checks[item]) for index, item in enumerate(listed) if item in self.checks)

    def note_checks(self, function: ast.AST | None, found: Iterable[tuple[Value, frozenset[str]]]) -> None:
        """Record for callers the parameters that the function checks."""
        for value, uses in found:
            for origin in value.origins:
                if origin.function is function:
                    self.checks[origin.parameter] = self.checks.get(origin.parameter, frozenset()) | uses


def is_global(names: Names, target: ast.AST) -> bool:
    """Return whether a name in a function is one of the module."""
    if not isinstance(target, ast.Name):
        return False
    scopes = names.scopes
    scope = scopes.scope_of(target)
    found = None if scope is scopes.module else scopes.find(target.id, scope)
    return found is not None and found[0] is scopes.module


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


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STORES = (ast.Assign, ast.AnnAssign, ast.AugAssign)


def functions_that_matter(
    names: Names, nodes: Sequence[ast.AST], sinks: SinkIndex, entry: Callable[[FunctionNode], Reach]
) -> tuple[set[ast.AST | None], set[ast.AST | None], bool]:
    """Return the functions to follow (None is the module level), those that store values, and whether texts are sinks.

    To follow are functions with a sink or a response header that is set, functions that serve untrusted callers, and
    those that may compose a text which is a sink itself. If there are any, their callers, enclosing functions and all
    functions that store attributes are included. Empty if nothing can be reported.
    """
    matter: set[ast.AST | None] = set()
    storing: set[ast.AST | None] = set()
    callers: dict[ast.AST, set[ast.AST | None]] = {}
    composes = False
    # One loop with exact types for everything, because it runs over all nodes of every file.
    for node in nodes:
        kind = type(node)
        targets: Sequence[ast.AST] = ()
        if kind is ast.Call:
            called = node.func  # type: ignore[attr-defined]
            resolved = names.names_of(called) or ((called.id,) if type(called) is ast.Name else ())
            if sinks.has(called, resolved):
                matter.add(names.function_of(node))
            for name in resolved:
                definition = names.definition(name) if name[:1] == ":" else None
                if isinstance(definition, _FUNCTIONS):
                    callers.setdefault(definition, set()).add(names.function_of(node))
            if type(called) is ast.Attribute and called.attr in FILLERS:
                targets = (called.value,)
        elif kind in _STORES:
            targets = node.targets if kind is ast.Assign else (node.target,)  # type: ignore[attr-defined]
            if any(isinstance(target, ast.Subscript) and sets_header(target) for target in targets):
                matter.add(names.function_of(node))
        elif kind is ast.Constant:
            if sinks.begins(node.value):  # type: ignore[attr-defined]
                composes = True
                around = names.function_of(node)
                # One outside of functions may be used by all of them.
                matter.update([around] if around is not None else [None, *names.scopes.symbols])
        elif kind in _FUNCTIONS:
            if entry(node) is Reach.REMOTE:  # type: ignore[arg-type]
                matter.add(node)
            around = names.function_of(node)
            if around is not None:
                callers.setdefault(node, set()).add(around)
        for target in targets:
            holder = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(holder, ast.Attribute) or is_global(names, holder):
                storing.add(names.function_of(node))
    found = matter | storing if matter else set()
    waiting = [item for item in matter if item is not None]
    while waiting:
        new = callers.get(waiting.pop(), set()) - found - {None}
        found |= new
        waiting += filter(None, new)
    return found, storing, composes


def sets_header(target: ast.Subscript) -> bool:
    """Return whether an assignment sets a response header."""
    name = unqualified_name(target.value)
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    return name in HEADER_HOLDERS or (
        isinstance(key, str) and bool(name) and HEADER_NAME.match(key) is not None
    )
