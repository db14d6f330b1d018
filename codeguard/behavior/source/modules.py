"""The trusted files as modules, to resolve imports such as `from .utils import x` between them.

A sandboxed child cannot import the packages of the corpus. So the definitions that a function
imports from another trusted file are placed before it.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from codeguard.behavior.source.definitions import Module, dotted_uses
from codeguard.behavior.source.import_paths import file_of
from codeguard.behavior.source.importing import Tree

MOST_REEXPORTS = 8  # modules that one name may pass through


@dataclass(frozen=True)
class TrustedModules:
    """Modules by path, found by the last parts of their dotted names.

    `package` is the name of the folder that the paths are relative to, if it is itself a package.
    """

    modules: Mapping[str, Module] = field(default_factory=dict)
    package: str = ""
    tree: Tree = field(default_factory=lambda: Tree({}), compare=False, repr=False)
    _provided: dict[int, Mapping[str, Module]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def find(self, statement: ast.ImportFrom, name: str, own_path: str = "") -> Module | None:
        """Return the module that defines a name imported by `from … import name`; None if that is ambiguous.

        A relative import means one file, if that is trusted. Otherwise a file in the importing file's
        own folder is preferred, or else exactly one file of the named module or package has to define
        the name, or the named module itself imports it from there.
        """
        wanted = (statement.module or "").split(".") if statement.module else []
        exact = self._exactly(wanted, statement.level, own_path)
        if exact not in ("", own_path) and self._binds(exact, name):
            return self.modules[exact]
        if self._is_submodule(statement, name, own_path):
            return None
        folder = own_path.rpartition("/")[0]
        named = self._named(wanted, bool(statement.level))
        same = [path for path in named if self._dotted(path)[-len(wanted) :] == wanted] if wanted else []
        found = [path for path in same if self._binds(path, name)]
        found = found or [path for path in named if name in self.modules[path].plain_names]
        near = [path for path in found if path.rpartition("/")[0] == folder]
        chosen = near if len(near) == 1 else found
        return self.modules[chosen[0]] if len(chosen) == 1 else None

    def submodule(self, statement: ast.ImportFrom, name: str, own_path: str = "") -> Module | None:
        """Return the module that `from package import name` imports; None if that is ambiguous."""
        wanted = [*(statement.module.split(".") if statement.module else []), name]
        exact = self._exactly(wanted, statement.level, own_path)
        if exact or not statement.module:
            return self.modules[exact] if exact else None
        named = self._named(wanted, bool(statement.level))
        found = [path for path in named if self._dotted(path)[-len(wanted) :] == wanted]
        return self.modules[found[0]] if len(found) == 1 else None

    def origin(self, module: Module, name: str) -> tuple[Module, str]:
        """Return the module that defines what another one imports under a name, and its name there.

        Imports in conditions are not followed, because which of them is made is not known.
        """
        for _ in range(MOST_REEXPORTS):
            imports = module.plain_imports.get(name, ())
            if name in module.plain_names or len(imports) > 1:
                break
            there = imports[0][1].name if imports else name
            path = self.path_of(module)
            found = self.find(imports[0][0], there, path) if imports else self.from_star(module, name)
            if found is None:
                break
            module, name = found, there
        return module, name

    def module_called(self, module: Module, name: str) -> Module | None:
        """Return the module that a package has imported under a name from itself, as `from . import name` does."""
        imports = module.plain_imports.get(name, ())
        if name in module.plain_names or len(imports) != 1:
            return None
        found = self.submodule(imports[0][0], imports[0][1].name, self.path_of(module))
        return None if found is module else found

    def imported(self, dotted: Sequence[str], own_path: str = "") -> Module | None:
        """Return the module that `import a.b` means; None if that is not one of the files, or ambiguous."""
        if not dotted or dotted[0] in sys.stdlib_module_names:
            return None
        named = self._by_part.get((dotted[-1], -1), ())
        found = [
            path
            for path, parts in named
            if parts[-len(dotted) :] == list(dotted) and self._is_top_level(path, len(dotted))
        ]
        return self.modules[found[0]] if len(found) == 1 else None

    def _is_submodule(self, statement: ast.ImportFrom, name: str, own_path: str) -> bool:
        """Return whether `from . import name` means a file, not a definition in the package itself."""
        return not statement.module and self.submodule(statement, name, own_path) is not None

    def _exactly(self, wanted: Sequence[str], level: int, own_path: str) -> str:
        """Return the path of the file that a relative import means, or ""."""
        if not level:
            return ""
        return file_of(wanted, level, own_path, self.modules.__contains__)

    def _is_top_level(self, path: str, length: int) -> bool:
        """Return whether the last `length` parts of a file's dotted name are all of it: no package is around them."""
        parts = self._dotted(path)
        if self.package:
            return len(parts) == length
        return "/".join([*parts[:-length], "__init__.py"]) not in self.modules

    def packages_of(self, path: str) -> Set[str]:
        """Return the packages that a file imports in any case and of which no file is here."""
        module = self.modules.get(path)
        return module.imported_packages - self._parts if module is not None else frozenset()

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(part for path in self.modules for part in self._dotted(path))

    def attributes(self, name: str) -> Set[str]:
        """Return the attributes that any of the files uses on an object of this name."""
        return self._attributes.get(name, frozenset())

    @cached_property
    def _attributes(self) -> Mapping[str, Set[str]]:
        found: dict[str, set[str]] = {}
        for module in self.modules.values():
            for statement in module.statements:
                for root, attribute, *_ in module.once("dotted", statement, dotted_uses):
                    found.setdefault(root, set()).add(attribute)
        for attributes in found.values():
            attributes.discard("__all__")  # a package assembles it for star imports
        return found

    def path_of(self, module: Module) -> str:
        """Return the path of a module."""
        return self._paths.get(id(module), "")

    @cached_property
    def _paths(self) -> dict[int, str]:
        return {id(module): path for path, module in self.modules.items()}

    def is_trusted(self, module: Module) -> bool:
        """Return whether a module is one of the trusted files."""
        return bool(self.path_of(module))

    def provided(self, module: Module) -> Set[str]:
        """Return the names that can be taken from a module."""
        return module.bound_names | self._starred(module).keys()

    def names_of_star(self, statement: ast.ImportFrom, own_path: str) -> Set[str] | None:
        """Return the names that `from … import *` binds; None where it is not followed."""
        module = self._of_star(statement, own_path)
        if module is None:
            return None
        return {name for name in self.provided(module) if not name.startswith("_")}

    def from_star(self, module: Module, name: str) -> Module | None:
        """Return the one module from which a module has a name by `from … import *`."""
        return self._starred(module).get(name)

    def _starred(self, module: Module) -> Mapping[str, Module]:
        """Return what a module has by `from … import *`, directly or through others, and from which module.

        A name that several of them bind is left out.
        """
        known = self._provided.get(id(module))
        if known is not None:
            return known
        others = [module]
        for item in others:
            path = self.path_of(item)
            for statement, _ in item.plain_imports.get("*", ()) if path else ():
                other = self._of_star(statement, path)
                if other is not None and all(other is not seen for seen in others):
                    others.append(other)
        count = Counter(name for other in others[1:] for name in other.bound_names)
        found = {
            name: other
            for other in others[1:]
            for name in other.bound_names
            if count[name] == 1 and not name.startswith("_")
        }
        self._provided[id(module)] = found
        return found

    def _of_star(self, statement: ast.ImportFrom, own_path: str) -> Module | None:
        """Return the module of which an import takes everything."""
        wanted = statement.module.split(".") if statement.module else []
        if not statement.level:
            return self.imported(wanted)
        return self.modules.get(self._exactly(wanted, statement.level, own_path))

    def inlines_branches(self, module: Module) -> bool:
        """Return whether imports in the conditions of a file are followed."""
        return bool(self.path_of(module))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to import."""
        return not self.modules

    def at(self, path: str) -> Module | None:
        """Return the file of a path."""
        return self.modules.get(path)

    def is_from_corpus(self, statement: ast.ImportFrom, own_path: str = "") -> bool:
        """Return whether an import is of a corpus file, not of the standard library or another package."""
        if statement.level:
            return True
        return bool(statement.module) and bool(self._named((statement.module or "").split("."), False))

    def _named(self, wanted: list[str], relative: bool) -> list[str]:
        if not wanted:
            return list(self.modules) if relative else []
        length, last = len(wanted), wanted[-1]
        exact = [path for path, dotted in self._by_part.get((last, -1), ()) if dotted[-length:] == wanted]
        inside = [
            path for path, dotted in self._by_part.get((last, -2), ()) if dotted[-length - 1 : -1] == wanted
        ]
        if not relative and wanted[0] in sys.stdlib_module_names:
            # `from typing import Any` means the standard library also in a package that has a typing.py.
            exact = [path for path in exact if self._is_top_level(path, length)]
            inside = [path for path in inside if self._is_top_level(path, length + 1)]
        return exact if any(not path.endswith("__init__.py") for path in exact) else [*exact, *inside]

    @cached_property
    def _by_part(self) -> dict[tuple[str, int], list[tuple[str, list[str]]]]:
        """Paths and dotted names, by the last part of the dotted name and by the one before it."""
        found: dict[tuple[str, int], list[tuple[str, list[str]]]] = {}
        for path in self.modules:
            dotted = self._dotted(path)
            for place in (-1, -2)[: len(dotted)]:
                found.setdefault((dotted[place], place), []).append((path, dotted))
        return found

    def _binds(self, path: str, name: str) -> bool:
        return self._provides(self.modules[path], name)

    def _provides(self, module: Module, name: str) -> bool:
        return name in module.bound_names or name in self._starred(module)

    def _dotted(self, path: str) -> list[str]:
        parts = [*([self.package] if self.package else []), *path.removesuffix(".py").split("/")]
        return parts[:-1] if parts[-1] == "__init__" else parts
