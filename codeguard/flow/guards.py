"""The facts that a test establishes: the uses for which its values are harmless if it holds or fails."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from codeguard.flow.effects import CONVERSIONS, GUARD_NAME, GUARDS
from codeguard.flow.values import ALL_USES, CLAIMED, RESOLVED, TEXT_USES, State, Use, Value

if TYPE_CHECKING:
    from codeguard.flow.evaluation import Evaluator

Fact = tuple[Value, frozenset[str]]
_IN_FOLDER = frozenset({Use.PATH, Use.ARCHIVE})
_ONE_LINE = frozenset({Use.LOG, Use.HEADER})
_KIND_OF_FILE = frozenset({Use.FILE_NAME})
_THIS_SITE = frozenset({Use.REDIRECT})
_SITE = frozenset({Use.URL, Use.REDIRECT})
_SIGNED = frozenset({Use.DATA, Use.CODE, Use.URL})
# What a method's result says of its object, and an attribute of an object's value, if it holds or not.
_METHODS: Mapping[tuple[str, bool], frozenset[str]] = {
    **{
        (f"is{kind}", True): ALL_USES
        for kind in ("digit", "alnum", "alpha", "decimal", "numeric", "identifier")
    },
    ("is_absolute", False): frozenset({Use.ARCHIVE}),
    ("endswith", True): _KIND_OF_FILE,
}
_ATTRIBUTES: Mapping[tuple[str, bool], frozenset[str]] = {
    **{
        (f"is_{kind}", holds): frozenset({Use.URL})
        for kind in ("private", "loopback", "global", "link_local", "reserved", "multicast")
        for holds in (True, False)
    },
    ("netloc", False): _THIS_SITE,
    ("hostname", False): _THIS_SITE,
}
# The uses covered by an allow-list that only this part of a value was compared with.
_PARTS: Mapping[str, frozenset[str]] = {
    "scheme": frozenset({Use.CODE}),
    **dict.fromkeys(("hostname", "netloc", "origin"), _SITE),
    **dict.fromkeys(("suffix", "content_type", "mimetype", "splitext"), _KIND_OF_FILE),
}
# What a value is harmless for that does not contain a text, or a longer one with "..".
_ABSENT: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("..", "/"), _IN_FOLDER),
    "\\": _IN_FOLDER | _THIS_SITE,
    **dict.fromkeys(("\n", "\r", "\r\n"), _ONE_LINE),
    **dict.fromkeys(("//", "://"), _THIS_SITE),
}
_NUMBERS = frozenset({"int", "float", "bool", "UUID", "date", "datetime"})
_DEEPEST = 20


def facts(test: ast.expr, holds: bool, state: State, engine: Evaluator, depth: int = 0) -> list[Fact]:
    """Return the facts if a test holds, or if it does not; empty beyond the limits."""
    if depth > _DEEPEST or not engine.enter(test):
        return []
    try:
        return [fact for fact in _Test(state, engine, depth).facts(test, holds) if fact[1]]
    finally:
        engine.leave()


def unraised(call: ast.Call, state: State, engine: Evaluator) -> list[Fact]:
    """Return the facts of a call that raised nothing, such as `validate(x)`, `int(x)`, `path.relative_to(base)`."""
    return [fact for fact in _Test(state, engine, 0).unraised(call) if fact[1]]


class _Test:
    """Reads one test, at one depth."""

    def __init__(self, state: State, engine: Evaluator, depth: int) -> None:
        self._state, self._engine, self._depth = state, engine, depth
        self._names = engine.names

    def _value(self, node: ast.expr) -> Value:
        return self._engine.value(node, self._state)

    def _inner(self, test: ast.expr, holds: bool, state: State | None = None) -> list[Fact]:
        return facts(test, holds, state or self._state, self._engine, self._depth + 1)

    def facts(self, test: ast.expr, holds: bool) -> Iterator[Fact]:
        match test:
            case ast.UnaryOp(op=ast.Not()):
                yield from self._inner(test.operand, not holds)
            case ast.BoolOp():
                parts = [self._inner(part, holds) for part in test.values]
                if isinstance(test.op, ast.And) is holds:
                    yield from (fact for part in parts for fact in part)
                else:
                    common = frozenset.intersection(
                        *(frozenset(value for value, _ in part) for part in parts)
                    )
                    yield from ((value, uses) for value, uses in parts[0] if value in common)
            case ast.NamedExpr():
                yield from self._inner(test.value, holds)
            case ast.Compare(ops=[operator]):
                yield from self._compared(test.left, operator, test.comparators[0], holds)
            case ast.Call():
                yield from self._called(test, holds)
            case ast.Attribute():
                yield self._value(test.value), _ATTRIBUTES.get((test.attr, holds), frozenset())
            case ast.Name():
                # `ok = x in ALLOWED` and later `if not ok:`
                values = self._names.values_of(test)
                if len(values) == 1 and isinstance(
                    values[0], ast.Compare | ast.Call | ast.BoolOp | ast.UnaryOp
                ):
                    yield from self._inner(values[0], holds)

    def _compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr, holds: bool) -> Iterator[Fact]:
        positive = isinstance(operator, ast.In | ast.Eq | ast.Is) is holds
        value, other = self._value(left), self._value(right)
        if not isinstance(operator, ast.In | ast.NotIn):
            if positive and isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
                yield from self._equal(left, value, right, other)
        elif other.origins and positive and isinstance(right, ast.Attribute) and right.attr == "parents":
            if RESOLVED in other.clean:
                yield other, _IN_FOLDER
        elif other.origins:
            piece = None if positive else self._names.text(left)
            if piece is not None:  # a forbidden text that the value does not contain
                yield other, _ABSENT.get(".." if ".." in piece else piece, frozenset())
        elif not positive and isinstance(left, ast.Subscript) and isinstance(left.slice, ast.Slice):
            known = self._names.constant(right)
            if isinstance(known, tuple) and {"/", "\\"} <= set(known):  # `url[1:2] not in ("/", "\\")`
                yield value, _THIS_SITE
        elif positive and not self._is_text(right):
            yield from _allowed(left, value)

    def _is_text(self, node: ast.expr) -> bool:
        known = self._names.constant(node)
        return isinstance(node, ast.Constant | ast.JoinedStr) or isinstance(known, str | bytes)

    def _equal(self, left: ast.expr, value: Value, right: ast.expr, other: Value) -> Iterator[Fact]:
        if isinstance(right, ast.Constant) and right.value in (None, True, False, "", b""):
            # `parsed.netloc == ""`: no host, so the URL stays on this site
            if isinstance(left, ast.Attribute):
                yield value, _ATTRIBUTES.get((left.attr, False), frozenset()) & _THIS_SITE
            return
        for side, here, there in ((left, value, other), (right, other, value)):
            called = self._names.called(side) if isinstance(side, ast.Call) else ""
            if isinstance(side, ast.Call) and called in ("os.path.commonpath", "os.path.commonprefix"):
                yield from ((self._value(argument), _IN_FOLDER) for argument in side.args)
            if here.origins and not there.origins:
                yield from _allowed(side, here)

    def _called(self, test: ast.Call, holds: bool) -> Iterator[Fact]:
        name = self._names.called(test)
        last = test.func.attr if isinstance(test.func, ast.Attribute) else name.rpartition(".")[2]
        arguments = [self._value(argument) for argument in test.args]
        if name in ("all", "any") and test.args and isinstance(test.args[0], ast.GeneratorExp | ast.ListComp):
            # If `all` holds, each test holds; if `any` does not, none does.
            if (name == "all") is holds:
                inner = self._state.copy()
                for generator in test.args[0].generators:
                    if isinstance(generator.target, ast.Name):
                        inner.names[generator.target.id] = self._engine.value(generator.iter, inner)
                yield from self._inner(test.args[0].elt, holds, inner)
            return
        if holds:
            yield from self._passed(test, name, last, arguments)
        if isinstance(test.func, ast.Attribute) and not name.startswith(":"):
            receiver = self._value(test.func.value)
            yield receiver, _METHODS.get((last, holds), frozenset())
            # A path that is not resolved may leave the folder by `..`.
            if last == "is_relative_to" and holds and RESOLVED in receiver.clean:
                yield receiver, _IN_FOLDER
            if last == "startswith" and test.args:
                yield receiver, _of_prefix(self._names.text(test.args[0]), holds, receiver)
        if holds and name in GUARDS:
            yield from ((self._value(argument), GUARDS[name]) for argument in _given(test)[:1])
        else:
            yield from self._by_function(test, last, holds)

    def unraised(self, call: ast.Call) -> Iterator[Fact]:
        """Yield the facts of a call whose result nobody looks at."""
        name = self._names.called(call)
        if name in CONVERSIONS:
            yield from ((self._value(argument), ALL_USES) for argument in call.args)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "relative_to":
            yield self._value(call.func.value), _IN_FOLDER
        else:
            last = call.func.attr if isinstance(call.func, ast.Attribute) else name.rpartition(".")[2]
            yield from self._by_function(call, last, True)

    def _by_function(self, call: ast.Call, last: str, holds: bool) -> Iterator[Fact]:
        """Yield what functions of the file check; others are judged by name."""
        checked = self._engine.around.guarded(call)
        if checked is not None:
            yield from ((self._value(argument), uses) for argument, uses in checked)
        elif holds and GUARD_NAME.search(last.lower()):
            yield from ((self._value(argument), frozenset({CLAIMED})) for argument in _given(call))

    def _passed(self, test: ast.Call, name: str, last: str, arguments: list[Value]) -> Iterator[Fact]:
        if name == "isinstance" and len(arguments) == 2:
            kind = self._names.resolve(test.args[1]).rpartition(".")[2]
            yield (
                arguments[0],
                TEXT_USES if kind in _NUMBERS else frozenset({Use.NOSQL} if kind == "str" else ()),
            )
        elif last in ("compare_digest", "verify", "check_password_hash"):
            yield from ((value, _SIGNED) for value in arguments)
        elif last in ("fullmatch", "match", "search") and arguments:
            # For a compiled pattern the first argument is the checked text.
            whole = name.startswith("re.") and len(arguments) > 1
            pattern = test.args[0] if whole else self._pattern(test.func)
            if whole or isinstance(test.func, ast.Attribute):
                anchored = _anchored(None if pattern is None else self._names.text(pattern), last)
                yield arguments[int(whole)], ALL_USES if anchored else frozenset()

    def _pattern(self, function: ast.expr) -> ast.expr | None:
        holder = getattr(function, "value", function)
        for value in self._names.values_of(holder) or [holder]:
            if isinstance(value, ast.Call) and self._names.called(value) == "re.compile" and value.args:
                return value.args[0]
        return None


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)]


def _allowed(node: ast.expr, value: Value) -> Iterator[Fact]:
    """Yield the facts of a value, or a part of it, that is one of a list: `node` is what was compared."""
    called = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
    cut = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice | ast.UnaryOp)
    part = "suffix" if cut else called.attr if isinstance(called, ast.Attribute) else ""
    yield value, _PARTS.get(part, ALL_USES)
    # `root, ending = splitext(name)`, followed by `ending == ".png"`
    yield Value(frozenset(origin.whole for origin in value.origins)), _KIND_OF_FILE


def _of_prefix(prefix: str | None, holds: bool, receiver: Value) -> frozenset[str]:
    """Return what a test for a prefix says of a value; the prefix decides what the test is about."""
    # A URL that does *not* start like another site stays on this one.
    if prefix in ("//", "http", "\\"):
        return frozenset() if holds else _THIS_SITE
    # Without a trailing slash, `https://good.example` also accepts `https://good.example.evil`.
    if prefix is not None and re.match(r"https?://[^/]+/", prefix):
        return _SITE if holds else frozenset()
    if holds:
        place = prefix is None or (prefix.startswith("/") and len(prefix) > 1)
        return _IN_FOLDER if place and RESOLVED in receiver.clean else frozenset()
    # Neither an absolute path nor a command-line option.
    return frozenset({Use.ARGUMENT}) if prefix in ("/", "-") else frozenset()


def _anchored(pattern: str | None, method: str) -> bool:
    """Return whether a pattern matches the whole value."""
    if pattern is None:
        return True
    if ".*" in pattern or ".+" in pattern:
        return False
    if method == "fullmatch":
        return True
    ends = pattern.endswith(("$", r"\Z", r"\z"))
    return ends if method == "match" else ends and pattern.startswith(("^", r"\A"))
