"""Extract a function with the code that it needs, in a layout in which line coverage sees every branch.

`x if c else y`, `a and b` and the conditions of comprehensions are branches without a line of their
own. Their parts are put on separate lines in parentheses; nothing else changes.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import copy
import symtable
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from codeguard.behavior.source.definitions import (
    PARSE_ERRORS,
    Definition,
    Function,
    Module,
    child_statements,
    dotted_uses,
    name_of,
    parse,
    unparse,
)
from codeguard.behavior.source.modules import TrustedModules
from codeguard.behavior.source.reach import Reach, reachable, reached_by_method
from codeguard.behavior.verdict.effects import Capability
from codeguard.corpus import syntax

Place = tuple[int, int]  # line (1-based) and column, in bytes


def separate_branches(source: str) -> str:
    """Return the source with the parts of conditional expressions on separate lines."""
    tree = parse(source)
    if tree is None:
        return source
    insertions = sorted(_insertions(tree), key=lambda item: (-item[0][0], -item[0][1], item[1]))
    if not insertions:
        return source
    lines = [line.encode() for line in source.split("\n")]
    # From the end, so that earlier positions stay valid. Where a
    # bracket and a line break coincide, the bracket is inserted last and comes first.
    for (number, column), text in insertions:
        line = lines[number - 1]
        lines[number - 1] = line[:column] + text + line[column:]
    made = b"\n".join(lines).decode()
    # The new layout has to parse to the same tree.
    again = parse(made)
    return made if again is not None and ast.dump(again) == ast.dump(tree) else source


def _insertions(tree: ast.Module) -> Iterator[tuple[Place, bytes]]:
    """Yield what to insert where: parentheses around conditional expressions, line breaks before parts."""
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside_text = {id(part) for node in texts for part in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in inside_text:
            continue
        parts: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.test, node.orelse]
        elif isinstance(node, ast.BoolOp):
            parts = node.values
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            parts = [node.elt] if any(loop.ifs for loop in node.generators) else []
        if isinstance(node, ast.IfExp | ast.BoolOp):
            yield (node.lineno, node.col_offset), b"(\n"
            yield (node.end_lineno or 0, node.end_col_offset or 0), b"\n)"
        for part in parts:
            yield (part.lineno, part.col_offset), b"\n"


# Decorators that do not read annotations; others may.
PLAIN_DECORATORS = frozenset(
    {
        "staticmethod",
        "classmethod",
        "property",
        "lru_cache",
        "cache",
        "functools.lru_cache",
        "functools.cache",
        "contextmanager",
        "contextlib.contextmanager",
        "overload",
        "t.overload",
        "typing.overload",
    }
)


class Part:
    """A statement as source text, written lazily.

    The text is empty if the statement is nested too deeply to be unparsed.
    """

    def __init__(self, statement: ast.stmt) -> None:
        self.plain = _unparsed(statement)

    @cached_property
    def text(self) -> str:
        """The statement in the layout for coverage."""
        return separate_branches(self.plain)


_parts: WeakKeyDictionary[ast.stmt, Part] = WeakKeyDictionary()


def part_of(statement: ast.stmt) -> Part:
    """Return the part for a statement; cached as long as the statement exists."""
    part = _parts.get(statement)
    if part is None:
        part = _parts[statement] = Part(statement)
    return part


def _unparsed(statement: ast.stmt) -> str:
    """Return the source of a statement without docstrings and annotations of functions.

    Annotations run on import and need imports of their own; docstrings are half of many files.
    """
    described: list[tuple[Function | ast.ClassDef, list[ast.stmt]]] = []
    removed: list[tuple[ast.arg, ast.expr | None]] = []
    returns: list[tuple[Function, ast.expr | None]] = []
    for node in ast.walk(statement):
        if isinstance(node, Function | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            described.append((node, node.body))
        if isinstance(node, Function) and _drops_annotations(node):
            returns.append((node, node.returns))
            removed.extend((argument, argument.annotation) for argument in _arguments(node.args))
    for function, _ in returns:
        function.returns = None
    for argument, _ in removed:
        argument.annotation = None
    for owner, body in described:
        owner.body = body[1:] or [ast.Pass()]
    text = unparse(statement)
    for owner, body in described:
        owner.body = body
    for function, annotation in returns:
        function.returns = annotation
    for argument, annotation in removed:
        argument.annotation = annotation
    return text


def _drops_annotations(node: Function) -> bool:
    return all(name_of(decorator) in PLAIN_DECORATORS for decorator in node.decorator_list)


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None)


Later = list[tuple[ast.ImportFrom, str] | ast.stmt]  # imports inside functions, and what has to come last

BUILTIN_NAMES = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}
MAX_CHARACTERS = 200_000
# Limits on names and statements for all functions of a file. Each function has an equal share, so its result
# does not depend on which others were extracted before it.
STEPS_PER_FILE = 300_000
LEAST_STEPS = 50
MAX_BORROWED = 40  # files that one import may pass through
MOST_BORROWED = 400  # names of other files that one function may need
MOST_BASES = 16  # bases per class to examine
MOST_HARMLESS = 24  # methods kept with each method for building objects; all of them would be quadratic
NO_MODULES = TrustedModules()
POSTPONED = ast.parse("from __future__ import annotations").body[0]


@dataclass(frozen=True, slots=True)
class Runnable:
    """Source of a module that contains a function, ready to be called.

    `target` is the expression for the callable, `node` the function's tree within `source` (with
    the source's line numbers). `unresolved` are names that nothing in the file binds, `borrowed`
    those taken from other files. `around` are the other statements as text.
    """

    source: str
    target: str
    name: str
    node: Function
    unresolved: tuple[str, ...] = ()
    borrowed: tuple[str, ...] = ()
    around: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Collected:
    """What was collected for one function so far.

    `taken` are the names of other files that are included, by module; namespaces have none. `later` are imports
    inside functions, and what has to come last. `meanings` say what each name is bound to, by the files that bind
    it. `shared` are names that a file imports from another one, `assigned` those that functions assign.
    """

    taken: set[tuple[int | str, str]] = field(default_factory=set)
    later: Later = field(default_factory=list)
    meanings: dict[str, set[tuple[object, ...]]] = field(default_factory=dict)
    shared: set[tuple[int, str]] = field(default_factory=set)
    assigned: set[tuple[int, str]] = field(default_factory=set)

    def means(self, name: str, *meaning: object) -> None:
        """Record what a name is bound to."""
        self.meanings.setdefault(name, set()).add(meaning)

    @property
    def ambiguous(self) -> list[str]:
        """The names that mean different things in different files."""
        return [name for name, meanings in self.meanings.items() if len(meanings) > 1]


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


@dataclass(frozen=True)
class Surroundings:
    """A function with the statements that it needs, not assembled yet."""

    definition: Definition
    own: ast.stmt
    needed: Needed

    @property
    def parts(self) -> tuple[Part, ...]:
        """The statements as text, in the order of a file."""
        before, after = self._before_and_after
        return tuple(part_of(statement) for statement in (*before, self.own, *after))

    @cached_property
    def _before_and_after(self) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The statements before the function's own, and those that need it as soon as they run."""
        names = bound_names(self.own)
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        for statement in self.needed.statements:
            if names.isdisjoint(_names_used_on_execution(statement)):
                before.append(statement)
            else:
                after.append(statement)
                names |= bound_names(statement)
        return before, after

    @property
    def reach(self) -> Reach:
        """The effects that the function can have according to the syntax."""
        return reachable(self.definition.name, self.own, self.needed.statements)

    @property
    def reached_by_method(self) -> frozenset[Capability]:
        """The certain effects of a method without those of its class; of a function, all certain ones."""
        if not isinstance(self.own, ast.ClassDef):
            return self.reach.certain
        return reached_by_method(self.definition.name, self.own, self.needed.statements)

    def runnable(self) -> Runnable | None:
        """Return the assembled source; None if it is too large or cannot be unparsed."""
        parts, place = self.parts, len(self._before_and_after[0])
        source = "".join(f"{part.text}\n" for part in parts)
        if not self.needed.complete or len(source) > MAX_CHARACTERS or not parts[place].text:
            return None
        node = _locate(parts[place].text, self.definition)
        if node is None:
            return None
        ast.increment_lineno(node, sum(part.text.count("\n") + 1 for part in parts[:place]))
        return Runnable(
            source,
            _target(self.definition),
            self.definition.name,
            node,
            self.needed.unresolved,
            self.needed.borrowed,
            frozenset(part.plain for part in (*parts[:place], *parts[place + 1 :])),
        )


_MAIN_TESTS = ("__name__ == '__main__'", "'__main__' == __name__")
_at_once: WeakKeyDictionary[ast.stmt, frozenset[str]] = WeakKeyDictionary()


def _names_used_on_execution(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement uses when it runs, not when its functions are called."""
    if statement not in _at_once:
        found: set[str] = set()
        pending: list[ast.AST] = [statement]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, Function):
                pending.extend((*node.decorator_list, *node.args.defaults))
                pending.extend(item for item in node.args.kw_defaults if item is not None)
                if not _drops_annotations(node):
                    annotations = [node.returns, *(item.annotation for item in _arguments(node.args))]
                    pending.extend(item for item in annotations if item is not None)
            elif not isinstance(node, ast.Lambda):
                pending.extend(ast.iter_child_nodes(node))
        _at_once[statement] = frozenset(found)
    return _at_once[statement]


def surroundings(
    definition: Definition, module: Module, trusted: TrustedModules = NO_MODULES, path: str = ""
) -> Surroundings:
    """Return the function with the code of its file that it needs.

    Definitions that it imports from `trusted` files are included and listed in `borrowed`.
    """
    return surroundings_with(definition, module, trusted, path, Collected())


def own_name_of(definition: Definition) -> str:
    """Return the name that the top level of the file binds to a function or to the class of a method."""
    return definition.name if definition.owner is None else definition.owner.name


def surroundings_with(
    definition: Definition, module: Module, trusted: TrustedModules, path: str, collected: Collected
) -> Surroundings:
    """Return the same, and record in `collected` what was taken from where."""
    own: ast.stmt = (
        definition.node
        if definition.owner is None
        else _pruned_class(definition.owner, definition.name, _required_by_bases(definition.owner, module))
    )
    own_name = own_name_of(definition)
    bare, later = _deferred(own, module, trusted, path)
    collected.later.extend(later)
    for name in bound_names(bare):
        collected.means(name, id(module))
    uses = dotted_uses(bare)
    needed = needed_for(free_names(bare), module, own_name, trusted, path, collected=collected, uses=uses)
    needed = replace(needed, statements=tuple(_with_exceptions(bare, needed.statements)))
    future = future_annotations_import(module.statements)
    if future is None and needed.postponed:
        future = POSTPONED
    if future is not None:  # names used only in annotations may be bound for type checkers only
        needed = replace(needed, statements=(future, *needed.statements))
    return Surroundings(definition, bare, needed)


def completed(excerpt: Surroundings, home: Surroundings) -> Surroundings:
    """Return an excerpt together with what it lacks of the statements that a trusted function needs.

    Code that was cut out of a file uses names that only this file binds. They are listed in `borrowed`.
    What the excerpt's own file binds comes later and replaces a trusted definition of that name.
    """
    binders: dict[str, list[int]] = {}
    for place, statement in enumerate(home.needed.statements):
        for name in bound_names(statement):
            binders.setdefault(name, []).append(place)
    wanted = [name for name in excerpt.needed.unresolved if name in binders]
    seen: set[str] = set()
    chosen: set[int] = set()
    while wanted:
        name = wanted.pop()
        new = set(binders.get(name, ())) - chosen if name not in seen else set()
        seen.add(name)
        chosen |= new
        wanted.extend(used for place in new for used in free_names(home.needed.statements[place]))
    if not chosen:
        return excerpt
    own = excerpt.needed.statements
    first = [item for item in own[:1] if item is future_annotations_import(own)]
    taken = [home.needed.statements[place] for place in sorted(chosen)]
    needed = replace(
        excerpt.needed,
        statements=(*first, *taken, *own[len(first) :]),
        unresolved=tuple(name for name in excerpt.needed.unresolved if name not in binders),
        borrowed=(
            *excerpt.needed.borrowed,
            *(name for name in excerpt.needed.unresolved if name in binders),
        ),
    )
    return replace(excerpt, needed=needed)


def _with_exceptions(own: ast.stmt, statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, plus an exception class for each unresolved name that is only raised or caught.

    The file that defines it is not available in the sandbox. Any exception class serves, so the
    function can run without it.
    """
    if not any(isinstance(item, ast.ImportFrom) and item.level for item in statements):
        yield from statements
        return
    nodes = [node for item in (own, *statements) for node in ast.walk(item)]
    names = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    exception_uses = Counter(name for node in nodes for name in _exceptions_of(node))
    for item in statements:
        if not isinstance(item, ast.ImportFrom) or not item.level:
            yield item
            continue
        bound = [alias.asname or alias.name for alias in item.names]
        made = [name for name in bound if exception_uses[name] and names[name] == exception_uses[name]]
        yield from (ast.parse(f"class {name}(Exception):\n    pass").body[0] for name in made)
        rest = [alias for alias, name in zip(item.names, bound, strict=True) if name not in made]
        if rest:
            yield ast.ImportFrom(item.module, rest, item.level) if made else item


def _exceptions_of(node: ast.AST) -> list[str]:
    """Return the names that a node raises or catches."""
    found: list[ast.expr | None] = []
    if isinstance(node, ast.Raise):
        found = [node.exc.func if isinstance(node.exc, ast.Call) else node.exc]
    elif isinstance(node, ast.ExceptHandler):
        found = [*node.type.elts] if isinstance(node.type, ast.Tuple) else [node.type]
    return [item.id for item in found if isinstance(item, ast.Name)]


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


def extract(
    definition: Definition, module: Module, trusted: TrustedModules = NO_MODULES, path: str = ""
) -> Runnable | None:
    """Return the function with the code that it needs; None if that cannot be unparsed."""
    return surroundings(definition, module, trusted, path).runnable()


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
    names: Iterable[str],
    module: Module,
    own_name: str = "",
    trusted: TrustedModules = NO_MODULES,
    path: str = "",
    depth: int = 0,
    collected: Collected | None = None,
    uses: frozenset[tuple[str, ...]] = frozenset(),
) -> Needed:
    """Follow names through the top level of a file until nothing new is needed.

    Definitions of `own_name` are left out, because the caller has its own. `collected` is what is already
    included, since files may import each other. `uses` are the attributes that the caller's own code takes from
    names.
    """
    collected = Collected() if collected is None else collected
    later = collected.later
    inside = list(later)
    binders = _binders(module)  # a definition of `own_name` binds only that name, which is not needed
    most = max(LEAST_STEPS, STEPS_PER_FILE // max(1, module.definition_count))
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
    starred: dict[int, list[str]] = {
        index: names_there
        for index in binders.get("*", ())[: most + 1]
        if (names_there := _names_of_star(module, index, seen, trusted, path)) is not None
    }
    unbound = seen - {own_name} - binders.keys() - {name for names in starred.values() for name in names}
    unresolved = sorted(unbound - BUILTIN_NAMES)
    chosen.update(starred, binders.get("*", ())[: most + 1] if unresolved else ())
    kept = [
        trimmed
        for index in sorted(chosen)
        if (trimmed := _trim_import(module, index, seen, starred.get(index)))
    ]
    statements: list[ast.stmt] = []
    borrowed: list[str] = []
    postponed = False
    uses = uses.union(*(module.once("dotted", module.statements[index], dotted_uses) for index in chosen))
    by_root: dict[str, list[tuple[str, ...]]] = {}
    for use in sorted(uses):
        by_root.setdefault(use[0], []).append(use[1:])
    place = _Place(module, path, trusted, depth, collected, by_root)
    for statement in kept:
        found = _inlined_import(statement, place)
        if found is None and isinstance(statement, ast.If | ast.Try) and trusted.inlines_branches(module):
            found = _with_inlined_branches(statement, place)
        _record(statement, place, found is not None)
        if found is None:
            bare, inner = _deferred(statement, module, trusted, path)
            later.extend(inner)
            inside.extend(inner)
            statements.append(bare)
            continue
        statements.extend(found.statements)
        borrowed.extend(found.borrowed)
        postponed |= found.postponed
    last: list[ast.stmt] = []
    while later and not depth:  # after the others: files that import each other do so inside functions
        item = later.pop()
        if isinstance(item, ast.stmt):
            last.append(item)
            continue
        node, its_path = item
        found = _inlined_import(
            node, replace(place, module=trusted.at(its_path) or module, path=its_path, depth=1)
        )
        statements.extend(found.statements if found else [])
        borrowed.extend(found.borrowed if found else ())
        postponed |= found is not None and found.postponed
    imported_inside = {
        alias.asname or alias.name
        for item in inside
        if not isinstance(item, ast.stmt)
        for alias in item[0].names
    }
    for name in unbound - imported_inside:
        collected.means(name, "builtin" if name in BUILTIN_NAMES else "unbound")
    distinct = list({id(statement): statement for statement in (*statements, *last)}.values())
    complete = max(len(seen), len(chosen)) <= most
    return Needed(tuple(distinct), tuple(unresolved), tuple(borrowed), complete, postponed)


def _binders(module: Module) -> dict[str, list[int]]:
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


def _record(statement: ast.stmt, place: _Place, inlined: bool) -> None:
    """Record what a statement binds. What inlined imports bind is recorded where their definitions are taken."""
    collected, here = place.collected, id(place.module)
    if isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names if not inlined else ():
            source = (statement.module, statement.level) if isinstance(statement, ast.ImportFrom) else ()
            bound = alias.asname or (alias.name if source else alias.name.partition(".")[0])
            what = (alias.name,) if source or alias.asname else (bound,)
            at = (here,) if source and statement.level else ()  # type: ignore[union-attr]
            collected.means(bound, "import", *what, *source, *at)
        return
    nested = {
        alias.asname or alias.name.partition(".")[0]
        for node in (
            child_statements(statement) if isinstance(statement, ast.If | ast.Try) and inlined else ()
        )
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for name in bound_names(statement) - nested:
        collected.means(name, here)
    collected.assigned.update((here, name) for name in place.module.once("global", statement, _global_names))


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
    binders = _binders(module)
    return sorted(name for name in names & seen if max(binders.get(name, [-1])) < index)


def _inlined_import(statement: ast.stmt, place: _Place) -> Needed | None:
    """Return the definitions for an import from trusted files; None if it remains an import.

    A name that the importing file also defines itself is included under the name it is imported as.
    """
    if place.depth >= MAX_BORROWED:
        return None
    if isinstance(statement, ast.ImportFrom) and statement.module == "typing_extensions":
        return _typing_import(statement)
    borrowing = _Borrowing(place)
    if isinstance(statement, ast.Import):
        made = all(borrowing.add_module(alias) for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom) and place.trusted.is_from_corpus(statement, place.path):
        made = all(borrowing.add_name(statement, alias) for alias in statement.names)
    else:
        return None
    if not made:
        return None
    return Needed(tuple(borrowing.statements), (), tuple(borrowing.borrowed), postponed=borrowing.postponed)


# What is there without being given: numpy where it is installed, and most of typing_extensions.
KNOWN_PACKAGES = ("numpy", "typing_extensions")
# Decorators of typing_extensions that newer versions of typing and warnings have.
_DECORATORS = {
    "override": "def {}(method):\n    return method",
    "deprecated": "def {}(*args, **kwargs):\n    return lambda item: item",
}


def _typing_import(statement: ast.ImportFrom) -> Needed | None:
    """Return an import from typing_extensions as one from typing; None if that has not all of its names."""
    known = [alias for alias in statement.names if alias.name in typing.__all__]
    others = [alias for alias in statement.names if alias.name not in typing.__all__]
    if any(alias.name not in _DECORATORS for alias in others):
        return None
    made = [ast.parse(_DECORATORS[item.name].format(item.asname or item.name)).body[0] for item in others]
    return Needed((*([ast.ImportFrom("typing", known, 0)] if known else []), *made), ())


def _with_inlined_branches(statement: ast.If | ast.Try, place: _Place) -> Needed | None:
    """Return a statement of a trusted file with the definitions for its imports.

    None if it imports nothing from trusted files. What only type checkers import stays. A candidate's
    conditions stay as well: where its import would fail, what it does then has to be seen.
    """
    branches = list(child_statements(statement))
    if isinstance(statement, ast.If) and name_of(statement.test).endswith("TYPE_CHECKING"):
        branches = statement.orelse
    imports = [node for node in branches if isinstance(node, ast.Import | ast.ImportFrom)]
    made = {id(node): found for node in imports if (found := _inlined_import(node, place)) is not None}
    if not made:
        return None

    def replaced(body: Sequence[ast.stmt]) -> list[ast.stmt]:
        parts = [made[id(node)].statements if id(node) in made else (node,) for node in body]
        return [item for part in parts for item in part] or [ast.Pass()] * bool(body)

    changed = copy.copy(statement)
    changed.body, changed.orelse = replaced(statement.body), replaced(statement.orelse)
    if isinstance(changed, ast.Try):
        changed.finalbody = replaced(changed.finalbody)
        handlers = [copy.copy(handler) for handler in changed.handlers]
        for handler in handlers:
            handler.body = replaced(handler.body)
        changed.handlers = handlers
    borrowed = tuple(name for found in made.values() for name in found.borrowed)
    return Needed((changed,), (), borrowed, postponed=any(found.postponed for found in made.values()))


class _Borrowing:
    """Collects the definitions that stand for one import."""

    def __init__(self, place: _Place) -> None:
        self.statements: list[ast.stmt] = []
        self.borrowed: list[str] = []
        self.postponed = False
        self._place = place
        self._trusted = place.trusted
        self._taken = place.collected.taken

    def add_name(self, statement: ast.ImportFrom, alias: ast.alias) -> bool:
        """Add what `from … import name` means; return False if it is no definition of a trusted file."""
        called = alias.asname or alias.name
        module = self._trusted.find(statement, alias.name, self._place.path)
        if module is None:
            module = self._trusted.submodule(statement, alias.name, self._place.path)
            if module is None:
                return False
            self._place.collected.means(called, "module", id(module))
            uses = {rest[0] for rest in self._place.uses.get(called, ())} | self._trusted.attributes(called)
            used = sorted(uses & self._trusted.provided(module))
            return self._add_namespace(called, {(name,): self._trusted.origin(module, name) for name in used})
        module, name = self._trusted.origin(module, alias.name)
        self._place.collected.shared.add((id(module), name))
        self._place.collected.means(called, id(module), *([] if name == called else [name]))
        known = called if name != called and name in self._place.module.plain_names else name
        if self._add(module, {name: known}) is None:
            return False
        if called != known:
            self.statements.append(_assigned(called, known))
        return True

    def add_module(self, alias: ast.alias) -> bool:
        """Add what `import a.b` means; return False if that is no trusted file, or nothing of it is used."""
        called = alias.asname or alias.name.partition(".")[0]
        dotted = alias.name.split(".") if alias.asname else [called]
        path = self._place.path
        whole = self._trusted.imported(alias.name.split("."), path)
        if whole is None:
            return False
        self._place.collected.means(called, "module", id(whole) if alias.asname else called)
        members: dict[tuple[str, ...], tuple[Module, str]] = {}
        for rest in self._place.uses.get(called, ()):
            parts = [*dotted, *rest]
            for length in range(len(parts) - 1, 0, -1):
                module = self._trusted.imported(parts[:length], path)
                if module is not None:
                    inner = self._trusted.imported(parts[: length + 1], path)
                    if parts[length] in self._trusted.provided(module) and inner is None:
                        place = tuple(parts[len(dotted) : length + 1])
                        members[place] = self._trusted.origin(module, parts[length])
                    break
        return self._add_namespace(called, members)

    def _add(self, module: Module, known: Mapping[str, str]) -> list[str] | None:
        """Add the definitions of a module's names, called as `known` says.

        Return those that were new; None if there are too many.
        """
        new = [name for name in known if (id(module), known[name]) not in self._taken]
        if len(self._taken) + len(new) > MOST_BORROWED:
            return None
        self.borrowed.extend(known)
        self._taken.update((id(module), known[name]) for name in new)
        own_path = self._trusted.path_of(module)
        depth, collected = self._place.depth + 1, self._place.collected
        inner = needed_for(new, module, "", self._trusted, own_path, depth, collected)
        other = {name: text for name, text in known.items() if text != name}
        for name in BUILTIN_NAMES.intersection(other):  # `map = map` keeps a builtin under its name
            self.statements.append(_assigned(other[name], name))
        self.statements.extend(_renamed(item, other) if other else item for item in inner.statements)
        self.borrowed.extend(inner.borrowed)
        self.postponed |= inner.postponed or future_annotations_import(module.statements) is not None
        return new

    def _add_namespace(self, called: str, members: Mapping[tuple[str, ...], tuple[Module, str]]) -> bool:
        """Add a class that stands for a module or package, with the used names as attributes."""
        texts: dict[tuple[str, ...], str] = {}
        early: set[tuple[str, ...]] = set()
        for module in {id(module): module for module, _ in members.values()}.values():
            names = [name for other, name in members.values() if other is module]
            # A module that defines its own name, or one that the importing file defines as well.
            own = {called} | (self._place.module.plain_names if module is not self._place.module else set())
            known = {name: f"{called}_{name}" if name in own else name for name in names}
            new = self._add(module, known)
            if new is None:
                return False
            for place, (other, name) in members.items():
                if other is module:
                    texts[place] = known[name]
                    early.update([place] if name in new else [])
        first = ("", called) not in self._taken
        self._taken.add(("", called))
        if first or early:
            self.statements.append(_namespace(called, {place: texts[place] for place in early}, first))
        rest = {place: text for place, text in texts.items() if place not in early}
        attempt = ("", f"{called} {sorted(rest.items())}")
        if rest and attempt not in self._taken:
            # They are included elsewhere, perhaps further down: files import each other.
            self._taken.add(attempt)
            extended = _attempted(_namespace(called, rest, first=False))
            self.statements.append(extended)
            self._place.collected.later.append(copy.copy(extended))
        return True


def _assigned(name: str, value: str) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Name(value, ast.Load()))
    return ast.fix_missing_locations(made)


def _namespace(name: str, members: Mapping[tuple[str, ...], str], first: bool = True) -> ast.stmt:
    """Return a class with these attributes, in classes for the parts of a dotted name; it extends an earlier one."""
    return ast.parse("\n".join(_class_lines((name,), members, first))).body[0]


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


_other: WeakKeyDictionary[ast.stmt, dict[frozenset[tuple[str, str]], ast.stmt]] = WeakKeyDictionary()


def _renamed(statement: ast.stmt, names: Mapping[str, str]) -> ast.stmt:
    """Return a top-level statement with names replaced; the same statement each time.

    Names with another meaning inside the statement are not changed.
    """
    made = _other.setdefault(statement, {})
    key = frozenset(names.items())
    if key not in made:
        made[key] = changed = copy.deepcopy(statement)
        nodes = list(ast.walk(changed))
        inner = {node.arg for node in nodes if isinstance(node, ast.arg)}
        inner |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        if isinstance(changed, Function | ast.ClassDef):
            changed.name = names.get(changed.name, changed.name)
        else:
            inner.clear()
        for node in nodes:
            if isinstance(node, ast.Name) and node.id not in inner:
                node.id = names.get(node.id, node.id)
    return made[key]


def _deferred(
    statement: ast.stmt, module: Module, trusted: TrustedModules, path: str
) -> tuple[ast.stmt, Later]:
    """Return a statement without the trusted imports inside its functions, and these imports.

    Their definitions are then in the same module. Nothing is removed if a name has another meaning
    in the file, or if an import is ambiguous.
    """
    if trusted.is_empty or not isinstance(statement, Function | ast.ClassDef):
        return statement, []
    imports = [node for node in _inner_imports(statement) if trusted.is_from_corpus(node, path)]
    binders = _binders(module) if imports else {}
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


def _defines(statement: ast.stmt) -> str:
    return statement.name if isinstance(statement, Function | ast.ClassDef) else ""


def is_main_guard(statement: ast.stmt) -> bool:
    """Return whether a statement runs only if its file is the program, and nothing else if it is not."""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and unparse(statement.test).replace('"', "'") in _MAIN_TESTS
    )


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds or modifies; `*` for a star import."""
    names: set[str] = set()
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
            heads = [item for item in ast.iter_child_nodes(node) if not isinstance(item, ast.stmt)]
            names.update(
                item.target.id for head in heads for item in ast.walk(head) if isinstance(item, ast.NamedExpr)
            )
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Import):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            names.add(node.name or "")
        elif isinstance(node, ast.MatchMapping):
            names.add(node.rest or "")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
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


def _trim_import(
    module: Module, index: int, seen: Set[str], starred: Sequence[str] | None
) -> ast.stmt | None:
    """Return an import with only the needed names, so that a missing unused module does no harm.

    `starred` are those that it binds if it is `from … import *` of a file that is here.
    """
    statement = module.statements[index]
    if starred is not None and isinstance(statement, ast.ImportFrom):
        names = [ast.alias(name) for name in starred]
        return ast.ImportFrom(statement.module, names, statement.level) if names else None
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return statement
    bound = module.once("aliases", statement, _aliases)
    # One statement may import more names than a function uses.
    fewer, more = (seen, bound.keys()) if len(seen) < len(bound) else (bound.keys(), seen)
    wanted = {name for name in fewer if name in more} | (bound.keys() & {"*"})
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


_reached: WeakKeyDictionary[Function, frozenset[str]] = WeakKeyDictionary()
_pruned: WeakKeyDictionary[ast.ClassDef, dict[frozenset[str], ast.ClassDef]] = WeakKeyDictionary()


def _required_by_bases(owner: ast.ClassDef, module: Module) -> frozenset[str]:
    """Return the method names that the bases of a class may call or require.

    Only bases in the same file and abstract collections count. An object cannot be created if a
    method that is abstract there is missing.
    """

    def look(_: ast.stmt) -> frozenset[str]:
        found: set[str] = set()
        pending, seen = [owner], {owner.name}
        while pending and len(seen) < MOST_BASES:
            for base in pending.pop().bases:
                name = name_of(base.value if isinstance(base, ast.Subscript) else base).rpartition(".")[2]
                if name in seen:
                    continue
                seen.add(name)
                if name in collections.abc.__all__:
                    found.update(dir(getattr(collections.abc, name)))
                for place in _binders(module).get(name, ())[-1:]:
                    statement = module.statements[place]
                    if isinstance(statement, ast.ClassDef):
                        pending.append(statement)
                        methods = [node for node in statement.body if isinstance(node, Function)]
                        found.update(*map(_names_reached, methods))
                        found.update(node.name for node in methods if node.decorator_list)
        return frozenset(found)

    return module.once("asked by bases", owner, look)


def _pruned_class(owner: ast.ClassDef, method: str, required: frozenset[str]) -> ast.ClassDef:
    """Return a class reduced to the methods that `method` can reach by name or that are required.

    Some methods that use nothing outside of the object are kept too: they are harmless, and
    examples use them to build the object. Methods that reach the same others share one tree, so
    that it is unparsed once.
    """
    body = _bodies.get(owner)
    if body is None:
        body = _bodies[owner] = _Body(owner)
    kept: set[str] = set()
    wanted = [method, *body.special, *body.used, *body.harmless[:MOST_HARMLESS], *required]
    while wanted:
        name = wanted.pop()
        if name in body.methods and name not in kept:
            kept.add(name)
            wanted.extend(_names_reached(body.methods[name]))
    shared = _pruned.setdefault(owner, {})
    key = frozenset(kept)
    if key not in shared:
        shared[key] = copy.copy(owner)
        places = sorted([*body.other, *(place for name in key for place in body.places[name])])
        shared[key].body = [owner.body[place] for place in places]
    return shared[key]


class _Body:
    """The content of a class: its methods by name (the last definition wins), and other statements."""

    def __init__(self, owner: ast.ClassDef) -> None:
        self.methods: dict[str, Function] = {}
        self.places: dict[str, list[int]] = {}
        self.other: list[int] = []
        for place, node in enumerate(owner.body):
            if isinstance(node, Function):
                self.methods[node.name] = node
                self.places.setdefault(node.name, []).append(place)
            else:
                self.other.append(place)
        # used by other statements, such as `__copy__ = copy`
        self.used = [name for place in self.other for name in _names_used_on_execution(owner.body[place])]
        self.special = [name for name in self.methods if name.startswith("__") and name.endswith("__")]
        self.harmless = [name for name, node in self.methods.items() if _is_self_contained(node)]


# Builtins that reach nothing beyond their arguments.
_HARMLESS_BUILTINS = frozenset(
    """
    abs all any bool bytes dict divmod enumerate filter float frozenset int isinstance iter len list map max min
    next object range repr reversed round set slice sorted str sum tuple type zip super
    ValueError TypeError KeyError IndexError AttributeError StopIteration RuntimeError NotImplementedError
    """.split()  # noqa: SIM905
)


def _is_self_contained(method: Function) -> bool:
    """Return whether a method uses only its object, its arguments and plain builtins."""
    if method.decorator_list:
        return False
    bound = {argument.arg for argument in _arguments(method.args)}
    loaded: set[str] = set()
    for node in ast.walk(method):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal) or (
            isinstance(node, ast.Attribute) and node.attr.startswith("__")
        ):
            return False
        elif isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            bound.update(argument.arg for argument in _arguments(node.args))
    return loaded - bound <= _HARMLESS_BUILTINS


_bodies: WeakKeyDictionary[ast.ClassDef, _Body] = WeakKeyDictionary()


def _names_reached(method: Function) -> frozenset[str]:
    """Return the attributes that a method uses, including those named in strings."""
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
