"""The statements of its own file that a function needs.

What they import stays an import: the modules of a corpus are imported as they are.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from codeguard.behavior.source.definitions import Module
from codeguard.behavior.source.names import binders_of, free_names, trimmed_import
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
_imports: WeakKeyDictionary[ast.stmt, tuple[Import, ...]] = WeakKeyDictionary()


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
    most = max(LEAST_STEPS, STEPS_PER_FILE // max(1, module.definition_count))
    chosen, seen = _followed(names, module, own_name, most)
    unresolved = sorted(seen - {own_name} - binders.keys() - BUILTIN_NAMES)
    if unresolved:
        chosen.update(binders.get("*", ())[: most + 1])
    own_index = -1 if own is None else _index_of(own, module, own_name)
    kept: list[ast.stmt] = []
    for index in sorted({*chosen, own_index} - {-1}):
        trimmed = trimmed_import(module, index, seen) if index in chosen else None
        kept.extend(item for item in (trimmed, OWN if index == own_index else None) if item is not None)
    return Needed(tuple(kept), tuple(unresolved), max(len(seen), len(chosen)) <= most)


def imports_of(statements: Iterable[ast.stmt]) -> tuple[Import, ...]:
    """Return what statements import, inside their functions too, of other modules than the standard ones."""
    found: dict[Import, None] = {}
    for statement in statements:
        if statement not in _imports:
            _imports[statement] = tuple(_imports_in(statement))
        found.update(dict.fromkeys(_imports[statement]))
    return tuple(found)


def _imports_in(statement: ast.stmt) -> Iterator[Import]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            yield from (
                (0, tuple(alias.name.split(".")), ()) for alias in node.names if not is_known(alias.name)
            )
        elif isinstance(node, ast.ImportFrom) and (node.level or not is_known(node.module or "")):
            module = tuple(node.module.split(".")) if node.module else ()
            yield node.level, module, tuple(alias.name for alias in node.names)


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
                wanted.extend(module.once("free", module.statements[index], free_names))
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
