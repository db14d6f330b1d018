"""Really tries the forbidden acts, in a child confined like any other, and says how each ended."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from typing import Any

from . import syscalls, wire

_PROT_READ_EXEC, _MAP_PRIVATE_ANONYMOUS = 5, 0x22
_AT_FDCWD = -100
_AF_INET, _SOCK_STREAM = 2, 1
_HUGE = 1 << 40

# act: (system call, arguments); the arguments are such that the call would do something
_ACTS: dict[str, tuple[str, tuple[int | bytes | None, ...]]] = {
    "open": ("openat", (_AT_FDCWD, b"/", 0, 0)),
    "stat": ("newfstatat", (_AT_FDCWD, b"/", b"\0" * 256, 0)),
    "connect": ("socket", (_AF_INET, _SOCK_STREAM, 0)),
    "fork": ("clone", (17, 0, 0, 0, 0)),
    "exec": ("execve", (b"/bin/true", None, None)),
    "kill": ("kill", (0, 0)),
    "wait": ("wait4", (-1, None, 1, None)),
    "ptrace": ("ptrace", (0, 0, 0, 0)),
    "mount": ("mount", (b"x", b"/", b"tmpfs", 0, None)),
    "unshare": ("unshare", (0x10000000,)),
    "prctl": ("prctl", (4, 1, 0, 0, 0)),
    "executable memory": ("mmap", (0, 4096, _PROT_READ_EXEC, _MAP_PRIVATE_ANONYMOUS, -1, 0)),
    "read": ("read", (0, b"\0" * 8, 8)),
    "duplicate": ("dup", (wire.RESULT,)),
}


def acts(machine: int, raw: Callable[..., int]) -> dict[str, str]:
    """Try every act and return how it ended: the errno's name, or `done`."""
    found = {}
    for name, (call, arguments) in _ACTS.items():
        number = syscalls.NUMBERS[call][machine]
        result = raw(number, *arguments)
        if name == "fork" and result == 0:
            os._exit(0)
        found[name] = errno.errorcode.get(-result, str(-result)) if result < 0 else "done"
    return found


def refused(found: dict[str, str]) -> bool:
    """Whether none of the acts went through."""
    return "done" not in found.values()


def limited(machine: int, raw: Callable[..., int], memory_bytes: int) -> dict[str, str]:
    """Try what the resource limits alone forbid: descriptors, processes, address space."""
    tries = {
        "duplicate": ("dup", (wire.RESULT,), errno.EMFILE),
        "fork": ("clone", (17, 0, 0, 0, 0), errno.EAGAIN),
        "memory": ("mmap", (0, memory_bytes, 3, _MAP_PRIVATE_ANONYMOUS, -1, 0), errno.ENOMEM),
    }
    found = {}
    for name, (call, arguments, expected) in tries.items():
        result = raw(syscalls.NUMBERS[call][machine], *arguments)
        if name == "fork" and result == 0:
            os._exit(0)
        if result != -expected:
            found[name] = errno.errorcode.get(-result, str(result))
    return found


def ask(enter: Callable[[], object], act: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Fork a child, let it confine itself and act, and return what it says; empty where it died."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(writing, wire.RESULT)
            os.closerange(wire.JOB, wire.JOB + 1)
            enter()
            os.write(wire.RESULT, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    said = b""
    while part := os.read(reading, 1 << 16):
        said += part
    os.close(reading)
    os.waitpid(child, 0)
    found: Any = json.loads(said) if said else {}
    return dict(found)
