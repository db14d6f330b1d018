"""Corpora: which files stand on the trusted and on the unknown side of a pair, and the functions that they hold."""

from __future__ import annotations

import ast
import hashlib
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from random import Random

from codeguard.corpus.chunking import chunk_file
from codeguard.models import Chunk, ChunkKind
from experiments.benchmark.packages import Package, Pair, sources
from experiments.corpus.naming import FIRST, SECOND
from experiments.corpus.selection import parses
from experiments.corpus.targets import Segments

TRUSTED, UNKNOWN = "ours", "theirs"
TRUSTED_SHARE = 0.4
POOL_SHARE = 1.0  # of a setting's size: unlisted files, half of which a round shows
GROUPS = (1, 1, 2, 2, 3, 4)  # definitions of a loose file
LONGEST_PIECE = 14  # chunks
FOLDERS = (
    "snippets",
    "vendor",
    "contrib",
    "forks",
    "recipes",
    "scraps",
    "answers",
    "tools",
    "old",
    "mirror",
)
LEAST_WORDS = 4
_FUNCTION = re.compile(r"^def ", re.MULTILINE)
LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Function:
    """A documented public function or method of a corpus.

    `path` is the file's place in the corpus, `module` what to import to get
    it, `plain` says that it is an undecorated function at the top level.
    """

    package: str
    path: str
    module: str
    symbol: str
    source: str
    docstring: str
    trusted: bool
    plain: bool

    @property
    def id(self) -> str:
        """What the function is called in results, and what decides its part."""
        return f"{self.package}:{self.module}.{self.symbol}"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The files of one pair by path (below `ours/` or `theirs/`), and its documented functions.

    `homes` says from which package a file comes. `pool` are the unlisted files, of which each round shows some.
    """

    pair: str
    texts: Mapping[str, str]
    functions: tuple[Function, ...]
    homes: Mapping[str, Package]
    pool: frozenset[str]

    @property
    def trusted(self) -> Mapping[str, str]:
        """The files of the team."""
        return {path: text for path, text in self.texts.items() if path not in self.pool}

    def digest(self) -> str:
        """Return a sha256 over paths and texts."""
        state = hashlib.sha256()
        for path in sorted(self.texts):
            state.update(f"{path}\0{hashlib.sha256(self.texts[path].encode()).hexdigest()}\n".encode())
        return state.hexdigest()


@lru_cache(maxsize=1 << 14)
def chunks_of(path: str, text: str) -> tuple[Chunk, ...]:
    """Return the chunks of a file that hold a letter or digit."""
    return tuple(
        chunk for chunk in chunk_file(path, text.encode()).chunks if any(map(str.isalnum, chunk.text))
    )


def build(pair: Pair, folder: Path, size: int | None, *, large: bool) -> Corpus:
    """Return the corpus of a pair.

    Args:
        folder: where the package files are kept.
        size: chunks at most, None for all there are. Two fifths of them are trusted.
        large: with the packages that the small setting leaves out.
    """
    trusted = [(f"{TRUSTED}/{path}", text) for path, text in sources(pair.trusted, folder).items()]
    kept = _until(_richest_first(trusted), None if size is None else int(size * TRUSTED_SHARE))
    packages = [package for package in pair.unknown if large or not package.large_only]
    queues = [
        (package, path, text)
        for package in packages
        for path, text in sorted(sources(package, folder).items(), key=lambda item: _hash(item[0]))
    ]
    return assembled(pair.name, dict.fromkeys(kept, pair.trusted), kept, queues, size)


def assembled(
    name: str,
    homes: Mapping[str, Package],
    trusted: Mapping[str, str],
    unlisted: Sequence[tuple[Package, str, str]],
    size: int | None,
) -> Corpus:
    """Return a corpus of trusted files, and of loose files cut out of others: `(package, path, text)`.

    Every loose file has a folder and a name that say nothing of where it comes from, drawn for honest code and for
    what an attacker writes into it alike.
    """
    texts, homes = dict(trusted), dict(homes)
    modules = {path: _module(path.partition("/")[2]) for path in trusted}
    loose = [
        (package, path, f"{package.label}/{path}/{number}", text)
        for package, path, whole in unlisted
        if path.endswith(".py")
        for number, text in enumerate(pieces(whole))
    ]
    loose.sort(key=lambda item: _hash(item[2]))
    names = LooseNames(name)
    room = None if size is None else int(size * POOL_SHARE)
    pool: list[str] = []
    for package, path, _, text in loose:
        count = len(chunks_of("piece.py", text))
        # What an attacker puts into a file takes the place of a function, so every file has one.
        if (
            not _FUNCTION.search(text)
            or not 0 < count <= LONGEST_PIECE
            or (room is not None and room < count)
        ):
            continue
        room = None if room is None else room - count
        place = names(".py")
        texts[place], homes[place], modules[place] = text, package, _module(path)
        pool.append(place)
    return Corpus(name, texts, functions_in(texts, homes, modules), homes, frozenset(pool))


class LooseNames:
    """Hands out places of loose files, each once, in an order that only the seed decides."""

    def __init__(self, seed: str) -> None:
        self._rng = Random(f"names:{seed}")
        self._taken: set[str] = set()

    def __call__(self, suffix: str, name: str = "") -> str:
        """Return a new place; a file with a `name` of its own gets a folder to itself."""
        while True:
            folder = "/".join(self._rng.sample(FOLDERS, self._rng.choice((1, 1, 2))))
            stem = f"{self._rng.choice(FIRST)}_{self._rng.choice(SECOND)}"
            if self._rng.random() < 0.5:
                stem += f"_{self._rng.randrange(2, 60)}"
            place = f"{UNKNOWN}/{folder}/{stem}/{name}" if name else f"{UNKNOWN}/{folder}/{stem}{suffix}"
            if place not in self._taken:
                self._taken.add(place)
                return place


def pieces(text: str) -> Iterator[str]:
    """Yield loose files cut out of a module: a few definitions in a row with the imports that they use."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return
    lines = text.split("\n")
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    rng = Random(_hash(text))
    group: list[str] = []
    left = rng.choice(GROUPS)
    for node in body[1:] if ast.get_docstring(ast.Module(body, [])) is not None else body:
        if node in imports:
            continue
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
        group.append("\n".join(lines[first - 1 : node.end_lineno]))
        left -= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if not left:
            yield _with_imports(imports, group)
            group, left = [], rng.choice(GROUPS)
    if any("def " in item for item in group):
        yield _with_imports(imports, group)


def _with_imports(imports: Sequence[ast.Import | ast.ImportFrom], group: Sequence[str]) -> str:
    used = set(re.findall(r"\w+", "\n".join(group)))
    shown = [
        ast.unparse(node)
        for node in imports
        if (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        or any((item.asname or item.name).partition(".")[0] in used for item in node.names)
    ]
    head = ["\n".join(shown)] if shown else []
    return "\n\n\n".join([*head, *group]) + "\n"


def _module(path: str) -> str:
    names = [*PurePosixPath(path).parts[:-1], PurePosixPath(path).name.removesuffix(".py")]
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def functions_in(
    texts: Mapping[str, str], homes: Mapping[str, Package], modules: Mapping[str, str]
) -> tuple[Function, ...]:
    """Return the documented public functions of files, by path and place."""
    return tuple(
        function
        for path in sorted(texts)
        for function in _functions(path, texts[path], homes[path], modules[path])
    )


def _until(files: Iterable[tuple[str, str]], room: int | None) -> dict[str, str]:
    """Return files up to a number of chunks; one that does not fit is left out."""
    kept: dict[str, str] = {}
    used = 0
    for path, text in files:
        if room is not None and used > 0.98 * room:
            break
        count = len(chunks_of(path, text)) if room is not None else 0
        if count and room is not None and used + count > room:
            continue
        if count or room is None:
            kept[path] = text
            used += count
    return kept


def _richest_first(files: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return files by how many documented functions each chunk brings, so that a small corpus has questions."""

    def density(item: tuple[str, str]) -> tuple[float, str]:
        path, text = item
        found = list(_definitions(text)) if path.endswith(".py") else []
        functions = sum("." not in symbol for symbol, _ in found)
        return -(len(found) + 2 * functions) / (100 + text.count("\n")), _hash(path)

    return sorted(files, key=density)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _definitions(text: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the documented public functions and methods of a module by qualified name."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return
    for node in body:
        if isinstance(node, ast.FunctionDef) and _asked_for(node):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and _asked_for(item):
                    yield f"{node.name}.{item.name}", item


def _asked_for(node: ast.FunctionDef) -> bool:
    words = (ast.get_docstring(node) or "").split()
    return not node.name.startswith("_") and len(words) >= LEAST_WORDS and bool(node.args.args)


def _functions(path: str, text: str, package: Package, module: str) -> Iterator[Function]:
    if not path.endswith(".py"):
        return
    found = list(_definitions(text))
    counts = Counter(symbol for symbol, _ in found)
    segments = Segments(text)
    for symbol, node in found:
        source = textwrap.dedent(" " * node.col_offset + segments.of(node))
        if len(source) > LONGEST or counts[symbol] > 1 or not parses(source):
            continue
        yield Function(
            package.name,
            path,
            module,
            symbol,
            source,
            ast.get_docstring(node) or "",
            path.startswith(f"{TRUSTED}/"),
            "." not in symbol and not node.decorator_list,
        )


def symbols_of(path: str, text: str) -> dict[str, Chunk]:
    """Return the functions and methods of a file as chunks, by symbol."""
    kinds = (ChunkKind.FUNCTION, ChunkKind.METHOD)
    return {chunk.symbol: chunk for chunk in chunks_of(path, text) if chunk.kind in kinds}
