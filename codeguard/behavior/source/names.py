"""The names that statements bind, use and import."""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Mapping, Set
from weakref import WeakKeyDictionary

from codeguard.analysis.python.bindings import bindings, is_main_guard
from codeguard.behavior.source.definitions import Function, Module
from codeguard.behavior.source.layout import arguments_of, drops_annotations, part_of

_free_in_class: WeakKeyDictionary[ast.stmt, frozenset[str]] = WeakKeyDictionary()
_at_once: WeakKeyDictionary[ast.stmt, dict[bool, frozenset[str]]] = WeakKeyDictionary()


def names_used_on_execution(statement: ast.stmt, postponed: bool = False) -> frozenset[str]:
    """Return the names that a statement uses when it runs, not when its functions are called.

    Args:
        statement: a statement of any level.
        postponed: whether its file does not evaluate annotations.
    """
    known = _at_once.setdefault(statement, {})
    if postponed not in known:
        found: set[str] = set()
        pending: list[ast.AST] = [statement]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, Function):
                pending.extend((*node.decorator_list, *node.args.defaults))
                pending.extend(item for item in node.args.kw_defaults if item is not None)
                if not postponed and not drops_annotations(node):
                    annotations = [node.returns, *(item.annotation for item in arguments_of(node.args))]
                    pending.extend(item for item in annotations if item is not None)
            elif isinstance(node, ast.AnnAssign) and postponed:
                pending.extend(item for item in (node.target, node.value) if item is not None)
            elif not isinstance(node, ast.Lambda):
                pending.extend(ast.iter_child_nodes(node))
        known[postponed] = frozenset(found)
    return known[postponed]


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


def trimmed_import(module: Module, index: int, seen: Set[str]) -> ast.stmt | None:
    """Return an import with only the needed names, so that a missing unused module does no harm."""
    statement = module.statements[index]
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return statement
    bound = module.once("aliases", statement, _aliases)
    # One statement may import more names than a function uses.
    fewer, more = (seen, bound.keys()) if len(seen) < len(bound) else (bound.keys(), seen)
    wanted = frozenset(name for name in fewer if name in more) | (bound.keys() & {"*"})
    return module.once(
        f"imported {sorted(wanted)}", statement, lambda _: _with_names(statement, bound, wanted)
    )


def _with_names(
    statement: ast.Import | ast.ImportFrom, bound: Mapping[str, list[int]], wanted: Set[str]
) -> ast.stmt | None:
    """Return an import of these names only; the same object where many functions need the same."""
    kept = [statement.names[place] for place in sorted(place for name in wanted for place in bound[name])]
    if not kept:
        return None
    if isinstance(statement, ast.ImportFrom):
        return ast.ImportFrom(statement.module, kept, statement.level)
    return ast.Import(kept)


def _aliases(statement: ast.stmt) -> dict[str, list[int]]:
    """Return the positions in an import's list that bind each name; `*` binds itself."""
    found: dict[str, list[int]] = {}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        is_from = isinstance(statement, ast.ImportFrom)
        for place, alias in enumerate(statement.names):
            plain = alias.name if is_from else alias.name.partition(".")[0]
            found.setdefault(alias.asname or plain, []).append(place)
    return found


def free_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement takes from its module, except those in annotations."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    if isinstance(statement, ast.ClassDef) and len(statement.body) > 1:
        # A class is read once, in whatever parts its methods need it.
        return _read_names(_class_of(statement, None)).union(
            *(_names_in(statement, member) for member in statement.body)
        )
    return _read_names(statement)


def _names_in(owner: ast.ClassDef, member: ast.stmt) -> Set[str]:
    if member not in _free_in_class:
        _free_in_class[member] = frozenset(_read_names(_class_of(owner, member)))
    return _free_in_class[member]


def _class_of(owner: ast.ClassDef, member: ast.stmt | None) -> ast.ClassDef:
    """Return a class without its body, or with nothing but one statement of it."""
    part = copy.copy(owner)
    part.body = [ast.Pass() if member is None else member]
    if member is not None:
        part.bases, part.keywords, part.decorator_list = [], [], []
    return part


def _read_names(statement: ast.stmt) -> set[str]:
    text = part_of(statement).plain
    try:
        table = symtable.symtable(text, "<chunk>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
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
