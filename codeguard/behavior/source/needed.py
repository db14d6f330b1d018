"""The statements of its own file that a function needs, by the names that statements bind, use and import.

What they import stays an import: the modules of a corpus are imported as they are.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import sys
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from codeguard.analysis.python.bindings import bindings, is_main_guard
from codeguard.behavior.source.definitions import Function, Module, by_node
from codeguard.behavior.source.layout import plain_source
from codeguard.sandbox.inside.allowed import NUMERIC

# Limits on names and statements for all functions of a file. Each function has an equal share, so its result
# does not depend on which others were extracted before it.
STEPS_PER_FILE = 300_000
LEAST_STEPS = 50
KNOWN_PACKAGES = (NUMERIC[0], "typing_extensions")  # what is there without being given, where it is installed
BUILTIN_NAMES = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}

Import = tuple[
    int, tuple[str, ...], tuple[str, ...]
]  # level, the parts of the module's name, and what is taken of it


@dataclass(frozen=True, slots=True)
class Needed:
    """The statements that bind the required names, in the file's order, and the names that nothing in it binds.

    `complete` is False if there were too many to follow.
    """

    statements: tuple[ast.stmt, ...]
    unresolved: tuple[str, ...]
    complete: bool = True


def needed_for(
    names: Iterable[str], module: Module, own_name: str = "", own: ast.stmt | None = None
) -> Needed:
    """Follow names through the top level of a file until nothing new is needed.

    Definitions of `own_name` are left out, because the caller has its own: it is `own`, which stands at its place in
    the file.
    """
    binders = binders_of(module)  # a definition of `own_name` binds only that name, which is not needed
    most = max(LEAST_STEPS, STEPS_PER_FILE // max(1, len(module.listed)))
    chosen, seen = _followed(names, module, own_name, most)
    unresolved = sorted(seen - {own_name} - binders.keys() - BUILTIN_NAMES)
    if unresolved:
        chosen.update(binders.get("*", ())[: most + 1])
    found = {index: [module.statements[index]] for index in chosen}
    if own is not None:
        found.setdefault(_index_of(own, module), []).append(own)
    statements = tuple(item for index in sorted(found) for item in found[index])
    return Needed(statements, tuple(unresolved), max(len(seen), len(chosen)) <= most)


def imports_of(statements: Iterable[ast.stmt]) -> tuple[Import, ...]:
    """Return what statements import, inside their functions too, of other modules than the standard ones."""
    return tuple(dict.fromkeys(item for statement in statements for item in _imports_in(statement)))


@by_node
def _imports_in(statement: ast.stmt) -> Sequence[Import]:
    found: list[Import] = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            found += (
                (0, tuple(alias.name.split(".")), ()) for alias in node.names if not is_known(alias.name)
            )
        elif isinstance(node, ast.ImportFrom) and (node.level or not is_known(node.module or "")):
            module = tuple(node.module.split(".")) if node.module else ()
            found.append((node.level, module, tuple(alias.name for alias in node.names)))
    return found


def is_known(name: str) -> bool:
    """Return whether a module is there for every function."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top in KNOWN_PACKAGES


def _followed(names: Iterable[str], module: Module, own_name: str, most: int) -> tuple[set[int], set[str]]:
    """Return the indices of the statements that bind the names or what these need, and all names seen."""
    binders = binders_of(module)
    chosen: set[int] = set()
    wanted = list(names)
    seen: set[str] = {own_name} if own_name else set()
    while wanted and max(len(seen), len(chosen)) <= most:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        for index in binders.get(name, ()):
            if len(chosen) > most:
                break
            if index not in chosen:
                chosen.add(index)
                wanted.extend(free_names(module.statements[index]))
    return chosen, seen


def _index_of(own: ast.stmt, module: Module) -> int:
    """Return the place of the statement that is or contains another one."""
    for index, statement in enumerate(module.statements):
        if statement is own or statement.lineno <= own.lineno <= (statement.end_lineno or 0):
            return index
    return len(module.statements)


def future_annotations_import(statements: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the `from __future__ import annotations` statement, which has to come first."""
    for statement in statements:
        match statement:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.ImportFrom(module="__future__", names=names):
                if any(alias.name == "annotations" for alias in names):
                    return statement
            case _:
                return None
    return None


def binders_of(module: Module) -> dict[str, list[int]]:
    """Return the indices of the top-level statements that bind each name."""
    known: dict[str, list[int]] | None = module.remembered.get(("binders", 0))
    if known is not None:
        return known
    binders: dict[str, list[int]] = {}
    module.remembered["binders", 0] = binders
    for index, statement in enumerate(module.statements):
        if not is_main_guard(statement):
            for name in bound_names(statement):
                binders.setdefault(name, []).append(index)
    return binders


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds or modifies; `*` for a star import."""
    names = bindings([statement])
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, Function | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(_base(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            # TABLE.update(...) modifies TABLE; sys.path.insert(...) has two attributes
            function = node.value.func
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                names.add(function.value.id)
        pending.extend(ast.iter_child_nodes(node))
    names.discard("")
    return names


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@by_node
def free_names(statement: ast.stmt) -> Set[str]:
    """Return the names that a statement takes from its module, except those in annotations."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return frozenset()
    try:
        table = symtable.symtable(plain_source(statement), "<chunk>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    names: set[str] = set()
    if isinstance(statement, ast.Delete):  # a deleted name has to exist
        names |= {node.id for node in statement.targets if isinstance(node, ast.Name)}
    pending = [table]
    while pending:
        scope = pending.pop()
        top = scope.get_type() == "module"
        # A class body may use a name before binding it, which then refers to the module.
        own = scope.get_type() == "class"
        for symbol in scope.get_symbols():
            if ((top or own) and symbol.is_referenced()) or (not top and symbol.is_global()):
                names.add(symbol.get_name())
        pending.extend(scope.get_children())
    return names
