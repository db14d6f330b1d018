"""The trusted files as modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from codeguard.behavior.source.definitions import Module, read_module
from codeguard.behavior.source.importing import Tree


class ReadModules(Mapping[str, Module]):
    """The statements of files by path, each read on first use."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._read: dict[str, Module] = {}

    def __getitem__(self, path: str) -> Module:
        if path not in self._read:
            self._read[path] = read_module(self._texts[path])
        return self._read[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@dataclass(frozen=True, eq=False)
class TrustedModules:
    """The trusted files as a tree, and the packages that each imports in any case."""

    tree: Tree = field(default_factory=lambda: Tree({}), repr=False)
    packages: Mapping[str, Set[str]] = field(default_factory=dict, repr=False)

    @cached_property
    def modules(self) -> Mapping[str, Module]:
        """The statements of the files by path."""
        return ReadModules(self.tree.texts)

    def packages_of(self, path: str) -> Set[str]:
        """Return the packages that a file imports in any case and of which no file is here."""
        return frozenset(self.packages.get(path, ())) - self._parts

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(self.tree.folders_and_names())


NO_MODULES = TrustedModules()
