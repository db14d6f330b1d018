"""Evaluate the expressions of a function as abstract values, and record the values that reach sinks in calls."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import chained, unqualified_name
from codeguard.flow import effects
from codeguard.flow.guards import Fact, facts, unraised
from codeguard.flow.sinks import SinkIndex
from codeguard.flow.values import ALL_USES, CLAIMED, NOTHING, Origin, Reach, State, Use, Value, joined
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import bound_arguments, is_static

if TYPE_CHECKING:
    from codeguard.flow.engine import Flow

DEEPEST = 110
STEPS_PER_FILE = 300_000
STEPS_PER_NODE = 4
TOO_LONG = "values were not followed any further: it takes too many steps"
TOO_DEEP = f"values were not followed into more than {DEEPEST} levels of expressions, blocks and calls"
_OF_CLASSES = frozenset({"_meta", "__name__", "__qualname__", "__module__", "__tablename__", "__table__"})
_SENT = lazy(r"^(?:urllib|httpx|requests|scrapy|urllib3)\.|(?:Prepared|Client)Request\(\)$")
_PUT_TOGETHER = frozenset({ast.JoinedStr, ast.BinOp, ast.Call})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Evaluator:
    """Evaluates the expressions of one file."""

    def __init__(self, names: Names, sinks: SinkIndex, around: Flow, nodes: int = 0) -> None:
        self.names = names
        self.depth = 0
        self.puts_together = False  # whether texts in the file are sinks themselves
        self.steps = STEPS_PER_FILE + STEPS_PER_NODE * nodes
        self.sinks = sinks
        self.around = around

    def value(self, node: ast.expr | None, state: State) -> Value:
        """Return the abstract value of an expression; `NOTHING` beyond the limits."""
        if node is None:
            return NOTHING
        evaluate = _EVALUATE.get(type(node))
        if evaluate is None or not self.enter(node):
            return NOTHING
        try:
            value = evaluate(self, node, state)
        finally:
            self.leave()
        if self.puts_together and value.built and value.origins and type(node) in _PUT_TOGETHER:
            self._look_at_text(node, value)
        return value

    def enter(self, node: ast.expr) -> bool:
        """Use one step and one level; return False at a limit. If True, `leave` has to follow."""
        self.steps -= 1
        if self.depth > DEEPEST or self.steps < 0:
            self.names.unread.note(TOO_LONG if self.steps < 0 else TOO_DEEP, node.lineno)
            return False
        self.depth += 1
        return True

    def leave(self) -> None:
        """Release the level."""
        self.depth -= 1

    def _look_at_text(self, node: ast.expr, value: Value) -> None:
        for sink in self.sinks.of_text(self.names.literal.text(node)):
            if sink.use not in value.clean:
                self.around.hit(sink, node, node, value)

    def assume(self, test: ast.expr, holds: bool, state: State) -> list[Fact]:
        """Add the facts of a test that holds, or does not, to a state; return them as well."""
        return self._learn(facts(test, holds, state, self), state)

    def pass_over(self, call: ast.Call, state: State) -> list[Fact]:
        """Add the facts of a call that raised nothing to a state; return them as well."""
        return self._learn(unraised(call, state, self), state)

    def _learn(self, found: list[Fact], state: State) -> list[Fact]:
        for value, uses in found:
            if value.origins and uses:
                state.clear(value, uses)
        return found

    def _name(self, node: ast.Name, state: State) -> Value:
        value = state.names.get(node.id)
        if value is not None:
            return state.seen(value)
        return self._source_value(node, state) if node.id in ("argv", "environ") else NOTHING

    def _source_value(self, node: ast.expr, state: State) -> Value:
        for name in self.names.names_of(node):
            if name in effects.LOCAL_VALUES:
                return self.origin(Reach.LOCAL, name, node, state)
            if name in effects.REMOTE_VALUES:
                return self.origin(Reach.REMOTE, name, node, state)
        return NOTHING

    def origin(self, reach: Reach, what: str, node: ast.AST, state: State, tag: str = "input") -> Value:
        """Return a value from outside, with the checks made so far."""
        origin = Origin(reach, what, tag, line=getattr(node, "lineno", 0))
        return state.seen(Value(frozenset({origin})))

    def _attribute(self, node: ast.Attribute, state: State) -> Value:
        if isinstance(node.value, ast.Name):
            known = state.names.get(f"{node.value.id}.{node.attr}")
            if known is not None:
                return state.seen(known)
        if node.attr in effects.REQUEST_PARTS and self.is_request(node.value):
            value = self.origin(Reach.REMOTE, f"request.{node.attr}", node, state)
            # Servers refuse line breaks in them (RFC 9112).
            return value.cleaned({Use.LOG, Use.HEADER}) if node.attr == "headers" else value
        if node.attr in _VALUE_ATTRIBUTES:
            found = self._source_value(node, state)
            if found.origins:
                return found
        if node.attr in _OF_CLASSES:
            return NOTHING
        if node.attr in ("cleaned_data", "validated_data"):
            return self.origin(Reach.REMOTE, node.attr, node, state)
        base = self.value(node.value, state)
        if base.origins:
            return self._attribute_of(base, node, state)
        for name in self.names.names_of(node.value) if isinstance(node.value, ast.Name) else ():
            if name.startswith(":"):
                return state.seen(self.around.attribute(name[1:].removesuffix("()"), node.attr))
        return NOTHING

    def _attribute_of(self, base: Value, node: ast.Attribute, state: State) -> Value:
        if node.attr not in _TOLD and all(origin.tag == "exception" for origin in base.origins):
            return NOTHING
        if isinstance(node.value, ast.Name):
            base = base.attribute(node.value.id, node.attr)
        return state.seen(base)

    def is_request(self, node: ast.expr) -> bool:
        """Return whether an expression is a request, by its class if known, else by its name."""
        for name in self.names.names_of(node):
            if name.endswith(".request") and name.partition(".")[0] in ("flask", "bottle", "sanic", "quart"):
                return True
            if name.endswith("()"):
                return bool(effects.REQUEST_CLASSES.search(name[:-2])) and not _SENT.search(name)
            if name.startswith((":", "urllib", "requests")):
                return False
        if isinstance(node, ast.Name):
            return node.id in effects.REQUEST_NAMES
        return (
            isinstance(node, ast.Attribute)
            and node.attr in ("request", "req")
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "info", "context", "ctx", "web", "flask")
        )

    def _subscript(self, node: ast.Subscript, state: State) -> Value:
        base = self.value(node.value, state)
        if not isinstance(node.slice, ast.Constant | ast.Slice):
            key = self.value(node.slice, state)
            for sink in self.sinks.of_namespace(node, self.names) if key.origins else ():
                if sink.use not in key.clean:
                    self.around.hit(sink, node, node.slice, key)
        if isinstance(node.slice, ast.Constant):
            if isinstance(node.slice.value, str) and effects.SENT_KEYS.match(node.slice.value):
                return self.origin(Reach.REMOTE, f"environ[{node.slice.value!r}]", node, state)
            return state.seen(base.part(node.slice.value))
        return base

    def _binary(self, node: ast.BinOp, state: State) -> Value:
        parts = chained(node)
        values = [self.value(part, state) for part in parts]
        built = any(value.built for value in values)
        if not built and isinstance(node.op, ast.Add | ast.Mod):
            built = any(isinstance(part, ast.Constant | ast.JoinedStr) and _is_text(part) for part in parts)
            if not built and any(value.origins for value in values):
                built = any(self.names.text(part) for part in parts)
        if isinstance(node.op, ast.Add):
            values = _within_address(self.names, parts, values)
        return joined(values, built=built)

    def _joined(self, node: ast.JoinedStr, state: State) -> Value:
        values = [self.value(part, state) for part in node.values]
        built = len(node.values) > 1 or any(value.built for value in values)
        return joined(_within_address(self.names, node.values, values), built=built)

    def _formatted(self, node: ast.FormattedValue, state: State) -> Value:
        value = self.value(node.value, state)
        if node.conversion == ord("r"):
            return value.cleaned({Use.LOG, Use.HEADER})
        spec = node.format_spec
        last = spec.values[-1] if isinstance(spec, ast.JoinedStr) and spec.values else None
        if isinstance(last, ast.Constant) and str(last.value)[-1:] in ("d", "f", "x", "e", "g", "%"):
            return value.cleaned(ALL_USES)
        return value

    def _parts(self, node: ast.expr, state: State) -> Value:
        return joined([self.value(part, state) for part in _inside(node)])

    def _choice(self, node: ast.IfExp, state: State) -> Value:
        self.value(node.test, state)
        known = self.around.decided(node.test)
        if known is not None:
            return self.value(node.body if known else node.orelse, state)
        held, failed = state.copy(), state.copy()
        self.assume(node.test, True, held)
        self.assume(node.test, False, failed)
        return joined([self.value(node.body, held), self.value(node.orelse, failed)])

    def _test(self, node: ast.Compare | ast.UnaryOp, state: State) -> Value:
        self._parts(node, state)
        return NOTHING

    def _dict(self, node: ast.Dict, state: State) -> Value:
        value = self._parts(node, state)
        return value.cleaned({Use.KEYS}) if all(isinstance(key, ast.Constant) for key in node.keys) else value

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, state: State
    ) -> Value:
        inner = state.copy()
        for generator in node.generators:
            self.bind(generator.target, self.value(generator.iter, inner), inner)
            for condition in generator.ifs:
                self.value(condition, inner)
                self.assume(condition, True, inner)
        if isinstance(node, ast.DictComp):
            key = self.value(node.key, inner)
            value = joined([key, self.value(node.value, inner)])
            return value if key.origins and Use.KEYS not in key.clean else value.cleaned({Use.KEYS})
        return self.value(node.elt, inner)

    def _lambda(self, node: ast.Lambda, state: State) -> Value:
        inner = state.copy()
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            origin = Origin(Reach.CALLER, argument.arg, "input", node, argument.arg, node.lineno)
            inner.names[argument.arg] = Value(frozenset({origin}))
        self.value(node.body, inner)
        return NOTHING

    def _named(self, node: ast.NamedExpr, state: State) -> Value:
        value = self.value(node.value, state)
        self.bind(node.target, value, state)
        return value

    def bind(self, target: ast.expr, value: Value, state: State) -> None:
        """Apply an assignment to a state."""
        if isinstance(target, ast.Name):
            if value is NOTHING:
                state.names.pop(target.id, None)
            else:
                state.names[target.id] = value
            for name in [key for key in state.names if key.startswith(f"{target.id}.")]:
                del state.names[name]
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            state.names[f"{target.value.id}.{target.attr}"] = value
        elif isinstance(target, ast.Subscript):
            fixed = isinstance(target.slice, ast.Constant)  # the key comes from the code itself
            self.fill(target.value, value.cleaned({Use.KEYS}) if fixed else value, state)
        elif isinstance(target, ast.Tuple | ast.List):
            # A check of one part does not cover the others: `command, _, name = line.partition(" ")`.
            for index, element in enumerate(target.elts):
                self.bind(element, value.part(index), state)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, state)

    def fill(self, holder: ast.expr, value: Value, state: State) -> None:
        """Record that an object now also holds a value."""
        if value.origins and isinstance(holder, ast.Name | ast.Attribute):
            self.bind(holder, joined([self.value(holder, state), value]), state)
            self.around.keep(holder, value)


# Attributes with details of an error; `e.response` and `e.status_code` are meant for the client.
_TOLD = frozenset(
    {"args", "message", "msg", "detail", "details", "reason", "description", "strerror", "orig", "stderr", "stdout",
     "output", "text", "error", "errors", "doc", "cmd", "filename", "with_traceback", "__traceback__", "__cause__",
     "__context__", "__dict__"}
)  # fmt: skip


def _inside(node: ast.expr) -> Iterator[ast.expr]:
    return (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))


def _within_address(names: Names, parts: Sequence[ast.expr], values: list[Value]) -> list[Value]:
    """Return the values of the parts of a URL; parts that cannot change its host are harmless for that."""
    if len(parts) > 1 and _begins_fixed(
        parts[0].value if isinstance(parts[0], ast.FormattedValue) else parts[0]
    ):
        values = [values[0], *(value.cleaned({Use.URL}) for value in values[1:])]
    query = next((n for n, part in enumerate(parts) if set("?#") & set(names.text(part) or "")), len(parts))
    return [
        value.cleaned({Use.URL, Use.REDIRECT}) if at > query else value for at, value in enumerate(values)
    ]


def _begins_fixed(node: ast.expr) -> bool:
    """Return whether the first part of a URL fixes its host: `f"{self.base}/users/{name}"`."""
    name = unqualified_name(node)
    return bool(name) and not name.lower().startswith(("scheme", "proto"))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and bool(node.value)
    )


_ABSORBERS = frozenset(
    {"logging", "hashlib", "hmac", "time", "datetime", "math", "random", "secrets", "threading", "subprocess"}
)


class _Call:
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
        if method in effects.FILLERS and isinstance(function, ast.Attribute):
            held = joined(self._given)
            keyed = method == "setdefault" and self._key is not None
            self._of.fill(function.value, held.cleaned({Use.KEYS}) if keyed else held, self._state)
        if method in effects.REQUEST_PARTS and self._of.is_request(function.value):  # type: ignore[attr-defined]
            return self._origin(Reach.REMOTE, f"request.{method}").part(self._key)
        if method == "get" and isinstance(self._key, str) and effects.SENT_KEYS.match(self._key):
            return self._origin(Reach.REMOTE, f"environ[{self._key!r}]")
        return self._state.seen(joined([self._result(name) for name in resolved or ("",)]))

    def _origin(self, reach: Reach, what: str, tag: str = "input") -> Value:
        return self._of.origin(reach, what, self._node, self._state, tag)

    def _result(self, name: str) -> Value:
        node, arguments = self._node, self._arguments
        reach = effects.REACH_OF_CALL.get(name)
        if reach is not None:
            return self._origin(
                reach, f"{name}()", effects.ANSWER if name.startswith(effects.ANSWERING) else "input"
            )
        if name in effects.ARCHIVE_NAMES:
            return self._origin(Reach.LOCAL, f"{name}()", "archive")
        if name == "compile" and arguments:
            return arguments[0]  # its flags are not code
        if name in ("re.sub", "re.subn") and len(arguments) > 2:
            return arguments[2].cleaned(self._replaced(*node.args[:2]))
        if name == "map" and len(arguments) > 1:  # what the function makes of each
            made = (effects.CLEANERS.get(item, frozenset()) for item in self._names.names_of(node.args[0]))
            return joined(arguments[1:]).cleaned(frozenset().union(*made))
        if name in effects.CLEANERS:
            return joined([*self._given, self._receiver]).cleaned(effects.CLEANERS[name])
        local = self._local(name) if name.startswith(":") else None
        return self._unknown(name) if local is None else local

    def _unknown(self, name: str) -> Value:
        """Return the result of an unknown function, by what its name says."""
        method, given = self._method, self._given
        of_file = name.startswith(":")
        sent = method in effects.MAIL_METHODS and any(
            f"{item}.".startswith(effects.MAIL) for item in self._names.imported
        )
        if (sent or method in effects.REMOTE_METHODS) and not of_file:
            tag = effects.ANSWER if method in effects.ANSWERING_METHODS else "input"
            return self._origin(Reach.REMOTE, f"{method}()", tag)
        # A name such as `sanitize` proves nothing; it only lowers the severity.
        if effects.CLEANING_NAME.search(method or name.rpartition(".")[2]):
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
        value = joined([self._receiver, *given]) if method in effects.BUILDERS else self._receiver
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
        if method in effects.CLEANING_METHODS:
            return value.cleaned(effects.CLEANING_METHODS[method])
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


_VALUE_ATTRIBUTES = frozenset(
    name.rpartition(".")[2] for name in (*effects.LOCAL_VALUES, *effects.REMOTE_VALUES)
)
_EVALUATE: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Name: Evaluator._name,
    ast.Attribute: Evaluator._attribute,
    ast.Subscript: Evaluator._subscript,
    ast.BinOp: Evaluator._binary,
    ast.JoinedStr: Evaluator._joined,
    ast.FormattedValue: Evaluator._formatted,
    ast.IfExp: Evaluator._choice,
    **dict.fromkeys((ast.Compare, ast.UnaryOp), Evaluator._test),
    **dict.fromkeys((ast.BoolOp, ast.List, ast.Tuple, ast.Set), Evaluator._parts),
    **dict.fromkeys((ast.Await, ast.Starred, ast.YieldFrom, ast.Yield), Evaluator._parts),
    ast.Dict: Evaluator._dict,
    **dict.fromkeys(_COMPREHENSIONS, Evaluator._comprehension),
    ast.Lambda: Evaluator._lambda,
    ast.NamedExpr: Evaluator._named,
    ast.Call: lambda evaluation, node, state: _Call(evaluation, node, state).value(),
}
