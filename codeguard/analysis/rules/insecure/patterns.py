"""Match patterns of Python, which rules hold as rows, against the tree of a file.

A pattern is Python with two additions: `$X` is any expression, the same wherever it is written again, and `...` in
positional arguments, in a list or in a body is any number of any things. Keyword arguments and the entries of a
mapping are those that have to be there, in any order, and `key=...` is one of any value; others may be there too.
Of a definition the name and the body count. Names are resolved as in `codeguard.syntax.names`: `jwt.decode` is
found however it is imported, and a constant however it is computed. A class matches its instances as well. Four kinds
of pattern are found in their own way:

- a call of a dotted name, or of a method of any object: `$X.set_cookie(...)`;
- a dotted name, wherever it is used: `ssl.PROTOCOL_TLSv1`;
- a setting `verify = False`, or `$NAME = False` for several names, which is a keyword, a variable, an attribute, a key,
  or what a setter sets;
- a decorator: `@$X.csrf_exempt`.

Every other pattern is found at nodes of its own type.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from codeguard.analysis.rules.insecure.base import View, last_name, mentions, parameters_of, vocabulary
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.flow.effects import python_names

_VARIABLE = re.compile(r"\$([A-Z_]+)")
_PREFIX = "_any_"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SETTERS = frozenset({"set_option", "setopt", "set", "setdefault", "setattr"})
_LEFT_OUT = frozenset({"ctx", "type_comment", "kind", "simple", "type_params", "lineno"})
_OF_DEFINITIONS = frozenset({"args", "bases", "keywords", "decorator_list", "returns"})
_LONGEST_NAME = 100
_SHORT_FUNCTION = 12  # lines; the name of a longer function does not describe each value in it
Bound = dict[str, ast.expr]
Where = Mapping[str, Any]


@functools.cache  # of nodes of patterns, which live as long as the program
def variable(node: ast.AST | None) -> str:
    """Return the name of a metavariable, or ""."""
    return node.id.removeprefix(_PREFIX) if isinstance(node, ast.Name) and node.id.startswith(_PREFIX) else ""


@functools.cache
def _is_gap(node: ast.AST | None) -> bool:
    node = node.value if isinstance(node, ast.Expr) else node
    return isinstance(node, ast.Constant) and node.value is ...


@functools.cache
def dotted(node: ast.AST) -> str:
    """Return a dotted name without metavariables, or ""."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return owner and f"{owner}.{node.attr}"
    return node.id if isinstance(node, ast.Name) and not variable(node) else ""


@dataclass(frozen=True)
class Pattern:
    """A pattern and what its metavariables may be.

    `where` has for a metavariable a list of alternatives, each a pattern, or a table of conditions that all hold
    (see `Constraints`).
    """

    node: ast.AST
    where: Mapping[str, Any] = field(default_factory=dict)
    decorator: bool = False

    @cached_property
    def is_setting(self) -> bool:
        """Return whether the pattern is a setting."""
        target = self.node.targets[0] if isinstance(self.node, ast.Assign) else None
        return variable(target) == "NAME" or bool(target and dotted(target))

    def is_named(self, name: str) -> bool:
        """Return whether a name is one of those that a setting is described by, not listed."""
        return _is_like(self.where["NAME"]["like"], name[:_LONGEST_NAME])

    @cached_property
    def keys(self) -> tuple[tuple[str, str | type[ast.AST]], ...]:
        """The names, or the node type, under which an index has the pattern: pairs of a kind and a key."""
        node = self.node
        if self.decorator:
            return (("decorator", ""),)
        if self.is_setting and isinstance(node, ast.Assign):
            names = self.where["NAME"] if variable(node.targets[0]) else [dotted(node.targets[0])]
            if isinstance(names, dict):
                return (("setting", ""),)
            return tuple(("setting", each) for each in names)
        if isinstance(node, ast.Call) and (name := dotted(node.func)):
            return (("call", name),)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return (("method", node.func.attr),)
        if isinstance(node, ast.Call) and node.keywords:
            return (("keyword", node.keywords[0].arg or ""),)
        if isinstance(node, ast.Assign):
            return (("target", next(iter(names_of(node.targets[0])), "")),)
        if isinstance(node, _DEFINITIONS):
            return (("definition", node.name),)
        if name := dotted(node):
            return (("name", name.rpartition(".")[2]),)
        return (("node", type(node)),)


@functools.lru_cache(maxsize=20_000)
def _is_like(pattern: str, name: str) -> bool:
    return lazy(pattern).search(name) is not None


def patterns_of(texts: str | Iterable[str], where: Where | None = None) -> tuple[Pattern, ...]:
    """Return the patterns of a text or of several.

    A metavariable that is part of a dotted name, or the name of what is called or defined, and has a list of
    alternatives makes one pattern of each.

    Raises:
        SyntaxError: a text is no Python.
    """
    found: list[Pattern] = []
    where = {name: _with_uses(given) for name, given in (where or {}).items()}
    compiled = {name: _condition(given) for name, given in where.items()}
    for text in [texts] if isinstance(texts, str) else texts:
        for written in _expanded(text, where):
            found.append(_pattern(written, where, compiled))
    return tuple(found)


def pattern_of(text: str, where: Where) -> Pattern:
    """Return the pattern of a text as it is written; raise SyntaxError if it is no Python."""
    return _pattern(text, where, {name: _condition(given) for name, given in where.items()})


def _pattern(text: str, where: Where, compiled: Where) -> Pattern:
    node = _node(text)
    of_setting = isinstance(node, ast.Assign)
    names = {name: where[name] if name == "NAME" and of_setting else compiled[name] for name in compiled}
    return Pattern(node, names, text.startswith("@"))


@functools.cache  # rows share their vocabularies: nine of ten texts were parsed before
def _node(text: str) -> ast.AST:
    statement = ast.parse(_VARIABLE.sub(rf"{_PREFIX}\1", text).removeprefix("@")).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


@functools.cache
def _alternative(text: str) -> Pattern:
    return patterns_of(text)[0]


def _with_uses(given: Any) -> Any:
    """Return alternatives with the calls that `@shells` stands for: a use of `codeguard.flow.effects`."""
    if not isinstance(given, list):
        return given
    uses = [each[1:] for each in given if each.startswith("@")]
    return [each for each in given if not each.startswith("@")] + sorted(python_names(*uses))


def _expanded(text: str, where: Where) -> Iterator[str]:
    for name, given in where.items():
        if isinstance(given, list) and re.search(rf"\${name}[.(]|\.\${name}(?![A-Z_])", text):
            for each in given:
                yield from _expanded(re.sub(rf"\${name}(?![A-Z_])", each, text), where)
            return
    yield text


def _condition(given: Any) -> Any:
    """Return what a metavariable may be, with its texts as patterns."""
    if isinstance(given, list):
        return list(map(_alternative, given))
    made = dict(given)
    for key in ("has", "is"):
        if key in made:
            made[key] = patterns_of(made[key])
    if "not" in made:
        made["not"] = _condition(made["not"])
    if "any" in made:
        made["any"] = list(map(_condition, made["any"]))
    return made


class Matcher:
    """Matches patterns in one file."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.names = view.names

    def matches(self, pattern: Pattern, node: ast.AST, known: Bound | None = None) -> Bound | None:
        """Return what the metavariables of a pattern are at a node; None if it does not match.

        `known` is what another pattern of the row has bound.
        """
        bound: Bound = dict(known or {})
        if pattern.is_setting:
            return bound if self._sets(pattern, node, bound) else None
        return bound if self._same(pattern.node, node, pattern.where, bound) else None

    def occurs(self, patterns: Iterable[Pattern], holder: ast.AST | None, known: Bound) -> bool:
        """Return whether one of some patterns matches anywhere in a node."""
        listed = tuple(patterns)
        return (
            bool(listed)
            and holder is not None
            and any(
                self.matches(pattern, part, known) is not None
                for part in walk(holder)
                for pattern in listed
                if pattern.is_setting
                or (self._is_text(part) if variable(pattern.node) else isinstance(part, type(pattern.node)))
                or dotted(pattern.node)
            )
        )

    def _is_text(self, node: ast.AST) -> bool:
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        return is_text and not isinstance(self.view.reading.parents.get(node), ast.Expr)

    def _sets(self, pattern: Pattern, node: ast.AST, bound: Bound) -> bool:
        assert isinstance(pattern.node, ast.Assign)
        keys = {key for _, key in pattern.keys}
        by_form = "" in keys
        return any(
            (pattern.is_named(name) if by_form else name in keys)
            and self._value(pattern.node.value, value, pattern.where, bound)
            for name, value in self.settings(node)
        )

    def settings(self, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
        """Yield the names and values that a node sets."""
        if isinstance(node, ast.keyword):
            if node.arg:
                yield node.arg, node.value
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for part, value in zip(target.elts, node.value.elts, strict=False):
                        yield from ((name, value) for name in names_of(part))
                whole = (self.names.resolve(target),) if isinstance(target, ast.Attribute) else ()
                for name in {*names_of(target), *whole} if node.value is not None else ():
                    yield name, node.value  # type: ignore[misc]
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                yield from ((name, value) for name in ([] if key is None else names_of(key)))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "setattr" and len(node.args) == 3:
                yield f"{self.names.resolve(node.args[0])}.{self.names.text(node.args[1])}", node.args[2]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if len(node.args) == 1:
                yield node.func.attr, node.args[0]
            elif len(node.args) > 1 and node.func.attr in _SETTERS:
                yield from ((name, node.args[-1]) for name in names_of(node.args[-2]))
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant):
            yield from ((name, node.elts[1]) for name in names_of(node.elts[0]))

    def _same(self, pattern: Any, node: Any, where: Where, bound: Bound) -> bool:
        """Return whether a node, or another part of the tree, is of a pattern."""
        if isinstance(pattern, ast.expr) and isinstance(node, ast.expr):
            return self._expression(pattern, node, where, bound)
        if isinstance(pattern, list):
            return isinstance(node, list) and self._sequence(pattern, node, where, bound)
        if isinstance(pattern, ast.AST):
            return self._alike(pattern, node, where, bound)
        return bool(pattern == node) or (isinstance(pattern, str) and pattern.startswith(_PREFIX))

    def _alike(self, pattern: ast.AST, node: Any, where: Where, bound: Bound) -> bool:
        """Return whether a node is of a pattern's type, and its parts of the pattern's parts."""
        left_out = _LEFT_OUT | _OF_DEFINITIONS if isinstance(pattern, _DEFINITIONS) else _LEFT_OUT
        return type(pattern) is type(node) and all(
            self._same(getattr(pattern, name), getattr(node, name, None), where, bound)
            for name in pattern._fields
            if name not in left_out
        )

    def _expression(self, pattern: ast.expr, node: ast.expr, where: Where, bound: Bound) -> bool:
        name = variable(pattern)
        if name:
            return self._binds(name, node, where, bound)
        if _is_gap(pattern):
            return True
        if isinstance(pattern, ast.Constant):
            return self._is_constant(pattern.value, node)
        if dotted(pattern):
            return self._is_named(dotted(pattern), node)
        if isinstance(pattern, ast.Call):
            return isinstance(node, ast.Call) and self._call(pattern, node, where, bound)
        if isinstance(pattern, ast.Dict):
            return isinstance(node, ast.Dict) and self._entries(pattern, node, where, bound)
        return self._alike(pattern, node, where, bound)

    def _value(self, pattern: ast.expr, node: ast.expr, where: Where, bound: Bound) -> bool:
        """Return whether a value, or what its name is bound to, is of a pattern."""
        return self._expression(pattern, node, where, bound) or (
            isinstance(node, ast.Name | ast.Attribute)
            and not variable(pattern)
            and any(self._expression(pattern, value, where, bound) for value in self.names.values_of(node))
        )

    def _is_constant(self, wanted: object, node: ast.expr) -> bool:
        value = self.names.constant(node.body if isinstance(node, ast.Lambda) else node, ...)
        return any(
            type(each) is type(wanted) and each == wanted
            for each in (value, *(value if isinstance(value, tuple) else ()))
        )

    def _is_named(self, wanted: str, node: ast.expr) -> bool:
        """Return whether an expression may be what a dotted name is, of that class, or a class derived from it.

        A bare name is the last part of one.
        """
        found = [name.removesuffix("()") for name in self.names.names_of(node)]
        for name in tuple(found):
            definition = self.names.definition(name)
            if isinstance(definition, ast.ClassDef):
                found += self.names.bases(definition)
        if "." in wanted:
            return any(name == wanted for name in found)
        return any(name.rpartition(".")[2] == wanted for name in found)

    def _call(self, pattern: ast.Call, node: ast.Call, where: Where, bound: Bound) -> bool:
        if dotted(pattern.func):
            if dotted(pattern.func) not in self.names.names_of(node.func):
                return False
        elif not self._same(pattern.func, node.func, where, bound):
            return False
        if not self._sequence(pattern.args, node.args, where, bound):
            return False
        return all(self._keyword(item, node, where, bound) for item in pattern.keywords)

    def _keyword(self, pattern: ast.keyword, node: ast.Call, where: Where, bound: Bound) -> bool:
        given = self.view.argument(node, pattern.arg or "")
        if given is None:  # what is unpacked may hold it
            return _is_gap(pattern.value) and any(item.arg is None for item in node.keywords)
        return self._value(pattern.value, given, where, bound)

    def _entries(self, pattern: ast.Dict, node: ast.Dict, where: Where, bound: Bound) -> bool:
        return all(
            any(
                key is not None
                and wanted is not None
                and self._expression(wanted, key, where, bound)
                and self._value(meant, value, where, bound)
                for key, value in zip(node.keys, node.values, strict=True)
            )
            for wanted, meant in zip(pattern.keys, pattern.values, strict=True)
        )

    def _sequence(
        self,
        pattern: list[Any],
        nodes: list[Any],
        where: Where,
        bound: Bound,
        part: int = 0,
        place: int = 0,
    ) -> bool:
        """Return whether some nodes are those of a pattern in order, with any others where it has a gap.

        Both are read from a place on: a list that somebody wrote with 60,000 items is not copied for each.
        """
        if part == len(pattern):
            return place == len(nodes)
        wanted = pattern[part]
        if _is_gap(wanted):
            return part + 1 == len(pattern) or any(
                self._sequence(pattern, nodes, where, bound, part + 1, later)
                for later in range(place, len(nodes) + 1)
            )
        if place == len(nodes):
            return False
        same = self._value if isinstance(wanted, ast.expr) else self._same
        return same(wanted, nodes[place], where, bound) and self._sequence(
            pattern, nodes, where, bound, part + 1, place + 1
        )

    def _binds(self, name: str, node: ast.expr, where: Where, bound: Bound) -> bool:
        if name == "_":
            return True
        if name in bound:
            return ast.dump(bound[name]) == ast.dump(node)
        if name in where and not self.allows(where[name], node):
            return False
        bound[name] = node
        return True

    def allows(self, given: Any, node: ast.expr) -> bool:
        """Return whether an expression may be bound to a metavariable."""
        if isinstance(given, list):
            return any(self._value(each.node, node, {}, {}) for each in given)
        return all(_CONDITIONS[key](self, value, node) for key, value in given.items())

    def _is_kind(self, kind: str, node: ast.expr) -> bool:
        if kind == "parameter":
            return isinstance(node, ast.Name) and node.id in parameters_of(self.view.names.function_of(node))
        value = self.names.constant(node, ...)
        if kind == "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        if kind == "text":
            return isinstance(value, str | bytes) and bool(value)
        return value is not ...

    def _is_between(self, node: ast.expr, test: Callable[[Any], bool]) -> bool:
        value = self.view.value(node, ...)
        if value is ...:  # `stat.S_IRWXU | stat.S_IWOTH`, `os.stat(path).st_mode | 0o022`
            value = self._bits_of(node)
        return isinstance(value, int | float) and not isinstance(value, bool) and test(value)

    def _bits_of(self, node: ast.expr) -> int | None:
        """Return the bits that an expression is known to set, or None."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [bits for side in (node.left, node.right) if (bits := self._bits_of(side)) is not None]
            return functools.reduce(operator.or_, sides) if sides else None
        owner, _, name = self.names.resolve(node).rpartition(".")
        value = getattr(stat, name, None) if owner == "stat" else self.names.constant(node)
        return value if type(value) is int else None

    def _is_called(self, words: str, node: ast.expr) -> bool:
        """Return whether a name in an expression, or in what it is made of, means one of some things."""
        pattern = vocabulary(words)
        if mentions(self.names.text(node) or "", pattern):
            return True
        for part in self.view.behind(node, 1):
            if isinstance(part, ast.Name | ast.Attribute) and mentions(unqualified_name(part), pattern):
                return True
            if isinstance(part, ast.Subscript | ast.Dict) and any(
                mentions(self.names.text(key) or "", pattern)
                for key in (part.keys if isinstance(part, ast.Dict) else [part.slice])
            ):
                return True
        return False

    def _shows(self, words: str, node: ast.expr) -> bool:
        """Return whether a value of some name is an expression, or is put into the text that it is."""
        if isinstance(node, ast.JoinedStr | ast.BinOp | ast.Tuple | ast.FormattedValue):
            return any(
                self._shows(words, part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)
            )
        if isinstance(node, ast.Call):
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            return method == "format" and any(self._shows(words, part) for part in node.args)
        named = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        return named and mentions(last_name(node), vocabulary(words))

    def _is_made_of(self, patterns: Iterable[Pattern], node: ast.expr) -> bool:
        return any(
            self.matches(pattern, part) is not None
            for part in self.view.behind(node)
            for pattern in patterns
            if isinstance(part, type(pattern.node)) or dotted(pattern.node)
        )


# What a table in `where` may ask: the conditions by name, each of a matcher, what is asked and the expression.
_CONDITIONS: dict[str, Callable[[Matcher, Any, ast.expr], bool]] = {
    "kind": lambda matcher, kind, node: matcher._is_kind(kind, node),
    "below": lambda matcher, bound, node: matcher._is_between(node, lambda value: value < bound),
    "above": lambda matcher, bound, node: matcher._is_between(node, lambda value: value > bound),
    "bits": lambda matcher, bits, node: matcher._is_between(node, lambda value: bool(int(value) & bits)),
    "no_bits": lambda matcher, bits, node: matcher._is_between(node, lambda value: not int(value) & bits),
    "longer": lambda matcher, length, node: len(matcher.names.text(node) or "") > length,
    "like": lambda matcher, pattern, node: bool(lazy(pattern).search(matcher.names.literal.text(node))),
    "shows": lambda matcher, words, node: matcher._shows(words, node),
    "named": lambda matcher, words, node: matcher._is_called(words, node),
    "is": lambda matcher, patterns, node: any(matcher._value(each.node, node, {}, {}) for each in patterns),
    "has": lambda matcher, patterns, node: matcher._is_made_of(patterns, node),
    "not": lambda matcher, given, node: not matcher.allows(given, node),
    "any": lambda matcher, given, node: any(matcher.allows(each, node) for each in given),
}


def names_of(node: ast.expr) -> tuple[str, ...]:
    """Return the names of a variable, an attribute (with and without its object) or a key."""
    if isinstance(node, ast.Attribute):
        return node.attr, f"{unqualified_name(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Subscript):
        node = node.slice
    return (node.value,) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ()


def purposes(view: View, node: ast.AST) -> Iterator[str]:
    """Yield the names that say what a value is for: of the targets, keywords and function that get it.

    A class says what its own settings are for; a longer function only what the value is for that it returns.
    """
    statement = view.statement(node)
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            yield from (
                last_name(each) for each in (target.elts if isinstance(target, ast.Tuple) else [target])
            )
    at = view.reading.parents.get(node)
    while at is not None and at is not statement:
        if isinstance(at, ast.keyword) and at.arg:
            yield at.arg
        at = view.reading.parents.get(at)
    function = view.names.function_of(node)
    if function is not None and (
        isinstance(statement, ast.Return)
        or (function.end_lineno or function.lineno) - function.lineno <= _SHORT_FUNCTION
    ):
        yield function.name
    owner = view.names.class_of(node) if node is statement else None
    if owner is not None:
        yield owner.name
