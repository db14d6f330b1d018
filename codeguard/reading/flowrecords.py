"""What data flow remembers: of each function its summary, and what arrived at sinks."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from codeguard.reading.bindings import FunctionNode
from codeguard.reading.flowsinks import Hit, Sink
from codeguard.reading.flowvalues import NOTHING, Origin, Reach, Value, joined
from codeguard.reading.names import Names


@dataclass(slots=True, eq=False)
class Summary:
    """What is known of a function once it has been read."""

    returned: list[Value] = field(default_factory=list)
    checks: dict[str, frozenset[str]] = field(default_factory=dict)
    stops: bool = False
    done: bool = False

    def checked(self, function: FunctionNode, by_method: bool) -> tuple[tuple[int, frozenset[str]], ...]:
        """Return which positions of a call the function checks, and for which uses."""
        listed = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
        if listed[:1] in (["self"], ["cls"]) and by_method:
            listed = listed[1:]
        return tuple((index, self.checks[item]) for index, item in enumerate(listed) if item in self.checks)

    def note_checks(self, function: ast.AST | None, found: Iterable[tuple[Value, frozenset[str]]]) -> None:
        """Remember for the callers which parameters the function checks."""
        for value, uses in found:
            for origin in value.origins:
                if origin.function is function:
                    self.checks[origin.parameter] = self.checks.get(origin.parameter, frozenset()) | uses


def is_global(names: Names, target: ast.expr) -> bool:
    """Whether a function says of a name that it is the file's."""
    return isinstance(target, ast.Name) and names.scopes.scope_of(target).outer.get(target.id) is True


class Attributes:
    """What the methods of the file's classes have stored in attributes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Value] = {}

    def keep(self, names: Names, target: ast.expr, value: Value, shared: dict[str, Value]) -> None:
        """Remember what is stored in an attribute of a class of the file, or under a global name in `shared`.

        It may be that or what was stored before.
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
        """Return what an attribute may hold."""
        return self._known.get((owner, attribute), NOTHING)


class Hits:
    """The values at sinks; what arrives there on several ways is one hit."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ast.AST, ast.AST], Hit] = {}

    def note(
        self, sink: Sink, call: ast.expr, argument: ast.expr, value: Value, function: ast.AST | None
    ) -> None:
        """Note a value at a sink."""
        if sink.needs_built and not value.built:
            value = Value(frozenset(o for o in value.origins if o.reach is not Reach.CALLER), value.clean)
            if not value.origins:
                return
        key = (sink.key, call, argument)
        known = self._known.get(key)
        if known is None:
            self._known[key] = Hit(sink, call, argument, value, function)
        else:
            known.value = joined([known.value, value])

    def listed(self) -> list[Hit]:
        """Return the hits in the order of their discovery.

        A text that is put together counts where what is in it arrives in no
        other sink of the function, or in another text before it.
        """
        told: dict[tuple[str, ast.AST | None], set[Origin]] = {}
        for hit in self._known.values():
            if hit.sink.wording is None:
                told.setdefault((hit.sink.use, hit.function), set()).update(_bare(hit.value))
        listed = []
        for hit in self._known.values():
            if hit.sink.wording is not None:
                known = told.setdefault((hit.sink.use, hit.function), set())
                if _bare(hit.value) <= known:
                    continue
                known |= _bare(hit.value)
            listed.append(hit)
        return listed


def _bare(value: Value) -> set[Origin]:
    return {origin.bare for origin in value.origins}
