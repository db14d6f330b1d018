"""The standard library of the interpreter: functions that everyone who runs them trusts, and thus everyone's twins.

A function of unknown origin that claims to be one of them is compared with it where nothing of the team's own says what
it should do. Its files are read from the interpreter's own folder, and nothing of them is imported here, so that no
corpus can stand in for one. A file is parsed once a function claims one of its functions.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from codeguard.behavior.matching.claims import LEAST_COMMON_CODE, Features, Similarity, function_features
from codeguard.behavior.source.definitions import Module, parse_or_none
from codeguard.behavior.source.importing import Tree, TrustedModules
from codeguard.behavior.specs.references import Reference, references_of
from codeguard.models import SourceFile, text_digest

NAME = f"Python {sys.version_info.major}.{sys.version_info.minor}"
LEAST_SAID = 0.75  # of the words of a description
MOST_NAMESAKES = 6  # files with a function of one name: more have it by custom, such as `main`
MOST_KEPT = 16  # modules
MOST_FEATURES = 1_024  # functions
_LEFT_OUT = frozenset({"idlelib", "lib2to3", "test", "tkinter", "turtledemo"})
_DEFINITION = re.compile(r"^def ([^\W_]\w*)\(", re.MULTILINE)
_NEXT = re.compile(r"\n(?=[^\s)#])")


def twins_of(
    wanted: Features, places: Mapping[str, Sequence[str]] | None = None
) -> list[tuple[Reference, Similarity]]:
    """Return the functions of the standard library that a function claims to be, best match first.

    `places` are the `public_functions`, where they are known already.
    """
    name = wanted.written_name
    paths = () if wanted.owner else (places or public_functions()).get(name, ())
    claimed = [
        path for path in paths if any(_claims(Similarity(wanted, item)) for item in _features(path, name))
    ]
    pairs = ((item, Similarity(wanted, item.features)) for path in claimed for item in _references(path))
    found = [pair for pair in pairs if pair[0].qualified_name == name and _claims(pair[1])]
    return sorted((pair for pair in found if pair[0].usable is not None), key=lambda pair: -pair[1].score)


def _claims(pair: Similarity) -> bool:
    """Return whether the signature, together with the text or the description, says that it is this function."""
    said = pair.overlap.near_copy or (pair.doc or 0.0) >= LEAST_SAID or pair.body >= LEAST_COMMON_CODE
    return said and pair.same_signature and pair.comparable


@cache
def public_functions() -> Mapping[str, Sequence[str]]:
    """Return the files of public modules with a function of a name, by name; too common names are left out."""
    found: dict[str, list[str]] = {}
    for top in sorted(sys.stdlib_module_names - _LEFT_OUT):
        for path, text in _texts(top).items():
            private = any(part.startswith("_") and part != "__init__.py" for part in path.split("/"))
            for name in () if private else set(_DEFINITION.findall(text)):
                found.setdefault(name, []).append(path)
    return {name: paths for name, paths in found.items() if len(paths) <= MOST_NAMESAKES}


@cache
def _root() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _texts(top: str) -> dict[str, str]:
    """Return the texts of a module's files by their path below the interpreter's folder."""
    root = _root()
    own = root / f"{top}.py"
    files = [own] if own.is_file() else sorted((root / top).rglob("*.py"))
    return {file.relative_to(root).as_posix(): file.read_text("utf-8", "replace") for file in files}


@lru_cache(maxsize=MOST_KEPT)
def _modules(top: str) -> TrustedModules:
    return TrustedModules(Tree(_texts(top)))


def _modules_around(path: str) -> TrustedModules:
    return _modules(path.partition("/")[0].removesuffix(".py"))


@lru_cache(maxsize=MOST_FEATURES)
def _features(path: str, name: str) -> Sequence[Features]:
    """Return the features of the functions of a name in a file, of which only these functions are parsed."""
    text, found = _modules_around(path).tree.texts[path], []
    for start in re.finditer(rf"^def {name}\(", text, re.MULTILINE):
        end = _NEXT.search(text, start.end())
        tree = parse_or_none(text[start.start() : end.start() if end is not None else len(text)])
        found += [function_features(item) for item in Module(tuple(tree.body)).listed[:1]] if tree else []
    return found


@lru_cache(maxsize=MOST_KEPT)
def _references(path: str) -> Sequence[Reference]:
    modules = _modules_around(path)
    text = modules.tree.texts[path]
    file = SourceFile(path, text, text_digest(text), "python", ())
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return [replace(item, whose=f"{NAME}'s {module}") for item in references_of(file, modules)]
