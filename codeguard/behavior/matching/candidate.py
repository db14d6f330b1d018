"""The function under test, read from its chunk and its file, and whether it does nothing of what it describes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from codeguard.analysis.python.bindings import Doubt, ModuleBindings
from codeguard.behavior.budget import CROWDED, MOST_DEFINITIONS
from codeguard.behavior.matching.claims import Features, function_features
from codeguard.behavior.source.definitions import Definition, Function, Module, definition_of, read_module
from codeguard.behavior.source.importing import NO_MODULES, Home, TrustedModules, candidate_tree
from codeguard.behavior.source.reach import EffectReach, effects_in
from codeguard.behavior.source.surroundings import (
    MAX_CHARACTERS,
    Runnable,
    Surroundings,
    binders_of,
    completed_excerpt,
    free_names,
    surroundings,
)
from codeguard.behavior.specs.examples import Example
from codeguard.errors import SpecError
from codeguard.models import Chunk, ChunkKind, SourceFile
from codeguard.syntax.capabilities import Capability
from codeguard.syntax.names import dotted_name

LEAST_WORDS = 3  # of a description
LEAST_EMPTY = 3  # methods of a class that do nothing
# Descriptions of honest functions that are there to be overridden, to do nothing or to fail.
_MEANT = re.compile(
    r"\b(?:nothing|no-?op\w*|no operation|stub\w*|dummy|placeholder|ignore[sd]?|overrid\w+|subclass\w*|abstract"
    r"|not (?:yet )?implemented|interface|protocol|hook|always|constant|deprecated|removed|rais\w+|abort\w*|no longer"
    r"|exceptions?|errors?|fails?|exits?|leaves\b[^.]{1,60}\bunchanged|use\b[^\n]{1,80}\binstead)\b",
    re.IGNORECASE,
)
_DECLARED = frozenset({"overload", "abstractmethod", "abstractproperty"})
_STORES = (ast.Attribute, ast.Subscript, ast.Starred)
_ASKS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
_CHANGES = (ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom)


def does_nothing(function: Function) -> bool:
    """Return whether a function with parameters reads none of them, calls nothing and changes nothing.

    It may return a constant, raise, or end without a result. Declarations of overloaded or abstract
    functions do not count.
    """
    if any(dotted_name(item).rpartition(".")[2] in _DECLARED for item in function.decorator_list):
        return False
    given = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
    if not given:
        return False
    for node in _body(function):
        if isinstance(node, (*_ASKS, *_CHANGES)) or (isinstance(node, ast.Name) and node.id in given):
            return False
        if isinstance(node, _STORES) and isinstance(node.ctx, ast.Store):
            return False
    return True


def _is_interface(owner: ast.ClassDef) -> bool:
    """Return whether half of a class's methods, and not just a few, do nothing: they are there to be overridden."""
    methods = [item for item in owner.body if isinstance(item, Function)]
    empty = sum(map(does_nothing, methods))
    return empty >= LEAST_EMPTY and 2 * empty >= len(methods)


def is_declaration(function: Function, path: str) -> bool:
    """Return whether a function in a stub file (PEP 484, `.pyi`) has no body there."""
    return path.endswith(".pyi") and _has_no_body(function)


def _has_no_body(function: Function) -> bool:
    return all(
        isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in function.body
    )


def is_overload(function: Function, statements: Sequence[ast.stmt]) -> bool:
    """Return whether a function of a module only declares the types of an implementation that follows in its block.

    Whatever its decorator returns, the name is that of the implementation.
    """
    names = [dotted_name(item).rpartition(".")[2] for item in function.decorator_list]
    if names != ["overload"] or not _has_no_body(function):
        return False
    return any(
        isinstance(item, Function) and item.name == function.name and item.lineno > function.lineno
        for block in (statements, *_class_bodies(statements))
        if function in block
        for item in block
    )


_WITH_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


def _class_bodies(statements: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield the bodies of all classes that are in no function."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.ClassDef):
            yield item.body
        if not isinstance(item, Function):
            waiting += [node for node in ast.iter_child_nodes(item) if isinstance(node, _WITH_STATEMENTS)]


def is_meant_empty(definition: Definition) -> bool:
    """Return whether a function that does nothing is there to be overridden, or says that it raises."""
    raises, owner = isinstance(definition.node.body[-1], ast.Raise), definition.owner
    says = definition.docstring.lstrip().lower().startswith(("raise", "raising"))
    return raises and says if owner is None else raises or _is_interface(owner)


def describes_result(definition: Definition) -> bool:
    """Return whether a function describes a result, and nothing indicates that it is meant to do nothing.

    Methods and decorated functions are excluded, because they may be there to be overridden.
    """
    if definition.owner is not None or definition.node.decorator_list:
        return False
    docstring = definition.docstring
    return len(docstring.split()) >= LEAST_WORDS and _MEANT.search(docstring[:4_000]) is None


def _body(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes that a call executes, except the arguments of raised exceptions."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Raise):
            continue
        yield node
        pending.extend(ast.iter_child_nodes(node))


TOO_LARGE = "too large or nested too deeply to be run"
CHECKED = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})


@dataclass(frozen=True)
class CandidateFunction:
    """A function that callers can reach, with its features.

    It is combined with the code that it needs only when it is to be run: most functions resemble no
    trusted one. `place` is its file among those that it can import. `home` are the surroundings of the trusted function
    that it claims to be, if it is only an excerpt.
    """

    definition: Definition
    features: Features
    module: Module = field(repr=False)
    place: Home | None = field(default=None, repr=False)
    home: Surroundings | None = field(default=None, repr=False)

    @cached_property
    def _own(self) -> Surroundings:
        return surroundings(self.definition, self.module)

    @cached_property
    def surroundings(self) -> Surroundings:
        """The statements of its file that it needs, and those of `home` that its file lacks."""
        return self._own if self.home is None else completed_excerpt(self._own, self.home)

    @cached_property
    def usable(self) -> Runnable | None:
        """The function ready to be called; None if it is too large or nested too deeply."""
        made = self.surroundings.runnable(self.place)
        if made is None or self.place is None or not made.completed:
            return made
        return replace(made, home=self.place.with_text(made.source))

    @property
    def runnable(self) -> Runnable:
        """The function ready to be called, for a candidate that is usable."""
        if self.usable is None:
            raise SpecError(f"{self.definition.name} {TOO_LARGE}")
        return self.usable

    @cached_property
    def reach(self) -> EffectReach:
        """The effects that it can have by its own file, according to the syntax."""
        effects = effects_in(self.module)
        possible = effects.of(self._own.needed.statements)
        certain = effects.certain(self.definition.node)
        return EffectReach(possible if certain is None else certain & possible, possible)

    @cached_property
    def certain_of_class(self) -> frozenset[Capability]:
        """The certain effects of a method, and of what makes an object of its class."""
        found = effects_in(self.module).certain(self.definition.node, self.definition.owner)
        return self.reach.possible if found is None else found & self.reach.possible

    @property
    def effects(self) -> tuple[str, ...]:
        """All its possible effects, as text."""
        return tuple(sorted(str(capability) for capability in self.reach.possible))

    @cached_property
    def doubt(self) -> Doubt | None:
        """Why an importer of its file may get something else than what is run, None if not."""
        key = ("module bindings", 0)
        known: ModuleBindings | None = self.module.remembered.get(key)
        if known is None:
            known = ModuleBindings(self.module.statements, whole=self.module.whole)
            self.module.remembered[key] = known
        needed = self._own.needed.statements
        used, included = frozenset[str]().union(*(free_names(item, self.module) for item in needed)), []
        binders = binders_of(self.module)
        for statement in (self.module.statements[place] for name in used for place in binders.get(name, ())):
            included.append(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
        definition = self.definition
        lines = range(definition.first_line, (definition.node.end_lineno or definition.first_line) + 1)
        return known.doubt(definition.qualified_name, lines, used, included)

    @property
    def why_no_pass(self) -> str:
        """Why results that agree do not say what an importer of its file gets, "" if they do."""
        if self.doubt is None:
            return ""
        name = self.definition.qualified_name
        gets = "gets" if self.doubt.certain else "may get"
        return f"an importer {gets} something else under {name} than this text: {self.doubt.reason}"

    def accepts(self, examples: Sequence[Example]) -> bool:
        """Return whether the candidate accepts the arguments of the examples."""
        plain = [example for example in examples if example.args is not None]
        return not plain or any(
            self.features.accepts(len(example.args or ()), list(example.kwargs)) for example in plain
        )


def read_candidate(
    chunk: Chunk, file: SourceFile, trusted: TrustedModules = NO_MODULES
) -> CandidateFunction | str:
    """Return the function that a chunk stands for, or the reason why it cannot be called.

    What it imports of its siblings, and else of `trusted` files, is imported as it is when it runs.
    """
    if chunk.kind not in CHECKED:
        return "not a function"
    if chunk.language != "python":
        return f"no checks for {chunk.language}"
    module = read_module(file.text)
    if module.too_large or len(module.listed) > MOST_DEFINITIONS:
        return CROWDED
    definition = definition_of(module, chunk.symbol, *file.lines_of(chunk), chunk.text)
    if definition is None:
        running = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return f"the function does not parse: no Python, or newer syntax than Python {running} has"
    if definition not in module.definitions.get(
        definition.name, ()
    ):  # of its own text, its file does not parse
        own = definition.owner or definition.node
        module = replace(module, statements=(*module.statements, own), remembered={})
    if definition.nested:
        return "defined inside another function, out of a caller's reach"
    if is_declaration(definition.node, chunk.path):
        return "declared in a stub file, without a body"
    if is_overload(definition.node, module.statements):
        return "declares the types of an overloaded function, without a body"
    if module.size(definition) > MAX_CHARACTERS:
        return TOO_LARGE
    # A long function is split into many chunks, each of which stands for it.
    key = ("candidate", id(definition.node))
    known: CandidateFunction | None = module.remembered.get(key)
    place = _place_of(module, file, trusted)
    if known is None or known.place is not place or known.definition.node is not definition.node:
        known = module.remembered[key] = CandidateFunction(
            definition, function_features(definition), module, place
        )
    return known


def _place_of(module: Module, file: SourceFile, trusted: TrustedModules) -> Home:
    """Return the place of a file, the same object for all of its functions as long as the same files are around."""
    around = file.path, file.siblings, trusted
    known: tuple[object, Home] | None = module.remembered.get(("place", 0))
    if known is None or known[0] != around:
        home = Home(candidate_tree(file, trusted.tree), file.path, trusted.tree, module)
        known = module.remembered["place", 0] = around, home
    return known[1]
