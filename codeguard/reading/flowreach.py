"""Where the values of parameters come from, by the calls that were seen in the file."""

from __future__ import annotations

import ast

from codeguard.reading.flowvalues import CLAIMED, NOTHING, Origin, Reach, Value, joined

Tags = frozenset[str] | None
_DEEPEST = 20
_MOST_WORDS = 100


class Reachability:
    """The arguments of all calls of the file's own functions."""

    def __init__(self) -> None:
        self._edges: dict[tuple[ast.AST, str], list[Value]] = {}
        self._reached: dict[tuple[ast.AST, str, str, bool, Tags], Origin | None] = {}

    def add(self, function: ast.AST, parameter: str, value: Value) -> None:
        """Remember that a call gives a parameter a value."""
        self._edges.setdefault((function, parameter), []).append(value)

    def source(self, value: Value, use: str, *, believing: bool = False, tags: Tags = None) -> Origin | None:
        """Return the farthest origin of a value that is not harmless for a use, None where there is none.

        A parameter's value comes from where the calls in the file have it
        from. A private function that is only called with harmless values has
        no origin. `believing` says that functions of other files do what
        their names say, such as to check or to clean. With `tags`, origins of
        others do not count.
        """
        best: Origin | None = None
        for origin in _in_order(value):
            found = (
                self._farthest(origin, use, believing, tags, 0)
                if _harms(value, origin, use, believing)
                else None
            )
            if found is not None and (best is None or found.reach > best.reach):
                best = found
        return best

    def words(self, value: Value) -> set[str]:
        """Return what the origins of a value are called, here and in calls, at most `_MOST_WORDS`."""
        found: set[str] = set()
        waiting = list(value.origins)
        while waiting and len(found) < _MOST_WORDS:
            origin = waiting.pop()
            if origin.what not in found:
                found.add(origin.what)
                for edge in (
                    self._edges.get((origin.function, origin.parameter), []) if origin.function else []
                ):
                    waiting += edge.origins
        return found

    def _farthest(self, origin: Origin, use: str, believing: bool, tags: Tags, depth: int) -> Origin | None:
        if tags is not None and origin.tag not in tags:
            return None
        if origin.reach is not Reach.CALLER or origin.function is None or depth > _DEEPEST:
            return origin
        key = (origin.function, origin.parameter, use, believing, tags)
        if key in self._reached:
            known = self._reached[key]
            return origin if known is not None and known.reach is Reach.CALLER else known
        self._reached[key] = origin
        edges = self._edges.get((origin.function, origin.parameter), [])
        name = str(getattr(origin.function, "name", ""))
        private = name.startswith("_") and not name.startswith("__")
        best: Origin | None = None if private and edges else origin
        for value in edges:
            for each in _in_order(value):
                if not _harms(value, each, use, believing):
                    continue
                found = self._farthest(each, use, believing, tags, depth + 1)
                if found is not None and (best is None or found.reach > best.reach):
                    best = found
        self._reached[key] = best
        return best


def _in_order(value: Value) -> list[Origin]:
    """Return the origins of a value in an order that is the same in every run: of equals the first is told."""
    return sorted(value.origins, key=lambda origin: (origin.line, origin.what))


def _harms(value: Value, origin: Origin, use: str, believing: bool) -> bool:
    clean = value.clean | origin.clean
    return use not in clean and not (believing and CLAIMED in clean)


def substituted(value: Value, function: ast.AST, arguments: dict[str, Value]) -> Value:
    """Return what a function returns, with its parameters replaced by what a call gives them."""
    parts: list[Value] = []
    for origin in value.origins:
        if origin.function is function:
            given = arguments.get(origin.parameter, NOTHING)
            if given.origins:
                parts.append(given.cleaned(value.clean | origin.clean))
        else:
            parts.append(Value(frozenset({origin}), value.clean))
    return joined(parts, built=value.built or any(part.built for part in parts))
