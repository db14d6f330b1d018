"""The statements that a function needs, of its own file and of those from which this one imports.

All of them are put into one module, so that a sandboxed child can run them without the packages of the corpus.
"""

from __future__ import annotations

import ast
import copy
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from codeguard.analysis.python.bindings import bindings, name_bound_by
from codeguard.behavior.source.definitions import Function, Module, child_statements, dotted_uses
from codeguard.behavior.source.layout import Place
from codeguard.behavior.source.modules import TrustedModules
from codeguard.behavior.source.names import (
    binders_of,
    bound_names,
    free_names,
    names_used_on_execution,
    trimmed_import,
)
from codeguard.behavior.source.renaming import RenamingError
from codeguard.behavior.source.variables import (
    BUILTIN_NAMES,
    NOTHING_CALLED,
    Called,
    Meanings,
    Variable,
    builtins_kept,
    file_variable,
    of_no_file,
)
from codeguard.syntax.names import dotted_name

Later = list[tuple[ast.ImportFrom, str] | ast.stmt]  # imports inside functions, and what has to come last

# Limits on names and statements for all functions of a file. Each function has an equal share, so its result
# does not depend on which others were extracted before it.
STEPS_PER_FILE = 300_000
LEAST_STEPS = 50
MAX_BORROWED = 40  # files that one import may pass through
MOST_BORROWED = 400  # names of other files that one function may need
NO_MODULES = TrustedModules()
OWN = ast.Pass()  # stands for the function's own statement
POSTPONED = ast.parse("from __future__ import annotations").body[0]


@dataclass(frozen=True, slots=True)
class Collected:
    """What was collected for one function so far.

    `taken` are the names of other files that are included, by file; namespaces have none. `later` are imports
    inside functions, and what has to come last. `shared` are names that a file imports from another one, `assigned`
    those that functions assign, `unclear` those that mean two things in one file. `version` is the untrusted file
    of the function called `own_name`: a trusted file that has this function is an earlier version of it, and
    its names mean those of the untrusted one.
    """

    meanings: Meanings = field(default_factory=Meanings)
    taken: set[tuple[int | str, str]] = field(default_factory=set)
    later: Later = field(default_factory=list)
    shared: set[tuple[int, str]] = field(default_factory=set)
    assigned: set[tuple[int, str]] = field(default_factory=set)
    unclear: set[str] = field(default_factory=set)
    version: Module | None = None
    own_name: str = ""


@dataclass(frozen=True, slots=True)
class Needed:
    """The statements that bind the required names, in order, with unbound and imported names.

    `borrowed` are names from other files. `complete` is False if there were too many to follow.
    `postponed` means that one of the other files does not evaluate its annotations.
    """

    statements: tuple[ast.stmt, ...]
    unresolved: tuple[str, ...]
    borrowed: tuple[str, ...] = ()
    complete: bool = True
    postponed: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an import stands: its module and that one's path, and what was collected for the function so far.

    `uses` are the attributes that the collected code takes from each name.
    """

    module: Module
    path: str
    trusted: TrustedModules
    depth: int
    collected: Collected
    uses: Mapping[str, Sequence[tuple[str, ...]]]

    @property
    def table(self) -> dict[str, Variable]:
        """What the names of the module mean."""
        return self.collected.meanings.table(self.module)

    def variable(self, name: str) -> Variable:
        """Return the variable that the module binds."""
        return file_variable(name, self.module, self.path)

    def latest(self, module: Module, name: str) -> Module:
        """Return the untrusted version of a trusted file, if there is one that has a name; or else the file."""
        collected = self.collected
        is_earlier = collected.own_name in module.plain_names and self.trusted.is_trusted(module)
        has_it = collected.version is not None and name in collected.version.bound_names
        return collected.version if collected.version is not None and is_earlier and has_it else module

    def marked(self, statement: ast.stmt) -> ast.stmt:
        """Return a statement of another file to stand inside one of this one."""
        try:
            return self.collected.meanings.marked(statement)
        except RenamingError as error:
            self.collected.unclear.add(str(error))
            return statement

    def is_bound_twice(self, name: str) -> bool:
        """Return whether the module binds a name in several places, so that it is a variable of its own."""
        key = ("bound", 0)
        known: Counter[str] | None = self.module.remembered.get(key)
        if known is None:
            known = self.module.remembered[key] = _count_of_bindings(self.module)
        return known[name] > 1


def needed_for(
    names: Iterable[str],
    module: Module,
    own_name: str = "",
    trusted: TrustedModules = NO_MODULES,
    path: str = "",
    depth: int = 0,
    collected: Collected | None = None,
    uses: frozenset[tuple[str, ...]] = frozenset(),
    own: ast.stmt | None = None,
) -> Needed:
    """Follow names through the top level of a file until nothing new is needed.

    Definitions of `own_name` are left out, because the caller has its own. `collected` is what is already
    included, since files may import each other. `uses` are the attributes that the caller's own code takes from
    names. `OWN` stands where the file has its statement `own`. What the statements call the names of several files
    is settled by `put_together`.
    """
    collected = Collected() if collected is None else collected
    inside = list(collected.later)
    binders = binders_of(module)  # a definition of `own_name` binds only that name, which is not needed
    most = max(LEAST_STEPS, STEPS_PER_FILE // max(1, module.definition_count))
    chosen, seen = _followed(names, module, own_name, most)
    stars = binders.get("*", ())[: most + 1]
    starred: dict[int, list[str]] = {
        index: names_there
        for index in stars
        if (names_there := _names_of_star(module, index, seen, trusted, path)) is not None
    }
    unbound = seen - {own_name} - binders.keys() - {name for names in starred.values() for name in names}
    unresolved = sorted(unbound - BUILTIN_NAMES)
    chosen.update(starred, stars if unresolved else ())
    own_index = -1 if own is None else _index_of(own, module, own_name)
    kept: list[ast.stmt] = []
    for index in sorted({*chosen, own_index} - {-1}):
        trimmed = trimmed_import(module, index, seen, starred.get(index)) if index in chosen else None
        kept.extend(item for item in (trimmed, OWN if index == own_index else None) if item is not None)
    uses = uses.union(*(module.once("dotted", module.statements[index], dotted_uses) for index in chosen))
    by_root: dict[str, list[tuple[str, ...]]] = {}
    for use in sorted(uses):
        by_root.setdefault(use[0], []).append(use[1:])
    place = _Place(module, path, trusted, depth, collected, by_root)
    for statement in kept:
        _record_definitions(statement, place)
    taken = _Taken()
    for statement in kept:
        found = _inlined_import(statement, place)
        if found is None and isinstance(statement, ast.If | ast.Try) and trusted.inlines_branches(module):
            found = _with_inlined_branches(statement, place)
        if found is not None:
            taken.add(found)
            continue
        _record_imports(statement, place)
        bare, inner = without_trusted_imports(statement, module, trusted, path)
        collected.later.extend(inner)
        inside.extend(inner)
        taken.statements.append(collected.meanings.place(bare, module))
    last: list[ast.stmt] = []
    if not depth:  # after the others: files that import each other do so inside functions
        late = _Taken()
        last = _add_late_imports(late, place)
        taken.add(replace(late.needed, statements=()))
        taken.statements = _with_late_ones(taken.statements, late.statements)
    imported_inside = {
        alias.asname or alias.name
        for item in inside
        if not isinstance(item, ast.stmt)
        for alias in item[0].names
    }
    if all(index in starred for index in stars):  # else they may be of a module that is not here
        for name in unbound - imported_inside:
            place.table.setdefault(name, of_no_file(name))
    distinct = {id(statement): statement for statement in (*taken.statements, *last)}
    return replace(
        taken.needed,
        statements=tuple(distinct.values()),
        unresolved=tuple(unresolved),
        complete=max(len(seen), len(chosen)) <= most,
    )


@dataclass(slots=True)
class _Taken:
    """Statements and names of other files while they are collected."""

    statements: list[ast.stmt] = field(default_factory=list)
    borrowed: list[str] = field(default_factory=list)
    postponed: bool = False

    def add(self, found: Needed) -> None:
        """Add what stands for one import."""
        self.statements.extend(found.statements)
        self.borrowed.extend(found.borrowed)
        self.postponed |= found.postponed

    @property
    def needed(self) -> Needed:
        """All of it."""
        return Needed(tuple(self.statements), (), tuple(self.borrowed), postponed=self.postponed)


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


def _add_late_imports(taken: _Taken, place: _Place) -> list[ast.stmt]:
    """Add what imports inside functions mean; return what has to come last of all."""
    last: list[ast.stmt] = []
    while place.collected.later:
        item = place.collected.later.pop()
        if isinstance(item, ast.stmt):
            last.append(item)
            continue
        node, path = item
        home = replace(place, module=place.trusted.at(path) or place.module, path=path, depth=1)
        found = _inlined_import(node, home)
        if found is not None:
            taken.add(found)
    return last


def _with_late_ones(statements: list[ast.stmt], late: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements with those of imports inside functions: before the function's own, which so wins.

    Those that need what comes after it as soon as they run come last.
    """
    place = next((at for at, item in enumerate(statements) if item is OWN), len(statements))
    names = {name for item in statements[place:] for name in bound_names(item)}
    sooner: list[ast.stmt] = []
    for item in late:
        if names.isdisjoint(names_used_on_execution(item)):
            sooner.append(item)
        else:
            statements.append(item)
            names |= bound_names(item)
    return [*statements[:place], *sooner, *statements[place:]]


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


def put_together(
    needed: Needed,
    collected: Collected,
    keepers: Sequence[Module],
    own: Sequence[ast.stmt] = (),
    before: Called = NOTHING_CALLED,
    strict: bool = False,
) -> tuple[Needed, Called]:
    """Return the statements with names that are clear in one module, and what each variable is called.

    The statements of `keepers` and `own` keep their names. `before` says what variables are called already.

    Raises:
        RenamingError: some name cannot be replaced; only if `strict`, otherwise all names stay as they are.
    """
    meanings = collected.meanings
    called = meanings.called(keepers, (*own, *needed.statements), before)
    try:
        statements = meanings.renamed(needed.statements, called)
    except RenamingError:
        if strict:
            raise
        called = {variable: variable.name for variable in called}
        statements = meanings.renamed(needed.statements, called)
    return replace(needed, statements=(*builtins_kept(called, before), *statements)), called


def _count_of_bindings(module: Module) -> Counter[str]:
    """Return how often a module binds each name; all `import a.b` of one package count once."""
    found: Counter[str] = Counter()
    packages: set[str] = set()
    for statement in module.reached_statements():
        if isinstance(statement, ast.Import):
            packages.update(name_bound_by(alias) for alias in statement.names if alias.asname is None)
            found.update(alias.asname for alias in statement.names if alias.asname)
        elif not isinstance(statement, ast.If | ast.Try):
            found.update(bindings([statement]).bound)
    found.update(packages)
    return found


def _record_definitions(statement: ast.stmt, place: _Place) -> None:
    """Record what a statement binds or assigns, except by an import of its own."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return
    once = place.module.once
    for name in once("bound", statement, _names_at_run_time):
        place.table.setdefault(name, place.variable(name))
    assigned = once("global", statement, _global_names)
    place.collected.assigned.update((id(place.module), name) for name in assigned)


def _names_at_run_time(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.If) and dotted_name(statement.test).endswith("TYPE_CHECKING"):
        return bindings(statement.orelse).bound
    return bindings([statement]).bound


def _record_imports(statement: ast.stmt, place: _Place) -> None:
    """Record what an import binds that stays one."""
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return
    for alias in statement.names:
        bound = name_bound_by(alias)
        variable = Variable(bound, ("import", bound), bound)
        if isinstance(statement, ast.ImportFrom):
            where = (statement.module, statement.level, id(place.module) if statement.level else 0)
            variable = Variable(bound, ("import", alias.name, *where), statement.module or place.path)
        elif alias.asname:
            variable = Variable(bound, ("import", bound, alias.name), alias.name)
        if place.is_bound_twice(bound):
            variable = place.variable(bound)
        if bound != "*":
            place.table.setdefault(bound, variable)


def _global_names(statement: ast.stmt) -> frozenset[str]:
    nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Global))
    return frozenset(name for node in nodes for name in node.names)


def _names_of_star(
    module: Module, index: int, seen: Set[str], trusted: TrustedModules, path: str
) -> list[str] | None:
    """Return the needed names that `from … import *` binds, except those that the file binds afterwards.

    None if that import is not followed.
    """
    statement = module.statements[index]
    names = trusted.names_of_star(statement, path) if isinstance(statement, ast.ImportFrom) else None
    if names is None:
        return None
    binders = binders_of(module)
    return sorted(name for name in names & seen if max(binders.get(name, [-1])) < index)


def _inlined_import(statement: ast.stmt, place: _Place) -> Needed | None:
    """Return the definitions for an import from trusted files; None if it remains an import."""
    if place.depth >= MAX_BORROWED:
        return None
    if isinstance(statement, ast.ImportFrom) and statement.module == "typing_extensions":
        return _typing_import(statement, place)
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return None
    borrowing = _Borrowing(place)
    if isinstance(statement, ast.Import):
        made = all(borrowing.add_module(alias) for alias in statement.names)
    elif any(alias.name == "*" for alias in statement.names):
        return None  # of a module that is not here; others are imports of their names by now
    elif place.trusted.is_from_corpus(statement, place.path):
        made = all(borrowing.add_name(statement, alias) for alias in statement.names)
    else:
        return None
    return borrowing.taken.needed if made else None


# What is there without being given: numpy where it is installed, and most of typing_extensions.
KNOWN_PACKAGES = ("numpy", "typing_extensions")
# What typing_extensions has and only newer versions of typing and warnings have.
_NEWER = {
    "TypeVar": "def {}(*names, default=None, **more):\n    import typing\n    return typing.TypeVar(*names, **more)",
    "ParamSpec": "def {}(name, default=None, **more):\n    import typing\n    return typing.ParamSpec(name, **more)",
    "override": "def {}(method):\n    return method",
    "deprecated": "def {}(*args, **kwargs):\n    return lambda item: item",
}


def _typing_import(statement: ast.ImportFrom, place: _Place) -> Needed | None:
    """Return an import from typing_extensions as one from typing; None if that has not all of its names."""
    others = [item for item in statement.names if item.name in _NEWER or item.name not in typing.__all__]
    known = [alias for alias in statement.names if alias not in others]
    if any(alias.name not in _NEWER for alias in others):
        return None
    made = [ast.parse(_NEWER[item.name].format(item.asname or item.name)).body[0] for item in others]
    parts = [*([ast.ImportFrom("typing", known, 0)] if known else []), *made]
    for part in parts:
        _record_definitions(part, place)
        _record_imports(part, place)
    return Needed(tuple(place.collected.meanings.place(part, place.module) for part in parts), ())


def _with_inlined_branches(statement: ast.If | ast.Try, place: _Place) -> Needed | None:
    """Return a statement of a trusted file with the definitions for its imports.

    None if it imports nothing from trusted files. What only type checkers import stays. A candidate's
    conditions stay as well: where its import would fail, what it does then has to be seen.
    """
    branches = list(child_statements(statement))
    if isinstance(statement, ast.If) and dotted_name(statement.test).endswith("TYPE_CHECKING"):
        branches = statement.orelse
    imports = [node for node in branches if isinstance(node, ast.Import | ast.ImportFrom)]
    made = {id(node): found for node in imports if (found := _inlined_import(node, place)) is not None}
    if not made:
        return None
    meanings = place.collected.meanings

    def replaced(body: Sequence[ast.stmt]) -> list[ast.stmt]:
        parts = [
            map(place.marked, made[id(node)].statements) if id(node) in made else (node,) for node in body
        ]
        return [item for part in parts for item in part] or [ast.Pass()] * bool(body)

    changed = copy.copy(statement)
    changed.body, changed.orelse = replaced(statement.body), replaced(statement.orelse)
    if isinstance(changed, ast.Try):
        changed.finalbody = replaced(changed.finalbody)
        handlers = [copy.copy(handler) for handler in changed.handlers]
        for handler in handlers:
            handler.body = replaced(handler.body)
        changed.handlers = handlers
    meanings.place(changed, place.module)
    borrowed = tuple(name for found in made.values() for name in found.borrowed)
    return Needed((changed,), (), borrowed, postponed=any(found.postponed for found in made.values()))


class _Borrowing:
    """Collects the definitions that stand for one import."""

    def __init__(self, place: _Place) -> None:
        self.taken = _Taken()
        self._place = place
        self._trusted = place.trusted
        self._meanings = place.collected.meanings
        self._known = place.collected.taken

    def add_name(self, statement: ast.ImportFrom, alias: ast.alias) -> bool:
        """Add what `from … import name` means; return False if it is no definition of a trusted file."""
        called = alias.asname or alias.name
        module = self._trusted.find(statement, alias.name, self._place.path)
        if module is None:
            module = self._trusted.submodule(statement, alias.name, self._place.path)
            return module is not None and self._add_whole(called, module)
        module, name = self._trusted.origin(module, alias.name)
        inner = self._trusted.module_called(module, name)
        if inner is not None:
            return self._add_whole(called, inner)
        module = self._place.latest(module, name)
        self._place.collected.shared.add((id(module), name))
        if self._add(module, [name]) is None:
            return False
        self._bind(called, self._variable(module, name))
        return True

    def _add_whole(self, called: str, module: Module) -> bool:
        """Add the attributes of a module that are used under a name."""
        uses = {rest[0] for rest in self._place.uses.get(called, ())} | self._trusted.attributes(called)
        members: dict[tuple[str, ...], tuple[Module, str]] = {
            (name,): self._origin(module, name) for name in sorted(uses & self._trusted.provided(module))
        }
        namespace = Variable(called, ("module", id(module)), self._trusted.path_of(module))
        return self._add_namespace(namespace, members)

    def add_module(self, alias: ast.alias) -> bool:
        """Add what `import a.b` means; return False if that is no trusted file, or nothing of it is used."""
        called = name_bound_by(alias)
        dotted = alias.name.split(".") if alias.asname else [called]
        path = self._place.path
        whole = self._trusted.imported(alias.name.split("."), path)
        if whole is None:
            return False
        members: dict[tuple[str, ...], tuple[Module, str]] = {}
        for rest in self._place.uses.get(called, ()):
            parts = [*dotted, *rest]
            for length in range(len(parts) - 1, 0, -1):
                module = self._trusted.imported(parts[:length], path)
                if module is not None:
                    inner = self._trusted.imported(parts[: length + 1], path)
                    if parts[length] in self._trusted.provided(module) and inner is None:
                        place = tuple(parts[len(dotted) : length + 1])
                        members[place] = self._origin(module, parts[length])
                    break
        kind = id(whole) if alias.asname else called
        return self._add_namespace(Variable(called, ("module", kind), self._trusted.path_of(whole)), members)

    def _origin(self, module: Module, name: str) -> tuple[Module, str]:
        found, its_name = self._trusted.origin(module, name)
        return self._place.latest(found, its_name), its_name

    def _variable(self, module: Module, name: str) -> Variable:
        """Return what a name means in another module whose definitions were added."""
        there = replace(self._place, module=module, path=self._trusted.path_of(module))
        return there.table.get(name) or there.variable(name)

    def _bind(self, called: str, variable: Variable) -> None:
        """Let a name of the importing module mean a variable of another one."""
        if called != variable.name or self._place.is_bound_twice(called):
            own = self._place.variable(called)
            self.taken.statements.append(_assigned(self._meanings.mark(own), self._meanings.mark(variable)))
            variable = own
        table = self._place.table
        if table.get(called, variable) not in (variable, self._place.variable(called)):
            self._place.collected.unclear.add(called)
        table[called] = variable

    def _add(self, module: Module, names: Sequence[str]) -> list[str] | None:
        """Add the definitions of a module's names; return those that were new, None if there are too many."""
        new = [name for name in names if (id(module), name) not in self._known]
        if len(self._known) + len(new) > MOST_BORROWED:
            return None
        self.taken.borrowed.extend(names)
        self._known.update((id(module), name) for name in new)
        own_path = self._trusted.path_of(module)
        depth, collected = self._place.depth + 1, self._place.collected
        inner = needed_for(new, module, "", self._trusted, own_path, depth, collected)
        self.taken.add(inner)
        self.taken.postponed |= future_annotations_import(module.statements) is not None
        return new

    def _add_namespace(
        self, namespace: Variable, members: Mapping[tuple[str, ...], tuple[Module, str]]
    ) -> bool:
        """Add a class that stands for a module or package, with the used names as attributes."""
        values: dict[tuple[str, ...], str] = {}
        early: set[tuple[str, ...]] = set()
        for module in {id(module): module for module, _ in members.values()}.values():
            new = self._add(module, [name for other, name in members.values() if other is module])
            if new is None:
                return False
            for place, (other, name) in members.items():
                if other is module:
                    values[place] = self._meanings.mark(self._variable(module, name))
                    early.update([place] if name in new else [])
        called = self._meanings.mark(namespace)
        first = ("", called) not in self._known
        self._known.add(("", called))
        if first or early:
            self.taken.statements.append(_namespace(called, {place: values[place] for place in early}, first))
        rest = {place: text for place, text in values.items() if place not in early}
        attempt = ("", f"{called} {sorted(rest.items())}")
        if rest and attempt not in self._known:
            # They are included elsewhere, perhaps further down: files import each other.
            self._known.add(attempt)
            extended = _attempted(_namespace(called, rest, first=False))
            self.taken.statements.append(extended)
            self._place.collected.later.append(copy.copy(extended))
        self._bind(namespace.name, namespace)
        return True


def _assigned(name: str, value: str) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Name(value, ast.Load()))
    return ast.fix_missing_locations(made)


def _namespace(name: str, members: Mapping[tuple[str, ...], str], first: bool = True) -> ast.stmt:
    """Return a class with these attributes, in classes for the parts of a dotted name; it extends an earlier one.

    Its name and the values may be marks, which are no names of Python.
    """
    stand_ins = {value: f"value{number}" for number, value in enumerate(sorted({name, *members.values()}))}
    texts = {place: stand_ins[value] for place, value in members.items()}
    made = ast.parse("\n".join(_class_lines((stand_ins[name],), texts, first))).body[0]
    assert isinstance(made, ast.ClassDef)
    made.name = name
    marks = {stand_in: value for value, stand_in in stand_ins.items()}
    for node in ast.walk(made):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            node.id = marks.get(node.id, node.id)
    return made


def _class_lines(path: tuple[str, ...], members: Mapping[tuple[str, ...], str], first: bool) -> Iterator[str]:
    own = {place[0]: text for place, text in members.items() if len(place) == 1}
    inner = sorted({place[0] for place in members if len(place) > 1} - own.keys())
    earlier = path[0] if len(path) == 1 else f"getattr({'.'.join(path[:-1])}, '{path[-1]}', object)"
    yield f"class {path[-1]}:" if first else f"class {path[-1]}({earlier}):"
    yield from (f"    {member} = {text}" for member, text in sorted(own.items()))
    for part in inner:
        deeper = {place[1:]: text for place, text in members.items() if place[0] == part and len(place) > 1}
        yield from (f"    {line}" for line in _class_lines((*path, part), deeper, first))
    if not own and not inner:
        yield "    pass"


def _attempted(statement: ast.stmt) -> ast.stmt:
    """Return a statement that does nothing where one of its names is not defined yet."""
    attempt = ast.parse("try:\n    pass\nexcept NameError:\n    pass").body[0]
    assert isinstance(attempt, ast.Try)
    attempt.body = [statement]
    return attempt


def without_trusted_imports(
    statement: ast.stmt, module: Module, trusted: TrustedModules, path: str
) -> tuple[ast.stmt, Later]:
    """Return a statement without the trusted imports inside its functions, and these imports.

    Their definitions are then in the same module. Nothing is removed if a name has another meaning
    in the file, or if an import is ambiguous.
    """
    if trusted.is_empty or not isinstance(statement, Function | ast.ClassDef):
        return statement, []
    imports = [node for node in _inner_imports(statement) if trusted.is_from_corpus(node, path)]
    binders = binders_of(module) if imports else {}
    for node in imports:
        for alias in node.names:
            if (alias.asname or alias.name) in binders or (
                trusted.find(node, alias.name, path) is None
                and trusted.submodule(node, alias.name, path) is None
            ):
                return statement, []
    if not imports:
        return statement, []
    bare = _without(statement, frozenset((node.lineno, node.col_offset) for node in imports))
    return bare, [(node, path) for node in imports]


_inner: WeakKeyDictionary[ast.stmt, tuple[ast.ImportFrom, ...]] = WeakKeyDictionary()
_bare: WeakKeyDictionary[ast.stmt, dict[frozenset[Place], ast.stmt]] = WeakKeyDictionary()


def _inner_imports(statement: ast.stmt) -> tuple[ast.ImportFrom, ...]:
    """Return the imports inside the functions of a statement."""
    if statement not in _inner:
        functions = [node for node in ast.walk(statement) if isinstance(node, Function)]
        nodes = {
            id(node): node
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.ImportFrom)
        }
        _inner[statement] = tuple(nodes.values())
    return _inner[statement]


def _without(statement: ast.stmt, places: frozenset[Place]) -> ast.stmt:
    """Return a statement with `pass` at these positions; the same one each time, so it is unparsed once."""
    made = _bare.setdefault(statement, {})
    if places not in made:
        made[places] = _ImportRemover(places).visit(copy.deepcopy(statement))
    return made[places]


class _ImportRemover(ast.NodeTransformer):
    """Replaces imports by `pass`."""

    def __init__(self, places: frozenset[Place]) -> None:
        self.places = places

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        place = node.lineno, node.col_offset
        return ast.copy_location(ast.Pass(), node) if place in self.places else node


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
