"""Data flow in one Python file: which untrusted values reach which sinks.

Each function is read once, statement by statement, with abstract values for its parameters
(`values`), facts from tests (`guards`) and, for calls of functions in the same file, their results
and checks. Afterwards the arguments of all calls show where the parameters' values come from. The
result is a lower bound: flow through other files, or through containers with computed keys, is not
followed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from codeguard.corpus.syntax import walk
from codeguard.flow.effects import STOPS
from codeguard.flow.entry_points import (
    entry_reach,
    functions_that_matter,
    is_global,
    says_what_is_wrong,
    seed_parameters,
)
from codeguard.flow.evaluation import DEEPEST, TOO_DEEP, TOO_LONG, Evaluator
from codeguard.flow.sinks import Hits, Sink, SinkHit, SinkIndex, StoredValue
from codeguard.flow.values import (
    ALL_USES,
    CLAIMED,
    NOTHING,
    Origin,
    Reach,
    State,
    Value,
    joined,
    joined_states,
)
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FUNCTIONS, FunctionNode, written_arguments

STEPS_PER_NODE_READ = 20  # of a function by itself, whatever else the file holds
_TWICE = 3  # nesting depth of loops that are run twice, so that one round's values reach the next
_DECIDING = (
    ast.Constant, ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Subscript, ast.Name, ast.operator, ast.cmpop,
    ast.expr_context, ast.unaryop, ast.boolop,
)  # fmt: skip


@dataclass(slots=True, eq=False)
class Summary:
    """The summary of a function that has been read."""

    returned: list[Value] = field(default_factory=list)
    checks: dict[str, frozenset[str]] = field(default_factory=dict)
    stops: bool = False
    done: bool = False

    def note_checks(self, function: ast.AST | None, found: Iterable[tuple[Value, frozenset[str]]]) -> None:
        """Record for callers the parameters that the function checks."""
        for value, uses in found:
            for origin in value.origins:
                if origin.function is function:
                    self.checks[origin.parameter] = self.checks.get(origin.parameter, frozenset()) | uses


class Flow:
    """The flow through one file: `hits`, `returns` and `stores` after `follow`."""

    def __init__(self, names: Names, tree: ast.Module, nodes: Sequence[ast.AST], sinks: SinkIndex) -> None:
        self.names, self._tree, self._nodes = names, tree, nodes
        self._sinks = sinks
        # Results of functions, and values stored in headers and attributes.
        self.returns: list[StoredValue] = []
        self.stores: list[StoredValue] = []
        self._hits = Hits()
        self._evaluation = Evaluator(names, self._sinks, self, len(nodes))
        self._summaries: dict[ast.AST | None, Summary] = {}
        self._closures: dict[ast.AST, dict[str, Value]] = {}
        self._attributes: dict[tuple[str, str], Value] = {}
        self._reachability = Reachability()
        self.source = self._reachability.source
        self._entry: dict[ast.AST, Reach] = {}
        self._at: ast.AST | None = None
        self._loops: list[list[State]] = []
        self._module = State()

    @property
    def hits(self) -> list[SinkHit]:
        """The values that reach sinks, in order of discovery."""
        return self._hits.listed()

    def follow(self) -> None:
        """Read the relevant functions of the file (see `scope`)."""
        matter, storing, self._evaluation.puts_together = functions_that_matter(
            self.names, self._nodes, self._sinks, self.entry
        )
        if matter:
            self._apart("the module", partial(self._run, self._tree.body, self._module))
        wanted = [node for node in self._nodes if node in matter and isinstance(node, FUNCTIONS)]
        length = {node: (node.end_lineno or node.lineno) - node.lineno for node in wanted}
        # Short ones first: what somebody writes beside a function must not use up its steps.
        # One that is defined in another sees the values of the other's names, so it is read after it.
        wanted.sort(key=lambda item: (item.name != "__init__", item not in storing, length[item]))
        for function in sorted(wanted, key=self._nesting):
            self._apart(function.name, partial(self._summary, function))

    def _nesting(self, function: FunctionNode) -> int:
        """Return how many functions there are around a function."""
        around, count = self.names.function_of(function), 0
        while around is not None:
            around, count = self.names.function_of(around), count + 1
        return count

    def _apart(self, what: str, read: Callable[[], object]) -> None:
        """Read one part of the file; an exception ends this part alone."""
        with self._share(), self.names.unread.alone(f"the data flow through {what}"):
            read()
        self._at, self._loops, self._evaluation.depth = None, [], 0

    @contextmanager
    def _share(self, own: int = 0) -> Iterator[None]:
        """Allow half of the steps that are left, and `own` ones, so that no part can use up those of the others."""
        evaluation, before = self._evaluation, self._evaluation.steps
        evaluation.steps = before - before // 2 + own
        try:
            yield
        finally:
            evaluation.steps = before // 2 + min(max(evaluation.steps, 0), before - before // 2)

    def entry(self, function: ast.AST | None) -> Reach:
        """Return who controls the parameters of a function."""
        if not isinstance(function, FUNCTIONS):
            return Reach.CALLER
        if function not in self._entry:
            self._entry[function] = entry_reach(function, self.names)
        return self._entry[function]

    def call(self, function: FunctionNode, call: ast.Call, arguments: dict[str, Value]) -> Value:
        """Return the result of a function of the file for some arguments, and record the call."""
        for name, value in arguments.items():
            self._reachability.add(function, name, value)
        if function not in self._summaries and self._evaluation.depth > DEEPEST // 2:
            self.names.unread.note(TOO_DEEP, call.lineno)
            return joined(arguments.values())
        summary = self._summary(function)
        if not summary.done:
            return joined(arguments.values())
        return joined([substituted(value, function, arguments) for value in summary.returned])

    def guarded(self, call: ast.Call) -> list[tuple[ast.expr, frozenset[str]]] | None:
        """Return the arguments of a call that a function checks; None if it is not in the file."""
        for definition in self._definitions(call)[:1]:
            if self._evaluation.depth > DEEPEST // 2:
                return []
            checks = self._summary(definition).checks
            return [
                (item, checks[name]) for name, item in written_arguments(definition, call) if name in checks
            ]
        return None

    def hit(self, sink: Sink, call: ast.expr, argument: ast.expr, value: Value) -> None:
        """Record a value at a sink."""
        self._hits.note(sink, call, argument, value, self._at)

    def keep(self, target: ast.expr, value: Value) -> None:
        """Record a value that is stored in an attribute or under a global name."""
        if isinstance(target, ast.Name) and is_global(self.names, target):
            shared = self._module.names
            shared[target.id] = joined([shared.get(target.id, NOTHING), value])
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            for name in self.names.names_of(target.value):
                if name.startswith(":"):
                    key = (name[1:].removesuffix("()"), target.attr)
                    self._attributes[key] = joined([self.attribute(*key), value])

    def attribute(self, owner: str, name: str) -> Value:
        """Return the values that the methods of a class have stored in an attribute."""
        return self._attributes.get((owner, name), NOTHING)

    def decided(self, test: ast.expr) -> bool | None:
        """Return what a test comes to if constants of its own function decide it, or None.

        What another function or file may set is not decided here, nor what a loop may change.
        """
        if self._loops or self._at is None:
            return None
        scopes = self.names.scopes
        for part in walk(test):
            if isinstance(part, ast.Name):
                scope = scopes.scope_of(part)
                found = scopes.find(part.id, scope)
                if found is None or {scope.node, found[0].node} != {self._at}:
                    return None
                if any(scopes.scope_of(item.node) is not scope for item in found[1]):
                    return None
            elif not isinstance(part, _DECIDING):
                return None
        known = self.names.constant(test, ...)
        return None if known is ... else bool(known)

    def _summary(self, function: FunctionNode) -> Summary:
        known = self._summaries.get(function)
        if known is not None:
            return known
        summary = self._summaries[function] = Summary()
        state = State(dict(self._closures.get(function, self._module.names)))
        seed_parameters(function, self.entry(function), self.names, state)
        before = self._at, self._loops
        self._at, self._loops = function, []
        with self._share(STEPS_PER_NODE_READ * sum(1 for _ in walk(function))):
            self._run(function.body, state)
            cut = self._evaluation.steps <= 0
        self._at, self._loops = before
        summary.done = True
        if cut and self._evaluation.depth:
            del self._summaries[function]  # a caller had no more to spare; it is read again by itself
        return summary

    def _run(self, body: Sequence[ast.stmt], state: State) -> bool:
        """Run statements on a state; return whether execution continues after them."""
        evaluation = self._evaluation
        if evaluation.depth > DEEPEST:
            if body:
                self.names.unread.note(TOO_DEEP, body[0].lineno)
            return True
        evaluation.depth += 1
        try:
            for statement in body:
                evaluation.steps -= len(state.names)  # cost of copying and merging the state
                if evaluation.steps <= 0:
                    self.names.unread.note(TOO_LONG, statement.lineno)
                    return True
                if not self._step(statement, state):
                    return False
            return True
        finally:
            evaluation.depth -= 1

    def _step(self, node: ast.stmt, state: State) -> bool:
        """Run one statement; return whether execution continues after it."""
        evaluation = self._evaluation
        match node:
            case ast.Expr():
                return self._expression(node, state)
            case ast.Assign() | ast.AnnAssign():
                self._assign(node, state)
            case ast.Return():
                return self._return(node, state)
            case ast.If():
                return self._if(node, state)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._repeat(node, state)
            case ast.AugAssign():
                whole = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
                self._store(node.target, evaluation.value(whole, state), state, node)
            case ast.Try() | ast.TryStar():
                return self._try(node, state)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    value = evaluation.value(item.context_expr, state)
                    if item.optional_vars is not None:
                        evaluation.bind(item.optional_vars, value, state)
                return self._run(node.body, state)
            case ast.Raise():
                evaluation.value(node.exc, state)
                self._mark_stop()
                return False
            case ast.Assert():
                evaluation.value(node.test, state)
                self._note(evaluation.assume(node.test, True, state))
            case ast.Break() | ast.Continue():
                if self._loops:
                    self._loops[-1].append(state.copy())
                return False
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if self._at is not None:
                    self._closures[node] = dict(state.names)
                state.names.pop(node.name, None)
            case ast.ClassDef():
                self._run(node.body, state.copy())
            case ast.Match():
                return self._match(node, state)
        return True

    def _expression(self, node: ast.Expr, state: State) -> bool:
        self._evaluation.value(node.value, state)
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if not isinstance(call, ast.Call):
            return True
        if STOPS.isdisjoint(self.names.names_of(call.func)):
            # What a function of the file returns is lost here: its checks count only if it stops at them.
            own = self._definitions(call)
            if not own or any(self._summary(item).stops for item in own):
                self._note(self._evaluation.pass_over(call, state))
            return True
        self._mark_stop()
        return False

    def _definitions(self, call: ast.Call) -> list[FunctionNode]:
        """Return the functions of the file that a call may be of."""
        found = map(self.names.definition, self.names.names_of(call.func))
        return [item for item in found if isinstance(item, FUNCTIONS)]

    def _assign(self, node: ast.Assign | ast.AnnAssign, state: State) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets if node.value is not None else ():
            if (
                isinstance(target, ast.Tuple | ast.List)
                and isinstance(node.value, ast.Tuple | ast.List)
                and len(target.elts) == len(node.value.elts)
            ):
                for part, given in zip(target.elts, node.value.elts, strict=True):
                    self._store(part, self._evaluation.value(given, state), state, node)
            else:
                self._store(target, self._evaluation.value(node.value, state), state, node)

    def _store(self, target: ast.expr, value: Value, state: State, node: ast.AST) -> None:
        self._evaluation.bind(target, value, state)
        self.keep(target, value)
        if isinstance(target, ast.Attribute | ast.Subscript) and value.origins:
            self.stores.append(StoredValue(node, value, self._at, target))

    def _return(self, node: ast.Return, state: State) -> bool:
        value = self._evaluation.value(node.value, state)
        summary = self._summaries.get(self._at)
        if summary is not None and node.value is not None:
            summary.returned.append(value)
            self._note(self._evaluation.assume(node.value, True, state.copy()))
            if value.origins:
                self.returns.append(StoredValue(node, value, self._at))
        return False

    def _note(self, found: Iterable[tuple[Value, frozenset[str]]]) -> None:
        """Record for callers the parameters that a function checks."""
        if self._at in self._summaries:
            self._summaries[self._at].note_checks(self._at, found)

    def _mark_stop(self) -> None:
        if self._at in self._summaries:
            self._summaries[self._at].stops = True

    def _if(self, node: ast.If, state: State) -> bool:
        self._evaluation.value(node.test, state)
        known = self.decided(node.test)
        if known is not None:
            return self._run(node.body if known else node.orelse, state)
        held, failed = state.copy(), state.copy()
        if_held = self._evaluation.assume(node.test, True, held)
        if_failed = self._evaluation.assume(node.test, False, failed)
        goes_on = self._run(node.body, held)
        other = self._run(node.orelse, failed)
        if not (goes_on and other):
            self._note([*if_held, *if_failed])
        return self._meet([held] * goes_on + [failed] * other, state)

    def _meet(self, states: list[State], state: State) -> bool:
        result = joined_states(states)
        if result is not None:
            state.become(result)
        return result is not None

    def _repeat(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> bool:
        evaluation = self._evaluation
        for _ in range(2 if len(self._loops) < _TWICE else 1):
            inner = state.copy()
            if isinstance(node, ast.While):
                evaluation.value(node.test, inner)
                evaluation.assume(node.test, True, inner)
            else:
                evaluation.bind(node.target, evaluation.value(node.iter, inner), inner)
            self._loop(node.body, inner, state)
        if isinstance(node, ast.While):
            evaluation.assume(node.test, False, state)
        return self._run(node.orelse, state) if node.orelse else True

    def _loop(self, body: Sequence[ast.stmt], inner: State, state: State) -> None:
        """Run a body once and merge; a check in it that leaves the function also holds afterwards."""
        self._loops.append([])
        goes_on = self._run(body, inner)
        left = self._loops.pop()
        if goes_on:
            left.append(inner)
        cleared = joined_states([item.copy() for item in left])
        result = joined_states([state, *left])
        if result is not None:
            state.become(result)
        if cleared is not None:
            for origin, uses in cleared.cleared.items():
                state.clear(Value(frozenset({origin})), uses)

    def _try(self, node: ast.Try | ast.TryStar, state: State) -> bool:
        before = state.copy()
        goes_on = self._run(node.body, state) and self._run(node.orelse, state)
        ends = [state.copy()] if goes_on else []
        start = joined_states([before, state.copy()]) or before
        for handler in node.handlers:
            caught = start.copy()
            if handler.name:
                tag = "refusal" if says_what_is_wrong(handler.type, self.names) else "exception"
                origin = Origin(Reach.LOCAL, f"the exception {handler.name}", tag, line=handler.lineno)
                caught.names[handler.name] = Value(frozenset({origin}))
            if self._run(handler.body, caught):
                ends.append(caught)
        if not ends:
            self._run(node.finalbody, start)
            return False
        self._meet(ends, state)
        return self._run(node.finalbody, state)

    def _match(self, node: ast.Match, state: State) -> bool:
        subject = self._evaluation.value(node.subject, state)
        ends: list[State] = [state.copy()]
        for case in self._possible(node):
            inner = state.copy()
            if isinstance(case.pattern, ast.MatchValue | ast.MatchOr):
                inner.clear(subject, ALL_USES)
            for part in walk(case.pattern):
                name = getattr(part, "name", None)
                if isinstance(name, str):
                    inner.names[name] = subject
            if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None:
                ends = ends[1:]  # all remaining cases are covered here
            if self._run(case.body, inner):
                ends.append(inner)
        return self._meet(ends, state)

    def _possible(self, node: ast.Match) -> list[ast.match_case]:
        """Return the cases that a subject may match: one, if the function itself says what the subject is."""
        for case in node.cases:
            pattern = case.pattern
            options = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
            for option in options:
                if not isinstance(option, ast.MatchValue):
                    return node.cases
                test = ast.Compare(node.subject, [ast.Eq()], [option.value])
                known = self.decided(ast.copy_location(test, node))
                if known is None or (known and case.guard is not None):
                    return node.cases
                if known:
                    last = ast.match_case(ast.MatchAs(), None, case.body)
                    return [last]
        return node.cases


Tags = frozenset[str] | None
_DEEPEST = 20


class _Asked(NamedTuple):
    """Which origins count."""

    use: str
    believing: bool
    tags: Tags

    def harms(self, value: Value, origin: Origin) -> bool:
        """Return whether an origin of a value is not harmless."""
        clean = value.clean | origin.clean
        return self.use not in clean and not (self.believing and CLAIMED in clean)


class Reachability:
    """The arguments of all calls of the file's own functions."""

    def __init__(self) -> None:
        self._edges: dict[tuple[ast.AST, str], list[Value]] = {}
        self._reached: dict[tuple[ast.AST, str, _Asked], Origin | None] = {}

    def add(self, function: ast.AST, parameter: str, value: Value) -> None:
        """Record the value that a call passes for a parameter."""
        self._edges.setdefault((function, parameter), []).append(value)

    def source(self, value: Value, use: str, *, believing: bool = False, tags: Tags = None) -> Origin | None:
        """Return the least trusted origin of a value that is not harmless for a use, or None.

        A parameter has the origins of the arguments in the file's calls. A private function that is
        only called with harmless values has no origin. With `believing`, functions of other files
        are assumed to do what their names say, such as checking or cleaning. With `tags`, other
        origins do not count.
        """
        return self._farthest([value], None, _Asked(use, believing, tags), 0)

    def _farthest(
        self, values: Sequence[Value], best: Origin | None, asked: _Asked, depth: int
    ) -> Origin | None:
        for value in values:
            for origin in _in_order(value):
                found = self._origin(origin, asked, depth) if asked.harms(value, origin) else None
                if found is not None and (best is None or found.reach > best.reach):
                    best = found
        return best

    def _origin(self, origin: Origin, asked: _Asked, depth: int) -> Origin | None:
        if asked.tags is not None and origin.tag not in asked.tags:
            return None
        if origin.reach is not Reach.CALLER or origin.function is None or depth > _DEEPEST:
            return origin
        key = (origin.function, origin.parameter, asked)
        if key in self._reached:
            known = self._reached[key]
            return known if known is None or known.reach > origin.reach else origin
        self._reached[key] = origin
        edges = self._edges.get((origin.function, origin.parameter), [])
        name = str(getattr(origin.function, "name", ""))
        private = name.startswith("_") and not name.startswith("__")
        self._reached[key] = self._farthest(edges, None if private and edges else origin, asked, depth + 1)
        return self._reached[key]


def _in_order(value: Value) -> list[Origin]:
    """Return the origins of a value in a deterministic order, since the first of several is reported."""
    return sorted(value.origins, key=lambda origin: (origin.line, origin.what))


def substituted(value: Value, function: ast.AST, arguments: dict[str, Value]) -> Value:
    """Return a function's result with its parameters replaced by a call's arguments."""
    parts: list[Value] = []
    for origin in value.origins:
        if origin.function is function:
            given = arguments.get(origin.parameter, NOTHING)
            if given.origins:
                parts.append(given.cleaned(value.clean | origin.clean))
        else:
            parts.append(Value(frozenset({origin}), value.clean))
    return joined(parts, built=value.built or any(part.built for part in parts))
