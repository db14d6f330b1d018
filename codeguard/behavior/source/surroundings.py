"""Extract a function with the code that it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition, Function, Module
from codeguard.behavior.source.importing import Home
from codeguard.behavior.source.layout import laid_out, plain_source
from codeguard.behavior.source.needed import (
    Import,
    Needed,
    binders_of,
    free_names,
    future_annotations_import,
    imports_of,
    needed_for,
)
from codeguard.corpus import syntax

MAX_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class Runnable:
    """Source of a module that contains a function, ready to be called.

    `target` is the expression for the callable, `node` the function's tree within `source` (with
    the source's line numbers). `unresolved` are names that nothing in the file binds. `around` are the other
    statements as text. `home` is its file, to be imported as it is, if the source may lack something. `borrowed` are
    the modules that the source takes from other files there, and `file_names` what the file binds, if there are any.
    `completed` are names that an excerpt lacks, and `added` is what `extended` added.
    """

    source: str
    target: str
    name: str
    node: Function
    unresolved: tuple[str, ...] = ()
    borrowed: tuple[str, ...] = ()
    around: frozenset[str] = frozenset()
    home: Home | None = None
    file_names: frozenset[str] = frozenset()
    completed: tuple[str, ...] = ()
    added: str = ""

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

    @property
    def used_names(self) -> frozenset[str]:
        """The names that the function and what it needs take from their modules."""
        return frozenset().union(*map(free_names, self.needed.statements))

    def runnable(self, home: Home | None = None) -> Runnable | None:
        """Return the assembled source; None if it is too large or cannot be unparsed. `home` is the function's file."""
        statements = self.needed.statements
        texts = [*map(laid_out, statements)]
        source = "".join(f"{part}\n" for part in texts)
        place = next(place for place, item in enumerate(statements) if item is self.own)
        if not self.needed.complete or len(source) > MAX_CHARACTERS or not texts[place]:
            return None
        node = _locate(texts[place], self.definition)
        if node is None:
            return None
        ast.increment_lineno(node, sum(part.count("\n") + 1 for part in texts[:place]))
        borrowed = () if home is None else home.borrowed(self.imports)
        return Runnable(
            source,
            _target(self.definition),
            self.definition.name,
            node,
            self.needed.unresolved,
            borrowed,
            frozenset(map(plain_source, statements)),
            home if self.imports or self.needed.unresolved else None,
            self.file_names if borrowed else frozenset(),
            self.completed,
        )


def surroundings(definition: Definition, module: Module) -> Surroundings:
    """Return the function with the code of its file that it needs."""
    own: ast.stmt = definition.owner or definition.node
    own_name = definition.name if definition.owner is None else definition.owner.name
    needed = needed_for(free_names(own), module, own_name, own)
    future = future_annotations_import(module.statements)
    if future is not None:  # names used only in annotations may be bound for type checkers only
        needed = replace(needed, statements=(future, *needed.statements))
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
    needed = replace(
        excerpt.needed,
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
