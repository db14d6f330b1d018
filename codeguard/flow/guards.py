"""The facts that a test establishes: the uses for which its values are harmless if it holds or fails."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from codeguard.flow.tables import GUARD_NAME, GUARDS
from codeguard.flow.values import (
    ALL_USES,
    CLAIMED,
    RESOLVED,
    TEXT_USES,
    State,
    Use,
    Value,
)
from codeguard.syntax.names import Names

if TYPE_CHECKING:
    from codeguard.flow.evaluation import Evaluator

Fact = tuple[Value, frozenset[str]]
_CHARACTER_TESTS = frozenset({"isdigit", "isalnum", "isalpha", "isdecimal", "isnumeric", "isidentifier"})
_ADDRESS_TESTS = frozenset(
    {"is_private", "is_loopback", "is_global", "is_link_local", "is_reserved", "is_multicast"}
)


def facts(test: ast.expr, holds: bool, state: State, engine: Evaluator, depth: int = 0) -> list[Fact]:
    """Return the facts if a test holds, or if it does not; empty beyond the limits."""
    if depth > 20 or not engine.enter(test):
        return []
    try:
        return _facts(test, holds, state, engine, depth)
    finally:
        engine.leave()


def _facts(test: ast.expr, holds: bool, state: State, engine: Evaluator, depth: int) -> list[Fact]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return facts(test.operand, not holds, state, engine, depth + 1)
    if isinstance(test, ast.BoolOp):
        return _combined(test, holds, state, engine, depth)
    if isinstance(test, ast.NamedExpr):
        return facts(test.value, holds, state, engine, depth + 1)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return list(_compared(test.left, test.ops[0], test.comparators[0], holds, state, engine))
    if isinstance(test, ast.Call):
        return list(_called(test, holds, state, engine, depth))
    if isinstance(test, ast.Attribute):
        return list(_attribute(test, holds, state, engine))
    if isinstance(test, ast.Name):
        # `ok = x in ALLOWED` and later `if not ok:`
        values = engine.names.values_of(test)
        if len(values) == 1 and isinstance(values[0], ast.Compare | ast.Call | ast.BoolOp | ast.UnaryOp):
            return facts(values[0], holds, state, engine, depth + 1)
    return []


def _combined(test: ast.BoolOp, holds: bool, state: State, engine: Evaluator, depth: int) -> list[Fact]:
    parts = [facts(part, holds, state, engine, depth + 1) for part in test.values]
    if isinstance(test.op, ast.And) is holds:
        return [fact for part in parts for fact in part]
    common = frozenset.intersection(*(frozenset(value for value, _ in part) for part in parts))
    return [(value, uses) for value, uses in parts[0] if value in common]


_Sides = tuple[tuple[ast.expr, Value], tuple[ast.expr, Value]]


def _compared(
    left: ast.expr, operator: ast.cmpop, right: ast.expr, holds: bool, state: State, engine: Evaluator
) -> Iterator[Fact]:
    positive = isinstance(operator, ast.In | ast.Eq | ast.Is) is holds
    sides = (left, engine.value(left, state)), (right, engine.value(right, state))
    if isinstance(operator, ast.In | ast.NotIn):
        yield from _membership(sides, positive, engine)
    elif positive and isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        yield from _equality(sides, state, engine)


def _membership(sides: _Sides, positive: bool, engine: Evaluator) -> Iterator[Fact]:
    """Yield the facts of `left in right`, or of `left not in right` if not `positive`."""
    (left, value), (right, other) = sides
    if other.origins and positive and isinstance(right, ast.Attribute) and right.attr == "parents":
        if RESOLVED in other.clean:
            yield other, frozenset({Use.PATH, Use.ARCHIVE})
    elif other.origins:
        yield from _contained(left, other, positive, engine)
    elif not positive and isinstance(left, ast.Subscript) and isinstance(left.slice, ast.Slice):
        if {"/", "\\"} <= set(_members(right, engine)):  # `url[1:2] not in ("/", "\\")`
            yield value, frozenset({Use.REDIRECT})
    elif positive and not _is_text(right, engine):
        yield value, _tested_part(left)
        yield Value(frozenset(origin.whole for origin in value.origins)), frozenset({Use.FILE_NAME})


def _members(node: ast.expr, engine: Evaluator) -> tuple[object, ...]:
    known = engine.names.constant(node)
    return known if isinstance(known, tuple) else ()


def _equality(sides: _Sides, state: State, engine: Evaluator) -> Iterator[Fact]:
    """Yield the facts of `left == right`."""
    (left, value), (right, other) = sides
    if isinstance(right, ast.Constant) and right.value in (None, True, False, "", b""):
        # `parsed.netloc == ""`: no host, so the URL stays on this site
        if isinstance(left, ast.Attribute) and left.attr in ("netloc", "hostname"):
            yield value, frozenset({Use.REDIRECT})
        return
    for here, there, side in ((value, other, left), (other, value, right)):
        yield from _checked_path(side, state, engine)
        if here.origins and not there.origins:
            yield here, _tested_part(side)
            # `root, ending = splitext(name)`, followed by `ending == ".png"`
            yield Value(frozenset(origin.whole for origin in here.origins)), frozenset({Use.FILE_NAME})


def _contained(left: ast.expr, other: Value, positive: bool, engine: Evaluator) -> Iterator[Fact]:
    """Yield the facts of a test that a forbidden substring is not in the value."""
    piece = engine.names.text(left)
    if positive or piece is None:
        return
    uses = set()
    if ".." in piece or piece in ("/", "\\"):
        uses |= {Use.PATH, Use.ARCHIVE}
    if piece in ("\n", "\r", "\r\n"):
        uses |= {Use.LOG, Use.HEADER}
    if piece in ("\\", "//", "://"):
        uses |= {Use.REDIRECT}
    if uses:
        yield other, frozenset(uses)


def _tested_part(node: ast.expr) -> frozenset[str]:
    """Return the uses covered by an allow-list that only a part of the value was compared with."""
    attribute = node.attr if isinstance(node, ast.Attribute) else ""
    if attribute == "scheme":
        return frozenset({Use.CODE})
    if attribute in ("hostname", "netloc", "origin"):
        return frozenset({Use.URL, Use.REDIRECT})
    if attribute in ("suffix", "content_type", "mimetype"):
        return frozenset({Use.FILE_NAME})
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice | ast.UnaryOp):
        return frozenset({Use.FILE_NAME})
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "splitext":
        return frozenset({Use.FILE_NAME})
    return ALL_USES


def _checked_path(node: ast.expr, state: State, engine: Evaluator) -> Iterator[Fact]:
    """Yield the facts of `os.path.commonpath([base, x]) == base`."""
    if isinstance(node, ast.Call) and engine.names.called(node) in (
        "os.path.commonpath",
        "os.path.commonprefix",
    ):
        for argument in node.args:
            yield engine.value(argument, state), frozenset({Use.PATH, Use.ARCHIVE})


def _called(test: ast.Call, holds: bool, state: State, engine: Evaluator, depth: int) -> Iterator[Fact]:
    names = engine.names
    name = names.called(test)
    last = test.func.attr if isinstance(test.func, ast.Attribute) else name.rpartition(".")[2]
    arguments = [engine.value(argument, state) for argument in test.args]
    if name in ("all", "any") and test.args and isinstance(test.args[0], ast.GeneratorExp | ast.ListComp):
        # If `all` holds, each test holds; if `any` does not, none does.
        if (name == "all") is holds:
            yield from _each(test.args[0], holds, state, engine, depth)
        return
    yield from _known_test(test, name, last, arguments, holds, state, engine)
    # The checks of functions in the file are known; others are judged by name.
    checked = engine.around.guarded(test)
    if checked is not None:
        for index, uses in checked:
            if index < len(arguments):
                yield arguments[index], uses
        return
    if not holds:
        return
    arguments += [engine.value(keyword.value, state) for keyword in test.keywords if keyword.arg]
    if name in GUARDS:
        yield from ((value, GUARDS[name]) for value in arguments[:1])
    elif GUARD_NAME.search(last):
        yield from ((value, frozenset({CLAIMED})) for value in arguments)


def _known_test(
    test: ast.Call,
    name: str,
    last: str,
    arguments: list[Value],
    holds: bool,
    state: State,
    engine: Evaluator,
) -> Iterator[Fact]:
    """Yield the facts of a call of a library's test, or of a method of a value."""
    names = engine.names
    if name == "isinstance" and holds and arguments and len(test.args) == 2:
        if names.resolve(test.args[1]).rpartition(".")[2] in (
            "int",
            "float",
            "bool",
            "UUID",
            "date",
            "datetime",
        ):
            yield arguments[0], TEXT_USES
        elif names.resolve(test.args[1]) == "str":
            yield arguments[0], frozenset({Use.NOSQL})
    elif name in ("hmac.compare_digest", "secrets.compare_digest") or last in (
        "verify",
        "check_password_hash",
    ):
        if holds:
            yield from ((value, frozenset({Use.DATA, Use.CODE, Use.URL})) for value in arguments)
    elif name in ("re.fullmatch", "re.match", "re.search") and len(arguments) > 1:
        if holds and _anchored(names.text(test.args[0]), name.rpartition(".")[2]):
            yield arguments[1], ALL_USES
    # For a compiled pattern the first argument is the checked text.
    elif isinstance(test.func, ast.Attribute) and last in ("fullmatch", "match", "search") and arguments:
        if holds and _anchored(_pattern(test.func.value, names), last):
            yield arguments[0], ALL_USES
    elif isinstance(test.func, ast.Attribute) and not name.startswith(":"):
        receiver = engine.value(test.func.value, state)
        yield from _method(last, receiver, test, arguments, holds, engine)


def _method(
    last: str, receiver: Value, test: ast.Call, arguments: list[Value], holds: bool, engine: Evaluator
) -> Iterator[Fact]:
    if last in _CHARACTER_TESTS and holds:
        yield receiver, ALL_USES
    elif last == "is_relative_to" and holds:
        # A path that is not resolved may leave the folder by `..`.
        if RESOLVED in receiver.clean:
            yield receiver, frozenset({Use.PATH, Use.ARCHIVE})
    elif last == "is_absolute" and not holds:
        yield receiver, frozenset({Use.ARCHIVE})
    elif last == "startswith" and test.args:
        yield from _prefix(receiver, test.args[0], holds, engine)
    elif last == "endswith" and holds:
        yield receiver, frozenset({Use.FILE_NAME})


def _prefix(receiver: Value, argument: ast.expr, holds: bool, engine: Evaluator) -> Iterator[Fact]:
    """Yield the facts of `receiver.startswith(argument)`; the prefix decides what they are about."""
    prefix = engine.names.text(argument)
    # A URL that does *not* start like another site stays on this one.
    if prefix is not None and prefix in ("//", "http", "\\"):
        if not holds:
            yield receiver, frozenset({Use.REDIRECT})
    # Without a trailing slash, `https://good.example` also accepts `https://good.example.evil`.
    elif prefix is not None and re.match(r"https?://[^/]+/", prefix):
        if holds:
            yield receiver, frozenset({Use.URL, Use.REDIRECT})
    elif holds and (prefix is None or (prefix.startswith("/") and len(prefix) > 1)):
        if RESOLVED in receiver.clean:
            yield receiver, frozenset({Use.PATH, Use.ARCHIVE})
    # Neither an absolute path nor a command-line option.
    elif not holds and prefix in ("/", "-"):
        yield receiver, frozenset({Use.ARGUMENT})


def _attribute(test: ast.Attribute, holds: bool, state: State, engine: Evaluator) -> Iterator[Fact]:
    if test.attr in _ADDRESS_TESTS:
        yield engine.value(test.value, state), frozenset({Use.URL})
    elif test.attr in ("netloc", "hostname") and not holds:
        yield engine.value(test.value, state), frozenset({Use.REDIRECT})


def _each(
    node: ast.GeneratorExp | ast.ListComp, holds: bool, state: State, engine: Evaluator, depth: int
) -> Iterator[Fact]:
    inner = state.copy()
    for generator in node.generators:
        if isinstance(generator.target, ast.Name):
            inner.names[generator.target.id] = engine.value(generator.iter, inner)
    yield from facts(node.elt, holds, inner, engine, depth + 1)


def _pattern(node: ast.expr, names: Names) -> str | None:
    values: Iterable[ast.expr] = names.values_of(node) or [node]
    for value in values:
        if isinstance(value, ast.Call) and names.called(value) == "re.compile" and value.args:
            return names.text(value.args[0])
    return None


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


def _is_text(node: ast.expr, engine: Evaluator) -> bool:
    return isinstance(node, ast.Constant | ast.JoinedStr) or isinstance(
        engine.names.constant(node), str | bytes
    )
