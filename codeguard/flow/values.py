"""Abstract values: where a value came from, and the uses for which it was made harmless."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import NamedTuple


class Reach(IntEnum):
    """Who controls a value; higher is less trusted."""

    CALLER = 1  # a parameter, controlled by the caller
    LOCAL = 2  # the command line, the environment, a file, standard input
    REMOTE = 3  # a request, a socket, the answer of a server


class Use(StrEnum):
    """A kind of sink that a value is harmless or harmful for."""

    SQL = "sql"
    NOSQL = "nosql"
    LDAP = "ldap"
    XPATH = "xpath"
    SHELL = "shell"
    ARGUMENT = "argument"
    CODE = "code"
    TEMPLATE = "template"
    HTML = "html"
    REDIRECT = "redirect"
    URL = "url"
    PATH = "path"
    FILE_NAME = "file name"
    ARCHIVE = "archive"
    DATA = "data"  # deserialised
    XML = "xml"
    LOG = "log"
    HEADER = "header"
    REGEX = "regex"
    NAME = "name"  # of an attribute, a class, a module
    KEYS = "keys"  # of a mapping that sets attributes
    RESPONSE = "response"


ALL_USES = frozenset(Use)
TEXT_USES = ALL_USES - {Use.RESPONSE}
RESOLVED = "resolved"  # a path with .. and links resolved
CLAIMED = "claimed"  # passed through a function of another file whose name suggests checking or cleaning


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a value; `what` is how a person would write it.

    `function` and `parameter` are set for a parameter. `tag` marks origins that only some rules
    use, such as `exception`; the default is `input`. `clean` are the uses that this origin is
    harmless for while other origins of the value are not.
    """

    reach: Reach
    what: str
    tag: str = "input"
    function: ast.AST | None = None
    parameter: str = ""
    line: int = field(default=0, compare=False)
    clean: frozenset[str] = frozenset()

    @property
    def bare(self) -> Origin:
        """The origin without the effects of later operations."""
        return self.cleaned(frozenset()) if self.clean else self

    def cleaned(self, uses: frozenset[str]) -> Origin:
        """Return the origin with these uses as the ones that it is harmless for."""
        return Origin(self.reach, self.what, self.tag, self.function, self.parameter, self.line, uses)

    def part(self, key: object) -> Origin:
        """Return the origin of a part, such as `form['name']` or `row[0]`.

        A numbered part is not divided again: rows built from rows in a loop would have endless
        parts.
        """
        numbered = isinstance(key, int) and self.what.endswith("]") and self.what[-2].isdigit()
        if numbered or len(self.what) > 48:
            return self
        return replace(self, what=f"{self.what}[{key!r}]")

    def attribute(self, name: str) -> Origin:
        """Return the origin of an attribute of a parameter, such as `user.name`."""
        return self if len(self.what) > 48 else replace(self, what=f"{self.what}.{name}")

    @property
    def whole(self) -> Origin:
        """The origin that this is a numbered part of, or itself."""
        what, bracket, key = self.what.rpartition("[")
        return replace(self, what=what, clean=frozenset()) if bracket and key[:-1].isdigit() else self


# A mapping that is filled from its own parts again and again would have twice the origins after each.
_MOST_PARTED = 16


class Value(NamedTuple):  # the most frequently created and compared object of the analysis
    """An abstract value. `clean` are the uses it is harmless for; `built` means that text was added."""

    origins: frozenset[Origin] = frozenset()
    clean: frozenset[str] = frozenset()
    built: bool = False

    def cleaned(self, uses: Iterable[str]) -> Value:
        """Return the value made harmless for more uses."""
        return Value(self.origins, self.clean.union(uses), self.built) if self.origins else self

    def part(self, key: object) -> Value:
        """Return the value of a named part."""
        if not 0 < len(self.origins) <= _MOST_PARTED or not isinstance(key, str | int):
            return self
        return Value(frozenset(origin.part(key) for origin in self.origins), self.clean, self.built)

    def attribute(self, holder: str, name: str) -> Value:
        """Return the value of an attribute of a name; a check of one attribute does not cover others."""
        own = {origin for origin in self.origins if origin.parameter == holder == origin.what}
        if not own:
            return self
        return self._replace(origins=(self.origins - own).union(origin.attribute(name) for origin in own))


NOTHING = Value()
BUILT = Value(built=True)


def joined(values: Iterable[Value], *, built: bool | None = None) -> Value:
    """Return the value for any of several values, or for a container of them; harmless only if all are."""
    was_built = False
    given: list[Value] = []
    clean: frozenset[str] | None = None
    for value in values:
        was_built = was_built or value.built
        if value.origins:
            given.append(value)
            clean = value.clean if clean is None else clean & value.clean
    origins: frozenset[Origin] = frozenset()
    for value in given:
        rest = value.clean - clean if clean is not None else frozenset()
        own = frozenset(item.cleaned(item.clean | rest) for item in value.origins) if rest else value.origins
        origins = origins | own if origins else own
    if built is None:
        built = was_built
    if not origins:
        return BUILT if built else NOTHING
    return Value(origins, clean or frozenset(), built)


@dataclass(slots=True)
class State:
    """The values of names at one point of a function, and the origins that checks have cleared."""

    names: dict[str, Value] = field(default_factory=dict)
    cleared: dict[Origin, frozenset[str]] = field(default_factory=dict)

    def copy(self) -> State:
        """Return an independent copy."""
        return State(dict(self.names), dict(self.cleared))

    def become(self, other: State) -> None:
        """Replace the content by that of another state."""
        self.names, self.cleared = other.names, other.cleared

    def clear(self, value: Value, uses: Iterable[str]) -> None:
        """Record that a check found a value harmless, and so all values with the same single origin."""
        uses = frozenset(uses)
        bare = {origin.bare for origin in value.origins}
        for origin in bare:
            self.cleared[origin] = self.cleared.get(origin, frozenset()) | uses
        for name, known in self.names.items():
            if known.origins and all(origin.bare in bare for origin in known.origins):
                self.names[name] = known.cleaned(uses)

    def seen(self, value: Value) -> Value:
        """Return a value with the checks so far applied."""
        if not self.cleared or not value.origins:
            return value
        found: frozenset[str] | None = None
        for origin in value.origins:
            uses = self.cleared.get(origin.bare, frozenset()) | origin.clean
            found = uses if found is None else found & uses
        return value.cleaned(found) if found else value


def joined_states(states: Iterable[State]) -> State | None:
    """Return the state after branches have joined; None if none of them continues."""
    left = list(states)
    if len(left) <= 1:
        return left[0] if left else None
    names: dict[str, Value] = {}
    for name in dict.fromkeys(name for state in left for name in state.names):
        values = [state.names.get(name, NOTHING) for state in left]
        names[name] = values[0] if values.count(values[0]) == len(values) else joined(values)
    cleared: dict[Origin, frozenset[str]] = {}
    for origin, uses in left[0].cleared.items():
        common = uses
        for state in left[1:]:
            common &= state.cleared.get(origin, frozenset())
        if common:
            cleared[origin] = common
    return State(names, cleared)
