"""A subset of Python in which a function's result depends on nothing but its arguments.

It is an allow-list of syntax, builtins, modules with their functions, and methods of plain values.
Code outside of it is not wrong, but it is not known to be pure and gets no full pass. Excluded on
purpose is everything that reveals where code runs or keeps state between calls: names and
attributes with double underscores, `id`, `hash`, `globals`, `type`, `is` between values, stores to
attributes, `global`, mutable defaults, decorators, classes, frames, files, clocks, randomness, and
handlers that would also catch the limits of a test (`RecursionError`, `MemoryError`).
"""

from __future__ import annotations

import ast
import builtins
import re
import tomllib
from collections.abc import Iterator, Mapping, Sized
from pathlib import Path

from codeguard.behavior.inputs.tailored import ORDINARY_NUMBER, is_magic
from codeguard.behavior.source.constants import UnknownError, fold
from codeguard.behavior.source.definitions import unparse

Constants = Mapping[str, object]
PREFIX = "_codeguard_"
_WORDS = tomllib.loads((Path(__file__).parent / "closed.toml").read_text("utf-8"))
BUILTINS, CAUGHT, VALUES, METHODS, UNBOUND, FIELDS, CONVERTING, UNKNOWN_CODE = (
    frozenset(_WORDS[name].split())
    for name in ("builtins", "caught", "values", "methods", "unbound", "fields", "converting", "unknown_code")
)
MODULES: Mapping[str, frozenset[str]] = {
    name: frozenset(text.split()) for name, text in _WORDS["modules"].items()
}
"""Modules whose chosen functions are pure: what each may be asked for."""

_SYNTAX = (
    *(ast.Module, ast.FunctionDef, ast.Lambda, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For),
    *(ast.While, ast.If, ast.Break, ast.Continue, ast.Pass, ast.Expr, ast.Raise, ast.Try, ast.ExceptHandler),
    *(ast.Assert, ast.Delete, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Nonlocal, ast.arguments, ast.arg),
    *(ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Set, ast.List, ast.Tuple, ast.ListComp),
    *(ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.Compare, ast.Call, ast.keyword),
    *(ast.JoinedStr, ast.FormattedValue, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name),
    *(
        ast.Slice,
        ast.Import,
        ast.ImportFrom,
        ast.alias,
        ast.expr_context,
        ast.operator,
        ast.unaryop,
        ast.boolop,
    ),
    *(ast.cmpop,),
)
_PRECISION = re.compile(r"\.(\d+|\{[^}]*\})(?![\d.]*[eEfFgG%n])|\.\*")
_FIELD = re.compile(r"\{[^{}]*[.\[][^{}]*\}")
_NESTED = re.compile(r"\{[^{}]*\{")
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp)
_PYTHON_NAMES = frozenset(dir(builtins))
_CODECS = frozenset({"ascii", "utf-8", "utf8", "latin-1"})  # others change some characters and not others
_MAX_BESIDE_STAR = 2  # places taken one by one from a row whose rest is dropped
_PATTERN_FUNCTIONS = frozenset(
    f"re.{name}"
    for name in ("compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")
)
_CLASS = r"(?:\\[sSwWdD]|\[\^?(?:\\[swd]|a-z|A-Z|0-9)+\]|[^\\^$.|?*+()\[\]{}])"
_PLAIN_PATTERN = re.compile(rf"\^?{_CLASS}[+*]?\$?")


def first_impure_construct(tree: ast.Module, constants: Constants, known: frozenset[str]) -> str:
    """Return the first construct of a module outside of the closed subset, or "" if there is none.

    `constants` maps names to known values. `known` are the constants of the trusted function as
    text: a sequence cut at any other constant may hide behavior that no test shows.
    """
    return next(_PurityCheck(tree, constants, known).impure_constructs(), "")


class _PurityCheck:
    """Checks one module, given the names that it binds."""

    def __init__(self, tree: ast.Module, constants: Constants, known: frozenset[str]) -> None:
        self.tree = tree
        self.constants = constants
        self.known = known
        self.bound = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        self.bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self.bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        self.bound |= {
            node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name
        }
        self.modules: dict[str, str] = {}  # local name: module
        self.imported: dict[str, str] = {}  # local name: module.name
        self.parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.mutable = {
            target.id
            for statement in tree.body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, _MUTABLE)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }

    def impure_constructs(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from self._import(node)
        for name in sorted(self.bound & _PYTHON_NAMES):
            yield f"binds the builtin name {name}"
        for statement in self.tree.body:
            yield from self._top_level(statement)
        for node in ast.walk(self.tree):
            if not isinstance(node, _SYNTAX):
                yield type(node).__name__.lower()
            check = getattr(self, f"check_{type(node).__name__.lower()}", None)
            if check is not None:
                yield from check(node)

    def _top_level(self, statement: ast.stmt) -> Iterator[str]:
        documented = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement, ast.FunctionDef | ast.Import | ast.ImportFrom) or documented:
            return
        named = isinstance(statement, ast.Assign) and all(
            isinstance(item, ast.Name) for item in statement.targets
        )
        named |= isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        if not named:
            yield f"top level: {_first_line(statement)}"

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name not in MODULES or "." in alias.name:
                    yield f"import {alias.name}"
                self.modules[alias.asname or alias.name] = alias.name
                self.bound.add(alias.asname or alias.name)
            return
        allowed = MODULES.get(node.module or "", frozenset()) if not node.level else frozenset()
        for alias in node.names:
            if alias.name not in allowed:
                yield f"import {node.module}.{alias.name}"
            self.imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            self.bound.add(alias.asname or alias.name)

    def check_functiondef(self, node: ast.FunctionDef) -> Iterator[str]:
        yield from _reserved_name(node.name)
        if node.decorator_list:
            yield f"decorator {unparse(node.decorator_list[0])}"
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None and not _is_immutable(default):
                yield f"default {unparse(default)}"

    def check_lambda(self, node: ast.Lambda) -> Iterator[str]:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None and not _is_immutable(default):
                yield f"default {unparse(default)}"

    def check_arg(self, node: ast.arg) -> Iterator[str]:
        yield from _reserved_name(node.arg)

    def check_keyword(self, node: ast.keyword) -> Iterator[str]:
        if node.arg is not None:
            yield from _reserved_name(node.arg)

    def check_name(self, node: ast.Name) -> Iterator[str]:
        yield from _reserved_name(node.id)
        if not isinstance(node.ctx, ast.Load):
            return
        parent = self.parents.get(id(node))
        if node.id in self.constants and not isinstance(parent, ast.Assign):
            yield from self._unknown_number(node)
        if node.id in self.bound:
            if node.id in self.modules and not isinstance(parent, ast.Attribute):
                yield f"the module {node.id} as a value"
            if node.id in self.mutable and (
                isinstance(
                    parent,
                    ast.Return | ast.Assign | ast.Tuple | ast.List | ast.Dict | ast.Yield | ast.NamedExpr,
                )
            ):
                yield f"{node.id} is handed on"
            return
        if node.id not in BUILTINS:
            yield node.id
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if node.id not in VALUES and not is_called and node.id.islower():
            yield f"{node.id} as a value"

    def check_attribute(self, node: ast.Attribute) -> Iterator[str]:
        if not isinstance(node.ctx, ast.Load):
            yield f"attribute {node.attr} is changed"
            return
        base = node.value
        if isinstance(base, ast.Name) and base.id in self.modules:
            if node.attr not in MODULES[self.modules[base.id]]:
                yield f"{self.modules[base.id]}.{node.attr}"
            return
        parent = self.parents.get(id(node))
        is_called = isinstance(parent, ast.Call) and parent.func is node
        of_kind = isinstance(base, ast.Name) and base.id in VALUES and base.id not in self.bound
        if node.attr in FIELDS:
            return
        if node.attr not in METHODS or not (is_called or of_kind):
            yield f"attribute {node.attr}"
        elif of_kind and not is_called and node.attr not in UNBOUND:
            yield f"{unparse(node)} as a value"

    def check_call(self, node: ast.Call) -> Iterator[str]:
        """Yield a call that could make different inputs look alike, because it truncates or has a default."""
        function = node.func
        name = self._call_target(function)
        if isinstance(function, ast.Attribute):
            yield from self._method_call(node, function)
        elif not isinstance(function, ast.Name | ast.Lambda | ast.Call | ast.Subscript | ast.IfExp):
            yield f"call of {unparse(function)[:60]}"
        arguments = [item for item in node.args if not isinstance(item, ast.Starred)]
        # Each of these gives the same result for inputs that differ beyond a bound, so that a run on the inputs
        # below it says nothing of those above.
        if name == "range":
            yield from self._truncating_bounds(arguments)
        elif name in ("zip", "map") and len(arguments) > (1 if name == "zip" else 2):
            for argument in arguments[name == "map" :]:
                if self._constant(argument) is not None:
                    yield f"{name} of a constant, which cuts short"
        elif name == "pow" and len(arguments) > 2 and self._constant(arguments[2]) is not None:
            yield "pow with a constant modulus"
        elif name in ("heapq.nlargest", "heapq.nsmallest", "slice"):
            yield from self._truncating_bounds(arguments[:1] if name != "slice" else arguments)
        elif name in _BOUNDED:
            yield from self._truncating_bounds(arguments[1:])
        elif name == "collections.deque" and (node.keywords or len(arguments) > 1):
            yield "a deque of limited length"
        elif name in ("next", "iter") and len(arguments) > 1:
            yield f"{name} with a value for the end"
        elif name in ("str", "bytes") and len(node.args) + len(node.keywords) > 1:
            yield "a codec that leaves characters out"
        elif name in _PATTERN_FUNCTIONS:
            yield from self._pattern(node.args[0] if node.args else node)
        if any(keyword.arg == "default" for keyword in node.keywords):
            yield "a default for no value"
        if any(keyword.arg is None for keyword in node.keywords):
            yield "keywords that are not written out"

    def _call_target(self, function: ast.expr) -> str:
        if isinstance(function, ast.Name):
            return self.imported.get(function.id, function.id if function.id not in self.bound else "")
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module = self.modules.get(function.value.id)
            return f"{module}.{function.attr}" if module else ""
        return ""

    def _pattern(self, node: ast.expr) -> Iterator[str]:
        """Yield a pattern with several parts: no call shows that each of them matters."""
        pattern = self._constant(node)
        text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
        if repr(pattern) not in self.known and not (isinstance(text, str) and _PLAIN_PATTERN.fullmatch(text)):
            yield f"the pattern {unparse(node)[:40]}, which the trusted function does not have"

    def _method_call(self, node: ast.Call, function: ast.Attribute) -> Iterator[str]:
        if function.attr in ("encode", "decode"):
            codecs = [self._constant(argument) for argument in node.args]
            if node.keywords or len(codecs) > 1 or not _CODECS.issuperset(map(str, codecs)):
                yield "a codec that leaves characters out"
        if function.attr == "format":
            template = function.value
            text = template.value if isinstance(template, ast.Constant) else None
            if (
                not isinstance(text, str)
                or _FIELD.search(text)
                or _truncates_text(text)
                or _NESTED.search(text)
            ):
                yield "format with a template that is not plain"

    def _truncating_bounds(self, bounds: list[ast.expr]) -> Iterator[str]:
        """Yield a bound that is a constant which the trusted function does not contain."""
        for bound in bounds:
            value = self._constant(bound)
            if value is None and self._varies(bound):
                odd = any(self._is_odd_number(part) for part in ast.walk(bound))
            else:
                odd = not self._is_known(value)
            if odd:
                yield f"a bound of {unparse(bound)[:40]}, which the trusted function does not have"

    def _varies(self, node: ast.AST) -> bool:
        """Return whether an expression contains a name that the module binds other than by an import."""
        varying = self.bound - self.modules.keys() - self.imported.keys()
        return any(isinstance(part, ast.Name) and part.id in varying for part in ast.walk(node))

    def _is_odd_number(self, node: ast.AST) -> bool:
        value = self._constant(node)
        return isinstance(value, int | float) and is_magic(value, self.known)

    def check_for(self, node: ast.For | ast.comprehension) -> Iterator[str]:
        """Yield a loop that turns a number of times that has nothing to do with the arguments."""
        row = self._constant(node.iter)
        if isinstance(row, Sized):
            fixed = len(row) > ORDINARY_NUMBER and repr(row) not in self.known
        else:
            fixed = not self._varies(node.iter) and not self._is_checked(node.iter)
        if fixed:
            yield f"a loop over {unparse(node.iter)[:40]}, which the trusted function does not have"

    check_comprehension = check_for

    def _is_checked(self, node: ast.expr) -> bool:
        """Return whether a row has no end, or one that is checked as a bound."""
        return isinstance(node, ast.Call) and self._call_target(node.func) in _ROWS_OF_NUMBERS

    def _is_known(self, value: object) -> bool:
        return (isinstance(value, int) and -2 <= value <= 2) or repr(value) in self.known

    def _constant(self, node: ast.AST | None) -> object:
        if not isinstance(node, ast.expr):
            return None
        try:
            return fold(node, self.constants)
        except UnknownError:
            return None

    def check_subscript(self, node: ast.Subscript) -> Iterator[str]:
        if isinstance(node.slice, ast.Slice) and not isinstance(node.ctx, ast.Load):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            if isinstance(node.ctx, ast.Del) or any(part is not None for part in parts):
                yield "changes a slice"

    def check_starred(self, node: ast.Starred) -> Iterator[str]:
        row = self.parents.get(id(node))
        stored = isinstance(node.ctx, ast.Store)
        if stored and isinstance(row, ast.Tuple | ast.List) and len(row.elts) > _MAX_BESIDE_STAR + 1:
            yield "takes many items one by one and drops the rest"

    def check_arguments(self, node: ast.arguments) -> Iterator[str]:
        if node.vararg and node.defaults:
            yield "takes many items one by one and drops the rest"

    def check_compare(self, node: ast.Compare) -> Iterator[str]:
        sides = [node.left, *node.comparators]
        for place, operator in enumerate(node.ops):
            if isinstance(operator, ast.Is | ast.IsNot):
                pair = sides[place : place + 2]
                if not any(
                    isinstance(side, ast.Constant) and side.value in (None, True, False) for side in pair
                ):
                    yield "identity of two values"

    def check_excepthandler(self, node: ast.ExceptHandler) -> Iterator[str]:
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        if not all(isinstance(item, ast.Name) and item.id in CAUGHT for item in caught):
            yield f"except {unparse(node.type) if node.type else 'everything'}"
        if node.name:
            yield "an exception as a value"

    def check_raise(self, node: ast.Raise) -> Iterator[str]:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if not isinstance(raised, ast.Name) or raised.id not in BUILTINS or node.cause is not None:
            yield "raises something of its own"

    def check_formattedvalue(self, node: ast.FormattedValue) -> Iterator[str]:
        if node.format_spec is not None and _truncates_text(f"{{:{unparse(node.format_spec)}}}"):
            yield "a format that cuts text"

    def check_binop(self, node: ast.BinOp) -> Iterator[str]:
        left = node.left
        if (
            isinstance(node.op, ast.Mod)
            and isinstance(left, ast.Constant)
            and isinstance(left.value, str | bytes)
        ):
            text = left.value if isinstance(left.value, str) else left.value.decode("latin-1")
            if _PRECISION.search(text) or "*" in text:
                yield "a format that cuts text"

    def check_constant(self, node: ast.Constant) -> Iterator[str]:
        yield from self._unknown_number(node)

    def _unknown_number(self, node: ast.expr) -> Iterator[str]:
        """Yield a number that the trusted function does not contain, unless it is shown to matter.

        Numbers in comparisons, operations and subscripts are watched at run time. As an argument of
        another function, a number may truncate something.
        """
        while self._constant(parent := self.parents.get(id(node))) is not None and isinstance(
            parent, ast.expr
        ):
            node = parent
        value = self._constant(node)
        if not isinstance(value, int | float) or not is_magic(value, self.known):
            return
        named = parent.targets[0] if isinstance(parent, ast.Assign) else None
        if isinstance(named, ast.Name) and named.id in self.constants:
            return  # where the name is used decides
        if isinstance(parent, ast.Call) and self._call_target(parent.func) in ("chr", "round", "int"):
            return
        if not isinstance(parent, _WATCHED):
            yield f"the number {unparse(node)[:40]}, which the trusted function does not have"


_BOUNDED = frozenset(f"itertools.{name}" for name in ("islice", "count", "repeat", "cycle"))
_ROWS_OF_NUMBERS = ("range", "itertools.count", "itertools.cycle", "itertools.repeat")
_WATCHED = (ast.Compare, ast.BinOp, ast.AugAssign, ast.Return, ast.Subscript, ast.Slice)


def _reserved_name(name: str) -> Iterator[str]:
    if name.startswith("__") or name.startswith(PREFIX):
        yield name


def _is_immutable(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_is_immutable(item) for item in node.elts)
    return isinstance(node, ast.Constant | ast.UnaryOp) or (isinstance(node, ast.Name) and node.id in VALUES)


def _truncates_text(text: str) -> bool:
    return any(_PRECISION.search(spec) for spec in re.findall(r":([^{}]*(?:\{[^{}]*\})?[^{}]*)\}", text))


def _first_line(node: ast.AST) -> str:
    return unparse(node).partition("\n")[0][:60]
