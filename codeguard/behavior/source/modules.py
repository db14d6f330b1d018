"""The trusted files as modules."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from codeguard.behavior.source.definitions import Module
from codeguard.behavior.source.importing import Tree


@dataclass(frozen=True)
class TrustedModules:
    """The statements of the trusted files by path, and their texts as a tree."""

    modules: Mapping[str, Module] = field(default_factory=dict)
    tree: Tree = field(default_factory=lambda: Tree({}), compare=False, repr=False)

    def packages_of(self, path: str) -> Set[str]:
        """Return the packages that a file imports in any case and of which no file is here."""
        module = self.modules.get(path)
        return module.imported_packages - self._parts if module is not None else frozenset()

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(self.tree.folders_and_names())


NO_MODULES = TrustedModules()
