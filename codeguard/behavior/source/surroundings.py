"""Extract a function with the code of its file that it needs, by the names that statements bind and use.

What that imports stays an import: the modules of a corpus are imported as they are.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from codeguard.analysis.python.bindings import bindings, is_main_guard
from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition, Function, Module
from codeguard.behavior.source.import_paths import Import, imports_of
from codeguard.behavior.source.importing import Home
from codeguard.behavior.source.layout import laid_out, plain_source
from codeguard.behavior.source.reach import effects_in
from codeguard.corpus import syntax

MAX_CHARACTERS = 200_000
# Limits on names and statements for all functions of a file. Each function has an equal share, so its result
# does not depend on which others were extracted before it.
STEPS_PER_FILE = 300_000
LEAST_STEPS = 50
BUILTIN_NAMES = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}


class Needed(NamedTuple):
    """The statements that bind the required names, in the file's order, and the names that nothing in it binds.

    `complete` is False if there were too many to follow.
    """

    statements: tuple[ast.stmt, ...]
    unresolved: tuple[str, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Runnable:
    """Source of a module that contains a function, ready to be called.

    `target` is the expression for the callable, `node` the function's tree within `source` (with
    the source's line numbers). `unresolved` are names that nothing in the file binds. `statements` are those of its
    file that the source is of. `home` is its file, to be imported as it is, if the source may lack something.
    `borrowed` are the modules that the source takes from other files there, and `file_names` what the file binds, if
    there are any.
    `completed` are names that an excerpt lacks, and `added` is what `extended` added.
    """

    source: str
    target: str
    name: str
    node: Function
    unresolved: tuple[str, ...] = ()
    borrowed: tuple[str, ...] = ()
    statements: tuple[ast.stmt, ...] = ()
    home: Home | None = None
    file_names: frozenset[str] = frozenset()
    completed: tuple[str, ...] = ()
    added: str = ""

    @property
    def around(self) -> frozenset[str]:
        """Its statements as text."""
        return frozenset(map(plain_source, self.statements))

    def extended(self, texts: Iterable[str]) -> Runnable:
        """Return the same with more code at the end of its module."""
        more = "".join(f"\n{text}" for text in texts)
        return replace(self, source=f"{self.source}{more}", added=f"{self.added}{more}")


@dataclass(frozen=True)
class Surroundings:
    """A function with the statements that it needs, its own among them, in the order of the file.

    `own` is its own statement, `file_names` are what the file binds, and `completed` the names that it lacks and a
    trusted file has.
    """

    definition: Definition
    own: ast.stmt
    needed: Needed
    file_names: frozenset[str] = frozenset()
    completed: tuple[str, ...] = ()

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """What they import of other modules than the standard ones."""
        return imports_of(self.needed.statements)

    def runnable(self, home: Home | None = None, *, traced: bool = True) -> Runnable | None:
        """Return the assembled source; None if it is too large or cannot be unparsed. `home` is the function's file.

        Where its lines are not to be `traced`, they are not those of `node`.
        """
        statements = self.needed.statements
        texts = [*map(laid_out if traced else plain_source, statements)]
        source = "".join(f"{part}\n" for part in texts)
        place = next(place for place, item in enumerate(statements) if item is self.own)
        if not self.needed.complete or len(source) > MAX_CHARACTERS or not texts[place]:
            return None
        node = _locate(texts[place], self.definition) if traced else self.definition.node
        if node is None:
            return None
        if traced:
            ast.increment_lineno(node, sum(part.count("\n") + 1 for part in texts[:place]))
        borrowed = () if home is None else home.borrowed(self.imports)
        return Runnable(
            source,
            _target(self.definition),
            self.definition.name,
            node,
            self.needed.unresolved,
            borrowed,
            tuple(statements),
            home if self.imports or self.needed.unresolved else None,
            self.file_names if borrowed else frozenset(),
            self.completed,
        )


def surroundings(definition: Definition, module: Module) -> Surroundings:
    """Return the function with the code of its file that it needs."""
    own: ast.stmt = definition.owner or definition.node
    own_name = definition.name if definition.owner is None else definition.owner.name
    needed = needed_for(free_names(own, module), module, own_name, own)
    future = future_annotations_import(module.statements)
    if future is not None:  # names used only in annotations may be bound for type checkers only
        needed = needed._replace(statements=(future, *needed.statements))
    return Surroundings(definition, own, needed, module.bound_names)


def completed_excerpt(excerpt: Surroundings, home: Surroundings) -> Surroundings:
    """Return an excerpt together with what it lacks of the statements that a trusted function needs.

    Code that was cut out of a file uses names that only this file binds.
    What the excerpt's own file binds comes later and replaces a trusted definition of that name.
    """
    around = Module(tuple(item for item in home.needed.statements if item is not home.own))
    completed = tuple(name for name in excerpt.needed.unresolved if name in binders_of(around))
    taken = needed_for(completed, around).statements
    if not taken:
        return excerpt
    own = excerpt.needed.statements
    first = [item for item in own[:1] if item is future_annotations_import(own)]
    needed = excerpt.needed._replace(
        statements=(*first, *taken, *own[len(first) :]),
        unresolved=tuple(name for name in excerpt.needed.unresolved if name not in completed),
    )
    return replace(excerpt, needed=needed, completed=completed)


def _target(definition: Definition) -> str:
    if definition.owner is None:
        return definition.name
    if definition.binding == "instance":
        return f"{definition.owner.name}().{definition.name}"
    return f"{definition.owner.name}.{definition.name}"


def _locate(text: str, definition: Definition) -> Function | None:
    """Return the function in the parsed text of its statement; the tree is not shared."""
    try:
        tree = syntax.parse(text)
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
                wanted.extend(free_names(module.statements[index], module))
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


def free_names(statement: ast.stmt, module: Module) -> Set[str]:
    """Return the names that a statement takes from its module, except those in annotations."""
    return effects_in(module).free_names(statement)
