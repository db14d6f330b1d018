"""The statements of its own file that a function needs, by the names that statements bind, use and import.

What they import stays an import: the modules of a corpus are imported as they are.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from codeguard.analysis.python.bindings import bindings, is_main_guard, name_bound_by
from codeguard.behavior.source.definitions import Function, Module, by_node
from codeguard.behavior.source.layout import arguments_of, drops_annotations, plain_source
from codeguard.sandbox.inside.allowed import NUMERIC

# Limits on names and statements for all functions of a file. Each function has an equal share, so its result
# does not depend on which others were extracted before it.
STEPS_PER_FILE = 300_000
LEAST_STEPS = 50
OWN = ast.Pass()  # stands for the function's own statement
KNOWN_PACKAGES = (NUMERIC[0], "typing_extensions")  # what is there without being given, where it is installed
BUILTIN_NAMES = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}

Import = tuple[
    int, tuple[str, ...], tuple[str, ...]
]  # level, the parts of the module's name, and what is taken of it


@dataclass(frozen=True, slots=True)
class Needed:
    """The statements that bind the required names, in order, and the names that nothing in the file binds.

    `complete` is False if there were too many to follow.
    """

    statements: tuple[ast.stmt, ...]
    unresolved: tuple[str, ...]
    complete: bool = True


def needed_for(
    names: Iterable[str], module: Module, own_name: str = "", own: ast.stmt | None = None
) -> Needed:
    """Follow names through the top level of a file until nothing new is needed.

    Definitions of `own_name` are left out, because the caller has its own. `OWN` stands where the file has its
    statement `own`.
    """
    binders = binders_of(module)  # a definition of `own_name` binds only that name, which is not needed
    most = max(LEAST_STEPS, STEPS_PER_FILE // max(1, len(module.listed)))
    chosen, seen = _followed(names, module, own_name, most)
    unresolved = sorted(seen - {own_name} - binders.keys() - BUILTIN_NAMES)
    if unresolved:
        chosen.update(binders.get("*", ())[: most + 1])
    own_index = -1 if own is None else _index_of(own, module, own_name)
    kept: list[ast.stmt] = []
    for index in sorted({*chosen, own_index} - {-1}):
        trimmed = _trimmed_import(module, index, seen) if index in chosen else None
        kept.extend(item for item in (trimmed, OWN if index == own_index else None) if item is not None)
    return Needed(tuple(kept), tuple(unresolved), max(len(seen), len(chosen)) <= most)


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


def _index_of(own: ast.stmt, module: Module, own_name: str) -> int:
    """Return the place of the statement that is or contains another one; -1 if no statement does."""
    places = binders_of(module).get(own_name, ())
    same = [place for place in places if module.statements[place] is own]
    around = [
        place
        for place in places
        if module.statements[place].lineno <= own.lineno <= (module.statements[place].end_lineno or 0)
    ]
    return (same or around or [-1])[0]


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


def names_used_on_execution(statement: ast.stmt, postponed: bool = False) -> Set[str]:
    """Return the names that a statement uses when it runs, not when its functions are called.

    Args:
        statement: a statement of any level.
        postponed: whether its file does not evaluate annotations.
    """
    return _used_both_ways(statement)[postponed]


@by_node
def _used_both_ways(statement: ast.stmt) -> Sequence[Set[str]]:
    return [_used_at_once(statement, postponed) for postponed in (False, True)]


def _used_at_once(statement: ast.stmt, postponed: bool) -> Set[str]:
    found: set[str] = set()
    pending: list[ast.AST | None] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, Function):
            pending += (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults)
            if not postponed and not drops_annotations(node):
                pending += (node.returns, *(item.annotation for item in arguments_of(node.args)))
        elif isinstance(node, ast.AnnAssign) and postponed:
            pending += (node.target, node.value)
        elif node is not None and not isinstance(node, ast.Lambda):
            pending += ast.iter_child_nodes(node)
    return found


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


def _trimmed_import(module: Module, index: int, seen: Set[str]) -> ast.stmt | None:
    """Return an import with only the needed names, so that a missing unused module does no harm."""
    statement = module.statements[index]
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return statement
    bound = _aliases(statement)
    places = sorted(place for name in (bound.keys() & seen) | (bound.keys() & {"*"}) for place in bound[name])
    if not places:
        return None
    # The same object where many functions need the same: what is read of a statement is read once.
    key = (f"imported {places}", index)
    if key not in module.remembered:
        kept = [statement.names[place] for place in places]
        if isinstance(statement, ast.ImportFrom):
            module.remembered[key] = ast.ImportFrom(statement.module, kept, statement.level)
        else:
            module.remembered[key] = ast.Import(kept)
    known: ast.stmt = module.remembered[key]
    return known


@by_node
def _aliases(statement: ast.Import | ast.ImportFrom) -> Mapping[str, Sequence[int]]:
    """Return the positions in an import's list that bind each name; one statement may import many names."""
    found: dict[str, list[int]] = {}
    for place, alias in enumerate(statement.names):
        found.setdefault(name_bound_by(alias), []).append(place)
    return found


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
