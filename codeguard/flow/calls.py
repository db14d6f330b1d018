"""Evaluate calls: their results as abstract values, and the values that reach sinks."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from codeguard.corpus.patterns import lazy
from codeguard.flow.entry_points import written_name
from codeguard.flow.sanitizers import (
    NEEDED,
    quoted,
    removed_by_pattern,
    removed_by_table,
    uses_without,
)
from codeguard.flow.sinks import Sink, SinkIndex
from codeguard.flow.tables import (
    ADDRESSING_NAME,
    ANSWER,
    ANSWERING,
    ANSWERING_METHODS,
    ARCHIVE_NAMES,
    BUILDERS,
    CLEANERS,
    CLEANING_METHODS,
    CLEANING_NAME,
    DECODERS,
    ERROR_ANSWER,
    FILLERS,
    MAIL,
    MAIL_METHODS,
    MODEL_CALLS,
    MODEL_METHODS,
    NUMBER_NAME,
    PASSERS,
    PLACE_NAME,
    REACH_OF_CALL,
    REMOTE_METHODS,
    REQUEST_PARTS,
    SENT_KEYS,
    STORED,
    STORED_METHODS,
    STORED_NAMES,
    TYPE_NAME,
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

_ABSORBERS = frozenset(
    {"logging", "hashlib", "hmac", "time", "datetime", "math", "random", "secrets", "threading", "subprocess"}
)


_SENT = ("HTTP_", "QUERY_", "PATH_", "REQUEST_", "wsgi.")


class FlowContext(Protocol):
    """The interface of the file's data flow that evaluation needs."""

    def call(self, function: FunctionNode, call: ast.Call, arguments: dict[str, Value]) -> Value:
        """Return the result of a function of the file for some arguments."""
        ...

    def guarded(self, call: ast.Call) -> tuple[tuple[int, frozenset[str]], ...] | None:
        """Return the arguments that a function of the file checks."""
        ...

    def decided(self, test: ast.expr) -> bool | None:
        """Return what a test comes to if constants of its own function decide it, or None."""
        ...

    def hit(self, sink: Sink, call: ast.expr, argument: ast.expr, value: Value) -> None:
        """Record a value at a sink."""
        ...

    def keep(self, target: ast.expr, value: Value) -> None:
        """Record a value that is stored in an attribute or a global name."""
        ...

    def attribute(self, owner: str, name: str) -> Value:
        """Return the values that the methods of a class have stored in an attribute."""
        ...


class Evaluating(Protocol):
    """The interface of expression evaluation that calls need."""

    def value(self, node: ast.expr | None, state: State) -> Value:
        """Return the abstract value of an expression."""
        ...

    def origin(self, reach: Reach, what: str, node: ast.AST, state: State, tag: str = "input") -> Value:
        """Return a value that comes from outside."""
        ...

    def is_request(self, node: ast.expr) -> bool:
        """Return whether an expression is a request."""
        ...

    def fill(self, holder: ast.expr, value: Value, state: State) -> None:
        """Record that an object now also holds a value."""
        ...


class Calls:
    """Evaluates the calls of one file."""

    def __init__(self, of: Evaluating, names: Names, sinks: SinkIndex, around: FlowContext) -> None:
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
            return _typed(node, self._of.origin(reach, f"{name}()", node, state, tag))
        if STORED_NAMES.search(name):
            return self._of.origin(Reach.LOCAL, f"{name}()", node, state, STORED)
        if name == "compile" and arguments:
            return arguments[0]  # its flags are not code
        if name in ARCHIVE_NAMES:
            return self._of.origin(Reach.LOCAL, f"{name}()", node, state, "archive")
        if name in ("re.sub", "re.subn") and len(node.args) > 2:
            return arguments[2].cleaned(self._replaced(*node.args[:2]))
        if name in DECODERS:
            value = joined([*everything, receiver])
            return value._replace(clean=value.clean - {Use.LOG, Use.HEADER})
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
        if method == "recv" and not (node.args or node.keywords) and self._talks_to_processes:
            return NOTHING  # a pipe to a child process of the program
        if self._is_remote(node, method) and not name.startswith(":"):
            tag = ANSWER if method in ANSWERING_METHODS else "input"
            return _typed(node, self._of.origin(Reach.REMOTE, f"{method}()", node, state, tag))
        if method in STORED_METHODS and not receiver.origins and not name.startswith(":"):
            return self._of.origin(Reach.LOCAL, f"{method}()", node, state, STORED)
        last = method or name.rpartition(".")[2]
        if ERROR_ANSWER.search(last) and not name.startswith(":") and not name.startswith("traceback."):
            # `render_error(request, e)` of another module decides itself what it shows of an exception.
            whole = all(origin.tag == "exception" for value in given for origin in value.origins)
            built = any(value.built for value in given)
            given = [value.cleaned({Use.RESPONSE}) for value in given] if whole and not built else given
        if TYPE_NAME.search(last):
            return NOTHING  # an entry of a fixed table
        if name and NUMBER_NAME.search(last) and not receiver.origins:
            return joined(given).cleaned(TEXT_USES)  # `count_matches(term)` of another file
        # A name such as `sanitize` proves nothing; it only lowers the severity.
        if CLEANING_NAME.search(last) or (name and not method and PLACE_NAME.search(last)):
            return joined([receiver, *given]).cleaned({CLAIMED})
        if method:
            value = self._of_method(name, node, method, receiver, given)
            if value is not None:
                return value
        # Numeric libraries return numbers and arrays, not the text that was passed in.
        if name and not method and name not in PASSERS and name.partition(".")[0] in _ABSORBERS:
            return joined(given).cleaned(ALL_USES)
        if ADDRESSING_NAME.search(last) and given:
            # `url_for_page(page, next=url)`: the first argument decides where a URL leads.
            return joined([given[0], *(value.cleaned({CLAIMED}) for value in given[1:])])
        return joined(given)

    def _is_remote(self, node: ast.Call, method: str) -> bool:
        """Return whether a method of this name returns what others have sent."""
        if (
            method == "get_object"
            and len(node.args) < 2
            and not any(item.arg is None or "bucket" in item.arg.lower() for item in node.keywords)
        ):
            return False  # without a bucket it is no call of an object store
        return method in REMOTE_METHODS or (method in MAIL_METHODS and self._reads_mail)

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
        if method in ("replace", "translate", "split") or method == "format":
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

    @cached_property
    def _talks_to_processes(self) -> bool:
        found = self._names.imported
        return any(name.startswith("multiprocessing") for name in found) and not any(
            "sock" in name or "zmq" in name for name in found
        )

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
        return frozenset() if None in texts else removed_by_pattern(str(texts[0]), str(texts[1]))

    def _removed(self, node: ast.Call, method: str) -> frozenset[str]:
        if method == "split":  # splits at white space, including line breaks
            return frozenset() if node.args or node.keywords else uses_without("\r\n")
        if method == "format":
            assert isinstance(node.func, ast.Attribute)
            return shown_as_written(self._names.text(node.func.value), "{")
        if not node.args:
            return frozenset()
        if method == "translate":
            return removed_by_table(self._names, node.args[0])
        piece = self._names.text(node.args[0])
        if piece in ("\n", "\r", "\r\n"):
            return frozenset({Use.LOG, Use.HEADER})
        if piece == "<":
            return frozenset({Use.HTML, Use.RESPONSE})
        if piece == "/" and len(node.args) > 1 and "/" not in (self._names.text(node.args[1]) or "/"):
            return frozenset({Use.PATH, Use.ARCHIVE})
        return quoted(piece, self._names.text(node.args[1]) if len(node.args) > 1 else None)

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


def _typed(node: ast.Call, value: Value) -> Value:
    """Return the result of a call that converts to a number: `self.get_argument("size", type=int)`."""
    kind = next((item.value for item in node.keywords if item.arg == "type"), None)
    counts = isinstance(kind, ast.Name) and kind.id in ("int", "float", "bool")
    return value.cleaned(TEXT_USES) if counts else value


def shown_as_written(template: str | None, mark: str) -> frozenset[str]:
    """Return the uses for which a template makes values harmless by formatting them with repr.

    `mark` starts its fields: `%` as in `%r`, `{` as in `{!r}`.
    """
    if template is None:
        return frozenset()
    plain = template.replace(mark * 2, "")
    fields = FIELDS[mark].findall(plain)
    return uses_without(NEEDED[Use.LOG]) if fields and len(fields) == plain.count(mark) else frozenset()


FIELDS = {
    "%": lazy(r"%(?:\(\w+\))?[-+ #0-9.]{0,9}[radifgexXc]"),
    "{": lazy(r"\{\w{0,40}(?:![ra]|:[^{}s]{0,9}[dfgexX%])\}"),
}
"""Fields whose values show no line break: numbers, and what is written as in code."""


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
