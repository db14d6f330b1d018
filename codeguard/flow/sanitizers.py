"""Uses for which removing characters makes a value harmless, judged by the characters removed.

The patterns are untrusted. Only patterns without nested repetition are tried, and only on single
characters, so matching takes negligible time.
"""

from __future__ import annotations

import ast
import operator
import re
import string
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from codeguard.flow.values import Use
from codeguard.syntax.names import Names

_LONGEST = 200
_MOST_ITEMS = 6
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_SINGLE = (_constants.IN, _constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY)

NEEDED: Mapping[str, str] = {
    Use.LOG: "\r\n",
    Use.HEADER: "\r\n",
    Use.HTML: "<",
    Use.XML: "<",
    Use.SQL: "'\" ;(",
    Use.SHELL: " \n;|&$`<>()'\"\\",
    Use.PATH: "/\\",
    Use.ARCHIVE: "/\\",
    Use.LDAP: "()*\\",
    Use.XPATH: "'\"[",
    Use.REGEX: "(*+{",
    Use.TEMPLATE: "{",
    Use.CODE: "( .[",
    Use.URL: ":/",
    Use.REDIRECT: ":/\\",
    Use.NOSQL: "{$",
}
"""The characters that harm of a kind needs: a value without any of them does none."""
_PROBES = "".join(sorted(set("".join(NEEDED.values()))))
_TESTS = frozenset(
    {"isalnum", "isalpha", "isdigit", "isdecimal", "isnumeric", "isprintable", "isspace", "isascii", "isupper",
     "islower", "isidentifier"}
)  # fmt: skip
_ORDERS: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def uses_without(removed: Iterable[str]) -> frozenset[str]:
    """Return the uses that a value is harmless for without these characters."""
    gone = frozenset(removed)
    return frozenset(use for use, needed in NEEDED.items() if gone.issuperset(needed))


@lru_cache(maxsize=256)
def removed_by_pattern(pattern: str, replacement: str) -> frozenset[str]:
    """Return the uses that `re.sub(pattern, replacement, value)` makes a value harmless for."""
    if len(pattern) > _LONGEST or "\\" in replacement:
        return frozenset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not _is_plain(list(_parser.parse(pattern))):
                return frozenset()
            compiled = re.compile(pattern)
        except (re.error, RecursionError, OverflowError, ValueError):
            return frozenset()
    return uses_without(c for c in _PROBES if compiled.fullmatch(c) and c not in replacement)


def _is_plain(items: list[tuple[object, object]]) -> bool:
    """Return whether a pattern is a short sequence, or a choice, of optionally repeated single characters."""
    if len(items) > _MOST_ITEMS:
        return False
    for operation, argument in items:
        if operation in _REPEATS:
            inner = list(argument[2])  # type: ignore[index]
            if len(inner) != 1 or inner[0][0] not in _SINGLE:
                return False
        elif operation is _constants.BRANCH:
            if not all(_is_plain(list(branch)) for branch in argument[1]):  # type: ignore[index]
                return False
        elif operation not in _SINGLE:
            return False
    return True


def removed_by_table(names: Names, node: ast.expr) -> frozenset[str]:
    """Return the uses that `value.translate(table)` makes a value harmless for."""
    gone: set[str] = set()
    for value in [node, *names.values_of(node)]:
        if isinstance(value, ast.Call) and names.called(value).endswith("str.maketrans"):
            texts = [names.text(argument) or "" for argument in value.args]
            gone.update(*texts[:1], *texts[2:3])
            gone.difference_update(*texts[1:2])
        elif isinstance(value, ast.Dict):
            for key in value.keys:
                known = names.constant(key)
                if isinstance(known, str):
                    gone.update(known[:1])
                elif isinstance(known, int) and 0 <= known < 128:
                    gone.add(chr(known))
    return uses_without(gone)


def removed_by_filter(names: Names, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> frozenset[str]:
    """Return the uses that `"".join(c for c in value if …)` makes a value harmless for."""
    generator = node.generators[0]
    if len(node.generators) != 1 or not isinstance(generator.target, ast.Name):
        return frozenset()
    name, tests, other = generator.target.id, list(generator.ifs), ""
    if isinstance(node.elt, ast.IfExp) and _is_name(node.elt.body, name):
        given = names.constant(node.elt.orelse)
        if not isinstance(given, str):
            return frozenset()
        tests, other = [*tests, node.elt.test], given
    elif not _is_name(node.elt, name):
        return frozenset()
    if not tests:
        return frozenset()
    return uses_without(
        c for c in _PROBES if c not in other and any(_holds(names, test, name, c) is False for test in tests)
    )


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _holds(names: Names, test: ast.expr, name: str, character: str) -> bool | None:
    """Return whether a test holds for a character; None if unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        held = _holds(names, test.operand, name, character)
        return None if held is None else not held
    if isinstance(test, ast.BoolOp):
        parts = [_holds(names, part, name, character) for part in test.values[:8]]
        decisive = isinstance(test.op, ast.Or)
        if decisive in parts:
            return decisive
        return None if None in parts or len(test.values) > 8 else not decisive
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        if _is_name(test.func.value, name) and test.func.attr in _TESTS:
            return bool(getattr(character, test.func.attr)())
        return None
    if isinstance(test, ast.Compare):
        sides = [_side(names, side, name, character) for side in (test.left, *test.comparators)]
        return _compared(test.ops, sides)
    return None


def _compared(operators: list[ast.cmpop], sides: list[object]) -> bool | None:
    for index, each in enumerate(operators):
        left, right = sides[index], sides[index + 1]
        if left is None or right is None:
            return None
        try:
            if isinstance(each, ast.In | ast.NotIn):
                held = (left in right) is isinstance(each, ast.In)  # type: ignore[operator]
            elif type(each) in _ORDERS:
                held = bool(_ORDERS[type(each)](left, right))
            else:
                return None
        except TypeError:
            return None
        if not held:
            return False
    return True


def _side(names: Names, node: ast.expr, name: str, character: str) -> object:
    if _is_name(node, name):
        return character
    if isinstance(node, ast.Call) and names.called(node) == "ord" and len(node.args) == 1:
        return ord(character) if _is_name(node.args[0], name) else None
    return _text_of(names, node, 0)


def _text_of(names: Names, node: ast.expr, depth: int) -> object:
    """Return the value of a constant expression, including the string module's alphabets."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.BitOr) and depth < 8:
        left, right = _text_of(names, node.left, depth + 1), _text_of(names, node.right, depth + 1)
        return left + right if isinstance(left, str) and isinstance(right, str) else None
    module, _, alphabet = names.resolve(node).rpartition(".")
    if module == "string" and alphabet in _ALPHABETS:
        return getattr(string, alphabet)
    values = names.values_of(node) if isinstance(node, ast.Name | ast.Attribute) else []
    if len(values) == 1 and isinstance(values[0], ast.BinOp | ast.Call) and depth < 8:
        return _text_of(names, values[0], depth + 1)
    if isinstance(node, ast.Call) and names.called(node) in ("set", "frozenset") and len(node.args) == 1:
        return _text_of(names, node.args[0], depth + 1)
    return names.constant(node)


_ALPHABETS = frozenset({"ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "hexdigits"})


def quoted(piece: str | None = None, instead: str | None = None) -> frozenset[str]:
    """Return the uses that a value between quotes is harmless for, once `piece` is replaced by `instead`.

    Doubling single quotes is not enough for every database: some accept a backslash as an escape.
    """
    if piece == '"':
        return frozenset({Use.SQL})
    return frozenset({Use.SHELL}) if piece == "'" and instead in ("'\"'\"'", "'\\''") else frozenset()
