"""Which folders hold what a tool has put there rather than what somebody wrote there.

The tools' own records say so: the file that makes a folder a virtual environment, a package's list of installed
files, a nested repository. Names alone do not, except one that its tool prescribes.
"""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from codeguard.corpus.discovery import find_file, read_file
from codeguard.errors import CorpusError

NESTED = "another repository"
PACKAGE = "an installed package"
# What is in or beside a folder that a tool has filled, and what that folder is then.
RECORDS: Sequence[tuple[str, Sequence[str]]] = (
    ("a virtual environment", ["pyvenv.cfg"]),
    ("a conda environment", ["conda-meta/history"]),
    ("a vendored package", [".cargo-checksum.json"]),
    ("vendored packages", ["modules.txt", "../go.mod"]),
    ("vendored packages", ["composer/installed.json"]),
    ("a cache", ["CACHEDIR.TAG"]),
    (NESTED, [".git"]),
)
NAMED: Mapping[str, str] = {
    "node_modules": "packages of Node.js"
}  # the only place where Node.js looks for them
MOST_BYTES = 16_000_000  # of a list of installed files


class InstalledFolders:
    """Tells installed files from written ones; what it reads is kept for the run."""

    def __init__(self) -> None:
        self._kinds: dict[Path, str] = {}
        self._packages: dict[Path, frozenset[str]] = {}
        self._tops: dict[
            Path, tuple[bool, bool]
        ] = {}  # whether it is in an installed folder, in a repository

    def folder_of(self, path: Path, top: Path) -> tuple[Path, str] | None:
        """Return the outermost installed folder below `top` that holds a file, and what it is; None if none does.

        Args:
            path: the file, without links, in `top` or below it.
            top: the folder or file that the user named. If it is itself in an installed folder, that is meant:
                nothing is left out.
        """
        if top not in self._tops:
            above = (top, *top.parents)
            self._tops[top] = self._is_inside(top), any(self._kind(folder) == NESTED for folder in above)
        within, in_repository = self._tops[top]
        if within:
            return None
        inside = path.relative_to(top).parts
        for depth in range(1, len(inside) + 1):
            place = top.joinpath(*inside[:depth])
            kind = PACKAGE if place.name in self._installed_in(place.parent) else ""
            if not kind and depth < len(inside):
                kind = self._kind(place)
            if kind and (kind != NESTED or in_repository):
                return place, kind
        return None

    def _is_inside(self, top: Path) -> bool:
        return any(
            self._kind(folder) not in ("", NESTED) or folder.name in self._installed_in(folder.parent)
            for folder in (top, *top.parents)
        )

    def _kind(self, folder: Path) -> str:
        if folder not in self._kinds:
            found = (
                kind
                for kind, records in RECORDS
                if all(os.path.lexists(folder / record) for record in records)
            )
            self._kinds[folder] = next(found, NAMED.get(folder.name, ""))
        return self._kinds[folder]

    def _installed_in(self, folder: Path) -> frozenset[str]:
        """Return the names in a folder that the records of installed Python packages list."""
        if folder not in self._packages:
            self._packages[folder] = frozenset(_recorded(folder))
        return self._packages[folder]


def left_out(files: Iterable[tuple[str, Path]], tops: Sequence[Path]) -> tuple[set[str], dict[str, str]]:
    """Return the names of installed files among those of a corpus, and their folders' names, each with its kind.

    `tops` are the trusted paths, without links; files that are in none of them are not installed.
    """
    installed, names, folders = InstalledFolders(), set[str](), dict[str, str]()
    for name, path in files:
        holding = [top for top in tops if path.is_relative_to(top)]
        found = installed.folder_of(path, max(holding, key=lambda top: len(top.parts))) if holding else None
        if found is not None:
            names.add(name)
            folders[_name_of(name, path, found[0])] = found[1]
    return names, folders


def _name_of(name: str, path: Path, folder: Path) -> str:
    """Return the name of a folder, or of the file itself, from the name of a file in it."""
    below = len(path.parts) - len(folder.parts)
    return str(PurePosixPath(*PurePosixPath(name).parts[:-below])) if below else name


def _recorded(folder: Path) -> Iterable[str]:
    try:
        infos = [name for name in os.listdir(folder) if name.endswith(".dist-info")]  # noqa: PTH208
    except OSError:
        return
    for info in infos:
        with contextlib.suppress(CorpusError, csv.Error):
            data = read_file(find_file(folder / info / "RECORD", info), MOST_BYTES)
            for row in csv.reader(data.decode("utf-8", "replace").splitlines()):
                first = PurePosixPath(row[0]).parts[:1] if row else ()
                if first not in ((), ("..",), ("/",)):
                    yield first[0]
