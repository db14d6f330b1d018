"""The trusted files as modules, to resolve imports such as `from .utils import x` between them.

A sandboxed child cannot import the packages of the corpus. So the definitions that a function
imports from another trusted file are placed before it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from codeguard.behavior.source.definitions import Module


@dataclass(frozen=True)
class TrustedModules:
    """Modules by path, found by the last parts of their dotted names.

    `package` is the name of the folder that the paths are relative to, if it is itself a package.
    """

    modules: Mapping[str, Module] = field(default_factory=dict)
    package: str = ""

    def find(self, statement: ast.ImportFrom, name: str, own_path: str = "") -> Module | None:
        """Return the module that defines a name imported by `from … import name`; None if that is ambiguous.

        A file in the importing file's own folder is preferred. Otherwise exactly one file of the
        named module or package has to define the name, or the named module itself imports it from
        there.
        """
        wanted = (statement.module or "").split(".") if statement.module else []
        if not wanted and self._is_submodule(statement, name, own_path):
            return None
        folder = own_path.rpartition("/")[0]
        named = self._named(wanted, bool(statement.level))
        found = [path for path in named if self._defines(path, name)]
        if not found and wanted:
            exact = [path for path in named if self._dotted(path)[-len(wanted) :] == wanted]
            found = [path for path in exact if name in self.modules[path].imported_names]
        near = [path for path in found if path.rpartition("/")[0] == folder]
        chosen = near if len(near) == 1 else found
        return self.modules[chosen[0]] if len(chosen) == 1 else None

    def submodule(self, statement: ast.ImportFrom, name: str, own_path: str = "") -> Module | None:
        """Return the module that `from package import name` imports; None if that is ambiguous."""
        if statement.module:
            found = self._named([*statement.module.split("."), name], bool(statement.level))
        else:
            places = (
                _relative_path(own_path, statement.level, place)
                for place in (f"{name}.py", f"{name}/__init__.py")
            )
            found = [path for path in places if path in self.modules]
        return self.modules[found[0]] if len(found) == 1 else None

    def _is_submodule(self, statement: ast.ImportFrom, name: str, own_path: str) -> bool:
        """Return whether `from . import name` means a file, not a definition in the package itself."""
        package = _relative_path(own_path, statement.level, "__init__.py")
        defined = package in self.modules and self._defines(package, name)
        return not defined and self.submodule(statement, name, own_path) is not None

    def attributes(self, name: str) -> Set[str]:
        """Return the attributes that any of the files uses on an object of this name."""
        return self._attributes.get(name, frozenset())

    @cached_property
    def _attributes(self) -> Mapping[str, Set[str]]:
        found: dict[str, set[str]] = {}
        for module in self.modules.values():
            for statement in module.statements:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                        found.setdefault(node.value.id, set()).add(node.attr)
        for attributes in found.values():
            attributes.discard("__all__")  # a package assembles it for star imports
        return found

    def path_of(self, module: Module) -> str:
        """Return the path of a module."""
        return self._paths.get(id(module), "")

    @cached_property
    def _paths(self) -> dict[int, str]:
        return {id(module): path for path, module in self.modules.items()}

    def is_from_corpus(self, statement: ast.ImportFrom) -> bool:
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

    def _defines(self, path: str, name: str) -> bool:
        return name in self.modules[path].plain_names

    def _dotted(self, path: str) -> list[str]:
        parts = [*([self.package] if self.package else []), *path.removesuffix(".py").split("/")]
        return parts[:-1] if parts[-1] == "__init__" else parts


def _relative_path(own_path: str, level: int, place: str) -> str:
    """Return the path of a file in the folder that a relative import of `level` dots means."""
    return "/".join([*own_path.split("/")[: -max(1, level)], place])
