"""Scopes and bindings of a Python file: what binds a name, and from where on."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeVar

from codeguard.syntax.unread import Unread

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Given = TypeVar("Given")


class BindingKind(Enum):
    """How a name gets its value."""

    MODULE = auto()  # an import; `name` is the dotted name
    VALUE = auto()  # `value` is the expression
    PARAMETER = auto()  # `value` is the annotation, or None
    RECEIVER = auto()  # the first parameter of a method; `name` is the class
    DEFINED = auto()  # a function or class of this file; `name` is its qualified name
    OPAQUE = auto()  # a loop variable, an exception, a part of something unpacked


@dataclass(slots=True, eq=False)
class Binding:
    """One place where a name gets a value, which takes effect at `line` and `column`."""

    kind: BindingKind
    node: ast.AST
    line: int
    column: int
    name: str = ""
    value: ast.expr | None = None
    open_ended: bool = False  # one of several values, such as the elements of a loop
    default: ast.expr | None = None  # of a parameter


def _bound_after(
    kind: BindingKind, node: ast.AST, name: str = "", value: ast.expr | None = None, open_ended: bool = False
) -> Binding:
    """Return a binding that takes effect at the end of a node."""
    line = int(getattr(node, "end_lineno", None) or 0)
    column = int(getattr(node, "end_col_offset", None) or 0)
    return Binding(kind, node, line, column, name, value, open_ended)


def _decorators(node: FunctionNode | ast.Lambda) -> set[str]:
    return {getattr(decorator, "id", "") for decorator in getattr(node, "decorator_list", ())}


def is_static(node: FunctionNode | ast.Lambda) -> bool:
    """Return whether a method gets neither its class nor an instance."""
    return "staticmethod" in _decorators(node)


def _is_class_method(node: FunctionNode | ast.Lambda) -> bool:
    return "classmethod" in _decorators(node) or getattr(node, "name", "") in _OF_CLASSES


def defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Return the default values of parameters by their names."""
    positional = [*arguments.posonlyargs, *arguments.args][::-1]
    pairs = [*zip(positional, arguments.defaults[::-1], strict=False)]
    pairs += [
        (arg, value) for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False) if value
    ]
    return {arg.arg: value for arg, value in pairs}


def bound_arguments(
    function: FunctionNode, given: Sequence[Given], keywords: Iterable[tuple[str, Given]], skips: bool
) -> Iterator[tuple[str, Given]]:
    """Yield the parameters of a function that a call gives something, with what it gives.

    Args:
        function: the function.
        given: what the positional arguments give, be it expressions or values.
        keywords: the same of keywords; an unpacked mapping has a name that no parameter has.
        skips: whether the first parameter is the object of a method.
    """
    listed = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    names = listed[int(skips) :]
    extra, rest = function.args.vararg, function.args.kwarg
    yield from zip(names, given, strict=False)
    yield from ((extra.arg, item) for item in given[len(names) :] if extra is not None)
    known = {*listed, *(arg.arg for arg in function.args.kwonlyargs)}
    for name, item in keywords:
        if name in known or rest is not None:
            yield (name if name in known or rest is None else rest.arg), item


def written_arguments(function: FunctionNode, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parameters of a function that a call names something for, with the expression."""
    first = function.args.args[0].arg if function.args.args else ""
    skips = isinstance(call.func, ast.Attribute) and first in ("self", "cls")
    keywords = ((item.arg or "", item.value) for item in call.keywords)
    return bound_arguments(function, call.args, keywords, skips)


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*FUNCTIONS, *_COMPREHENSIONS, ast.Lambda, ast.ClassDef, ast.Module)
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.Match, ast.ExceptHandler)
_OF_CLASSES = ("__new__", "__init_subclass__", "__class_getitem__")  # methods that get their class
_MOST_ELEMENTS = 8
_MOST_BINDINGS = 64
_TOO_MANY = f"more than {_MOST_BINDINGS} values of one name were not looked at"


@dataclass(slots=True, eq=False)
class Scope:
    """One namespace of the file. `symbol` is its qualified name, empty for the module."""

    node: ast.AST
    parent: Scope | None
    symbol: str
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    # Global (True) and nonlocal (False) names; the module has none.
    outer: dict[str, bool] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    attributes: dict[str, list[Binding]] = field(default_factory=dict)  # of a class: self.x = ...

    @property
    def is_class(self) -> bool:
        """Whether the namespace is a class body."""
        return isinstance(self.node, ast.ClassDef)


class Scopes:
    """All scopes of a file, built in one pass over its nodes (parents before children)."""

    def __init__(
        self,
        tree: ast.Module,
        nodes: Sequence[ast.AST],
        parents: Mapping[ast.AST, ast.AST],
        unread: Unread | None = None,
    ) -> None:
        self._parents = parents
        self._unread = unread or Unread()
        self._scopes: dict[ast.AST, Scope] = {}
        # Keyed by the identity of the list, which lives as long as this object.
        self._ordered: dict[int, list[Binding]] = {}
        self.module = Scope(tree, None, "")
        self._by_node: dict[ast.AST, Scope] = {tree: self.module}
        self.definitions: dict[str, FunctionNode | ast.ClassDef] = {}
        self.symbols: dict[ast.AST, str] = {}
        late: list[ast.AST] = []
        scopes, opened = self._scopes, self._by_node
        for node in nodes:
            kind, around = type(node), parents.get(node, tree)
            scope = opened.get(around)
            if scope is None or not _inside(node, around):
                scope = scopes.get(around, self.module)
            if type(around) is ast.comprehension and _is_first_source(node, around, parents):
                scope = scopes[parents[around]]
            scopes[node] = scope
            if kind in _OPENERS:
                self._open(node)
            elif isinstance(node, ast.Global | ast.Nonlocal) and scope is not self.module:
                scope.outer.update(dict.fromkeys(node.names, kind is ast.Global))
            if kind in _BINDING:
                late.append(node)
        for node in late:
            self._binds(scopes[node], node)

    @property
    def all(self) -> Iterable[Scope]:
        """Every scope of the file."""
        return self._by_node.values()

    def scope_of(self, node: ast.AST) -> Scope:
        """Return the scope in which a node is evaluated; definitions belong to the enclosing scope."""
        return self._scopes.get(node, self.module)  # synthetic nodes belong to the module

    def of(self, node: ast.AST) -> Scope | None:
        """Return the scope that a function, class, lambda or comprehension opens."""
        return self._by_node.get(node)

    def find(self, name: str, scope: Scope) -> tuple[Scope, list[Binding]] | None:
        """Return the scope that binds a name used in a scope, by Python's rules, and its bindings there."""
        at: Scope | None = scope
        first = True
        while at is not None:  # goes outwards; the module is last
            if name in at.outer:
                at = self.module if at.outer[name] else at.parent
                first = False
                continue
            if (first or not at.is_class) and name in at.bindings:
                return at, at.bindings[name]
            first = first and isinstance(at.node, _COMPREHENSIONS)
            at = at.parent
        return None

    def reaching(self, use: ast.AST, scope: Scope, found: Scope, bindings: list[Binding]) -> list[Binding]:
        """Return the bindings whose value may reach a use, the most likely last.

        In the use's own scope these go back to the last binding that certainly ran. In an enclosing
        scope, they are all from the last unconditional one on, because the use runs later.
        """
        if len(bindings) == 1:
            return bindings
        ordered = self._in_order(bindings)
        last = len(ordered)
        path: dict[ast.AST, str] = {}
        if found is scope:
            place = (getattr(use, "lineno", 0), getattr(use, "col_offset", 0))
            last = bisect_right(ordered, place, key=lambda item: (item.line, item.column)) or len(ordered)
            path = self._branches(use)
        kept: list[Binding] = []
        for index in range(last - 1, max(-1, last - 1 - _MOST_BINDINGS), -1):
            item = ordered[index]
            kept.append(item)
            branches = self._branches(item.node)
            if not item.open_ended and all(
                key in path and arm in (path[key], "test") for key, arm in branches.items()
            ):
                break
        else:
            if last > _MOST_BINDINGS:
                self._unread.note(_TOO_MANY, getattr(use, "lineno", 0))
        return [item for item in reversed(kept) if not self._excluded(item, path)]

    def _in_order(self, bindings: list[Binding]) -> list[Binding]:
        known = self._ordered.get(id(bindings))
        if known is None or len(known) != len(bindings):
            known = self._ordered[id(bindings)] = sorted(bindings, key=lambda item: (item.line, item.column))
        return known

    def _excluded(self, item: Binding, path: dict[ast.AST, str]) -> bool:
        """Return whether a binding is in the other branch of an `if` that contains the use."""
        return any(
            isinstance(key, ast.If) and key in path and path[key] != arm
            for key, arm in self._branches(item.node).items()
        )

    def _branches(self, node: ast.AST) -> dict[ast.AST, str]:
        """Return the branching statements around a node in its scope, each with the branch that contains it."""
        found: dict[ast.AST, str] = {}
        child, at = node, self._parents.get(node)
        while at is not None and not isinstance(at, _SCOPES):
            if isinstance(at, _BRANCHES):
                found[at] = _arm(at, child)
            child, at = at, self._parents.get(at)
        return found

    def _open(self, node: ast.AST) -> None:
        around = self.scope_of(node)
        name = getattr(node, "name", "")
        symbol = ".".join(part for part in (around.symbol, name) if part)
        self._by_node[node] = Scope(node, around, symbol)
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            self.symbols[node] = symbol
            self.definitions[symbol] = node
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            self._parameters(node, self._by_node[node], around)

    def _parameters(self, node: FunctionNode | ast.Lambda, scope: Scope, around: Scope) -> None:
        listed = node.args
        positional = [*listed.posonlyargs, *listed.args]
        extra = [arg for arg in (listed.vararg, listed.kwarg) if arg is not None]
        defaults = defaults_of(listed)
        receiver = around.is_class and isinstance(node, FUNCTIONS) and not is_static(node)
        for index, arg in enumerate([*positional, *listed.kwonlyargs, *extra]):
            binding = Binding(
                BindingKind.PARAMETER, arg, 0, 0, "", arg.annotation, default=defaults.get(arg.arg)
            )
            if receiver and index == 0 and positional:
                name = f":{around.symbol}" + ("" if _is_class_method(node) else "()")
                binding = Binding(BindingKind.RECEIVER, arg, 0, 0, name)
            if arg in extra:
                binding = Binding(BindingKind.OPAQUE, arg, 0, 0)
            scope.bindings.setdefault(arg.arg, []).append(binding)

    def bind(self, scope: Scope, name: str, binding: Binding) -> None:
        """Record a binding in the scope that the name belongs to."""
        while name in scope.outer:
            scope = self.module if scope.outer[name] else (scope.parent or self.module)
        scope.bindings.setdefault(name, []).append(binding)

    def _binds(self, scope: Scope, node: ast.AST) -> None:
        match node:
            case ast.Assign():
                for target in node.targets:
                    self._target(scope, target, node.value, node)
            case ast.AnnAssign(value=ast.expr()) | ast.NamedExpr():
                while isinstance(node, ast.NamedExpr) and isinstance(scope.node, _COMPREHENSIONS):
                    scope = scope.parent or self.module
                self._target(scope, node.target, node.value, node)
            case ast.AugAssign(target=ast.Name(id=name)):
                value = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
                self.bind(scope, name, _bound_after(BindingKind.OPAQUE, node, value=value))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                symbol = ":" + self.symbols[node]
                place = node.lineno, node.col_offset
                self.bind(scope, node.name, Binding(BindingKind.DEFINED, node, *place, name=symbol))
            case ast.Import():
                for alias in node.names:
                    dotted = alias.name if alias.asname else alias.name.partition(".")[0]
                    self._module(scope, alias.asname or dotted, dotted, node)
            case ast.ImportFrom():
                prefix = "." * node.level + (node.module or "")
                for alias in node.names:
                    if alias.name == "*":
                        scope.stars.append(prefix)
                        continue
                    dotted = prefix + ("" if prefix.endswith(".") else ".") + alias.name
                    self._module(scope, alias.asname or alias.name, dotted, node)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    if item.optional_vars is not None:
                        self._target(scope, item.optional_vars, item.context_expr, item.optional_vars)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                elements = node.iter.elts if isinstance(node.iter, ast.Tuple | ast.List | ast.Set) else []
                if not elements or len(elements) > _MOST_ELEMENTS:
                    self._target(scope, node.target, None, node.target)
                for element in elements[:_MOST_ELEMENTS]:
                    self._target(scope, node.target, element, node.target, open_ended=True)
            case ast.ExceptHandler(name=str(name)):
                self.bind(scope, name, Binding(BindingKind.OPAQUE, node, node.lineno, node.col_offset))
            case (
                ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name))
            ):
                self.bind(scope, name, _bound_after(BindingKind.OPAQUE, node))

    def _module(self, scope: Scope, name: str, dotted: str, node: ast.AST) -> None:
        self.bind(scope, name, _bound_after(BindingKind.MODULE, node, name=dotted))

    def _target(
        self, scope: Scope, target: ast.expr, value: ast.expr | None, at: ast.AST, open_ended: bool = False
    ) -> None:
        kind = BindingKind.OPAQUE if value is None else BindingKind.VALUE
        binding = _bound_after(kind, at, value=value, open_ended=open_ended)
        if isinstance(target, ast.Name):
            self.bind(scope, target.id, binding)
        elif isinstance(target, ast.Attribute):
            self._attribute(scope, target, binding)
        elif isinstance(target, ast.Starred):
            self._target(scope, target.value, None, at)
        elif isinstance(target, ast.Tuple | ast.List):
            values: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                values = list(value.elts)
            for part, part_value in zip(target.elts, values, strict=True):
                self._target(scope, part, part_value, at, open_ended=open_ended)

    def _attribute(self, scope: Scope, target: ast.Attribute, binding: Binding) -> None:
        found = self.find(target.value.id, scope) if isinstance(target.value, ast.Name) else None
        if found is not None and found[1][0].kind is BindingKind.RECEIVER and found[0].parent is not None:
            found[0].parent.attributes.setdefault(target.attr, []).append(binding)


def _inside(child: ast.AST, scope: ast.AST) -> bool:
    """Return whether a child of a definition is evaluated inside it, not at the place of definition."""
    if isinstance(scope, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return isinstance(child, ast.stmt)
    return not isinstance(child, ast.arguments)


def _is_first_source(node: ast.AST, loop: ast.comprehension, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether a comprehension loops over a node first, which is evaluated outside of it."""
    return node is loop.iter and getattr(parents[loop], "generators", [loop])[0] is loop


def _arm(branch: ast.AST, child: ast.AST) -> str:
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        part = getattr(branch, name, None)
        if isinstance(part, list) and any(item is child for item in part):
            return f"{name}{part.index(child)}" if name in ("handlers", "cases") else name
    return "test"


_OPENERS = frozenset(_SCOPES) - {ast.Module}
_BINDING = frozenset(
    {ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.With, ast.AsyncWith,
     ast.For, ast.AsyncFor, ast.comprehension, ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
     ast.MatchAs, ast.MatchStar, ast.MatchMapping}
)  # fmt: skip
