"""The table of modules that a function's file can import, complete before the child that imports it starts.

Which file an import means is told from paths alone. A trusted function gets trusted files and no others. An untrusted
one gets its own file, those beside it in its own corpus, and trusted ones under names that these leave free: so it
runs as it would in the place of a trusted file. The table of one never changes what the other is given.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from codeguard.behavior.source.import_paths import AMBIGUOUS, INIT, file_of, imports_in
from codeguard.sandbox.model import Importable, ModuleText

MOST_MODULES = 400
MOST_CHARACTERS = 2_000_000  # of all modules of a table
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
        depth = max(depth, min(len(folders), max((item[0] for item in self.imports(path)), default=0)))
        around = [self._package] if self._package and depth == len(folders) and self.has(INIT) else []
        parts = [*around, *folders[len(folders) - depth :], *([] if last == "__init__" else [last])]
        parts = [re.sub(r"\W", "_", part) for part in parts] or ["package"]
        parts = [
            part if part.isidentifier() and not keyword.iskeyword(part) else f"_{part}" for part in parts
        ]
        return [f"{IN_PLACE}{parts[0]}" if parts[0] in sys.stdlib_module_names else parts[0], *parts[1:]]

    @cached_property
    def by_name(self) -> Mapping[tuple[str, ...], str]:
        """The files by the parts of their modules' names, without those of which several have one name."""
        named = [(tuple(self.parts_of(path)), path) for path in self.texts]
        count = Counter(name for name, _ in named)
        return {name: path for name, path in named if count[name] == 1}

    @cached_property
    def _by_last(self) -> Mapping[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for name in self.by_name:
            found.setdefault(name[-1], []).append(name)
        return found

    def ending_with(self, wanted: Sequence[str]) -> str:
        """Return the one file whose module's name ends with these parts; "" if there is none, or several."""
        names = self._by_last.get(wanted[-1], ()) if wanted else ()
        found = [name for name in names if name[-len(wanted) :] == tuple(wanted)]
        return self.by_name[found[0]] if len(found) == 1 else ""


@dataclass(frozen=True, slots=True, eq=False)
class Home:
    """The file of a function in the tree of its corpus; `trusted` are the trusted files, if it is none of them."""

    tree: Tree
    path: str
    trusted: Tree | None = None

    def importable(self) -> Importable | None:
        """Return the file as a module with all that it can import; None if it is too large."""
        known = self.tree.tables
        if self.path not in known:
            own, place = self.tree.parts_of(self.path), (self.tree, self.path)
            table = _Table(self.trusted)
            table.add(own, place)
            table.follow()
            table.add_rest(own, place)
            name = ".".join(own)
            whole = Importable(name, table.modules, is_trusted=self.trusted is None)
            known[self.path] = whole if name in table.modules else None
        return known[self.path]


class _Table:
    """Collects the modules of a table, nearest first."""

    def __init__(self, trusted: Tree | None) -> None:
        self.modules: dict[str, ModuleText] = {}
        self._trusted = trusted
        self._pending: deque[tuple[list[str], Place]] = deque()
        self._left = MOST_CHARACTERS
        self._lookups = MOST_LOOKUPS

    def add(self, name: Sequence[str], place: Place, is_expected: bool = True) -> None:
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
        self.modules[dotted] = ModuleText(text, path.rpartition("/")[2] == INIT, is_expected)
        if is_expected:
            self._pending.append((list(name), place))
        if len(name) > 1:
            folder = path.rpartition("/")[0]
            around = folder.rpartition("/")[0] if path.rpartition("/")[2] == INIT else folder
            init = f"{around}/{INIT}" if around else INIT
            if tree.has(init) and len(tree.texts[init]) <= self._left:
                self.add(name[:-1], (tree, init), is_expected)
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
                base = package[: len(package) - level + 1] if level else []
                for wanted in _wanted(module, names):
                    self._lookups -= 1
                    found = self._find(wanted, level, (tree, path)) if self._lookups > 0 else None
                    if found is not None:
                        self.add([*base, *wanted], found)

    def _find(self, wanted: Sequence[str], level: int, place: Place) -> Place | None:
        """Return the file that an import means: of its own tree, or else a trusted one."""
        tree, path = place
        found = file_of(wanted, level, path, tree.has)
        if found not in ("", AMBIGUOUS):
            return tree, found
        if found or self._trusted is None or not wanted:
            return None
        there = self._trusted.ending_with(wanted) if level else self._trusted.by_name.get(tuple(wanted), "")
        return (self._trusted, there) if there else None

    def add_rest(self, name: Sequence[str], place: Place) -> None:
        """Add the other files of a file's package: code may make the names of what it imports."""
        tree, path = place
        above = len(name) - (0 if path.rpartition("/")[2] == INIT else 1)
        folders = path.split("/")[:-1]
        if not above:
            return
        start = "".join(
            f"{folder}/" for folder in folders[: len(folders) - above + 1] if above <= len(folders)
        )
        for other in sorted(tree.texts):
            if other.startswith(start):
                parts = other[len(start) :].removesuffix(".py").split("/")
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                if all(part.isidentifier() for part in parts):
                    self.add([name[0], *parts], (tree, other), is_expected=False)


def _wanted(module: Sequence[str], names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the modules that an import may mean: the named one and the packages around it, and its members."""
    for length in range(1, len(module) + 1):
        yield list(module[:length])
    for name in names:
        yield [*module, name]
    if not module and names:
        yield []
