"""Functions that everyone who runs them trusts, and thus everyone's twins: the standard library, and locked packages.

A function of unknown origin that claims to be one of them is compared with it where nothing of the team's own says what
it should do. The standard library is read from the interpreter's own folder; a package from a wheel that the user
names, whose digest stands in a trusted file of requirements. Nothing of them is imported here, so that no corpus can
stand in for one. A file is parsed once a function claims one of its functions.
"""

from __future__ import annotations

import io
import re
import sys
import sysconfig
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from pathlib import Path

from codeguard.behavior.matching.claims import LEAST_COMMON_CODE, Features, Similarity, function_features
from codeguard.behavior.source.definitions import Module, parse_or_none
from codeguard.behavior.source.importing import Tree, TrustedModules
from codeguard.behavior.specs.references import Reference, references_of
from codeguard.corpus.discovery import find_file, read_file
from codeguard.errors import ConfigError, CorpusError
from codeguard.models import SourceFile, text_digest

LEAST_SAID = 0.75  # of the words of a description
MOST_NAMESAKES = 6  # files with a function of one name: more have it by custom, such as `main`
MOST_KEPT = 16  # modules
MOST_FEATURES = 1_024  # functions
LARGEST_WHEEL = 64_000_000  # bytes
MOST_CHARACTERS = 64_000_000  # of all wheels
Wheels = Sequence[tuple[str, Mapping[str, str]]]
"""Name and version of each, and the texts of its files of Python by path."""
_UNREADABLE = (CorpusError, OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error)
_LEFT_OUT = frozenset({"idlelib", "lib2to3", "test", "tkinter", "turtledemo"})
_DEFINITION = re.compile(r"^def ([^\W_]\w*)\(", re.MULTILINE)
_NEXT = re.compile(r"\n(?=[^\s)#])")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})(?![0-9a-f])")


class Shelf:
    """Functions of files that can be run together, found by their names.

    `whose` names the owner of a file by the first part of its path; `texts` gives them by path.
    """

    def __init__(self, whose: Mapping[str, str], texts: Callable[[], Mapping[str, str]]) -> None:
        self._whose, self._texts = whose, texts
        self.features_of = lru_cache(MOST_FEATURES)(self._features_of)
        self.references_in = lru_cache(MOST_KEPT)(self._references_in)

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield the public functions of public files, each name with its file."""
        for path, text in self._texts().items():
            private = any(part.startswith("_") and part != "__init__.py" for part in path.split("/"))
            for name in () if private else set(_DEFINITION.findall(text)):
                yield name, path

    @cached_property
    def _modules(self) -> TrustedModules:
        return TrustedModules(Tree(self._texts()))

    def _features_of(self, path: str, name: str) -> Sequence[Features]:
        """Return the features of the functions of a name in a file, of which only these functions are parsed."""
        text, found = self._modules.tree.texts[path], []
        for start in re.finditer(rf"^def {name}\(", text, re.MULTILINE):
            end = _NEXT.search(text, start.end())
            tree = parse_or_none(text[start.start() : end.start() if end is not None else len(text)])
            found += [function_features(item) for item in Module(tuple(tree.body)).listed[:1]] if tree else []
        return found

    def _references_in(self, path: str) -> Sequence[Reference]:
        text = self._modules.tree.texts[path]
        file = SourceFile(path, text, text_digest(text), "python", ())
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        whose = f"{self._whose[path.partition('/')[0]]}'s {module}"
        return [replace(item, whose=whose) for item in references_of(file, self._modules)]


class Everyones:
    """The functions of locked packages and of the standard library; too common names are left out.

    `standard` are the library's `public_functions`, where they are known already.
    """

    def __init__(self, locked: Iterable[Shelf], standard: Mapping[str, Sequence[str]] | None = None) -> None:
        found: dict[str, list[tuple[Shelf, str]]] = {}
        for shelf in locked:
            for name, path in shelf.names():
                found.setdefault(name, []).append((shelf, path))
        shelves = _standard_library()
        for name, paths in (standard or public_functions()).items():
            named = ((shelves[_top(path)], path) for path in paths if _top(path) in shelves)
            found.setdefault(name, []).extend(named)
        self._places = {name: places for name, places in found.items() if len(places) <= MOST_NAMESAKES}

    def twins_of(self, wanted: Features) -> list[tuple[Reference, Similarity]]:
        """Return the functions that a function claims to be, best match first."""
        name = wanted.written_name
        found = []
        for shelf, path in () if wanted.owner else self._places.get(name, ()):
            if any(_claims(Similarity(wanted, item)) for item in shelf.features_of(path, name)):
                found += [(item, Similarity(wanted, item.features)) for item in shelf.references_in(path)]
        said = [pair for pair in found if pair[0].qualified_name == name and _claims(pair[1])]
        return sorted((pair for pair in said if pair[0].usable is not None), key=lambda pair: -pair[1].score)


def _claims(pair: Similarity) -> bool:
    """Return whether the signature, together with the text or the description, says that it is this function."""
    said = pair.overlap.near_copy or (pair.doc or 0.0) >= LEAST_SAID or pair.body >= LEAST_COMMON_CODE
    return said and pair.same_signature and pair.comparable


@lru_cache(maxsize=1)
def _standard_library() -> Mapping[str, Shelf]:
    """Return the modules of the interpreter's library."""
    name = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    tops = sorted(sys.stdlib_module_names - _LEFT_OUT)
    return {top: Shelf(dict.fromkeys((top, f"{top}.py"), name), partial(_standard, top)) for top in tops}


def _top(path: str) -> str:
    return path.partition("/")[0].removesuffix(".py")


@lru_cache(maxsize=1)
def public_functions() -> Mapping[str, Sequence[str]]:
    """Return the files of the standard library's public modules with a function of a name, by name."""
    found: dict[str, list[str]] = {}
    for shelf in _standard_library().values():
        for name, path in shelf.names():
            found.setdefault(name, []).append(path)
    return found


def _standard(top: str) -> dict[str, str]:
    root = Path(sysconfig.get_path("stdlib"))
    files = [own] if (own := root / f"{top}.py").is_file() else sorted((root / top).rglob("*.py"))
    return {file.relative_to(root).as_posix(): file.read_text("utf-8", "replace") for file in files}


def wheels_in(paths: Iterable[str]) -> list[Path]:
    """Return wheels by their paths, and those of folders that need no certain machine.

    Raises:
        ConfigError: a path is relative, or there is no wheel.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        files = sorted(path.glob("*-none-any.whl")) if path.is_dir() else [path]
        if not path.is_absolute() or not files or any(x.suffix != ".whl" or not x.is_file() for x in files):
            expected = "absolute paths of wheels, or of folders with wheels for any machine"
            raise ConfigError("wheels of [defense]", got=str(path), expected=expected)
        found += files
    return found


def locked_wheels(paths: Iterable[str], trusted: Iterable[SourceFile]) -> tuple[Wheels, list[str]]:
    """Return the wheels that a trusted file of requirements has a hash of, and the names of the others.

    Its lines are those that pip reads: `click==8.1.8 --hash=sha256:…`.

    Raises:
        ConfigError: a wheel cannot be read, or all of them are too large.
    """
    files = (file for file in trusted if file.path.endswith(".txt"))
    digests = {digest for file in files for digest in _HASH.findall(file.text)}
    found: list[tuple[str, Mapping[str, str]]] = []
    others: list[str] = []
    left = MOST_CHARACTERS
    for path in wheels_in(paths):
        try:
            data = read_file(find_file(path, path.name), LARGEST_WHEEL)
            if sha256(data).hexdigest() not in digests:
                others.append(path.name)
                continue
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = [item for item in archive.infolist() if item.filename.endswith(".py")]
                left -= sum(item.file_size for item in members)
                if left < 0:
                    raise CorpusError(f"more than {MOST_CHARACTERS} characters in all of them")
                texts = {item.filename: archive.read(item).decode("utf-8", "replace") for item in members}
        except _UNREADABLE as error:
            got = f"{path} ({error})"
            raise ConfigError("wheels of [defense]", got=got, expected="as pip downloads them") from error
        found.append((" ".join(path.name.split("-")[:2]), texts))
    return found, others


def locked_shelf(wheels: Wheels) -> Shelf:
    """Return the functions of wheels, which may import one another."""
    whose: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, files in wheels:
        texts |= files
        whose |= dict.fromkeys((path.partition("/")[0] for path in files), f"{name} (locked)")
    return Shelf(whose, lambda: texts)
