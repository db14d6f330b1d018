"""The table of modules that a function's file can import, complete before the child that imports it starts.

Which file an import means is told from paths alone. A trusted function gets trusted files and no others. An untrusted
one gets its own file, those beside it in its own corpus, and trusted ones under names that these leave free: so it
runs as it would in the place of a trusted file. The table of one never changes what the other is given.
"""

from __future__ import annotations

import ast
import keyword
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from codeguard.behavior.source.definitions import Module, read_module
from codeguard.behavior.source.import_paths import (
    AMBIGUOUS,
    INIT,
    MOST_CHARACTERS,
    MOST_MODULES,
    Import,
    file_of,
    imports_in,
    imports_of,
)
from codeguard.models import SourceFile, parts_digest, text_digest
from codeguard.sandbox.model import Importable, ModuleText

MOST_LOOKUPS = 20_000  # for one table
IN_PLACE = "corpus_"  # begins the name of a package that would have one of the standard library's

Place = tuple["Tree", str]  # a file: its tree and its path there


class Tree:
    """The Python files of one corpus, by path.

    `package` is the import name of the folder that the paths are relative to, if it is itself a package.
    """

    def __init__(self, texts: Mapping[str, str], package: str = "") -> None:
        self.texts = texts
        self.tables: dict[str, Importable | None] = {}
        self.digests: dict[str, str] = {}
        self.wanted: dict[str, Set[str]] = {}  # parts of the names that the imports of a table may mean
        self._package = package
        self._imports: dict[str, list[tuple[int, list[str], list[str]]]] = {}

    def has(self, path: str) -> bool:
        """Return whether there is a file of this path."""
        return path in self.texts

    def imports(self, path: str) -> list[tuple[int, list[str], list[str]]]:
        """Return level, module and names of what a file may import."""
        if path not in self._imports:
            self._imports[path] = list(imports_in(self.texts[path]))
        return self._imports[path]

    def parts_of(self, path: str) -> list[str]:
        """Return the parts of the name of a file's module, as they follow from the packages around it.

        A file that imports relatively is in a package, whether or not the file that makes it one is here.
        """
        *folders, last = path.removesuffix(".py").split("/")
        depth = 0
        while depth < len(folders) and self.has("/".join([*folders[: len(folders) - depth], INIT])):
            depth += 1
        deepest = max((item[0] for item in self.imports(path)), default=0)
        depth = max(depth, min(len(folders), deepest))
        at_root = depth == len(folders) and (deepest > depth or (self._package and self.has(INIT)))
        around = [self._package or "package"] if at_root else []
        parts = [*around, *folders[len(folders) - depth :], *([] if last == "__init__" else [last])]
        parts = [re.sub(r"\W", "_", part) for part in parts] or ["package"]
        parts = [
            part if part.isidentifier() and not keyword.iskeyword(part) else f"_{part}" for part in parts
        ]
        return [f"{IN_PLACE}{parts[0]}" if parts[0] in sys.stdlib_module_names else parts[0], *parts[1:]]

    @cached_property
    def _by_last(self) -> Mapping[str, list[tuple[list[str], str]]]:
        found: dict[str, list[tuple[list[str], str]]] = {}
        for path in self.texts:
            parts = [*([self._package] if self._package else []), *path.removesuffix(".py").split("/")]
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if parts:
                found.setdefault(parts[-1], []).append((parts, path))
        return found

    def texts_for(self, names: Iterable[str]) -> Iterator[str]:
        """Yield paths and digests of the files that may be meant by these parts of names, with the packages around."""
        for _, path in (item for name in names for item in self._by_last.get(name, ())):
            folders = path.split("/")[:-1]
            around = ["/".join([*folders[:length], INIT]) for length in range(len(folders) + 1)]
            yield from (
                path,
                *(text_digest(self.texts[item]) if self.has(item) else "" for item in (path, *around)),
            )

    def folders_and_names(self) -> Iterator[str]:
        """Yield the parts of all names that the modules may have."""
        for listed in self._by_last.values():
            for parts, _ in listed:
                yield from parts

    def named(self, wanted: Sequence[str], is_whole: bool) -> str:
        """Return the one file whose module's name is, or ends with, these parts; "" if there is none, or several."""
        length, found = len(wanted), []
        for parts, path in self._by_last.get(wanted[-1], ()):
            above = parts[:-length]
            below_package = bool(above) if self._package else self.has("/".join([*above, INIT]))
            if parts[-length:] == list(wanted) and not (is_whole and below_package):
                found.append(path)
        return found[0] if len(found) == 1 else ""


@dataclass(frozen=True, slots=True, eq=False)
class Home:
    """The file of a function in the tree of its corpus; `trusted` are the trusted files, if it is none of them.

    `module` are its statements, if it is untrusted. What these try to import is not taken from trusted files: whoever
    copies the file may lack them, and what it does then has to be seen.
    """

    tree: Tree
    path: str
    trusted: Tree | None = None
    module: Module | None = None

    def with_text(self, text: str) -> Home:
        """Return the same place with another text of the file."""
        return replace(self, tree=Tree({**self.tree.texts, self.path: text}))

    def borrowed(self, imports: Sequence[Import]) -> tuple[str, ...]:
        """Return the modules of the corpus that these imports of the file mean, by their names there."""
        place, found = (self.tree, self.path), []
        for level, module, names in imports:
            wanted = list(_wanted(module, names))
            if any(find(item, level, place, self.trusted) is not None for item in wanted):
                found.append("." * level + ".".join(module or names))
        return tuple(dict.fromkeys(found))

    def digest(self) -> str:
        """Return a digest of all that an import of the file may execute."""
        digests = self.tree.digests
        if self.path not in digests:
            whole = self.importable()
            named = sorted(whole.modules.items()) if whole is not None else []
            digests[self.path] = parts_digest(*(part for name, item in named for part in (name, item.source)))
        return digests[self.path]

    def has_modules_of(self, other: Home) -> bool:
        """Return whether all that the file is expected to import has the text that it has beside another file."""
        own, theirs = self.importable(), other.importable()
        if own is None or theirs is None:
            return False
        known = {name.partition(".")[2]: item.source for name, item in theirs.modules.items()}
        return all(
            item.source in ("", known.get(name.partition(".")[2]))
            for name, item in own.modules.items()
            if name != own.name
        )

    def _tried(self) -> frozenset[Import]:
        nodes = (node for item in self.module.statements for node in ast.walk(item)) if self.module else ()
        return frozenset(
            imports_of(item for node in nodes if isinstance(node, ast.Try) for item in node.body)
        )

    def importable(self) -> Importable | None:
        """Return the file as a module with all that it can import; None if it is too large."""
        known = self.tree.tables
        if self.path not in known:
            own, place = self.tree.parts_of(self.path), (self.tree, self.path)
            table = _Table(self.trusted, self._tried())
            table.add(own, place)
            table.follow()
            name = ".".join(own)
            whole = Importable(name, table.modules, is_trusted=self.trusted is None)
            known[self.path] = whole if name in table.modules else None
            self.tree.wanted[self.path] = table.wanted.union(*(item.split(".") for item in table.modules))
        return known[self.path]

    def wanted(self) -> list[str]:
        """Return the parts of the names of all modules that the file, or what it imports, may mean."""
        self.importable()
        return sorted(self.tree.wanted[self.path])


class _Table:
    """Collects the modules of a table, nearest first."""

    def __init__(self, trusted: Tree | None, tried: Set[Import]) -> None:
        self.modules: dict[str, ModuleText] = {}
        self.wanted: set[str] = set()
        self._trusted = trusted
        self._tried = tried
        self._pending: deque[tuple[list[str], Place]] = deque()
        self._left = MOST_CHARACTERS
        self._lookups = MOST_LOOKUPS

    def add(self, name: Sequence[str], place: Place) -> None:
        """Add a file under a name, and the packages around it, unless the table has the name or is full."""
        tree, path = place
        dotted = ".".join(name)
        # Under the name that it would have in a package, one of the standard library's cannot be replaced.
        if dotted in self.modules or name[0] in sys.stdlib_module_names or len(self.modules) >= MOST_MODULES:
            return
        text = tree.texts[path]
        if len(text) > self._left:
            return
        self._left -= len(text)
        self.modules[dotted] = ModuleText(text, path.rpartition("/")[2] == INIT)
        self._pending.append((list(name), place))
        if len(name) > 1:
            folder = path.rpartition("/")[0]
            around = folder.rpartition("/")[0] if path.rpartition("/")[2] == INIT else folder
            init = f"{around}/{INIT}" if around else INIT
            if tree.has(init) and len(tree.texts[init]) <= self._left:
                self.add(name[:-1], (tree, init))
            for length in range(1, len(name)):
                self.modules.setdefault(".".join(name[:length]), ModuleText("", is_package=True))

    def follow(self) -> None:
        """Add what the files of the table import, and what these import."""
        while self._pending:
            name, (tree, path) = self._pending.popleft()
            package = name if path.rpartition("/")[2] == INIT else name[:-1]
            for level, module, names in tree.imports(path):
                if level > len(package):
                    continue
                others = None if (level, tuple(module), tuple(names)) in self._tried else self._trusted
                base = package[: len(package) - level + 1] if level else []
                for wanted in _wanted(module, names):
                    self.wanted.update(wanted)
                    self._lookups -= 1
                    found = find(wanted, level, (tree, path), others) if self._lookups > 0 else None
                    if found is not None:
                        self.add([*base, *wanted], found)


def candidate_tree(file: SourceFile, trusted: Tree) -> Tree:
    """Return an untrusted file with those beside it; trusted ones among these have the text that is known of them."""
    beside = {
        item.path: trusted.texts.get(item.path, "") if item.trusted else item.text for item in file.siblings
    }
    return Tree({**beside, file.path: file.text})


def find(wanted: Sequence[str], level: int, place: Place, trusted: Tree | None) -> Place | None:
    """Return the file that an import in a file means: of its own tree, or else a trusted one."""
    tree, path = place
    found = file_of(wanted, level, path, tree.has)
    if found not in ("", AMBIGUOUS):
        return tree, found
    elsewhere = trusted if trusted is not None or level else tree
    if found or elsewhere is None or not wanted:
        return None
    there = elsewhere.named(wanted, is_whole=not level)
    return (elsewhere, there) if there else None


def _wanted(module: Sequence[str], names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the modules that an import may mean: the named one and the packages around it, and its members."""
    for length in range(1, len(module) + 1):
        yield list(module[:length])
    for name in names:
        yield [*module, name]
    if not module and names:
        yield []


class _ReadModules(dict[str, Module]):
    """The statements of files by path, each read on first use."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __missing__(self, path: str) -> Module:
        self[path] = read_module(self._texts[path])
        return self[path]


@dataclass(frozen=True, eq=False)
class TrustedModules:
    """The trusted files as a tree, and the packages that each imports in any case."""

    tree: Tree = field(default_factory=lambda: Tree({}), repr=False)
    packages: Mapping[str, Set[str]] = field(default_factory=dict, repr=False)

    @cached_property
    def _modules(self) -> _ReadModules:
        return _ReadModules(self.tree.texts)

    def module_of(self, path: str, text: str) -> Module:
        """Return the statements of a trusted file, or else of a text."""
        return self._modules[path] if self.tree.has(path) else read_module(text)

    def packages_of(self, path: str) -> Set[str]:
        """Return the packages that a file imports in any case and of which no file is here."""
        return frozenset(self.packages.get(path, ())) - self._parts

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(self.tree.folders_and_names())


NO_MODULES = TrustedModules()
