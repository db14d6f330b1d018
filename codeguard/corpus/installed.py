"""Which folders hold what a tool has put there rather than what somebody wrote there.

The tools' own records say so: the file that makes a folder a virtual environment, a package's list of installed
files, a nested repository. Names alone do not, except one that its tool prescribes.
"""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
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
# The only place where Node.js looks for them.
NAMED: Mapping[str, str] = {"node_modules": "packages of Node.js"}
MOST_BYTES = 16_000_000  # of a list of installed files


def left_out(files: Iterable[tuple[str, Path]], tops: Sequence[Path]) -> tuple[set[str], dict[str, str]]:
    """Return the names of installed files among those of a corpus, and their folders' names, each with its kind.

    Args:
        files: names and paths, without links. Those that are in none of the tops are not installed.
        tops: the trusted paths, without links. If one is itself in an installed folder, that is meant: nothing in it
            is left out.
    """
    # What is read is kept for the run.
    kind, packages = cache(_kind), cache(_packages)

    def is_inside(top: Path) -> bool:
        return any(
            kind(folder) not in ("", NESTED) or folder.name in packages(folder.parent)
            for folder in (top, *top.parents)
        )

    within = {top: is_inside(top) for top in tops}
    in_repository = {top: any(kind(folder) == NESTED for folder in (top, *top.parents)) for top in tops}

    def folder_of(path: Path, top: Path) -> tuple[Path, str] | None:
        """Return the outermost installed folder below `top` that holds a file, and what it is."""
        inside = path.relative_to(top).parts
        for depth in range(1, len(inside) + 1):
            place = top.joinpath(*inside[:depth])
            found = PACKAGE if place.name in packages(place.parent) else ""
            if not found and depth < len(inside):
                found = kind(place)
            if found and (found != NESTED or in_repository[top]):
                return place, found
        return None

    names, folders = set[str](), dict[str, str]()
    for name, path in files:
        top = max(
            (top for top in tops if path.is_relative_to(top)), key=lambda top: len(top.parts), default=None
        )
        found = None if top is None or within[top] else folder_of(path, top)
        if found is not None:
            names.add(name)
            # The folder's name, or that of the file itself, from the name of a file in it.
            below = len(path.parts) - len(found[0].parts)
            folder = str(PurePosixPath(*PurePosixPath(name).parts[:-below])) if below else name
            folders[folder] = found[1]
    return names, folders


def _kind(folder: Path) -> str:
    for kind, records in RECORDS:
        if all(os.path.lexists(folder / record) for record in records):
            return kind
    return NAMED.get(folder.name, "")


def _packages(folder: Path) -> frozenset[str]:
    """Return the names in a folder that the records of installed Python packages list."""
    try:
        infos = [name for name in os.listdir(folder) if name.endswith(".dist-info")]  # noqa: PTH208
    except OSError:
        return frozenset()
    found = set()
    for info in infos:
        with contextlib.suppress(CorpusError, csv.Error):
            data = read_file(find_file(folder / info / "RECORD", info), MOST_BYTES)
            for row in csv.reader(data.decode("utf-8", "replace").splitlines()):
                first = PurePosixPath(row[0]).parts[:1] if row else ()
                if first not in ((), ("..",), ("/",)):
                    found.add(first[0])
    return frozenset(found)
