"""Packages that a project declares in lock files, requirements, pyproject.toml, setup.cfg, package.json."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from codeguard.analysis.rules.imports.known import normalised
from codeguard.corpus.patterns import lazy
from codeguard.models import SourceFile

LONGEST = 5_000_000  # maximum characters of a file read for declarations
_NAME = lazy(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_EGG = lazy(r"#(?:.*&)?egg=([A-Za-z0-9][A-Za-z0-9._-]*)")
_REQUIREMENTS = lazy(
    r"(?:^|[-_./])(?:requirements|constraints)[\w.-]*\.(?:txt|in|lock)$|/requirements/[^/]+\.(?:txt|in)$"
)
_NODE = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")


def declared_packages(files: Iterable[SourceFile]) -> frozenset[str]:
    """Return the normalised names that files declare; files that do not parse declare nothing."""
    found: set[str] = set()
    for file in files:
        read = _reader(file.path)
        if read is not None and len(file.text) <= LONGEST:
            try:
                found.update(normalised(name) for name in read(file.text))
            except (ValueError, TypeError, AttributeError, configparser.Error, RecursionError):
                continue
    return frozenset(found)


def declares_packages(path: str) -> bool:
    """Return whether a file of this name can declare packages."""
    return _reader(path) is not None


def modules_of(paths: Iterable[str]) -> frozenset[str]:
    """Return the normalised names by which files may be imported, for any root folder above them."""
    found: set[str] = set()
    for path in paths:
        *folders, name = path.split("/")
        found.update(folders)
        found.add(name.partition(".")[0])
    return frozenset(normalised(name) for name in found if name)


def _reader(path: str) -> Callable[[str], Iterator[str]] | None:
    name = path.rpartition("/")[2].lower()
    if name in _READERS:
        return _READERS[name]
    if re.fullmatch(r"pylock(?:\.[\w-]+)?\.toml", name):
        return _locked
    return _required if _REQUIREMENTS.search("/" + path.lower()) else None


def _required(text: str) -> Iterator[str]:
    for line in text.splitlines():
        match = _EGG.search(line) if line.lstrip().startswith("-") else _NAME.match(line)
        if match is not None:
            yield match[1]


def _names(listed: object) -> Iterator[str]:
    """Yield the names in a list of requirements, or in a mapping whose keys are packages."""
    for item in listed if isinstance(listed, list | dict) else ():
        match = _NAME.match(item) if isinstance(item, str) else None
        if match is not None:
            yield match[1]


def _pyproject(text: str) -> Iterator[str]:
    value = tomllib.loads(text)
    project, tool = _table(value, "project"), _table(value, "tool")
    yield from _names([project.get("name")])
    yield from _names(project.get("dependencies"))
    groups = [project.get("optional-dependencies"), value.get("dependency-groups")]
    groups.append(_table(tool, "pdm").get("dev-dependencies"))
    for group in groups:
        for listed in group.values() if isinstance(group, dict) else ():
            yield from _names(listed)
    yield from _names(_table(value, "build-system").get("requires"))
    yield from _names(_table(tool, "uv").get("dev-dependencies"))
    poetry = _table(tool, "poetry")
    yield from _names([poetry.get("name")])
    yield from _names(poetry.get("dependencies"))
    yield from _names(poetry.get("dev-dependencies"))
    for group in _table(poetry, "group").values():
        yield from _names(_table({"group": group}, "group").get("dependencies"))


def _locked(text: str) -> Iterator[str]:
    value = tomllib.loads(text)
    for listed in (value.get("package"), value.get("packages")):
        for item in listed if isinstance(listed, list) else ():
            yield from _names([item.get("name")])


def _pipfile(text: str) -> Iterator[str]:
    value = tomllib.loads(text)
    for name in ("packages", "dev-packages"):
        yield from _names(value.get(name))


def _pipfile_lock(text: str) -> Iterator[str]:
    value = json.loads(text)
    for name in ("default", "develop"):
        yield from _names(value.get(name))


def _setup_cfg(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    yield from _names([parser.get("metadata", "name", fallback="")])
    yield from _required(parser.get("options", "install_requires", fallback=""))
    extras = "options.extras_require"
    for name in parser.options(extras) if parser.has_section(extras) else ():
        yield from _required(parser.get(extras, name))


def _package_json(text: str) -> Iterator[str]:
    value = json.loads(text)
    names = [value.get("name"), *(name for key in _NODE for name in _table(value, key))]
    yield from (name for name in names if isinstance(name, str) and name)


def _package_lock(text: str) -> Iterator[str]:
    value = json.loads(text)
    yield from _table(value, "dependencies")
    for path in _table(value, "packages"):
        if path:
            yield path.rpartition("node_modules/")[2]


def _table(value: object, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


_READERS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "pyproject.toml": _pyproject,
    "poetry.lock": _locked,
    "uv.lock": _locked,
    "pdm.lock": _locked,
    "pipfile": _pipfile,
    "pipfile.lock": _pipfile_lock,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
    "package-lock.json": _package_lock,
}
