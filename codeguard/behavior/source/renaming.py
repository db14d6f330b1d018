"""Other names for what a module binds at its top level, so that two modules can be put into one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Set
from dataclasses import replace

from codeguard.behavior.source.definitions import Function, Module
from codeguard.behavior.source.surroundings import bound_names

Names = Mapping[str, str]
OF_A_STATEMENT = frozenset({"free", "dotted", "global", "aliases"})  # what is remembered of a statement alone
NOTHING: frozenset[str] = frozenset()


class RenamingError(ValueError):
    """A name cannot be replaced without changing what the code does."""


def renamed_module(module: Module, names: Names) -> Module:
    """Return a module with names of its top level replaced, wherever they are used.

    Locals of these names are renamed with them. Parameters and attributes are not, as callers use their names.

    Raises:
        RenamingError: one of the names is also a parameter, or means two things in a class.
    """
    statements = tuple(_renamed(item, names) for item in module.statements)
    known = {key: value for key, value in module.remembered.items() if key[0] in OF_A_STATEMENT}
    known["renamed", 0] = module  # kept, because what is remembered of a statement goes by its identity
    return replace(module, statements=statements, remembered=known)


def _renamed(statement: ast.stmt, names: Names) -> ast.stmt:
    if not any(_mentions(node, names) for node in ast.walk(statement)):
        return statement
    try:
        changed = copy.deepcopy(statement)
        _rename(changed, names, NOTHING)
    except RecursionError:
        raise RenamingError("nested too deeply") from None
    return changed


def _mentions(node: ast.AST, names: Names) -> bool:
    match node:
        case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name in names
        case ast.ClassDef(name=name) | ast.arg(arg=name):
            return name in names
        case ast.alias():
            return _bound_by(node) in names
        case ast.ExceptHandler(name=found) | ast.MatchAs(name=found) | ast.MatchStar(name=found):
            return found in names
        case ast.MatchMapping(rest=found):
            return found in names
    return False


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _rename(node: ast.AST, names: Names, in_class: Set[str]) -> None:
    """Replace names in a node; `in_class` are those that the class body around it binds itself."""
    inner = in_class
    match node:
        case ast.Name(id=name) if name in names:
            node.id = _new(name, names, in_class)
        case ast.arg(arg=name) if name in names:
            raise RenamingError(name)
        case ast.alias() if _bound_by(node) in names:
            if "." in node.name and not node.asname:
                raise RenamingError(node.name)
            node.asname = _new(_bound_by(node), names, in_class)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            node.name = _new(name, names, in_class) if name in names else name
        case ast.MatchMapping(rest=str(name)):
            node.rest = _new(name, names, in_class) if name in names else name
        case ast.Global() | ast.Nonlocal():
            node.names = [names.get(name, name) for name in node.names]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            if node.name not in in_class:
                node.name = names.get(node.name, node.name)
            inner = NOTHING
            if isinstance(node, ast.ClassDef):
                inner = frozenset(names) & {name for item in node.body for name in bound_names(item)}
        case ast.Lambda():
            inner = NOTHING
    body = node.body if isinstance(node, Function | ast.ClassDef | ast.Lambda) else []
    inside = body if isinstance(body, list) else [body]
    within = {id(item) for item in inside}
    for child in ast.iter_child_nodes(node):
        _rename(child, names, inner if id(child) in within else in_class)


def _new(name: str, names: Names, in_class: Set[str]) -> str:
    if name in in_class:
        raise RenamingError(name)
    return names[name]
