"""The kernel's confinement calls through ctypes: Linux only, no library beyond libc.

Imported by the zygote alone, never by the host. Every function raises
OSError where the kernel refuses.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from . import syscalls

_MACHINE = syscalls.column(os.uname().machine)
_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_prctl = _libc.prctl
_prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]

# what each child calls, with the interpreter's lock held: nobody else waits for it, and the child
# touches fewer pages for the first time
_here = ctypes.PyDLL(None, use_errno=True)
_restrict = _here["syscall"]
_restrict.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long]
_restrict.restype = ctypes.c_long
_clone = _here["syscall"]
_clone.argtypes = [ctypes.c_long] * 6
_clone.restype = ctypes.c_long
_set_filter = _here["prctl"]
_set_filter.argtypes = _prctl.argtypes

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
# and of the network, System V's objects, the host name and control groups
NEW_NAMESPACES = (
    CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
)

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 4096, 8192, 16384, 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
PR_SET_SECCOMP = 22
PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS = 38, 39
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4

_SECCOMP_MODE_FILTER = 2
_SIGCHLD = 17
_LANDLOCK_VERSION = 1
_CAPABILITY_V3 = 0x20080522


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _number(call: str) -> int:
    """Return this machine's number of a call; raise OSError where it has none."""
    number = None if _MACHINE is None else syscalls.NUMBERS[call][_MACHINE]
    if number is None:
        raise OSError(errno.ENOSYS, f"no system call {call} here")
    return number


def raw(call: str, *arguments: int | bytes | None) -> int:
    """Make a system call by name and return its result, or minus the errno."""
    result = int(_syscall(ctypes.c_long(_number(call)), *(_word(argument) for argument in arguments)))
    return -ctypes.get_errno() if result < 0 else result


def _call(call: str, *arguments: int | bytes | None) -> int:
    result = raw(call, *arguments)
    if result < 0:
        raise OSError(-result, f"{call}: {os.strerror(-result)}")
    return result


def _word(argument: int | bytes | None) -> object:
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def prctl(option: int, first: int = 0, second: int = 0) -> int:
    """Call prctl(2)."""
    return _check(int(_prctl(option, first, second, 0, 0)), f"prctl({option})")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Call mount(2)."""
    arguments = [None if text is None else text.encode() for text in (source, target, kind, options)]
    _check(_libc.mount(*arguments[:3], ctypes.c_ulong(flags), arguments[3]), f"mount {target}")


def pivot_root() -> None:
    """Make the current directory the root and detach the old one."""
    _call("pivot_root", b".", b".")
    _check(_libc.umount2(b".", MNT_DETACH), "umount2")


def sethostname(name: bytes) -> None:
    """Set the host name of this UTS namespace."""
    _check(_libc.sethostname(name, ctypes.c_size_t(len(name))), "sethostname")


def capabilities() -> int:
    """Return the bits of effective, permitted and inheritable capabilities, or-ed together."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_V3, 0), 8)
    data = ctypes.create_string_buffer(24)
    _check(_libc.capget(header, data), "capget")
    low, high = struct.iter_unpack("=3I", data.raw)
    return sum(1 << bit for bit in range(64) if any(word >> bit % 32 & 1 for word in (low, high)[bit // 32]))


def bounding_set() -> int:
    """Return the bits of the bounding set."""
    return sum(1 << bit for bit in range(64) if _prctl(PR_CAPBSET_READ, bit, 0, 0, 0) == 1)


def empty_bounding_set() -> None:
    """Empty the bounding set, as far as this process may."""
    for capability in range(64):
        if _prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # EINVAL past the last one, EPERM without CAP_SETPCAP


def drop_capabilities() -> None:
    """Empty every capability set, the bounding set first, which needs one of them."""
    empty_bounding_set()
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_V3, 0), 8)
    _check(_libc.capset(header, ctypes.create_string_buffer(24)), "capset")


def landlock_deny_all() -> tuple[int, int]:
    """Refuse every right that this kernel's Landlock can refuse; return its version and the rules' descriptor.

    Version 1 knows 13 file rights, 2 adds refer, 3 truncate, 4 TCP bind and
    connect, 5 ioctl on devices, 6 the scopes (abstract sockets, signals to
    outside). Without a rule nothing is allowed. Needs no_new_privs.
    """
    abi = _call("landlock_create_ruleset", None, 0, _LANDLOCK_VERSION)  # OSError if the kernel has none
    rights = 13 + (abi >= 2) + (abi >= 3) + (abi >= 5)
    attributes = struct.pack("=Q", (1 << rights) - 1)
    if abi >= 4:
        attributes += struct.pack("=Q", 0b11)
    if abi >= 6:
        attributes += struct.pack("=Q", 0b11)
    rules = _call("landlock_create_ruleset", attributes, len(attributes), 0)
    try:
        landlock_restrict(rules)
    except OSError:
        os.close(rules)
        raise
    return abi, rules


def landlock_restrict(rules: int) -> None:
    """Enter a new domain under rules that `landlock_deny_all` made."""
    _check(_restrict(_number("landlock_restrict_self"), rules, 0), "landlock_restrict_self")


def clone(flags: int) -> int:
    """Fork into new namespaces; the caller stays in its own."""
    return _check(int(_clone(_number("clone"), flags | _SIGCHLD, 0, 0, 0, 0)), "clone")


def fork() -> int:
    """Fork without what the interpreter and the C library do for threads around it: this process has none.

    That would touch 40 pages in the child, and each page costs a copy. It would also name words of the child's
    memory whose waiters the kernel wakes when the child ends.
    """
    return clone(0)


class Filter:
    """An assembled seccomp filter, kept ready: installing it is one prctl."""

    def __init__(self, program: bytes) -> None:
        self._program = ctypes.create_string_buffer(program, len(program))
        count = len(program) // 8
        self._header = ctypes.create_string_buffer(
            struct.pack("@H0P", count) + struct.pack("@P", ctypes.addressof(self._program))
        )
        self._address = ctypes.addressof(self._header)

    def install(self) -> None:
        """Put the filter on this process for good; needs no_new_privs."""
        _check(_set_filter(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self._address, 0, 0), "seccomp")
