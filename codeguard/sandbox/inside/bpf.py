"""Seccomp filters as classic BPF, assembled here: no compiler, no libseccomp.

A filter is a table from system call number to an action or a small check of
its arguments, laid out as a binary search: seven or eight comparisons a call,
and the kernel keeps the constant answers in a bitmap.
"""

from __future__ import annotations

import errno
import struct
import sys
from collections.abc import Mapping

from . import syscalls

ALLOW = 0x7FFF0000
KILL = 0x80000000  # SECCOMP_RET_KILL_PROCESS: the wait status says SIGSYS
ERRNO = 0x00050000

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP = 0x05  # BPF_JMP | BPF_JA
_JEQ = 0x15
_JGE = 0x35
_JSET = 0x45
_RETURN = 0x06

_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_SIGCHLD = 17
# what fork() passes to clone(): CHILD_SETTID, CHILD_CLEARTID and SIGCHLD; every other bit makes
# a thread, a namespace or a shared address space
_NOT_FORK = 0xFFFFFFFF & ~(0x01000000 | 0x00200000 | _SIGCHLD)
_PROT_EXEC = 4
_OPTIONS = (1, 22)  # PR_SET_PDEATHSIG, PR_SET_SECCOMP: what a fresh child confines itself with
_CLOCKS = 12  # CLOCK_REALTIME, 0, to CLOCK_TAI, 11
# MADV_NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE
_ADVICE = (0, 1, 2, 3, 4, 8, 14, 15)

Instruction = tuple[int, int, int, int]
Program = list[Instruction]


def _argument(index: int) -> Instruction:
    low = 0 if sys.byteorder == "little" else 4
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index + low)


def _return(action: int) -> Program:
    return [(_RETURN, 0, 0, action)]


def _when_equal(index: int, value: int, action: int, otherwise: int) -> Program:
    """Compare the low half of an argument; descriptors and flags live there."""
    return [_argument(index), (_JEQ, 0, 1, value), *_return(action), *_return(otherwise)]


def _unless_bits(index: int, bits: int, action: int, otherwise: int) -> Program:
    return [_argument(index), (_JSET, 1, 0, bits), *_return(action), *_return(otherwise)]


def _when_one_of(index: int, values: tuple[int, ...], action: int, otherwise: int) -> Program:
    """Compare the low half of an argument with several values."""
    jumps = [(_JEQ, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [_argument(index), *jumps, *_return(otherwise), *_return(action)]


def _when_below(index: int, bound: int, action: int, otherwise: int) -> Program:
    """Compare the low half of an argument as an unsigned number: a negative one is large."""
    return [_argument(index), (_JGE, 1, 0, bound), *_return(action), *_return(otherwise)]


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
        (_JEQ, 1, 0, syscalls.AUDIT_ARCH[machine]),
        *_return(KILL),
        (_LOAD, 0, 0, _NUMBER),
        *_tree(cases),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _numbered(machine: int, programs: Mapping[str, Program]) -> dict[int, Program]:
    numbered = {}
    for name, program in programs.items():
        number = syscalls.NUMBERS[name][machine]
        if number is not None:
            numbered[number] = program
    return numbered


def _common() -> dict[str, Program]:
    programs = {name: _return(ERRNO | code) for name, code in syscalls.REFUSED.items()}
    programs.update({name: _return(ALLOW) for name in syscalls.COMPUTE})
    # memory is never made executable: what is not loaded yet never runs as machine code
    for name in ("mmap", "mprotect"):
        programs[name] = _unless_bits(2, _PROT_EXEC, ALLOW, ERRNO | errno.EPERM)
    # others share memory with other processes, or break it
    programs["madvise"] = _when_one_of(2, _ADVICE, ALLOW, ERRNO | errno.EINVAL)
    # a clock's number may hold another process' id: how busy that one is, is not for the child
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep"):
        programs[name] = _when_below(0, _CLOCKS, ALLOW, ERRNO | errno.EINVAL)
    return programs


def zygote_filter(machine: int) -> bytes:
    """Return the filter of the zygote, which every child inherits."""
    programs = _common()
    programs.update({name: _return(ALLOW) for name in syscalls.ZYGOTE})
    programs["prctl"] = _when_one_of(0, _OPTIONS, ALLOW, ERRNO | errno.EPERM)
    programs["clone"] = _unless_bits(0, _NOT_FORK, ALLOW, ERRNO | errno.EPERM)
    return assemble(machine, _numbered(machine, programs))


def child_filter(machine: int, result: int, job: int) -> bytes:
    """Return the filter of a child, which may compute, write to `result` and read from `job`.

    A child closes `job` before it runs anything, and can make no descriptor of that number again.
    """
    programs = _common()
    programs["write"] = _when_equal(0, result, ALLOW, ERRNO | errno.EPERM)
    programs["read"] = _when_equal(0, job, ALLOW, ERRNO | errno.EPERM)
    return assemble(machine, _numbered(machine, programs))
