"""The part of a file that a function needs to run: its imports, constants, helpers and class.

The rest of the file is left out, so that a statement broken elsewhere does
not prevent a check, and top-level code runs only where the function's own
names depend on it.
"""

from __future__ import annotations

import ast
import builtins
import copy
import symtable
from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from codeguard.behavior.effects import Capability, resolved
from codeguard.behavior.modules import TrustedModules
from codeguard.behavior.parts import Part, part_of
from codeguard.behavior.source import PARSE_ERRORS, Definition, Function, Module, unparse

BUILTIN_NAMES = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}
MAX_CHARACTERS = 200_000
MAX_BORROWED = 4  # files that one import may lead through
NO_MODULES = TrustedModules()


@dataclass(frozen=True, slots=True)
class Runnable:
    """Source of a module with one function in it, ready to be called.

    `target` is the expression for the callable, `node` the function's tree
    within `source` (line numbers are the source's). `unresolved` are names
    that nothing in the file binds, `borrowed` those taken from trusted files.
    """

    source: str
    target: str
    name: str
    node: Function
    unresolved: tuple[str, ...] = ()
    borrowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needed:
    """Statements that bind the names asked for, in order; names that nothing binds; what came from other files."""

    statements: tuple[ast.stmt, ...]
    unresolved: tuple[str, ...]
    borrowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A function with the statements that it needs, not yet put together."""

    definition: Definition
    own: ast.stmt
    needed: Needed

    @property
    def parts(self) -> tuple[Part, ...]:
        """The statements written out, the function's own last."""
        return tuple(part_of(statement) for statement in (*self.needed.statements, self.own))

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the syntax of all of them says they can do."""
        return resolved([part.facts for part in self.parts])

    def runnable(self) -> Runnable | None:
        """Return them put together; None where that is too large or cannot be written out."""
        parts = self.parts
        source = "".join(f"{part.text}\n" for part in parts)
        if len(source) > MAX_CHARACTERS or not parts[-1].text:
            return None
        node = _locate(parts[-1].text, self.definition)
        if node is None:
            return None
        ast.increment_lineno(node, sum(part.text.count("\n") + 1 for part in parts[:-1]))
        needed = self.needed
        return Runnable(
            source, _target(self.definition), self.definition.name, node, needed.unresolved, needed.borrowed
        )


def surroundings(
    definition: Definition, module: Module, trusted: TrustedModules = NO_MODULES, path: str = ""
) -> Surroundings:
    """Return the function with what it needs of its file.

    What it imports from `trusted` files is taken from there; `borrowed` says so.
    """
    own: ast.stmt = (
        definition.node if definition.owner is None else _pruned_class(definition.owner, definition.name)
    )
    own_name = definition.name if definition.owner is None else definition.owner.name
    return Surroundings(definition, own, needed_for(free_names(own), module, own_name, trusted, path))


def extract(
    definition: Definition, module: Module, trusted: TrustedModules = NO_MODULES, path: str = ""
) -> Runnable | None:
    """Return the function with what it needs of its file; None where that cannot be written out."""
    return surroundings(definition, module, trusted, path).runnable()


def _target(definition: Definition) -> str:
    if definition.owner is None:
        return definition.name
    if definition.binding == "instance":
        return f"{definition.owner.name}().{definition.name}"
    return f"{definition.owner.name}.{definition.name}"


def _locate(text: str, definition: Definition) -> Function | None:
    """Return the function in the text of its own statement; the tree is nobody else's."""
    try:
        tree = ast.parse(text)
    except PARSE_ERRORS:
        return None
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.ClassDef):
        functions = [
            node for node in last.body if isinstance(node, Function) and node.name == definition.name
        ]
        return functions[-1] if functions else None
    return last if isinstance(last, Function) else None


def needed_for(
    names: Iterable[str],
    module: Module,
    own_name: str = "",
    trusted: TrustedModules = NO_MODULES,
    path: str = "",
    depth: int = 0,
) -> Needed:
    """Follow names through the file's top level until nothing new is needed.

    Definitions of `own_name` itself are left out: the caller has its own.
    """
    binders: dict[str, list[int]] = {}
    for index, statement in enumerate(module.statements):
        if module.once("main", statement, _is_main_guard) or (_defines(statement) == own_name and own_name):
            continue
        for name in module.once("bound", statement, bound_names):
            binders.setdefault(name, []).append(index)
    chosen: set[int] = set()
    wanted = list(names)
    seen: set[str] = {own_name} if own_name else set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        for index in binders.get(name, ()):
            if index not in chosen:
                chosen.add(index)
                wanted.extend(module.once("free", module.statements[index], free_names))
    unresolved = sorted(
        name for name in seen - {own_name} if name not in binders and name not in BUILTIN_NAMES
    )
    if unresolved:
        chosen.update(binders.get("*", ()))
    kept = [trimmed for index in sorted(chosen) if (trimmed := _trim_import(module.statements[index], seen))]
    statements: list[ast.stmt] = []
    borrowed: list[str] = []
    for statement in kept:
        found = _borrow(statement, trusted, path, depth)
        statements.extend(found.statements if found else [statement])
        borrowed.extend(found.borrowed if found else ())
    distinct = list({id(statement): statement for statement in statements}.values())
    return Needed(tuple(distinct), tuple(unresolved), tuple(borrowed))


def _borrow(statement: ast.stmt, trusted: TrustedModules, path: str, depth: int) -> Needed | None:
    """Replace an import from a trusted file by the definitions there; None where it stays an import."""
    if not isinstance(statement, ast.ImportFrom) or depth >= MAX_BORROWED or not trusted.knows(statement):
        return None
    statements: list[ast.stmt] = []
    borrowed: list[str] = []
    for alias in statement.names:
        module = trusted.find(statement, alias.name, path)
        if module is None:
            return None
        inner = needed_for([alias.name], module, "", trusted, "", depth + 1)
        statements.extend(inner.statements)
        borrowed.extend((alias.name, *inner.borrowed))
        if alias.asname and alias.asname != alias.name:
            value = ast.Name(alias.name, ast.Load())
            renamed = ast.Assign([ast.Name(alias.asname, ast.Store())], value)
            statements.append(ast.fix_missing_locations(renamed))
    return Needed(tuple(statements), (), tuple(borrowed))


def _defines(statement: ast.stmt) -> str:
    return statement.name if isinstance(statement, Function | ast.ClassDef) else ""


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in unparse(statement.test)


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds or changes; `*` for a star import."""
    if isinstance(statement, Function | ast.ClassDef):
        return {statement.name}
    names: set[str] = set()
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Import):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(_base(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            # TABLE.update(...) changes TABLE; sys.path.insert(...) is two attributes away
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


def _trim_import(statement: ast.stmt, seen: Iterable[str]) -> ast.stmt | None:
    """Keep of an import what is needed, so that a missing module nobody uses does no harm."""
    if isinstance(statement, ast.ImportFrom):
        kept = [
            alias for alias in statement.names if alias.name == "*" or (alias.asname or alias.name) in seen
        ]
        return ast.ImportFrom(statement.module, kept, statement.level) if kept else None
    if isinstance(statement, ast.Import):
        kept = [alias for alias in statement.names if (alias.asname or alias.name.partition(".")[0]) in seen]
        return ast.Import(kept) if kept else None
    return statement


def free_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement takes from the module around it, annotations left out."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    text = part_of(statement).plain
    try:
        table = symtable.symtable(text, "<chunk>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names: set[str] = set()
    pending = [table]
    while pending:
        scope = pending.pop()
        top = scope.get_type() == "module"
        for symbol in scope.get_symbols():
            if (top and symbol.is_referenced()) or (not top and symbol.is_global()):
                names.add(symbol.get_name())
        pending.extend(scope.get_children())
    return names


_reached: WeakKeyDictionary[Function, frozenset[str]] = WeakKeyDictionary()
_pruned: WeakKeyDictionary[ast.ClassDef, dict[frozenset[str], ast.ClassDef]] = WeakKeyDictionary()


def _pruned_class(owner: ast.ClassDef, method: str) -> ast.ClassDef:
    """Return the class with the methods that one of them can reach by name, and its other statements.

    Methods that reach the same ones share one tree, so that it is written out once.
    """
    methods = {node.name: node for node in owner.body if isinstance(node, Function)}
    kept: set[str] = set()
    wanted = [method, *(name for name in methods if name.startswith("__") and name.endswith("__"))]
    while wanted:
        name = wanted.pop()
        if name in methods and name not in kept:
            kept.add(name)
            wanted.extend(_names_reached(methods[name]))
    shared = _pruned.setdefault(owner, {})
    key = frozenset(kept)
    if key not in shared:
        shared[key] = copy.copy(owner)
        shared[key].body = [node for node in owner.body if not isinstance(node, Function) or node.name in key]
    return shared[key]


def _names_reached(method: Function) -> frozenset[str]:
    """Return the attributes that a method uses, those named in strings as well."""
    names = _reached.get(method)
    if names is None:
        found = set()
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
        names = _reached[method] = frozenset(found)
    return names
