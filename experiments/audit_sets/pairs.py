"""Read the sets of snippet pairs: an insecure text and its fixed twin, labelled with a CWE.

A set is a folder of `*.toml` files beside this module; each file holds one
family of pairs as `[[pair]]` tables. The sets are frozen: `set_digest` is
pinned by a test.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SETS = ("insecure", "insecure_holdout")
FIELDS = ("id", "cwe", "style", "note", "insecure", "fixed")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two Python texts that do the same job, one of them with a flaw.

    `cwe` is the number of the weakness, `style` the kind of code, `note` one
    line for readers of a report on what is wrong, `family` the stem of the
    file that holds the pair.
    """

    id: str
    cwe: int
    style: str
    note: str
    insecure: str
    fixed: str
    family: str


def load_pairs(name: str = "insecure") -> tuple[Pair, ...]:
    """Return the pairs of a set, by family and in the order of its file.

    Args:
        name: one of `SETS`.

    Raises:
        ValueError: an unknown set, or a table whose fields are not `FIELDS`.
    """
    return tuple(_pair(table, path) for path in _files(name) for table in _tables(path))


def set_digest(name: str) -> str:
    """Return the sha256 of a set, hexadecimal.

    It runs over the sorted files: name, newline, length of the text in bytes,
    newline, text in UTF-8 with `\\n` line ends. ValueError for an unknown set.
    """
    state = hashlib.sha256()
    for path in _files(name):
        text = path.read_text(encoding="utf-8").encode("utf-8")
        state.update(f"{path.name}\n{len(text)}\n".encode())
        state.update(text)
    return state.hexdigest()


def _files(name: str) -> list[Path]:
    if name not in SETS:
        raise ValueError(f"unknown set {name!r}, expected one of {', '.join(SETS)}")
    return sorted((HERE / name).glob("*.toml"), key=lambda path: path.name)


def _tables(path: Path) -> Iterator[dict[str, Any]]:
    yield from tomllib.loads(path.read_text(encoding="utf-8"))["pair"]


def _pair(table: dict[str, Any], path: Path) -> Pair:
    if tuple(table) != FIELDS:
        raise ValueError(f"{path.name}: fields {', '.join(table)}, expected {', '.join(FIELDS)}")
    return Pair(**table, family=path.stem)
