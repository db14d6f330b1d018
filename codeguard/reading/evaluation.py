"""What the expressions of a function come to, as abstract values; and the calls that they make."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Protocol

from codeguard.reading.flowsinks import Sink, SinkIndex
from codeguard.reading.flowtables import (
    BUILDERS,
    CLEANERS,
    CLEANING_METHODS,
    CLEANING_NAME,
    FILLERS,
    LOCAL_VALUES,
    PASSERS,
    REACH_OF_CALL,
    REMOTE_METHODS,
    REMOTE_VALUES,
    REQUEST_CLASSES,
    REQUEST_NAMES,
    REQUEST_PARTS,
)
from codeguard.reading.flowvalues import (
    ALL_USES,
    NOTHING,
    Origin,
    Reach,
    State,
    Use,
    Value,
    joined,
)
from codeguard.reading.guards import facts
from codeguard.reading.names import Names
from codeguard.reading.scopes import FunctionNode

DEEPEST = 110
STEPS_PER_FILE = 600_000
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Surroundings(Protocol):
    """What evaluation asks of the flow through the whole file."""

    def call(self, function: FunctionNode, call: ast.Call, arguments: dict[str, Value]) -> Value:
        """Return what a function of the file returns for some arguments."""
        ...

    def guarded(self, call: ast.Call) -> tuple[tuple[int, frozenset[str]], ...] | None:
        """Return which arguments a function of the file checks."""
        ...

    def hit(self, sink: Sink, call: ast.Call, argument: ast.expr, value: Value) -> None:
        """Note a value at a sink."""
        ...

    def attribute(self, owner: str, name: str) -> Value:
        """Return what the methods of a class have stored in an attribute."""
        ...


class Evaluation:
    """Evaluates expressions; one for a file."""

    def __init__(self, names: Names, sinks: SinkIndex, around: Surroundings) -> None:
        self.names = names
        self.depth = 0
        self.steps = STEPS_PER_FILE
        self._sinks = sinks
        self._around = around

    def guarded(self, call: ast.Call) -> tuple[tuple[int, frozenset[str]], ...] | None:
        """Return which arguments a function of the file checks."""
        return self._around.guarded(call)

    def value(self, node: ast.expr | None, state: State) -> Value:
        """Return the abstract value of an expression; `NOTHING` beyond the bounds."""
        if node is None:
            return NOTHING
        evaluate = _EVALUATE.get(type(node))
        if evaluate is None:
            return NOTHING
        self.steps -= 1
        if self.depth > DEEPEST or self.steps < 0:
            return NOTHING
        self.depth += 1
        try:
            return evaluate(self, node, state)
        finally:
            self.depth -= 1

    def assume(self, test: ast.expr, holds: bool, state: State) -> list[tuple[Value, frozenset[str]]]:
        """Enter into a state what a test that holds, or does not, says; return it, too."""
        found = facts(test, holds, state, self)
        for value, uses in found:
            if value.origins and uses:
                state.clear(value, uses)
        return found

    def _name(self, node: ast.Name, state: State) -> Value:
        value = state.names.get(node.id)
        if value is not None:
            return state.seen(value)
        if node.id == "argv" or node.id == "environ":
            return self._source_value(node, state)
        return NOTHING

    def _source_value(self, node: ast.expr, state: State) -> Value:
        for name in self.names.names_of(node):
            if name in LOCAL_VALUES:
                return self._from(Reach.LOCAL, name, node, state)
            if name in REMOTE_VALUES:
                return self._from(Reach.REMOTE, name, node, state)
        return NOTHING

    def _from(self, reach: Reach, what: str, node: ast.AST, state: State, tag: str = "input") -> Value:
        origin = Origin(reach, what, tag, line=getattr(node, "lineno", 0))
        return state.seen(Value(frozenset({origin})))

    def _attribute(self, node: ast.Attribute, state: State) -> Value:
        if isinstance(node.value, ast.Name):
            known = state.names.get(f"{node.value.id}.{node.attr}")
            if known is not None:
                return state.seen(known)
        if node.attr in REQUEST_PARTS and self._is_request(node.value):
            return self._from(Reach.REMOTE, f"request.{node.attr}", node, state)
        if node.attr in _VALUE_ATTRIBUTES:
            found = self._source_value(node, state)
            if found.origins:
                return found
        base = self.value(node.value, state)
        if base.origins:
            return state.seen(base)
        for name in self.names.names_of(node.value) if isinstance(node.value, ast.Name) else ():
            if name.startswith(":"):
                return state.seen(self._around.attribute(name[1:].removesuffix("()"), node.attr))
        return NOTHING

    def _is_request(self, node: ast.expr) -> bool:
        """Whether an expression is a request: by its class where that is known, else by its name."""
        for name in self.names.names_of(node):
            if name.endswith(".request") and name.partition(".")[0] in ("flask", "bottle", "sanic", "quart"):
                return True
            if name.endswith("()"):
                return bool(REQUEST_CLASSES.search(name[:-2]))
            if name.startswith((":", "urllib", "requests")):
                return False
        if isinstance(node, ast.Name):
            return node.id in REQUEST_NAMES
        return (
            isinstance(node, ast.Attribute)
            and node.attr in ("request", "req")
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "info", "context", "ctx", "web", "flask")
        )

    def _subscript(self, node: ast.Subscript, state: State) -> Value:
        base = self.value(node.value, state)
        if not isinstance(node.slice, ast.Constant | ast.Slice):
            self.value(node.slice, state)
        if isinstance(node.slice, ast.Constant):
            return state.seen(base.part(node.slice.value))
        return base

    def _binary(self, node: ast.BinOp, state: State) -> Value:
        parts: list[ast.expr] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp) and isinstance(left.op, type(node.op)):
            parts.append(left.right)
            left = left.left
        parts.append(left)
        values = [self.value(part, state) for part in reversed(parts)]
        built = any(value.built for value in values)
        if not built and isinstance(node.op, ast.Add | ast.Mod):
            built = any(isinstance(part, ast.Constant | ast.JoinedStr) and _is_text(part) for part in parts)
            if not built and any(value.origins for value in values):
                built = any(self.names.text(part) for part in parts)
        return joined(values, built=built)

    def _joined(self, node: ast.JoinedStr, state: State) -> Value:
        values = [self.value(part, state) for part in node.values]
        return joined(values, built=len(node.values) > 1 or any(value.built for value in values))

    def _formatted(self, node: ast.FormattedValue, state: State) -> Value:
        value = self.value(node.value, state)
        if node.conversion == ord("r"):
            return value.cleaned({Use.LOG, Use.HEADER})
        spec = node.format_spec
        last = spec.values[-1] if isinstance(spec, ast.JoinedStr) and spec.values else None
        if isinstance(last, ast.Constant) and str(last.value)[-1:] in ("d", "f", "x", "e", "g", "%"):
            return value.cleaned(ALL_USES)
        return value

    def _either(self, node: ast.BoolOp, state: State) -> Value:
        return joined([self.value(part, state) for part in node.values])

    def _choice(self, node: ast.IfExp, state: State) -> Value:
        self.value(node.test, state)
        held, failed = state.copy(), state.copy()
        self.assume(node.test, True, held)
        self.assume(node.test, False, failed)
        return joined([self.value(node.body, held), self.value(node.orelse, failed)])

    def _test(self, node: ast.Compare | ast.UnaryOp, state: State) -> Value:
        parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.operand]
        for part in parts:
            self.value(part, state)
        return NOTHING

    def _display(self, node: ast.List | ast.Tuple | ast.Set, state: State) -> Value:
        return joined([self.value(element, state) for element in node.elts])

    def _dict(self, node: ast.Dict, state: State) -> Value:
        return joined([self.value(part, state) for part in (*node.keys, *node.values) if part is not None])

    def _comprehension(self, node: ast.ListComp | ast.DictComp, state: State) -> Value:
        inner = state.copy()
        for generator in node.generators:
            self.bind(generator.target, self.value(generator.iter, inner), inner)
            for condition in generator.ifs:
                self.value(condition, inner)
                self.assume(condition, True, inner)
        if isinstance(node, ast.DictComp):
            return joined([self.value(node.key, inner), self.value(node.value, inner)])
        return self.value(node.elt, inner)

    def _lambda(self, node: ast.Lambda, state: State) -> Value:
        inner = state.copy()
        for argument in (*node.args.args, *node.args.kwonlyargs):
            inner.names.pop(argument.arg, None)
        self.value(node.body, inner)
        return NOTHING

    def _within(self, node: ast.Await | ast.Starred, state: State) -> Value:
        return self.value(node.value, state)

    def _named(self, node: ast.NamedExpr, state: State) -> Value:
        value = self.value(node.value, state)
        self.bind(node.target, value, state)
        return value

    def bind(self, target: ast.expr, value: Value, state: State) -> None:
        """Enter an assignment into a state."""
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
            self.fill(target.value, value, state)
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self.bind(element, value, state)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, state)

    def fill(self, holder: ast.expr, value: Value, state: State) -> None:
        """Enter that an object now holds a value, too."""
        if value.origins and isinstance(holder, ast.Name | ast.Attribute):
            self.bind(holder, joined([self.value(holder, state), value]), state)

    def _call(self, node: ast.Call, state: State) -> Value:
        function = node.func
        resolved = self.names.names_of(function)
        receiver = self.value(function.value, state) if isinstance(function, ast.Attribute) else NOTHING
        arguments = [self.value(argument, state) for argument in node.args]
        keywords = {str(item.arg): self.value(item.value, state) for item in node.keywords}
        self._look(node, resolved, receiver, arguments, keywords, state)
        everything = [*arguments, *keywords.values()]
        method = function.attr if isinstance(function, ast.Attribute) else ""
        if method in FILLERS and isinstance(function, ast.Attribute):
            self.fill(function.value, joined(everything), state)
        if (
            method in REQUEST_PARTS
            and isinstance(function, ast.Attribute)
            and self._is_request(function.value)
        ):
            return self._from(Reach.REMOTE, f"request.{method}", node, state).part(self._key(node))
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
            return self._from(reach, f"{name}()", node, state)
        uses = CLEANERS.get(name)
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
        """Return the result of a function that nothing is known of."""
        if method in REMOTE_METHODS and not name.startswith(":"):
            return self._from(Reach.REMOTE, f"{method}()", node, state)
        last = method or name.rpartition(".")[2]
        if CLEANING_NAME.search(last):
            return joined([receiver, *given]).cleaned(ALL_USES)
        if method:
            value = joined([receiver, *given]) if method in BUILDERS else receiver
            if method in ("format", "join", "replace", "substitute") and value.origins:
                value = joined([value], built=True)
            if method in ("get", "pop", "getlist", "getfirst", "get_all"):
                value = value.part(self._key(node))
            if method in ("replace", "translate") and node.args:
                value = value.cleaned(self._removed(node))
            if method in ("group", "groups", "groupdict"):
                return value
            if method in CLEANING_METHODS:
                return value.cleaned(CLEANING_METHODS[method])
            if value.origins or not self._is_module_call(node, name):
                return value
        if name and not method and name not in PASSERS and name.partition(".")[0] in _ABSORBERS:
            return joined(given).cleaned(ALL_USES)
        return joined(given)

    def _is_module_call(self, node: ast.Call, name: str) -> bool:
        """Whether a method is a function of a module that was imported, as `os.path.join`."""
        if name.startswith(":") or not name or name.partition(".")[0] in _ABSORBERS:
            return False
        assert isinstance(node.func, ast.Attribute)
        return all(not base.endswith("()") for base in self.names.names_of(node.func.value)) and (
            name.islower() or name.rpartition(".")[2][:1].isupper()
        )

    def _removed(self, node: ast.Call) -> frozenset[str]:
        piece = self.names.text(node.args[0])
        if piece in ("\n", "\r", "\r\n"):
            return frozenset({Use.LOG, Use.HEADER})
        if piece == "<":
            return frozenset({Use.HTML, Use.RESPONSE})
        return frozenset({Use.SQL}) if piece == '"' else frozenset()

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
        definition = self.names.definition(name)
        of_class = isinstance(definition, ast.ClassDef)
        if of_class:
            definition = self.names.definition(f"{name}.__init__")
        if not isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            return joined([*arguments, *keywords.values()]) if of_class else None
        given = parameters(definition, arguments, keywords, self._skips_receiver(name, node, definition))
        result = self._around.call(definition, node, given)
        return NOTHING if of_class else result

    def _skips_receiver(self, name: str, node: ast.Call, definition: FunctionNode) -> bool:
        scope = self.names.scopes.scope_of(definition)
        if not scope.is_class or any(
            isinstance(item, ast.Name) and item.id == "staticmethod" for item in definition.decorator_list
        ):
            return False
        if isinstance(node.func, ast.Attribute) and definition.name != "__init__":
            return f":{scope.symbol}" not in self.names.names_of(node.func.value)
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
        for sink in self._sinks.of(self.names, node, resolved):
            for argument in sink.nodes(node):
                value = self.value(argument, state)
                if value.origins and sink.use not in value.clean:
                    self._around.hit(sink, node, argument, value)


def parameters(
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


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and bool(node.value)
    )


_ABSORBERS = frozenset(
    {"logging", "hashlib", "hmac", "time", "datetime", "math", "random", "secrets", "threading"}
)
_VALUE_ATTRIBUTES = frozenset(name.rpartition(".")[2] for name in (*LOCAL_VALUES, *REMOTE_VALUES))
_EVALUATE: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Name: Evaluation._name,
    ast.Attribute: Evaluation._attribute,
    ast.Subscript: Evaluation._subscript,
    ast.BinOp: Evaluation._binary,
    ast.JoinedStr: Evaluation._joined,
    ast.FormattedValue: Evaluation._formatted,
    ast.BoolOp: Evaluation._either,
    ast.IfExp: Evaluation._choice,
    ast.Compare: Evaluation._test,
    ast.UnaryOp: Evaluation._test,
    ast.List: Evaluation._display,
    ast.Tuple: Evaluation._display,
    ast.Set: Evaluation._display,
    ast.Dict: Evaluation._dict,
    **dict.fromkeys(_COMPREHENSIONS, Evaluation._comprehension),
    ast.Lambda: Evaluation._lambda,
    ast.Await: Evaluation._within,
    ast.Starred: Evaluation._within,
    ast.YieldFrom: Evaluation._within,
    ast.Yield: Evaluation._within,
    ast.NamedExpr: Evaluation._named,
    ast.Call: Evaluation._call,
}
