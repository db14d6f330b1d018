"""Try the forbidden operations in a child confined like any other, and report how each ended."""

from __future__ import annotations

import errno
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import kernel, syscalls, wire

_PROT_READ_EXEC, _MAP_PRIVATE_ANONYMOUS = 5, 0x22
_AT_FDCWD = -100
_FUTEX_WAKE = 1  # not private
_AF_INET, _SOCK_STREAM = 2, 1
_LOOPBACK = struct.pack("=H", _AF_INET) + struct.pack(">H4B8x", 9, 127, 0, 0, 1)

# act: (system call, arguments); the arguments are such that the call would do something.
# The child's filter answers each with the error of its table, EPERM where it looks at an argument.
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
    "wake others": ("futex", (b"\0" * 4, _FUTEX_WAKE, 1)),
}


def acts() -> dict[str, str]:
    """Try every act and return how it ended: the errno's name, or `done`."""
    found = {}
    for name, (call, arguments) in _ACTS.items():
        result = kernel.raw(call, *arguments)
        if name == "fork" and result == 0:
            os._exit(0)
        found[name] = errno.errorcode.get(-result, str(-result)) if result < 0 else "done"
    return found


def unexpected(found: dict[str, str]) -> dict[str, str]:
    """Return the acts that did not fail with the error of the child's filter."""
    expected = {name: syscalls.REFUSED.get(call, errno.EPERM) for name, (call, _) in _ACTS.items()}
    return {
        name: found.get(name, "not tried")
        for name, code in expected.items()
        if found.get(name) != errno.errorcode[code]
    }


def limited(memory_bytes: int) -> dict[str, str]:
    """Try what only the resource limits forbid and return how it ended: descriptors, processes, address space."""
    tries: dict[str, tuple[str, tuple[int | bytes, ...]]] = {
        "descriptors": ("pipe2", (b"\0" * 8, 0)),
        "processes": ("clone", (17, 0, 0, 0, 0)),
        "memory": ("mmap", (0, memory_bytes, 3, _MAP_PRIVATE_ANONYMOUS, -1, 0)),
    }
    found = {}
    for name, (call, arguments) in tries.items():
        result = kernel.raw(call, *arguments)
        if name == "processes" and result == 0:
            os._exit(0)
        found[name] = errno.errorcode.get(-result, str(-result)) if result < 0 else "done"
    return found


# what `outside` finds in namespaces of its own
NOTHING_OUTSIDE = {
    "files": "none",
    "open": "ENOENT",
    "create": "EROFS",
    "connect": "ENETUNREACH",
    "processes": "ESRCH",
}


def outside() -> dict[str, str]:
    """Look for a file, a place to write, a network and another process, and return how it ended."""

    def attempt(call: str, *arguments: int | bytes) -> str:
        result = kernel.raw(call, *arguments)
        return errno.errorcode.get(-result, str(-result)) if result < 0 else "done"

    found = {
        "files": "some" if any(Path("/").iterdir()) else "none",
        "open": attempt("openat", _AT_FDCWD, b"/proc/self/status", os.O_RDONLY, 0),
        "create": attempt("openat", _AT_FDCWD, b"/created", os.O_WRONLY | os.O_CREAT, 0o600),
    }
    socket = kernel.raw("socket", _AF_INET, _SOCK_STREAM, 0)
    found["connect"] = attempt("connect", socket, _LOOPBACK, len(_LOOPBACK))
    found["processes"] = attempt("kill", -1, 0)  # to every other but pid 1
    return found


def ask(enter: Callable[[], object], act: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Fork a child, let it confine itself and act, and return its report; empty if it died."""
    reading, writing = os.pipe()
    child = kernel.fork()
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
