"""Function summaries, stored attributes and sink hits of the data flow, and the functions to follow."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codeguard.corpus.syntax import unqualified_name
from codeguard.flow.calls import is_model_call, is_sent_key
from codeguard.flow.sinks import Sink, SinkHit, SinkIndex
from codeguard.flow.tables import (
    ARCHIVE_NAMES,
    FILLERS,
    HEADER_HOLDERS,
    HEADER_NAME,
    LOCAL_VALUES,
    MAIL_METHODS,
    REACH_OF_CALL,
    REMOTE_METHODS,
    REMOTE_VALUES,
    REQUEST_PARTS,
    SETTINGS,
    STORED_METHODS,
    STORED_NAMES,
)
from codeguard.flow.values import NOTHING, Origin, Reach, Value, joined
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


def is_global(names: Names, target: ast.expr) -> bool:
    """Return whether a name in a function is one of the module."""
    if not isinstance(target, ast.Name):
        return False
    scopes = names.scopes
    scope = scopes.scope_of(target)
    found = None if scope is scopes.module else scopes.find(target.id, scope)
    return found is not None and found[0] is scopes.module


class Attributes:
    """The values stored in attributes of the file's classes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Value] = {}

    def keep(self, names: Names, target: ast.expr, value: Value, shared: dict[str, Value]) -> None:
        """Record a value stored in an attribute of a class, or under a global name in `shared`.

        The result may be this value or an earlier one.
        """
        if isinstance(target, ast.Name) and is_global(names, target):
            shared[target.id] = joined([shared.get(target.id, NOTHING), value])
        if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
            return
        for name in names.names_of(target.value):
            if name.startswith(":"):
                key = (name[1:].removesuffix("()"), target.attr)
                self._known[key] = joined([self.of(*key), value])

    def of(self, owner: str, attribute: str) -> Value:
        """Return the possible values of an attribute."""
        return self._known.get((owner, attribute), NOTHING)


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


_LOCAL_NAMES = frozenset({"argv", "environ", *SETTINGS})
_VALUE_ATTRIBUTES = frozenset(name.rpartition(".")[2] for name in (*LOCAL_VALUES, *REMOTE_VALUES))


def functions_that_matter(
    names: Names,
    nodes: Sequence[ast.AST],
    sinks: SinkIndex,
    entry: Callable[[FunctionNode], Reach],
    is_request: Callable[[ast.expr], bool],
    beginnings: Sequence[ast.Constant] = (),
) -> tuple[set[ast.AST | None], set[ast.AST | None]]:
    """Return the functions to follow (None is the module level), and those that store values.

    To follow are functions with a sink for the least trusted values of the file or with a response
    header that is set, functions that serve untrusted callers, and those that compose a text from
    one of `beginnings`. If there are any, their callers, enclosing functions and all functions that
    store attributes are included. Empty if nothing can be reported.
    """
    matter: set[ast.AST | None] = set()
    holding: list[tuple[Reach, ast.AST]] = []
    farthest = Reach.CALLER
    callers: dict[ast.AST, set[ast.AST | None]] = {}
    # One loop with exact types for everything, because it runs over all nodes of every file.
    for node in nodes:
        kind = type(node)
        if kind is ast.Call:
            resolved = names.names_of(node.func)  # type: ignore[attr-defined]
            if not resolved and type(node.func) is ast.Name:  # type: ignore[attr-defined]
                resolved = (node.func.id,)  # type: ignore[attr-defined]
            least = sinks.least(node, resolved)  # type: ignore[arg-type]
            if least is not None:
                holding.append((least, node))
            farthest = max(farthest, _reach_of_call(node, resolved))  # type: ignore[arg-type]
            for name in resolved:
                definition = names.definition(name) if name[:1] == ":" else None
                if isinstance(definition, _FUNCTIONS):
                    callers.setdefault(definition, set()).add(names.function_of(node))
        elif kind in _STORES:
            targets = node.targets if kind is ast.Assign else (node.target,)  # type: ignore[attr-defined]
            for target in targets:
                if isinstance(target, ast.Subscript) and sets_header(target):
                    matter.add(names.function_of(node))
        elif kind is ast.Attribute:
            farthest = max(farthest, _reach_of_attribute(node, names, is_request))  # type: ignore[arg-type]
        elif kind is ast.Name:
            if node.id in _LOCAL_NAMES:  # type: ignore[attr-defined]
                farthest = max(farthest, Reach.LOCAL)
        elif kind is ast.Constant:
            if is_sent_key(node.value):  # type: ignore[attr-defined]
                farthest = Reach.REMOTE
        elif kind in _FUNCTIONS:
            reach = entry(node)  # type: ignore[arg-type]
            farthest = max(farthest, reach)
            if reach is Reach.REMOTE:
                matter.add(node)
            around = names.function_of(node)
            if around is not None:
                callers.setdefault(node, set()).add(around)
    holding += _with_beginnings(beginnings, names, nodes, sinks)
    matter.update(names.function_of(node) for least, node in holding if least <= farthest)
    if not matter:
        return matter, set()
    storing = _storing(names, nodes)
    return _with_callers(matter, storing, callers), storing


def _with_callers(
    matter: set[ast.AST | None], storing: set[ast.AST | None], callers: Mapping[ast.AST, set[ast.AST | None]]
) -> set[ast.AST | None]:
    """Return the functions that matter or store, with the callers of those that matter, transitively."""
    found = matter | storing
    waiting = [item for item in matter if item is not None]
    while waiting:
        new = {
            caller for caller in callers.get(waiting.pop(), ()) if caller is not None and caller not in found
        }
        found |= new
        waiting += new
    return found


def _storing(names: Names, nodes: Sequence[ast.AST]) -> set[ast.AST | None]:
    """Return the functions that store values in attributes or global names, which others may read."""
    found: set[ast.AST | None] = set()
    for node in nodes:
        kind = type(node)
        if kind in _STORES:
            targets = node.targets if kind is ast.Assign else (node.target,)  # type: ignore[attr-defined]
        elif kind is ast.Call and isinstance(node.func, ast.Attribute) and node.func.attr in FILLERS:  # type: ignore[attr-defined]
            targets = (node.func.value,)  # type: ignore[attr-defined]
        else:
            continue
        for target in targets:
            holder = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(holder, ast.Attribute) or is_global(names, holder):
                found.add(names.function_of(node))
    return found


def text_beginnings(nodes: Sequence[ast.AST], sinks: SinkIndex) -> list[ast.Constant]:
    """Return the constants that begin texts which are sinks themselves."""
    return [node for node in nodes if type(node) is ast.Constant and sinks.begun(node.value) is not None]


def _with_beginnings(
    beginnings: Sequence[ast.Constant], names: Names, nodes: Sequence[ast.AST], sinks: SinkIndex
) -> Iterator[tuple[Reach, ast.AST]]:
    """Yield where such texts begin; one outside of functions may be used by all of them."""
    outside: list[Reach] = []
    for node in beginnings:
        least = sinks.begun(node.value)
        if least is not None:
            yield least, node
            if names.function_of(node) is None:
                outside.append(least)
    if outside:
        yield from ((min(outside), node.body[0]) for node in nodes if isinstance(node, _FUNCTIONS))


def _reach_of_call(node: ast.Call, resolved: Sequence[str]) -> Reach:
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if method in REMOTE_METHODS or method in MAIL_METHODS or is_model_call(node, resolved):
        return Reach.REMOTE
    if method in STORED_METHODS or any(STORED_NAMES.search(name) for name in resolved):
        return max([Reach.LOCAL, *(REACH_OF_CALL.get(name, Reach.NOBODY) for name in resolved)])
    found = [REACH_OF_CALL.get(name, Reach.NOBODY) for name in resolved]
    found += [Reach.LOCAL for name in resolved if name in ARCHIVE_NAMES]
    return max(found, default=Reach.NOBODY)


def _reach_of_attribute(node: ast.Attribute, names: Names, is_request: Callable[[ast.expr], bool]) -> Reach:
    if node.attr in ("cleaned_data", "validated_data"):
        return Reach.REMOTE
    if node.attr in REQUEST_PARTS and is_request(node.value):
        return Reach.REMOTE
    if node.attr in _VALUE_ATTRIBUTES:
        resolved = names.names_of(node)
        if any(name in REMOTE_VALUES for name in resolved):
            return Reach.REMOTE
        return Reach.LOCAL
    return Reach.LOCAL if node.attr in SETTINGS else Reach.NOBODY


def sets_header(target: ast.Subscript) -> bool:
    """Return whether an assignment sets a response header."""
    name = unqualified_name(target.value)
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    return name in HEADER_HOLDERS or (
        isinstance(key, str) and bool(name) and HEADER_NAME.match(key) is not None
    )
