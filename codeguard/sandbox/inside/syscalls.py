"""System calls by number, and what the two filters let through, for x86-64 and arm64: the rows of `syscalls.toml`."""

from __future__ import annotations

import errno
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


class Argument(NamedTuple):
    """An argument that a filter compares: its place, its name, and each value that it may have, with a name."""

    place: int
    name: str
    values: dict[str, int]


class Allowed(NamedTuple):
    """An allowed call: the arguments compared, the object of the kernel's behind it, who shares that, and the need.

    The texts are the columns of the table in docs/reference.md.
    """

    arguments: tuple[Argument, ...]
    object: str
    shared: str
    need: str


def _allowed(rows: dict[str, Any]) -> dict[str, Allowed]:
    arguments = {
        call: tuple(Argument(**item) for item in row.pop("arguments", ())) for call, row in rows.items()
    }
    return {call: Allowed(arguments[call], **row) for call, row in rows.items()}


CHILD = _allowed(_TABLES["child"])
ZYGOTE = _allowed(_TABLES["zygote"])
REFUSED: dict[str, int] = {
    name: getattr(errno, code) for code, names in _TABLES["refused"].items() for name in names.split()
}

MACHINES: dict[str, int] = {"x86_64": 0, "amd64": 0, "aarch64": 1, "arm64": 1}
AUDIT_ARCH: tuple[int, int] = (0xC000003E, 0xC00000B7)


def column(machine: str) -> int | None:
    """Return the column of `NUMBERS` for a machine name of `uname -m`, None for another machine."""
    return MACHINES.get(machine.lower())


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


# a call that a machine does not have has the number None there
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    name: (_number(first), _number(second))
    for name, first, second in (entry.split(":") for entry in _TABLES["numbers"]["calls"].split())
}
