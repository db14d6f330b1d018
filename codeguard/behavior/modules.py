"""The trusted files as modules: what `from .utils import x` means in one of them.

A sandboxed child has no packages of the corpus to import. What a function
takes from another trusted file is therefore put in front of it, as the
statements that define it there.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from codeguard.behavior.source import Function, Module


@dataclass(frozen=True)
class TrustedModules:
    """Modules by path, looked up by the last parts of their dotted names."""

    modules: Mapping[str, Module] = field(default_factory=dict)

    def find(self, statement: ast.ImportFrom, name: str, own_path: str = "") -> Module | None:
        """Return the module that a `from … import name` takes a definition from; None where that is not clear.

        A file in the importing file's own folder comes first; else the name
        has to be defined in exactly one file of the module or package named.
        """
        wanted = (statement.module or "").split(".") if statement.module else []
        folder = own_path.rpartition("/")[0]
        found = [path for path in self._named(wanted, bool(statement.level)) if self._defines(path, name)]
        near = [path for path in found if path.rpartition("/")[0] == folder]
        chosen = near if len(near) == 1 else found
        return self.modules[chosen[0]] if len(chosen) == 1 else None

    def knows(self, statement: ast.ImportFrom) -> bool:
        """Say whether an import is one of the corpus and not of the standard library or another package."""
        if statement.level:
            return True
        return bool(statement.module) and bool(self._named((statement.module or "").split("."), False))

    def _named(self, wanted: list[str], relative: bool) -> list[str]:
        if not wanted:
            return list(self.modules) if relative else []
        exact = [path for path in self.modules if _dotted(path)[-len(wanted) :] == wanted]
        inside = [path for path in self.modules if wanted == _dotted(path)[-len(wanted) - 1 : -1]]
        return exact if any(not path.endswith("__init__.py") for path in exact) else [*exact, *inside]

    def _defines(self, path: str, name: str) -> bool:
        for statement in self.modules[path].statements:
            if isinstance(statement, Function | ast.ClassDef) and statement.name == name:
                return True
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    return True
        return False


def _dotted(path: str) -> list[str]:
    parts = path.removesuffix(".py").split("/")
    return parts[:-1] if parts[-1] == "__init__" else parts
