"""Corpora: which files stand on the trusted and on the unknown side of a pair, and the functions that they hold."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from codeguard.corpus.chunking import chunk_file
from codeguard.models import Chunk, ChunkKind
from experiments.benchmark.packages import Package, Pair, sources
from experiments.corpus.selection import parses
from experiments.corpus.targets import Segments

TRUSTED, UNKNOWN = "ours", "theirs"
TRUSTED_SHARE = 0.4
NOTES_SHARE = 0.05
LEAST_WORDS = 4
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

    `homes` says from which package, by label, a file comes.
    """

    pair: str
    texts: Mapping[str, str]
    functions: tuple[Function, ...]
    homes: Mapping[str, Package]

    def digest(self) -> str:
        """Return a sha256 over paths and texts."""
        state = hashlib.sha256()
        for path in sorted(self.texts):
            state.update(f"{path}\0{hashlib.sha256(self.texts[path].encode()).hexdigest()}\n".encode())
        return state.hexdigest()

    def write(self, folder: Path) -> None:
        """Write the files below a folder."""
        for path, text in self.texts.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="")


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
    homes = dict.fromkeys(kept, pair.trusted)
    wanted = {path.rpartition("/")[2] for path in kept}
    packages = [package for package in pair.unknown if large or not package.large_only]
    queues = []
    for package in packages:
        files = [
            (f"{UNKNOWN}/{package.label}/{path}", text) for path, text in sources(package, folder).items()
        ]
        homes |= {path: package for path, _ in files}
        files.sort(key=lambda item: (item[0].rpartition("/")[2] not in wanted, _hash(item[0])))
        queues.append(files)
    room = None if size is None else int(size * (1 - TRUSTED_SHARE - NOTES_SHARE))
    texts = {**kept, **_until(_round_robin(queues), room)}
    functions = functions_in(texts, homes)
    count = sum(len(chunks_of(path, text)) for path, text in texts.items())
    notes = _notes([item for item in functions if not item.trusted and item.plain], int(count * NOTES_SHARE))
    return Corpus(pair.name, {**texts, **notes}, functions, {path: homes[path] for path in texts})


def functions_in(texts: Mapping[str, str], homes: Mapping[str, Package]) -> tuple[Function, ...]:
    """Return the documented public functions of files, by path and place."""
    return tuple(
        function for path in sorted(texts) for function in _functions(path, texts[path], homes[path])
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


def _round_robin(queues: Sequence[Sequence[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    for place in range(max(map(len, queues), default=0)):
        for queue in queues:
            if place < len(queue):
                yield queue[place]


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


def _functions(path: str, text: str, package: Package) -> Iterator[Function]:
    if not path.endswith(".py"):
        return
    found = list(_definitions(text))
    counts = Counter(symbol for symbol, _ in found)
    segments = Segments(text)
    inside = PurePosixPath(path).parts[1 if path.startswith(f"{TRUSTED}/") else 2 :]
    names = [*inside[:-1], inside[-1].removesuffix(".py")]
    module = ".".join(names[:-1] if names[-1] == "__init__" else names)
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


def _notes(functions: Sequence[Function], room: int) -> dict[str, str]:
    """Return snippets, Markdown pages and notebooks as people keep them, about functions of the unknown side."""
    chosen = sorted(functions, key=lambda item: _hash(f"note:{item.id}"))
    made: dict[str, str] = {}
    used = 0
    for number, function in enumerate(chosen):
        suffix, text = (_snippet, _markdown, _notebook)[number % 3](function)
        path = f"{UNKNOWN}/notes/{_hash(function.id)[:10]}{suffix}"
        count = len(chunks_of(path, text))
        if used + count > room:
            break
        made[path] = text
        used += count
    return made


def _summary(function: Function) -> str:
    return re.sub(r"\s+", " ", function.docstring.split("\n\n")[0]).strip()


def _example(function: Function) -> str:
    lines = re.findall(r"^\s*>>> (.*)$", function.docstring, re.MULTILINE)
    return "\n".join(lines) or f"from {function.module} import {function.symbol}"


def _snippet(function: Function) -> tuple[str, str]:
    return ".py", f"# kept from {function.package}\n\n\n{function.source}\n"


def _markdown(function: Function) -> tuple[str, str]:
    title = function.symbol.replace("_", " ")
    return ".md", (
        f"# {title}\n\n{_summary(function)}\n\n```python\n{function.source}\n```\n\n"
        f"Used like this:\n\n```python\n{_example(function)}\n```\n"
    )


def _notebook(function: Function) -> tuple[str, str]:
    return ".ipynb", notebook(
        [("markdown", f"# {function.symbol}\n\n{_summary(function)}"), ("code", function.source)]
    )


def notebook(cells: Sequence[tuple[str, str]]) -> str:
    """Return a notebook (format 4.5) of cells, each of a kind and a text."""
    made = []
    for number, (kind, text) in enumerate(cells):
        cell: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = text.splitlines(keepends=True)
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        made.append(cell)
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
