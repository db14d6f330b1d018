"""Evaluate calls: their results as abstract values, and the values that reach sinks."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from codeguard.corpus.patterns import lazy
from codeguard.flow import tables
from codeguard.flow.values import ALL_USES, CLAIMED, NOTHING, Reach, State, Use, Value, joined
from codeguard.syntax.scopes import bound_arguments, is_static

if TYPE_CHECKING:
    from codeguard.flow.evaluation import Evaluator

_ABSORBERS = frozenset(
    {"logging", "hashlib", "hmac", "time", "datetime", "math", "random", "secrets", "threading", "subprocess"}
)


class Call:
    """One call, with the values of what it gets."""

    __slots__ = (
        "_arguments", "_given", "_keywords", "_method", "_names", "_node", "_of", "_receiver", "_state",
    )  # fmt: skip

    def __init__(self, of: Evaluator, node: ast.Call, state: State) -> None:
        self._of, self._names, self._node, self._state = of, of.names, node, state
        self._method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        self._receiver = NOTHING
        if isinstance(node.func, ast.Attribute):
            self._receiver = of.value(node.func.value, state)
        elif not isinstance(node.func, ast.Name):
            of.value(node.func, state)  # the called object is itself the result of a call
        self._arguments = [of.value(argument, state) for argument in node.args]
        self._keywords = {str(item.arg): of.value(item.value, state) for item in node.keywords}
        self._given = [*self._arguments, *self._keywords.values()]

    def value(self) -> Value:
        """Return the abstract value of the call, and record values that reach sinks."""
        function, method = self._node.func, self._method
        resolved = self._names.names_of(function)
        self._look(resolved)
        if method in tables.FILLERS and isinstance(function, ast.Attribute):
            held = joined(self._given)
            keyed = method == "setdefault" and self._key is not None
            self._of.fill(function.value, held.cleaned({Use.KEYS}) if keyed else held, self._state)
        if method in tables.REQUEST_PARTS and self._of.is_request(function.value):  # type: ignore[attr-defined]
            return self._origin(Reach.REMOTE, f"request.{method}").part(self._key)
        if method == "get" and isinstance(self._key, str) and tables.SENT_KEYS.match(self._key):
            return self._origin(Reach.REMOTE, f"environ[{self._key!r}]")
        return self._state.seen(joined([self._result(name) for name in resolved or ("",)]))

    def _origin(self, reach: Reach, what: str, tag: str = "input") -> Value:
        return self._of.origin(reach, what, self._node, self._state, tag)

    def _result(self, name: str) -> Value:
        node, arguments = self._node, self._arguments
        reach = tables.REACH_OF_CALL.get(name)
        if reach is not None:
            return self._origin(
                reach, f"{name}()", tables.ANSWER if name.startswith(tables.ANSWERING) else "input"
            )
        if name in tables.ARCHIVE_NAMES:
            return self._origin(Reach.LOCAL, f"{name}()", "archive")
        if name == "compile" and arguments:
            return arguments[0]  # its flags are not code
        if name in ("re.sub", "re.subn") and len(arguments) > 2:
            return arguments[2].cleaned(self._replaced(*node.args[:2]))
        if name == "map" and len(arguments) > 1:  # what the function makes of each
            made = (tables.CLEANERS.get(item, frozenset()) for item in self._names.names_of(node.args[0]))
            return joined(arguments[1:]).cleaned(frozenset().union(*made))
        if name in tables.CLEANERS:
            return joined([*self._given, self._receiver]).cleaned(tables.CLEANERS[name])
        local = self._local(name) if name.startswith(":") else None
        return self._unknown(name) if local is None else local

    def _unknown(self, name: str) -> Value:
        """Return the result of an unknown function, by what its name says."""
        method, given = self._method, self._given
        of_file = name.startswith(":")
        sent = method in tables.MAIL_METHODS and any(
            f"{item}.".startswith(tables.MAIL) for item in self._names.imported
        )
        if (sent or method in tables.REMOTE_METHODS) and not of_file:
            tag = tables.ANSWER if method in tables.ANSWERING_METHODS else "input"
            return self._origin(Reach.REMOTE, f"{method}()", tag)
        # A name such as `sanitize` proves nothing; it only lowers the severity.
        if tables.CLEANING_NAME.search(method or name.rpartition(".")[2]):
            return joined([self._receiver, *given]).cleaned({CLAIMED})
        value = self._of_method(name) if method else None
        if value is not None:
            return value
        # Numeric libraries return numbers and arrays, not the text that was passed in.
        absorbed = name and not method and name.partition(".")[0] in _ABSORBERS
        return joined(given).cleaned(ALL_USES) if absorbed else joined(given)

    def _of_method(self, name: str) -> Value | None:
        """Return the result of a method by its object; None if it is a function of a module with other arguments."""
        method, function, given = self._method, self._node.func, self._given
        assert isinstance(function, ast.Attribute)
        value = joined([self._receiver, *given]) if method in tables.BUILDERS else self._receiver
        if method == "sub" and len(self._arguments) > 1:
            return given[1].cleaned(self._replaced(function.value, self._node.args[0]))
        if method in ("format", "join", "replace", "substitute", "getvalue") and value.origins:
            value = joined([value], built=True)
        if method in ("get", "pop", "getlist", "getfirst", "get_all"):
            value = value.part(self._key)
        if method == "split" and not given:  # at white space, including line breaks
            value = value.cleaned(_uses_without("\r\n"))
        if method == "replace" and self._arguments:
            value = value.cleaned(self._removed(*map(self._names.text, self._node.args[:2])))
        # Groups of a match are as clean as the pattern made the value.
        if method in ("group", "groups", "groupdict"):
            return value
        if method in tables.CLEANING_METHODS:
            return value.cleaned(tables.CLEANING_METHODS[method])
        if value.origins or not name or name.startswith(":") or name.partition(".")[0] in _ABSORBERS:
            return value
        of_object = any(base.endswith("()") for base in self._names.names_of(function.value))
        of_module = name.islower() or name.rpartition(".")[2][:1].isupper()  # such as `os.path.join`
        return value if of_object or not of_module else None

    def _replaced(self, pattern: ast.expr, replacement: ast.expr) -> frozenset[str]:
        """Return the uses for which replacing a pattern makes a value harmless."""
        for value in [pattern, *self._names.values_of(pattern)]:
            if isinstance(value, ast.Call) and self._names.called(value) == "re.compile":
                pattern = value.args[0] if len(value.args) == 1 else pattern
        texts = self._names.text(pattern), self._names.text(replacement)
        return frozenset() if None in texts else _removed_by_pattern(str(texts[0]), str(texts[1]))

    def _removed(self, piece: str | None, instead: str | None = None) -> frozenset[str]:
        if piece in ("\n", "\r", "\r\n"):
            return frozenset({Use.LOG, Use.HEADER})
        if piece == "<":
            return frozenset({Use.HTML, Use.RESPONSE})
        if piece == "/" and "/" not in (instead or "/"):
            return frozenset({Use.PATH, Use.ARCHIVE})
        # Doubling single quotes is not enough for every database: some accept a backslash as an escape.
        if piece == '"':
            return frozenset({Use.SQL})
        return frozenset({Use.SHELL}) if piece == "'" and instead in ("'\"'\"'", "'\\''") else frozenset()

    @property
    def _key(self) -> object:
        first = self._node.args[0] if self._node.args else None
        return first.value if isinstance(first, ast.Constant) else None

    def _local(self, name: str) -> Value | None:
        definition = self._names.definition(name)
        of_class = isinstance(definition, ast.ClassDef)
        if of_class:
            definition = self._names.definition(f"{name}.__init__")
        if not isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            return joined(self._given) if of_class else None
        skips = self._names.scopes.scope_of(definition).is_class and not is_static(definition)
        bound: dict[str, list[Value]] = {}
        for name, given in bound_arguments(definition, self._arguments, self._keywords.items(), skips):
            bound.setdefault(name, []).append(given)
        arguments = {name: joined(values) for name, values in bound.items()}
        result = self._of.around.call(definition, self._node, arguments)
        return NOTHING if of_class else result

    def _look(self, resolved: Sequence[str]) -> None:
        node = self._node
        if not (self._receiver.origins or any(value.origins for value in self._given)):
            return
        if not resolved and isinstance(node.func, ast.Name):
            resolved = (node.func.id,)  # a function passed by the caller, such as `start_response` in WSGI
        for sink in self._of.sinks.of(self._names, node, resolved):
            for argument in sink.nodes(node):
                value = self._of.value(argument, self._state)
                if value.origins and sink.use not in value.clean:
                    self._of.around.hit(sink, node, argument, value)


NEEDED: Mapping[str, str] = {
    Use.LOG: "\r\n", Use.HEADER: "\r\n", Use.HTML: "<", Use.XML: "<", Use.SQL: "'\" ;(",
    Use.SHELL: " \n;|&$`<>()'\"\\", Use.PATH: "/\\", Use.ARCHIVE: "/\\", Use.LDAP: "()*\\", Use.XPATH: "'\"[",
    Use.REGEX: "(*+{", Use.TEMPLATE: "{", Use.CODE: "( .[", Use.URL: ":/", Use.REDIRECT: ":/\\", Use.NOSQL: "{$",
}  # fmt: skip
"""The characters that harm of a kind needs: a value without any of them does none."""
_LONGEST_PATTERN = 200
# One set of characters, perhaps repeated: `[^a-z]+`, `\W`, `\n`.
_SET = lazy(r"(?:\[\^?\]?(?:[^\[\]\\]|\\.)*\]|\\[A-Za-z]|[^\\()\[{*+?.^$|])[+*]?")


def _uses_without(removed: Iterable[str]) -> frozenset[str]:
    gone = frozenset(removed)
    return frozenset(use for use, needed in NEEDED.items() if gone.issuperset(needed))


@lru_cache(maxsize=256)
def _removed_by_pattern(pattern: str, replacement: str) -> frozenset[str]:
    """Return the uses that `re.sub(pattern, replacement, value)` makes a value harmless for.

    The pattern is untrusted: it is tried on single characters alone, and only if it is one set of characters.
    """
    if len(pattern) > _LONGEST_PATTERN or "\\" in replacement or _SET.fullmatch(pattern) is None:
        return frozenset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = re.compile(pattern)
        except re.error:
            return frozenset()
    probes = set("".join(NEEDED.values()))
    return _uses_without(c for c in probes if compiled.fullmatch(c) and c not in replacement)
