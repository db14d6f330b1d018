"""Evaluate calls: their results as abstract values, and the values that reach sinks."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING

from codeguard.flow.entry_points import written_name
from codeguard.flow.sinks import SinkIndex
from codeguard.flow.tables import (
    ANSWER,
    ANSWERING,
    ANSWERING_METHODS,
    ARCHIVE_NAMES,
    BUILDERS,
    CLEANERS,
    CLEANING_METHODS,
    CLEANING_NAME,
    FILLERS,
    MAIL,
    MAIL_METHODS,
    MODEL_CALLS,
    MODEL_METHODS,
    REACH_OF_CALL,
    REMOTE_METHODS,
    REQUEST_PARTS,
    SENT_KEYS,
    STORED,
    STORED_METHODS,
    STORED_NAMES,
)
from codeguard.flow.values import (
    ALL_USES,
    CLAIMED,
    NOTHING,
    TEXT_USES,
    Reach,
    State,
    Use,
    Value,
    joined,
)
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FunctionNode

if TYPE_CHECKING:
    from codeguard.flow.engine import Flow
    from codeguard.flow.evaluation import Evaluator

_ABSORBERS = frozenset(
    {"logging", "hashlib", "hmac", "time", "datetime", "math", "random", "secrets", "threading", "subprocess"}
)


_SENT = ("HTTP_", "QUERY_", "PATH_", "REQUEST_", "wsgi.")


class Calls:
    """Evaluates the calls of one file."""

    def __init__(self, of: Evaluator, names: Names, sinks: SinkIndex, around: Flow) -> None:
        self._of = of
        self._names = names
        self._sinks = sinks
        self._around = around

    def value(self, node: ast.Call, state: State) -> Value:
        """Return the abstract value of a call, and record values that reach sinks."""
        function = node.func
        resolved = self._names.names_of(function)
        receiver = NOTHING
        if isinstance(function, ast.Attribute):
            receiver = self._of.value(function.value, state)
        elif not isinstance(function, ast.Name):
            self._of.value(function, state)  # the called object is itself the result of a call
        arguments = [self._of.value(argument, state) for argument in node.args]
        keywords = {str(item.arg): self._of.value(item.value, state) for item in node.keywords}
        self._look(node, resolved, receiver, arguments, keywords, state)
        everything = [*arguments, *keywords.values()]
        method = function.attr if isinstance(function, ast.Attribute) else ""
        if method in FILLERS and isinstance(function, ast.Attribute):
            held = joined(everything)
            keyed = method == "setdefault" and node.args and isinstance(node.args[0], ast.Constant)
            self._of.fill(function.value, held.cleaned({Use.KEYS}) if keyed else held, state)
        if (
            method in REQUEST_PARTS
            and isinstance(function, ast.Attribute)
            and self._of.is_request(function.value)
        ):
            return self._of.origin(Reach.REMOTE, f"request.{method}", node, state).part(self._key(node))
        if method == "get" and is_sent_key(self._key(node)):
            return self._of.origin(Reach.REMOTE, f"environ[{self._key(node)!r}]", node, state)
        if is_model_call(node, resolved):
            return self._of.origin(Reach.REMOTE, "the answer of a language model", node, state)
        results = [
            self._result(name, node, method, receiver, arguments, keywords, state) for name in resolved
        ] or [self._unknown("", node, method, receiver, everything, state)]
        return state.seen(results[0] if len(results) == 1 else joined(results))

    def _result(
        self,
        name: str,
        node: ast.Call,
        method: str,
        receiver: Value,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> Value:
        everything = [*arguments, *keywords.values()]
        reach = REACH_OF_CALL.get(name)
        if reach is not None:
            tag = ANSWER if name.startswith(ANSWERING) else "input"
            return self._of.origin(reach, f"{name}()", node, state, tag)
        if STORED_NAMES.search(name):
            return self._of.origin(Reach.LOCAL, f"{name}()", node, state, STORED)
        if name == "compile" and arguments:
            return arguments[0]  # its flags are not code
        if name in ARCHIVE_NAMES:
            return self._of.origin(Reach.LOCAL, f"{name}()", node, state, "archive")
        if name in ("re.sub", "re.subn") and len(node.args) > 2:
            return arguments[2].cleaned(self._replaced(*node.args[:2]))
        uses = CLEANERS.get(name)
        if name == "map" and len(arguments) > 1:  # what the function makes of each
            made = [
                TEXT_USES if item in ("int", "float") else CLEANERS.get(item, frozenset())
                for item in self._names.names_of(node.args[0])
            ]
            return joined(arguments[1:]).cleaned(frozenset().union(*made))
        if uses is not None:
            return joined([*everything, receiver]).cleaned(uses)
        if name.startswith(":"):
            local = self._local(name, node, receiver, arguments, keywords)
            if local is not None:
                return local
        return self._unknown(name, node, method, receiver, everything, state)

    def _unknown(
        self, name: str, node: ast.Call, method: str, receiver: Value, given: Sequence[Value], state: State
    ) -> Value:
        """Return the result of an unknown function, by what its name says."""
        remote = method in REMOTE_METHODS or (method in MAIL_METHODS and self._reads_mail)
        if remote and not name.startswith(":"):
            tag = ANSWER if method in ANSWERING_METHODS else "input"
            return self._of.origin(Reach.REMOTE, f"{method}()", node, state, tag)
        if method in STORED_METHODS and not receiver.origins and not name.startswith(":"):
            return self._of.origin(Reach.LOCAL, f"{method}()", node, state, STORED)
        last = method or name.rpartition(".")[2]
        # A name such as `sanitize` proves nothing; it only lowers the severity.
        if CLEANING_NAME.search(last):
            return joined([receiver, *given]).cleaned({CLAIMED})
        if method:
            value = self._of_method(name, node, method, receiver, given)
            if value is not None:
                return value
        # Numeric libraries return numbers and arrays, not the text that was passed in.
        if name and not method and name.partition(".")[0] in _ABSORBERS:
            return joined(given).cleaned(ALL_USES)
        return joined(given)

    def _of_method(
        self, name: str, node: ast.Call, method: str, receiver: Value, given: Sequence[Value]
    ) -> Value | None:
        """Return the result of a method by its object; None if it is a function of a module with other arguments."""
        value = joined([receiver, *given]) if method in BUILDERS else receiver
        if method == "sub" and len(node.args) > 1 and isinstance(node.func, ast.Attribute):
            return given[1].cleaned(self._replaced(node.func.value, node.args[0]))
        if method in ("format", "join", "replace", "substitute", "getvalue") and value.origins:
            value = joined([value], built=True)
        if method in ("get", "pop", "getlist", "getfirst", "get_all"):
            value = value.part(self._key(node))
        if method in ("replace", "split"):
            value = value.cleaned(self._removed(node, method))
        # Groups of a match are as clean as the pattern made the value.
        if method in ("group", "groups", "groupdict"):
            return value
        if method in CLEANING_METHODS:
            return value.cleaned(CLEANING_METHODS[method])
        return value if value.origins or not self._is_module_call(node, name) else None

    @cached_property
    def _reads_mail(self) -> bool:
        return any(f"{name}.".startswith(MAIL) for name in self._names.imported)

    def _is_module_call(self, node: ast.Call, name: str) -> bool:
        """Return whether a method is a function of an imported module, such as `os.path.join`."""
        if name.startswith(":") or not name or name.partition(".")[0] in _ABSORBERS:
            return False
        assert isinstance(node.func, ast.Attribute)
        return all(not base.endswith("()") for base in self._names.names_of(node.func.value)) and (
            name.islower() or name.rpartition(".")[2][:1].isupper()
        )

    def _replaced(self, pattern: ast.expr, replacement: ast.expr) -> frozenset[str]:
        """Return the uses for which replacing a pattern makes a value harmless."""
        for value in [pattern, *self._names.values_of(pattern)]:
            if (
                isinstance(value, ast.Call)
                and self._names.called(value) == "re.compile"
                and len(value.args) == 1
            ):
                pattern = value.args[0]
        texts = self._names.text(pattern), self._names.text(replacement)
        return frozenset() if None in texts else _removed_by_pattern(str(texts[0]), str(texts[1]))

    def _removed(self, node: ast.Call, method: str) -> frozenset[str]:
        if method == "split":  # splits at white space, including line breaks
            return frozenset() if node.args or node.keywords else _uses_without("\r\n")
        if not node.args:
            return frozenset()
        piece = self._names.text(node.args[0])
        if piece in ("\n", "\r", "\r\n"):
            return frozenset({Use.LOG, Use.HEADER})
        if piece == "<":
            return frozenset({Use.HTML, Use.RESPONSE})
        if piece == "/" and len(node.args) > 1 and "/" not in (self._names.text(node.args[1]) or "/"):
            return frozenset({Use.PATH, Use.ARCHIVE})
        # Doubling single quotes is not enough for every database: some accept a backslash as an escape.
        if piece == '"':
            return frozenset({Use.SQL})
        instead = self._names.text(node.args[1]) if len(node.args) > 1 else None
        return frozenset({Use.SHELL}) if piece == "'" and instead in ("'\"'\"'", "'\\''") else frozenset()

    def _key(self, node: ast.Call) -> object:
        return node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None

    def _local(
        self,
        name: str,
        node: ast.Call,
        receiver: Value,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
    ) -> Value | None:
        definition = self._names.definition(name)
        of_class = isinstance(definition, ast.ClassDef)
        if of_class:
            definition = self._names.definition(f"{name}.__init__")
        if not isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            return joined([*arguments, *keywords.values()]) if of_class else None
        given = bound_parameters(
            definition, arguments, keywords, self._skips_receiver(name, node, definition)
        )
        result = self._around.call(definition, node, given)
        return NOTHING if of_class else result

    def _skips_receiver(self, name: str, node: ast.Call, definition: FunctionNode) -> bool:
        scope = self._names.scopes.scope_of(definition)
        if not scope.is_class or any(
            isinstance(item, ast.Name) and item.id == "staticmethod" for item in definition.decorator_list
        ):
            return False
        if isinstance(node.func, ast.Attribute) and definition.name != "__init__":
            return f":{scope.symbol}" not in self._names.names_of(node.func.value)
        return True

    def _look(
        self,
        node: ast.Call,
        resolved: Sequence[str],
        receiver: Value,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> None:
        if not (receiver.origins or any(value.origins for value in (*arguments, *keywords.values()))):
            return
        if not resolved and isinstance(node.func, ast.Name):
            resolved = (node.func.id,)  # a function passed by the caller, such as `start_response` in WSGI
        for sink in self._sinks.of(self._names, node, resolved):
            for argument in sink.nodes(node):
                value = self._of.value(argument, state)
                if value.origins and sink.use not in value.clean:
                    self._around.hit(sink, node, argument, value)


def is_sent_key(key: object) -> bool:
    """Return whether a key of a request's environment holds data from the client."""
    return isinstance(key, str) and key.startswith(_SENT) and SENT_KEYS.match(key) is not None


def is_model_call(node: ast.Call, resolved: Sequence[str]) -> bool:
    """Return whether a call queries a language model, whose answer any part of the prompt may control."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in MODEL_METHODS:
        return any(MODEL_CALLS.search(name) for name in (*resolved, written_name(node.func)))
    return "transformers.pipeline()" in resolved


NEEDED: Mapping[str, str] = {
    Use.LOG: "\r\n", Use.HEADER: "\r\n", Use.HTML: "<", Use.XML: "<", Use.SQL: "'\" ;(",
    Use.SHELL: " \n;|&$`<>()'\"\\", Use.PATH: "/\\", Use.ARCHIVE: "/\\", Use.LDAP: "()*\\", Use.XPATH: "'\"[",
    Use.REGEX: "(*+{", Use.TEMPLATE: "{", Use.CODE: "( .[", Use.URL: ":/", Use.REDIRECT: ":/\\", Use.NOSQL: "{$",
}  # fmt: skip
"""The characters that harm of a kind needs: a value without any of them does none."""
_LONGEST_PATTERN = 200
_MOST_ITEMS = 6
_SINGLE = (_constants.IN, _constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY)


def _uses_without(removed: Iterable[str]) -> frozenset[str]:
    gone = frozenset(removed)
    return frozenset(use for use, needed in NEEDED.items() if gone.issuperset(needed))


@lru_cache(maxsize=256)
def _removed_by_pattern(pattern: str, replacement: str) -> frozenset[str]:
    """Return the uses that `re.sub(pattern, replacement, value)` makes a value harmless for.

    The pattern is untrusted: it is tried on single characters alone, and only if nothing in it repeats what repeats.
    """
    if len(pattern) > _LONGEST_PATTERN or "\\" in replacement:
        return frozenset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not _is_plain(list(_parser.parse(pattern))):
                return frozenset()
            compiled = re.compile(pattern)
        except (re.error, RecursionError, OverflowError, ValueError):
            return frozenset()
    probes = set("".join(NEEDED.values()))
    return _uses_without(c for c in probes if compiled.fullmatch(c) and c not in replacement)


def _is_plain(items: list[tuple[object, object]]) -> bool:
    """Return whether a pattern is a short sequence of single characters, each perhaps repeated."""
    for operation, argument in items:
        if operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            inner = list(argument[2])  # type: ignore[index]
            if len(inner) != 1 or inner[0][0] not in _SINGLE:
                return False
        elif operation not in _SINGLE:
            return False
    return len(items) <= _MOST_ITEMS


def bound_parameters(
    function: FunctionNode, arguments: Sequence[Value], keywords: dict[str, Value], skip: bool
) -> dict[str, Value]:
    """Return the values of a function's parameters in a call, by name."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)][int(skip) :]
    given = dict(zip(names, arguments, strict=False))
    known = {*names, *(argument.arg for argument in function.args.kwonlyargs)}
    given.update({name: value for name, value in keywords.items() if name in known})
    if function.args.vararg is not None and len(arguments) > len(names):
        given[function.args.vararg.arg] = joined(arguments[len(names) :])
    if function.args.kwarg is not None:
        rest = [value for name, value in keywords.items() if name not in known]
        given[function.args.kwarg.arg] = joined(rest)
    return given
