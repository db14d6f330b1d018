"""Read functions with their documentation out of packages: wheels, npm's and Debian's archives, or folders.

    python -m experiments.embedding_training.functions OUT.jsonl ARCHIVE…

A line is a file with its functions. Tests, copies of other packages and
generated code are left out, and every function whose text or whose first
line of documentation occurs in the standard library or under `--without`,
since embeddings are measured there.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import random
import re
import subprocess
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from codeguard.corpus.chunking import chunk_file
from codeguard.models import Chunk, ChunkKind
from experiments.benchmarks.retrieval import raised_message
from experiments.benchmarks.standard_library import dedented, function_in, standard_files

MOST = {"python": 9_000, "java": 14_000, "go": 9_000, "rust": 9_000, "ruby": 4_000, "php": 2_500}
MOST_OTHERS = 2_000  # functions of one package of JavaScript or TypeScript
LARGEST_FILE = 400_000  # bytes
UNDOCUMENTED = 0.25  # share of the functions that are kept though nothing is said about them
SUFFIXES = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".rb": "ruby",
    ".php": "php",
}
_LEFT_OUT = re.compile(
    r"/(tests?|testing|_?vendor(ed)?|_vendored_packages|third_party|node_modules|idlelib|migrations|locales?|examples?"
    r"|dist|build|min|compat)[/.]|\.min\.|conftest|_pb2|/test_|_test\.|\.d\.ts$|\.spec\."
)
_LEADING = re.compile(r"\A(\s*(/\*.*?\*/|(//|#)[^\n]*\n|#\[[^\n]*\n|@[^\n]*\n)\s*)+", re.S)
_COMMENT_SIGNS = re.compile(r"^\s*(/\*\*?|\*/|\*|///?!?|#+)\s?")
_MARKUP = re.compile(r"<[^>]{1,80}>|\{@\w+ ([^}]*)\}")
_NO_PROSE = re.compile(r"[=(){};]{2,}|noqa|type:|pylint|eslint|Copyright|License")


@dataclass(frozen=True, slots=True)
class Function:
    """A function without its documentation, which stood at `documented_at`; comments with where they stand."""

    symbol: str
    code: str
    documentation: str
    documented_at: int
    comments: list[tuple[str, int, int]]
    message: str


def functions_of(path: str, raw: bytes) -> Iterator[Function]:
    """Yield the functions and methods of a file that has any."""
    language = SUFFIXES[Path(path).suffix]
    for chunk in chunk_file(path, raw).chunks:
        if chunk.kind in (ChunkKind.FUNCTION, ChunkKind.METHOD) and len(chunk.text) >= 40:
            found = _of_python(chunk) if language == "python" else _of_another(chunk)
            if found is not None:
                code, documentation, at, message = found
                comments = _comments(code[:1800], "#" if language in ("python", "ruby") else "//")
                yield Function(chunk.symbol, code[:1800], documentation[:400], at, comments, message[:160])


def digest(text: str) -> str:
    """Return what two texts share that differ in white space alone."""
    return hashlib.sha256(re.sub(r"\s+", "", text).encode("utf-8", "replace")).hexdigest()[:16]


def _of_python(chunk: Chunk) -> tuple[str, str, int, str] | None:
    text = dedented(chunk.text)
    function = function_in(text)
    if function is None:
        return None
    documentation = ast.get_docstring(function) or ""
    lines = text.splitlines(keepends=True)
    at = len(text)
    if documentation:
        if len(function.body) < 2:
            return None
        string = function.body[0]
        at = len("".join(lines[: string.lineno - 1]))
        lines = [*lines[: string.lineno - 1], *lines[string.end_lineno :]]
    return ("".join(lines), documentation, at, raised_message(function)) if len(lines) > 1 else None


def _of_another(chunk: Chunk) -> tuple[str, str, int, str]:
    text = dedented(chunk.text)
    leading = _LEADING.match(text)
    if leading is None:
        return text, "", 0, ""
    return text[leading.end() :], _without_signs(leading[0]), 0, ""


def _without_signs(comment: str) -> str:
    """Return the prose of a comment up to its first tag."""
    said: list[str] = []
    for line in comment.splitlines():
        line = _COMMENT_SIGNS.sub("", line).replace("*/", "").rstrip()
        if line.startswith("@desc"):
            line = line.partition(" ")[2]
        elif line.startswith(("@", "#[", "[")):
            if said:
                break
            continue
        said.append(line)
    return _MARKUP.sub(r"\1", "\n".join(said)).strip()


def _comments(code: str, sign: str) -> list[tuple[str, int, int]]:
    """Return the first two comments of a line that say something, with where the line begins and ends."""
    lines = re.finditer(rf"^[ \t]*{sign}[ \t]*([A-Za-z].{{12,}}?)$", code, re.M)
    told = (line for line in lines if len(line[1].split()) >= 4 and not _NO_PROSE.search(line[1]))
    return [(line[1][:160], line.start(), line.end()) for line in told][:2]


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the source files of an archive or folder."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as opened:
            for item in opened.infolist():
                if _is_wanted(item.filename, item.file_size):
                    yield item.filename, opened.read(item)
    elif archive.name.endswith((".tgz", ".tar.gz")):
        with tarfile.open(archive) as opened_tar:
            for member in opened_tar:
                content = opened_tar.extractfile(member) if _is_wanted(member.name, member.size) else None
                if content is not None:
                    yield member.name, content.read()
    elif archive.suffix == ".deb":
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["dpkg", "-x", archive, folder], check=True)
            for inner in Path(folder).rglob("src.zip"):  # as OpenJDK ships its sources
                yield from members(inner)
            yield from members(Path(folder))
    else:
        for path in archive.rglob("*"):
            name = path.relative_to(archive).as_posix()
            if path.is_file() and not path.is_symlink() and _is_wanted(name, path.stat().st_size):
                yield name, path.read_bytes()


def _is_wanted(name: str, size: int) -> bool:
    return Path(name).suffix in SUFFIXES and size < LARGEST_FILE and not _LEFT_OUT.search("/" + name)


def package(archive: Path, without: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Return the files of a package with their functions, as many as one package may have, no function twice."""
    warnings.simplefilter("ignore", SyntaxWarning)
    chance = random.Random(archive.name)
    files = list(members(archive))
    chance.shuffle(files)
    result: list[dict[str, Any]] = []
    seen = set(without)
    count = 0
    for path, raw in files:
        language = SUFFIXES[Path(path).suffix]
        if count >= MOST.get(language, MOST_OTHERS):
            break
        kept = []
        for function in functions_of(path, raw):
            marks = {digest(function.code), digest(function.documentation.strip().partition("\n")[0])}
            told = function.documentation or function.comments or function.message
            if marks.isdisjoint(seen) and (told or chance.random() < UNDOCUMENTED):
                seen.add(digest(function.code))
                kept.append(asdict(function))
        count += len(kept)
        if kept:
            about = _about_module(raw) if language == "python" else ""
            result.append(
                {
                    "package": archive.name,
                    "language": language,
                    "path": path,
                    "about": about,
                    "functions": kept,
                }
            )
    return result


def _about_module(raw: bytes) -> str:
    try:
        return (ast.get_docstring(ast.parse(raw)) or "")[:300]
    except (SyntaxError, ValueError):
        return ""


def measured_on(folders: list[Path]) -> frozenset[str]:
    """Return the digests of the functions, and of their first lines of documentation, of what is measured on."""
    files = [*standard_files(), *(path for folder in folders for path in folder.rglob("*.py"))]
    digests = set()
    for path in files:
        for function in functions_of(path.name, path.read_bytes()):
            digests.add(digest(function.code))
            first = function.documentation.strip().partition("\n")[0]
            if len(first.split()) >= 4:
                digests.add(digest(first))
    return frozenset(digests)


def main() -> None:
    """Write the functions of every archive and say how many there are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("archives", type=Path, nargs="+")
    parser.add_argument(
        "--without", type=Path, action="append", default=[], help="folder of code to measure on"
    )
    arguments = parser.parse_args()
    without = measured_on(arguments.without)
    with arguments.out.open("w", encoding="utf-8") as out, ProcessPoolExecutor() as pool:
        for archive, files in zip(
            arguments.archives, pool.map(partial(package, without=without), arguments.archives), strict=True
        ):
            print(archive.name, sum(len(file["functions"]) for file in files), flush=True)
            out.writelines(json.dumps(file) + "\n" for file in files)


if __name__ == "__main__":
    main()
