"""What a function can do to the world by the names that it uses: of what stands around it only what it may call.

A class stands around a function as a whole, with the functions that its
methods need, and to most of them the function never gets. They are told apart
by their names alone, whatever object they are called on; what Python calls by
itself counts as called, and so does everything where a name is put together
at run time. What a module does while it is imported counts in any case, with
the functions that it calls then by their plain names; the sandbox imports it,
too, and sees the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from codeguard.behavior.source.definitions import Function
from codeguard.behavior.verdict.effects import Capability, Facts, facts_of, resolved

ANY = "*"  # among the names that are used: any name, as one is put together
_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_BY_NAME = frozenset({"getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"})
_BY_ANY_NAME = frozenset({"vars", "globals", "locals", "eval", "exec", "compile", "__import__", "__dict__"})


@dataclass(frozen=True, slots=True)
class _Code:
    """A piece of code: what it can do by itself, and the names that it uses."""

    facts: Facts
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Part:
    """A function, or a statement that binds names: the names one of which leads to it."""

    names: frozenset[str]
    code: _Code
    called: tuple[str, ...] = ()  # `name()` of a function of the module


@dataclass(frozen=True, slots=True)
class _Statement:
    on_import: _Code
    parts: tuple[_Part, ...]


_statements: WeakKeyDictionary[ast.stmt, _Statement] = WeakKeyDictionary()
_functions: WeakKeyDictionary[ast.stmt, _Part] = WeakKeyDictionary()


def reachable(name: str, own: ast.stmt, others: Sequence[ast.stmt]) -> frozenset[Capability]:
    """Return what the function of a name can do, whose own statement stands among other statements of a module."""
    itself, around = _read(own), [_read(statement) for statement in others]
    on_import = [statement.on_import for statement in (itself, *around)]
    parts = [part for statement in (itself, *around) for part in statement.parts]
    calls = [part.called for part in parts]
    found = [code.facts for code in on_import]
    found += [part.code.facts for part in _followed(on_import, parts, calls)]
    # Of a method's own class, and of those that it is derived from, Python calls some by itself.
    begins = {name, own.name} if isinstance(own, ast.ClassDef) else {name}
    first = [part for part in itself.parts if not begins.isdisjoint(part.names)]
    reached = _followed([part.code for part in first], parts, [part.names for part in parts])
    if any(ANY in part.code.uses for part in (*first, *reached)):
        reached = parts
    return resolved([*found, *(part.code.facts for part in (*first, *reached))])


def _followed(begins: Iterable[_Code], parts: Sequence[_Part], keys: Iterable[Iterable[str]]) -> list[_Part]:
    """Return the parts that the names used by code lead to, and so on; `keys` are the names that lead to each."""
    index: dict[str, list[_Part]] = {}
    for part, names in zip(parts, keys, strict=True):
        for name in names:
            index.setdefault(name, []).append(part)
    reached: list[_Part] = []
    pending = [part for code in begins for name in code.uses for part in index.pop(name, ())]
    while pending:
        part = pending.pop()
        reached.append(part)
        pending.extend(other for name in part.code.uses for other in index.pop(name, ()))
    return reached


def _read(statement: ast.stmt) -> _Statement:
    if statement not in _statements:
        on_import: list[ast.stmt] = []
        parts: list[_Part] = []
        _split([statement], "", on_import, parts)
        module = ast.Module(on_import, type_ignores=[])
        code = _Code(facts_of(module), frozenset(_names(module)))
        _statements[statement] = _Statement(code, tuple(parts))
    return _statements[statement]


def _split(statements: Sequence[ast.stmt], owner: str, on_import: list[ast.stmt], parts: list[_Part]) -> None:
    """Tell what runs on import from the functions that it only defines, in branches and classes, too."""
    for statement in statements:
        bodies: list[list[ast.stmt]] = []
        head: list[ast.expr] = []
        if isinstance(statement, Function):
            parts.append(_function(statement, owner))
            head = _head(statement)
        elif isinstance(statement, ast.ClassDef):
            head = [*statement.decorator_list, *statement.bases]
            head += [keyword.value for keyword in statement.keywords]
            uses = frozenset(name for item in head for name in _names(item))
            parts.append(_Part(frozenset((statement.name,)), _Code(Facts(), uses)))
            _split(statement.body, statement.name, on_import, parts)
        elif isinstance(statement, ast.If | ast.Try):
            head = [statement.test] if isinstance(statement, ast.If) else []
            bodies = [statement.body, statement.orelse]
            if isinstance(statement, ast.Try):
                head += [handler.type for handler in statement.handlers if handler.type]
                bodies += [statement.finalbody, *(handler.body for handler in statement.handlers)]
        else:
            on_import.append(statement)
            parts.append(_Part(frozenset(_bound(statement)), _Code(Facts(), frozenset(_names(statement)))))
        for body in bodies:
            _split(body, owner, on_import, parts)
        on_import += map(ast.Expr, head)


def _bound(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _function(function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> _Part:
    if function not in _functions:
        names = {function.name}
        if function.name == "__call__":
            names.add(f"{owner}()")  # who makes an object by the name of its class may call it
        elif function.name.startswith("__"):
            names.add(owner)
        uses = {name for item in _head(function) for name in _names(item)}
        bound = _locals(function)
        uses.update(*(_names(item, bound) for item in function.body))
        called = () if owner else (f"{function.name}()",)
        _functions[function] = _Part(frozenset(names), _Code(facts_of(function), frozenset(uses)), called)
    return _functions[function]


def _head(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """Return what is evaluated where a function is defined."""
    defaults = (*function.args.defaults, *filter(None, function.args.kw_defaults))
    return [*function.decorator_list, *defaults]


def _locals(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Return the names that a function binds for itself, so that they stand for nothing of the module."""
    found = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    shared: set[str] = set()
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            shared.update(node.names)
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))
    return frozenset(found - shared)


def _names(tree: ast.AST, bound: Set[str] = frozenset()) -> Iterator[str]:
    """Yield the names, but for `bound`, and attributes that code uses, `name()` for plain calls, and `ANY`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield ANY if node.attr in _BY_ANY_NAME else node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound:
            yield ANY if node.id in _BY_ANY_NAME else node.id
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if isinstance(node.func, ast.Name):
                yield f"{name}()"
            if name in _BY_NAME:
                yield from _looked_up(node)


def _looked_up(call: ast.Call) -> Iterator[str]:
    """Yield the name that a call looks up."""
    for argument in call.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield from argument.value.split(".")
            return
    yield ANY
