"""What names mean in the files from which one function is put together, and what each is called there.

A name means a variable: what one file binds, a module of the standard library, a builtin. Where two files use one
name for two variables, the function's own file keeps it and the other variable gets another name.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from codeguard.behavior.source.definitions import Module
from codeguard.behavior.source.renaming import mentioned_names, renamed

BUILTIN_NAMES = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}
LABEL_LENGTH = 40  # characters of a path in a new name
_MARK = "@"  # in no name of Python


class Variable(NamedTuple):
    """A name and where it belongs; `label` says that in words."""

    name: str
    place: tuple[object, ...]
    label: str


Called = Mapping[Variable, str]
NOTHING_CALLED: Called = {}


def file_variable(name: str, module: Module, path: str) -> Variable:
    """Return the variable that a file binds."""
    return Variable(name, ("file", id(module)), path)


def of_no_file(name: str) -> Variable:
    """Return the variable of a name that a file uses and does not bind."""
    kind = "builtin" if name in BUILTIN_NAMES else "unbound"
    return Variable(name, (kind,), kind)


@dataclass(frozen=True, slots=True)
class Meanings:
    """What the names in the statements of several files mean.

    `tables` hold the variables of each file by name, `homes` each statement with the table that holds for it.
    Statements that stand for imports speak of several files, and have a mark for each variable instead of a name.
    """

    tables: dict[int, dict[str, Variable]] = field(default_factory=dict)
    homes: dict[int, tuple[ast.stmt, dict[str, Variable]]] = field(default_factory=dict)
    marks: dict[Variable, str] = field(default_factory=dict)

    def table(self, module: Module) -> dict[str, Variable]:
        """Return what the names of a file mean, to be added to."""
        return self.tables.setdefault(id(module), {})

    def mark(self, variable: Variable) -> str:
        """Return what stands for a variable until all are known."""
        return self.marks.setdefault(variable, f"{variable.name}{_MARK}{len(self.marks)}")

    def place(self, statement: ast.stmt, module: Module) -> ast.stmt:
        """Record that a statement belongs to a file, and return it."""
        self.homes[id(statement)] = statement, self.table(module)
        return statement

    def marked(self, statement: ast.stmt) -> ast.stmt:
        """Return a statement with marks for its names, to stand inside a statement of another file."""
        _, table = self.homes.get(id(statement), (statement, {}))
        names = mentioned_names(statement) & table.keys()
        return renamed(statement, {name: self.mark(table[name]) for name in names})

    def called(self, keepers: Sequence[Module], statements: Iterable[ast.stmt], before: Called) -> Called:
        """Return what each variable is called.

        Args:
            keepers: the files whose statements stay as they are; of two, the earlier one keeps a name.
            statements: those whose names no variable may be given.
            before: what variables are called already.
        """
        variables = {*self.marks, *(item for table in self.tables.values() for item in table.values())}
        owners: dict[str, Variable] = {}
        for module in keepers:
            owners = {**self.table(module), **owners}
        names = dict(before) | {variable: name for name, variable in owners.items()}
        owners = {name: variable for variable, name in before.items()} | owners
        free = sorted(
            variables - names.keys(), key=lambda item: (item.name, item.place[0] == "file", item.label)
        )
        for item in free:  # nothing else can be called as a builtin is, or as nothing is
            if owners.setdefault(item.name, item) == item:
                names[item] = item.name
        rest = [item for item in free if item not in names]
        taken = {*names.values()}.union(*map(mentioned_names, statements)) if rest else set()
        for item in rest:
            names[item] = _other_name(item, taken)
            taken.add(names[item])
        return names

    def renamed(self, statements: Sequence[ast.stmt], called: Called) -> list[ast.stmt]:
        """Return the statements with what each variable is called.

        Raises:
            RenamingError: one of them cannot be changed.
        """
        marks = {mark: called[item] for item, mark in self.marks.items()}
        changes = {
            id(table): marks | {name: called[item] for name, item in table.items() if called[item] != name}
            for table in self.tables.values()
        }
        homes = [self.homes.get(id(statement)) for statement in statements]
        return [
            renamed(statement, changes[id(home[1])] if home else marks)
            for statement, home in zip(statements, homes, strict=True)
        ]


def builtins_kept(called: Called, before: Called) -> Iterator[ast.stmt]:
    """Yield assignments that come first: a variable with a builtin's name is the builtin until it is bound."""
    for item in sorted(called.keys() - before.keys(), key=lambda item: (item.name, item.label)):
        if item.name in BUILTIN_NAMES and called[item] != item.name:
            yield ast.parse(f"{called[item]} = {item.name}").body[0]


def _other_name(variable: Variable, taken: set[str]) -> str:
    label = re.sub(r"\W", "_", variable.label.removesuffix(".py"))[-LABEL_LENGTH:].strip("_")
    name, number = f"{variable.name}_of_{label}", 2
    while name in taken:
        name, number = f"{variable.name}_of_{label}_{number}", number + 1
    return name
