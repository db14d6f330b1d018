"""System calls by number, and the two seccomp filters of what is let through, for x86-64 and arm64.

The tables are the rows of `syscalls.toml`. A filter is classic BPF, assembled here: no compiler, no libseccomp. It goes
from a call's number to an action or a small check of the arguments by a binary search: seven or eight comparisons a
call, and the kernel keeps the constant answers in a bitmap.
"""

from __future__ import annotations

import errno
import struct
import sys
import tomllib
from collections.abc import Mapping, Sequence
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


ALLOW = 0x7FFF0000
KILL = 0x80000000  # SECCOMP_RET_KILL_PROCESS: the wait status says SIGSYS
ERRNO = 0x00050000

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP = 0x05  # BPF_JMP | BPF_JA
_JEQ = 0x15
_JGE = 0x35
_RETURN = 0x06

_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_LOW = 0 if sys.byteorder == "little" else 4

Instruction = tuple[int, int, int, int]
Program = list[Instruction]


def _return(action: int) -> Program:
    return [(_RETURN, 0, 0, action)]


def _checked(arguments: Sequence[Argument]) -> Program:
    """Allow a call if each of these arguments has one of its values."""
    program: Program = []
    for argument in arguments:
        values = argument.values.values()
        program.append((_LOAD, 0, 0, _ARGUMENTS + 8 * argument.place + _LOW))
        program += [(_JEQ, len(values) - place, 0, value) for place, value in enumerate(values)]
        program += _return(ERRNO | errno.EPERM)
    return program + _return(ALLOW)


def _tree(cases: list[tuple[int, Program]]) -> Program:
    """Search `cases` (first number of an interval, its program), sorted, first number 0."""
    if len(cases) == 1:
        return cases[0][1]
    middle = len(cases) // 2
    left, right = _tree(cases[:middle]), _tree(cases[middle:])
    pivot = cases[middle][0]
    if len(left) <= 255:
        return [(_JGE, len(left), 0, pivot), *left, *right]
    return [(_JGE, 0, 1, pivot), (_JUMP, 0, 0, len(left)), *left, *right]


def assemble(machine: int, actions: Mapping[int, Program], default: int = KILL) -> bytes:
    """Return the filter for a column of the tables; numbers without an entry get `default`."""
    cases: list[tuple[int, Program]] = []
    wanted = 0
    for number in sorted(actions):
        if number > wanted:
            cases.append((wanted, _return(default)))
        if cases and cases[-1][1] == actions[number]:
            wanted = number + 1
            continue
        cases.append((number, actions[number]))
        wanted = number + 1
    cases.append((wanted, _return(default)))
    program: Program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JEQ, 1, 0, AUDIT_ARCH[machine]),
        *_return(KILL),
        (_LOAD, 0, 0, _NUMBER),
        *_tree(cases),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _filter(machine: int, allowed: Mapping[str, Allowed]) -> bytes:
    programs = {name: _return(ERRNO | code) for name, code in REFUSED.items()}
    programs |= {name: _checked(call.arguments) for name, call in allowed.items()}
    numbered = {NUMBERS[name][machine]: program for name, program in programs.items()}
    return assemble(machine, {number: program for number, program in numbered.items() if number is not None})


def zygote_filter(machine: int) -> bytes:
    """Return the filter of the zygote, which every child inherits."""
    return _filter(machine, CHILD | ZYGOTE)


def child_filter(machine: int) -> bytes:
    """Return the filter of a child."""
    return _filter(machine, CHILD)
