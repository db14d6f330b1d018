"""Regular expressions with exponential backtracking, or from untrusted sources."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.flow.sinks import Sink
from codeguard.flow.values import Use
from codeguard.models import Severity
from codeguard.syntax.names import Names

_RULES = rules_of(__file__)

_CALLS = word_set("re.compile re.match re.search re.fullmatch re.findall re.finditer re.sub re.subn re.split "
               "regex.compile regex.match regex.search regex.fullmatch regex.findall regex.sub")  # fmt: skip
_LONGEST = 1000
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_ASSERTIONS = (_constants.ASSERT, _constants.ASSERT_NOT)


def backtracks(pattern: str) -> str | None:
    r"""Return the reason why a pattern can take exponential time, or None.

    Such a pattern has an unbounded repetition inside another one, and a text can be divided between
    them in many ways: `(a+)+`, `(a|a)*`, `(\w+\s?)*`.
    """
    if len(pattern) > _LONGEST:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parsed = _parser.parse(pattern)
        except (re.error, RecursionError, OverflowError, MemoryError, ValueError):
            return None
    return _nested(list(parsed), last=True, depth=0)


def _nested(items: list[Any], *, last: bool, depth: int) -> str | None:
    if depth > 30:
        return None
    for index, (operator, argument) in enumerate(items):
        rest = items[index + 1 :]
        if operator in _REPEATS:
            _, most, inner = argument
            if most is _constants.MAXREPEAT or most > 20:
                reason = None if _looks_around(inner) else _ambiguous(list(inner))
                if reason is not None and not _matches_all(rest, last):
                    return reason
        # The match of an assertion is not retried if something after it fails.
        ends = (last and not rest) or operator in _ASSERTIONS
        for part in _parts(operator, argument):
            found = _nested(part, last=ends, depth=depth + 1)
            if found is not None:
                return found
    return None


def _looks_around(items: Iterable[Any]) -> bool:
    r"""Return whether there is an assertion, which may exclude alternatives, as in `(?:[^*]|\*(?!/))*`."""
    return any(
        operator in _ASSERTIONS or any(map(_looks_around, _parts(operator, argument)))
        for operator, argument in items
    )


def _matches_all(rest: list[Any], last: bool) -> bool:
    """Return whether nothing after a repetition can fail, so that there is no backtracking."""
    return last and not rest


def _parts(operator: Any, argument: Any) -> list[list[Any]]:
    if operator is _constants.SUBPATTERN:
        return [list(argument[3])]
    if operator in _REPEATS:
        return [list(argument[2])]
    if operator is _constants.BRANCH:
        return [list(branch) for branch in argument[1]]
    if operator in _ASSERTIONS:
        return [list(argument[1])]
    return []


def _ambiguous(inner: list[Any]) -> str | None:
    """Return the reason why the body of an unbounded repetition can match one text in several ways."""
    while len(inner) == 1 and inner[0][0] is _constants.SUBPATTERN:
        inner = list(inner[0][1][3])
    if len(inner) == 1 and inner[0][0] is _constants.BRANCH:
        firsts = [_first(list(branch)) for branch in inner[0][1][1]]
        for index, one in enumerate(firsts):
            if any(_overlap(one, other) for other in firsts[index + 1 :]):
                branches = [list(branch) for branch in inner[0][1][1]]
                if all(_single(branch) for branch in branches):
                    return "two branches of a repetition match the same text"
        for branch in inner[0][1][1]:
            if _is_endless(list(branch)):
                return "a repetition within a repetition"
        return None
    for operator, argument in inner:
        # The parser factors out common prefixes: `(a|a)*` becomes a followed by two empty branches.
        if operator is _constants.BRANCH and sum(not len(branch) for branch in argument[1]) > 1:
            return "two branches of a repetition match the same text"
    return "a repetition within a repetition" if _is_endless(inner) else None


def _single(branch: list[Any]) -> bool:
    return len(branch) == 1


def _is_endless(inner: list[Any]) -> bool:
    """Return whether a sequence is an unbounded repetition with only optional parts beside it."""
    endless = [
        item
        for item in inner
        if item[0] in _REPEATS and item[1][1] is _constants.MAXREPEAT and item[1][0] <= 1
    ]
    if len(endless) > 1:
        # `\s*[\w-]+\s*,?`: all but one part may be nothing.
        needed = [
            item
            for item in inner
            if not (item[0] in _REPEATS and item[1][0] == 0) and item[0] is not _constants.AT
        ]
        endless = needed if len(needed) == 1 and needed[0] in endless else []
    if len(endless) != 1:
        return False
    body = list(endless[0][1][2])
    own = _first(body)
    for item in inner:
        if item is endless[0]:
            continue
        optional = item[0] in _REPEATS and item[1][0] == 0
        if item[0] is _constants.AT:
            continue
        if not optional and not _overlap(_first([item]), own):
            return False
    return own is not None and not _is_fixed_list(body)


def _is_fixed_list(body: list[Any]) -> bool:
    return len(body) != 1 or body[0][0] in (_constants.GROUPREF,)


_SAMPLE = "aA0_ -.,/\\\"'<>()[]{}:;=+*&%$#@!?~|^\n\t\u00e9"


def _first(items: list[Any]) -> frozenset[str] | None:
    """Return the sample characters that a sequence may start with; None if unknown."""
    for operator, argument in items:
        if operator is _constants.LITERAL:
            return frozenset({chr(argument)})
        if operator is _constants.NOT_LITERAL:
            return frozenset(_SAMPLE) - {chr(argument)}
        if operator is _constants.ANY:
            return frozenset(_SAMPLE) - {"\n"}
        if operator is _constants.IN:
            return _class(argument)
        if operator is _constants.SUBPATTERN:
            return _first(list(argument[3]))
        if operator in _REPEATS:
            return _first(list(argument[2]))
        if operator is _constants.BRANCH:
            found = [_first(list(branch)) for branch in argument[1]]
            known = [item for item in found if item is not None]
            return frozenset().union(*known) if known else None
        if operator is not _constants.AT:
            return None
    return None


def _class(members: list[Any]) -> frozenset[str]:
    negated = bool(members) and members[0][0] is _constants.NEGATE
    found: set[str] = set()
    for operator, argument in members:
        if operator is _constants.LITERAL:
            found.add(chr(argument))
        elif operator is _constants.RANGE:
            low, high = argument
            found.update(character for character in _SAMPLE if low <= ord(character) <= high)
            found.add(chr(low))
        elif operator is _constants.CATEGORY:
            found.update(_category(argument))
    return frozenset(_SAMPLE) - found if negated else frozenset(found)


def _category(category: Any) -> set[str]:
    table = {
        _constants.CATEGORY_WORD: r"\w",
        _constants.CATEGORY_NOT_WORD: r"\W",
        _constants.CATEGORY_DIGIT: r"\d",
        _constants.CATEGORY_NOT_DIGIT: r"\D",
        _constants.CATEGORY_SPACE: r"\s",
        _constants.CATEGORY_NOT_SPACE: r"\S",
    }
    pattern = table.get(category)
    return set(re.findall(pattern, _SAMPLE)) if pattern else set()


def _overlap(one: frozenset[str] | None, other: frozenset[str] | None) -> bool:
    return one is not None and other is not None and bool(one & other)


def _slow(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    pattern = view.names.constant(view.argument(node, "pattern", 0) or view.argument(node, "regex"))
    if not isinstance(pattern, str) or len(pattern) < 5:
        return
    reason = backtracks(pattern)
    if reason is not None:
        yield NodeMatch(node, f"{reason}: a short text can take years")


def _listed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find patterns in a list or mapping named for patterns."""
    if isinstance(node, ast.Call):
        yield from _slow(view, node, name)
        return
    assert isinstance(node, ast.Assign)
    if not re.search("pattern|regex", unqualified_name(node.targets[0]).lower()):
        return
    for part in walk(node.value):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) > 5:
            reason = backtracks(part.value)
            if reason is not None and not isinstance(view.parent(part), ast.Call):
                yield NodeMatch(part, f"{reason}: a short text can take years")


_FIELDS = lazy(
    r"^(?:pydantic|fastapi|marshmallow|wtforms|django|sqlmodel|litestar|ninja|msgspec|jsonschema)\..*?"
    r"(?:Field|Query|Path|Body|Header|Form|constr|StringConstraints|Regexp?|RegexValidator|RegexField|Parameter|Meta)$"
)


def _of_field(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find the pattern of a field, which is matched against the field's value."""
    assert isinstance(node, ast.keyword)
    call = view.parent(node)
    if (
        node.arg in ("pattern", "regex")
        and isinstance(call, ast.Call)
        and _FIELDS.search(view.names.called(call))
    ):
        pattern = view.names.constant(node.value)
        reason = backtracks(pattern) if isinstance(pattern, str) else None
        if reason is not None:
            yield NodeMatch(node.value, f"{reason}: a short text can take years")


def _of_column(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a method searches the texts of a pandas column: `frame["name"].str.contains(pattern)`."""
    plain = any(item.arg == "regex" and names.constant(item.value) is False for item in call.keywords)
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(holder, ast.Attribute) and holder.attr == "str" and not plain


CHECKS = (
    Check(
        _RULES["exponential-regex"],
        calls=_CALLS
        | word_set(
            "django.core.validators.RegexValidator wtforms.validators.Regexp marshmallow.validate.Regexp"
        ),
        nodes=(ast.Assign, ast.keyword),
        look=lambda view, node, name: (
            _of_field(view, node, name) if isinstance(node, ast.keyword) else _listed(view, node, name)
        ),
    ),
    Check(
        _RULES["regex-injection"],
        sinks=(
            Sink("regex", Use.REGEX, names=_CALLS, arguments=(0, "pattern")),
            Sink(
                "regex-of-column",
                Use.REGEX,
                methods=word_set("contains match fullmatch extract extractall findall"),
                arguments=(0, "pat"),
                accepts=_of_column,
            ),
        ),
        grades=(Severity.MEDIUM, None, None),
    ),
)
