"""The untrusted files that a candidate imports, beside the trusted ones.

Whoever uses the candidate gets what its imports mean to Python, so only paths decide which file that is: nothing
is taken from a file because it has the right name. A trusted file never takes anything from an untrusted one.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from codeguard.behavior.source.definitions import Definition, Module, parsed_module
from codeguard.behavior.source.import_paths import AMBIGUOUS, file_of
from codeguard.behavior.source.importing import Tree
from codeguard.behavior.source.modules import TrustedModules
from codeguard.behavior.source.needed import Collected
from codeguard.behavior.source.renaming import RenamingError
from codeguard.behavior.source.surroundings import Surroundings, own_name_of, surroundings, surroundings_with
from codeguard.models import Sibling, SourceFile

UNTRUSTED = "untrusted:"  # before the paths of untrusted files, which may be those of trusted ones


@dataclass(frozen=True, eq=False)
class CandidateModules(TrustedModules):
    """The trusted files, and the untrusted ones that one candidate's file can reach.

    `texts` are the untrusted ones of its `siblings` by path, `own` the candidate's own file at `own_path`.
    """

    trusted: TrustedModules = field(default_factory=TrustedModules, repr=False)
    siblings: tuple[Sibling, ...] = field(default=(), repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    own: Module = field(default=Module(()), repr=False)
    own_path: str = ""
    _read: dict[str, Module] = field(default_factory=dict, repr=False)
    _places: dict[int, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, trusted: TrustedModules, file: SourceFile, own: Module) -> CandidateModules:
        """Return what an untrusted file can import."""
        texts = {item.path: item.text for item in file.siblings if not item.trusted}
        known = {
            item.path: trusted.tree.texts[item.path]
            for item in file.siblings
            if item.path in trusted.tree.texts
        }
        tree = Tree({**known, **texts, file.path: file.text})
        return cls(trusted.modules, trusted.package, tree, trusted, file.siblings, texts, own, file.path)

    @property
    def start(self) -> str:
        """The place of the candidate's own file."""
        return f"{UNTRUSTED}{self.own_path}"

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to import."""
        return not (self.modules or self.texts)

    def at(self, path: str) -> Module | None:
        """Return the file of a path."""
        if not path.startswith(UNTRUSTED):
            return self.modules.get(path)
        if path == self.start:
            return self.own
        if path not in self._read:
            # Files of one text are files of their own.
            self._read[path] = module = replace(parsed_module(self.texts[path.removeprefix(UNTRUSTED)]))
            self._places[id(module)] = path
        return self._read[path]

    def path_of(self, module: Module) -> str:
        """Return the path of a module."""
        if module is self.own:
            return self.start
        return self._places.get(id(module)) or self.trusted.path_of(module)

    def attributes(self, name: str) -> Set[str]:
        """Return the attributes that any of the trusted files uses on an object of this name."""
        return self.trusted.attributes(name)

    def find(self, statement: ast.ImportFrom, name: str, own_path: str = "") -> Module | None:
        """Return the module that defines a name imported by `from … import name`; None if that is ambiguous."""
        if not own_path.startswith(UNTRUSTED):
            return self.trusted.find(statement, name, own_path)
        place = self._place(_parts(statement), statement.level, own_path)
        if not place and not self._place([*_parts(statement), name], statement.level, own_path):
            return self.trusted.find(statement, name)  # of a package that is not here, as for an excerpt
        module = self._other(place, own_path)
        return module if module is not None and self._provides(module, name) else None

    def submodule(self, statement: ast.ImportFrom, name: str, own_path: str = "") -> Module | None:
        """Return the module that `from package import name` imports; None if that is ambiguous."""
        if not own_path.startswith(UNTRUSTED):
            return self.trusted.submodule(statement, name, own_path)
        package = self._place(_parts(statement), statement.level, own_path)
        place = self._place([*_parts(statement), name], statement.level, own_path)
        if not package and not place:
            return self.trusted.submodule(statement, name)
        return self._other(place, own_path) if package != AMBIGUOUS else None

    def imported(self, dotted: Sequence[str], own_path: str = "") -> Module | None:
        """Return the module that `import a.b` means; None if that is not one of the files, or ambiguous."""
        if not own_path.startswith(UNTRUSTED):
            return self.trusted.imported(dotted)
        place = self._place(dotted, 0, own_path)
        return self._other(place, own_path) if place else self.trusted.imported(dotted)

    def is_from_corpus(self, statement: ast.ImportFrom, own_path: str = "") -> bool:
        """Return whether an import is of a file that is here, not of the standard library or another package."""
        if own_path.startswith(UNTRUSTED):
            wanted = _parts(statement)
            places = [wanted, *([*wanted, alias.name] for alias in statement.names)]
            if any(self._place(item, statement.level, own_path) for item in places):
                return True
        return self.trusted.is_from_corpus(statement)

    def inlines_branches(self, module: Module) -> bool:
        """Return whether imports in the conditions of a file are followed.

        Those of the candidate's own file stay: what it does where an import fails has to be seen.
        """
        return module is not self.own and bool(self.path_of(module))

    def _place(self, wanted: Sequence[str], level: int, own_path: str) -> str:
        """Return the file that an import of an untrusted file means; "" if it is not here."""
        found = file_of(wanted, level, own_path.removeprefix(UNTRUSTED), self._has)
        return f"{UNTRUSTED}{found}" if found == self.own_path or found in self.texts else found

    def _has(self, path: str) -> bool:
        return path in self.texts or path == self.own_path or path in self.modules

    def _other(self, place: str, own_path: str) -> Module | None:
        """Return the file of a place, if there is one and it is not the importing file itself."""
        return self.at(place) if place not in ("", AMBIGUOUS, own_path) else None

    def is_trusted(self, module: Module) -> bool:
        """Return whether a module is one of the trusted files."""
        return self.trusted.is_trusted(module)

    def _of_star(self, statement: ast.ImportFrom, own_path: str) -> Module | None:
        if not own_path.startswith(UNTRUSTED):
            return self.trusted._of_star(statement, own_path)
        return self._other(self._place(_parts(statement), statement.level, own_path), own_path)


def candidate_surroundings(definition: Definition, module: Module, files: CandidateModules) -> Surroundings:
    """Return an untrusted function with the code of its file, of the files beside it and of trusted ones.

    All of it is put into one module. Where that would change what it does, nothing is taken from untrusted files.
    """
    own_name = own_name_of(definition)
    collected = Collected(version=module, own_name=own_name)
    collected.taken.add((id(module), own_name))
    try:
        found = surroundings_with(definition, module, files, files.start, collected, strict=True)
    except RenamingError:
        return surroundings(definition, module, files.trusted)
    if collected.unclear or collected.shared & collected.assigned:
        return surroundings(definition, module, files.trusted)
    return found


def _parts(statement: ast.ImportFrom) -> list[str]:
    return statement.module.split(".") if statement.module else []
