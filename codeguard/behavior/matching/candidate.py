"""The function under test, read from its chunk and its file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from codeguard.analysis.python.bindings import Doubt, ModuleBindings
from codeguard.behavior.budget import CROWDED, MOST_DEFINITIONS
from codeguard.behavior.matching.claims import Features, function_features
from codeguard.behavior.matching.stubs import is_declaration, is_overload
from codeguard.behavior.source.definitions import Definition, Module, definition_of, read_module
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
