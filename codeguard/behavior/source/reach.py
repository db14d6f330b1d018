"""What a function can do to the world by the names that it uses: of what stands around it only what it may call.

A class stands around a function as a whole, with the functions that its
methods need, and to most of them the function never gets. They are told apart
by their names alone, whatever object they are called on; what Python calls by
itself counts as called, and so does everything where a name is put together
at run time. What runs as soon as it is imported counts in any case.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from codeguard.behavior.source.definitions import Function
from codeguard.behavior.verdict.effects import Capability, Facts, facts_of, resolved

ANY = "*"  # among the names that are used: any name, as one is put together
_BY_NAME = frozenset({"getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"})
_BY_ANY_NAME = frozenset({"vars", "globals", "locals", "eval", "exec", "compile", "__import__", "__dict__"})


@dataclass(frozen=True, slots=True)
class _Code:
    """A piece of code: what it can do by itself, and the names that it uses."""

    facts: Facts
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Callee:
    """A function or method, with the names one of which leads to it."""

    names: frozenset[str]
    code: _Code


@dataclass(frozen=True, slots=True)
class _Statement:
    at_once: _Code
    callees: tuple[_Callee, ...]


_statements: WeakKeyDictionary[ast.stmt, _Statement] = WeakKeyDictionary()
_callees: WeakKeyDictionary[ast.stmt, _Callee] = WeakKeyDictionary()


def reachable(name: str, statements: Sequence[ast.stmt]) -> frozenset[Capability]:
    """Return what the function of a name can do within statements of a module."""
    read = [_read(statement) for statement in statements]
    found = [statement.at_once for statement in read]
    waiting = [callee for statement in read for callee in statement.callees]
    used = {name}.union(*(code.uses for code in found))
    while True:
        called: list[_Callee] = []
        others: list[_Callee] = []
        for callee in waiting:
            (called if ANY in used or not used.isdisjoint(callee.names) else others).append(callee)
        if not called:
            return resolved([code.facts for code in found])
        waiting = others
        found += [callee.code for callee in called]
        used.update(*(callee.code.uses for callee in called))


def _read(statement: ast.stmt) -> _Statement:
    if statement not in _statements:
        at_once: list[ast.stmt] = []
        callees: list[_Callee] = []
        _split([statement], "", at_once, callees)
        _statements[statement] = _Statement(_code(ast.Module(at_once, type_ignores=[])), tuple(callees))
    return _statements[statement]


def _split(
    statements: Sequence[ast.stmt], owner: str, at_once: list[ast.stmt], callees: list[_Callee]
) -> None:
    """Tell what runs on import from the functions that it only defines, in branches and classes, too."""
    for statement in statements:
        bodies: list[list[ast.stmt]] = []
        if isinstance(statement, Function):
            callees.append(_callee(statement, owner))
            arguments = statement.args
            expressions = [
                *statement.decorator_list,
                *arguments.defaults,
                *filter(None, arguments.kw_defaults),
            ]
        elif isinstance(statement, ast.ClassDef):
            expressions = [*statement.decorator_list, *statement.bases]
            expressions += [keyword.value for keyword in statement.keywords]
            _split(statement.body, statement.name, at_once, callees)
        elif isinstance(statement, ast.If | ast.Try):
            expressions = [statement.test] if isinstance(statement, ast.If) else []
            bodies = [statement.body, statement.orelse]
            if isinstance(statement, ast.Try):
                expressions += [handler.type for handler in statement.handlers if handler.type]
                bodies += [statement.finalbody, *(handler.body for handler in statement.handlers)]
        else:
            expressions = []
            at_once.append(statement)
        for body in bodies:
            _split(body, owner, at_once, callees)
        at_once += map(ast.Expr, expressions)


def _callee(function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> _Callee:
    if function not in _callees:
        names = {function.name}
        if function.name == "__call__":
            names.add(f"{owner}()")  # who makes an object by the name of its class may call it
        elif function.name.startswith("__"):
            names.add(owner)
        _callees[function] = _Callee(frozenset(names), _code(function))
    return _callees[function]


def _code(tree: ast.AST) -> _Code:
    return _Code(facts_of(tree), frozenset(_names(tree)))


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the names and attributes that code uses, `name()` for what it calls by a plain name, and `ANY`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield ANY if node.attr in _BY_ANY_NAME else node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
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
