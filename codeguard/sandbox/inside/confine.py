"""Engage the layers, one after another, try in a confined child what they forbid, and report which hold."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import resource
import struct
import sys
from collections.abc import Callable
from os import getegid, geteuid, getpid, getppid  # as they are before the world of the code under test
from pathlib import Path
from typing import Any

from . import syscalls, wire

if sys.platform == "linux":
    from . import kernel

LAYERS = ("namespaces", "capabilities", "no_new_privs", "landlock", "seccomp", "child_filter", "rlimits")
_PROBE_MEMORY = 256 * 1024 * 1024
_MAX_DESCRIPTORS = 1 << 16
_NOBODY = 65534
_INSIDE_ID = 1000  # the uid of the mapped user inside
_WELL = b"\0"
_MOUNT_POINTS = ("/tmp", "/mnt", "/run", "/var", "/proc")
_RULES = wire.JOB + 2  # next to the control socket, away from the numbers of a child's descriptors


_STACK = 8 * 1024 * 1024

Bounds = list[tuple[int, tuple[int, int]]]  # which limit, soft and hard value


class LayerError(Exception):
    """A layer was engaged without an error but does not hold."""


class Confinement:
    """The layers of this zygote: name to (engaged, detail)."""

    def __init__(self, without: frozenset[str]) -> None:
        self.without = without
        self.layers: dict[str, tuple[bool, str]] = {}
        self.filter: Any = None
        self.rules = -1  # Landlock's, with which each child enters a domain of its own
        self.zygote = 0

    def attempt(self, name: str, act: Callable[[], object]) -> None:
        """Engage or test one layer, and record the result."""
        if name in self.without:
            self.layers[name] = (False, "left out on request")
            return
        try:
            self.layers[name] = (True, str(act() or ""))
        except (OSError, LayerError) as error:
            self.layers[name] = (False, str(error))

    def holds(self, name: str) -> bool:
        """Whether a layer is engaged."""
        return self.layers.get(name, (False, ""))[0]

    def enter_child(self, bounds: Bounds, filtered: bool = True) -> None:
        """Confine a freshly forked child, leaving it the descriptors `wire.RESULT` and `wire.JOB` only."""
        if self.rules >= 0:  # a domain of its own: no signal from one child to another
            kernel.landlock_restrict(self.rules)
        os.closerange(0, wire.RESULT)
        os.closerange(wire.JOB + 1, _MAX_DESCRIPTORS)
        if "rlimits" not in self.without:
            apply_limits(bounds)
        if not self.holds("namespaces") and sys.platform == "linux":
            # no pid namespace that would end with the zygote
            kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
            if getppid() != self.zygote:
                os._exit(0)
        if filtered and self.filter is not None:
            self.filter.install()

    def level(self) -> int:
        """Return the level of the engaged layers, as `Level`'s number."""
        if not all(map(self.holds, ("no_new_privs", "seccomp", "child_filter", "rlimits"))):
            return 0
        around = [self.holds(name) for name in ("landlock", "namespaces")]
        if not self.holds("capabilities") or not any(around):
            return 1
        return 3 if all(around) else 2

    def report(self) -> dict[str, Any]:
        """Return level and layers as plain values."""
        return {"level": self.level(), "layers": [[name, *found] for name, found in self.layers.items()]}


def confine(without: frozenset[str], control: int) -> Confinement:
    """Engage every layer that this system supports, then test them in a child."""
    confinement = Confinement(without)
    machine = syscalls.column(os.uname().machine)
    if sys.platform != "linux" or machine is None:
        for name in LAYERS:
            confinement.layers[name] = (False, f"not made for {sys.platform} on {os.uname().machine}")
        return confinement

    def install() -> str:
        kernel.Filter(syscalls.zygote_filter(machine)).install()
        found = kernel.raw("socket", 2, 1, 0)
        return _expect("socket", found, errno.EPERM)

    def ready() -> str:
        confinement.filter = kernel.Filter(syscalls.child_filter(machine))
        found = _asked(
            lambda: confinement.enter_child(child_limits(1.0, _PROBE_MEMORY)), lambda: _tried(_ACTS)
        )
        expected = {name: syscalls.REFUSED.get(call, errno.EPERM) for name, (call, *_) in _ACTS.items()}
        wrong = {
            name: found.get(name, "not tried")
            for name, code in expected.items()
            if found.get(name) != errno.errorcode[code]
        }
        if wrong:
            raise LayerError(f"not refused by the filter: {_listed(wrong)}")
        return _listed(found)

    def limit() -> str:
        found = _asked(
            lambda: confinement.enter_child(child_limits(1.0, _PROBE_MEMORY), filtered=False),
            lambda: _tried(_LIMITED),
        )
        if found | {"processes": ""} != {"descriptors": "EMFILE", "processes": "", "memory": "ENOMEM"}:
            raise LayerError(f"not limited: {_listed(found) or 'the child that tried was ended'}")
        return _listed(found)  # of processes: see the layer that makes the user an ordinary one

    if "capabilities" not in without:
        kernel.empty_bounding_set()
        _leave_root()
    confinement.attempt("namespaces", lambda: _isolate(control))
    confinement.zygote = getpid()
    confinement.attempt("capabilities", _drop)
    confinement.attempt("no_new_privs", _no_new_privs)
    with contextlib.suppress(OSError):  # hides its memory from the user's other processes; no layer
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    confinement.attempt("landlock", lambda: _landlock(confinement))
    confinement.attempt("seccomp", install)
    confinement.attempt("rlimits", limit)
    confinement.attempt("child_filter", ready)
    if not confinement.holds("child_filter"):
        confinement.filter = None
    return confinement


def _expect(act: str, found: int, code: int) -> str:
    if found != -code:
        raise LayerError(f"{act} gave {found}, expected {errno.errorcode[code]}")
    return f"{act} {errno.errorcode[code]}"


def _listed(found: dict[str, str]) -> str:
    return ", ".join(f"{name} {how}" for name, how in found.items())


def _isolate(control: int) -> str:
    _enter_namespaces(control)
    found = _asked(lambda: None, _outside)
    if found != _NOTHING_OUTSIDE:
        raise LayerError(f"something is there: {_listed(found) or 'the child that looked was ended'}")
    return _listed(found)


def _drop() -> str:
    """Empty the capability sets, and test whether the user is an ordinary user of the machine.

    The uid does not decide: 0 may be mapped to an ordinary user. The kernel exempts only its own root, even
    without capabilities, from the limit on processes.
    """
    kernel.drop_capabilities()
    left = kernel.capabilities()
    if left:
        raise LayerError(f"capabilities {left:#x} left, user {geteuid()}")
    found = _asked(lambda: apply_limits(child_limits(1.0, _PROBE_MEMORY)), lambda: _tried(_LIMITED))
    user = f"user {geteuid()}"
    if found.get("processes") != "EAGAIN":
        raise LayerError(f"none left, but {user} is the machine's root: {_listed(found) or 'no answer'}")
    if geteuid() == 0:
        user += ", which is not the machine's root: processes EAGAIN"
    kept = kernel.bounding_set()
    return f"none left, {user}" + (f", bounding set {kept:#x} kept, void by no_new_privs" if kept else "")


def _no_new_privs() -> str:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) != 1:
        raise LayerError("not set")
    return ""


def _landlock(confinement: Confinement) -> str:
    version, rules = kernel.landlock_deny_all()
    os.dup2(rules, _RULES, inheritable=False)
    os.close(rules)
    confinement.rules = _RULES
    try:
        os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
    except OSError as error:
        if error.errno != errno.EACCES:
            raise
        return f"version {version}, open EACCES"
    raise LayerError("open went through")


def _leave_root() -> None:
    """Switch to the user nobody if permitted; root would own files and be exempt from limits.

    Root without capabilities may not, and if the user nobody is not mapped there is no such user: then
    nothing changes, and the capabilities layer tests what the current user can do.
    """
    if geteuid() != 0:
        return
    changes: tuple[Callable[[], object], ...] = (
        lambda: os.setgroups([]),
        lambda: os.setresgid(_NOBODY, _NOBODY, _NOBODY),
        lambda: os.setresuid(_NOBODY, _NOBODY, _NOBODY),
        # else /proc/self, and so the maps, belong to root
        lambda: kernel.prctl(kernel.PR_SET_DUMPABLE, 1),
    )
    for change in changes:
        with contextlib.suppress(OSError):
            change()


def _enter_namespaces(control: int) -> None:
    """Go on as pid 1 of new namespaces; raise OSError if the system refuses, and then nothing has changed.

    The process that was started stays behind, waits and ends with it: pid 1
    dies with that one, and everything in the namespace with pid 1. Some
    systems refuse only after the namespaces are made (the maps, the mounts),
    so a child makes them for itself, and says whether it went well.
    """
    user, group = geteuid(), getegid()
    reading, writing = os.pipe()
    try:
        child = kernel.clone(kernel.NEW_NAMESPACES)
        if child:
            os.close(writing)
            writing = -1
            _wait_for_report(child, reading)
            _wait_outside(child, control)
        try:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{_INSIDE_ID} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{_INSIDE_ID} {group} 1")
            kernel.sethostname(b"sandbox")
            _empty_root()
            os.write(writing, _WELL)
        except BaseException as error:
            os.write(writing, str(error).encode())
            os._exit(1)
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def _wait_for_report(child: int, reading: int) -> None:
    """Return once the child is confined; OSError with its own words if it could not be."""
    said = os.read(reading, 4096)
    if said != _WELL:
        os.waitpid(child, 0)
        raise OSError(said.decode(errors="replace") or "the process that made new namespaces was ended")


def _wait_outside(child: int, control: int) -> None:
    try:
        os.close(control)
        kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        os.closerange(0, _MAX_DESCRIPTORS)
        os.waitpid(child, 0)
    finally:
        os._exit(0)


def _empty_root() -> None:
    """Replace the file system by an empty read-only one."""
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    point = next(path for path in _MOUNT_POINTS if Path(path).is_dir())
    kernel.mount("sandbox", point, "tmpfs", flags, "size=4k,nr_inodes=1,mode=0555")
    os.chdir(point)
    try:
        kernel.pivot_root()
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # the initial ramfs cannot be pivoted away: cover it
        kernel.mount(".", "/", None, kernel.MS_MOVE)
        os.chroot(".")
    os.chdir("/")
    kernel.mount(None, "/", None, flags | kernel.MS_REMOUNT | kernel.MS_RDONLY)


_PROT_READ_EXEC, _MAP_PRIVATE_ANONYMOUS = 5, 0x22
_AT_FDCWD = -100
_FUTEX_WAKE = 1  # not private
_AF_INET, _SOCK_STREAM = 2, 1
_LOOPBACK = struct.pack("=H", _AF_INET) + struct.pack(">H4B8x", 9, 127, 0, 0, 1)

# act: system call and arguments; the arguments are such that the call would do something.
# The child's filter answers each with the error of its table, EPERM where it looks at an argument.
_Acts = dict[str, tuple[Any, ...]]
_ACTS: _Acts = {
    "open": ("openat", _AT_FDCWD, b"/", 0, 0),
    "stat": ("newfstatat", _AT_FDCWD, b"/", b"\0" * 256, 0),
    "connect": ("socket", _AF_INET, _SOCK_STREAM, 0),
    "fork": ("clone", 17, 0, 0, 0, 0),
    "exec": ("execve", b"/bin/true", None, None),
    "kill": ("kill", 0, 0),
    "wait": ("wait4", -1, None, 1, None),
    "ptrace": ("ptrace", 0, 0, 0, 0),
    "mount": ("mount", b"x", b"/", b"tmpfs", 0, None),
    "unshare": ("unshare", 0x10000000),
    "prctl": ("prctl", 4, 1, 0, 0, 0),
    "executable memory": ("mmap", 0, 4096, _PROT_READ_EXEC, _MAP_PRIVATE_ANONYMOUS, -1, 0),
    "read": ("read", 0, b"\0" * 8, 8),
    "duplicate": ("dup", wire.RESULT),
    "wake others": ("futex", b"\0" * 4, _FUTEX_WAKE, 1),
}


_LIMITED: _Acts = {
    "descriptors": ("pipe2", b"\0" * 8, 0),
    "processes": ("clone", 17, 0, 0, 0, 0),
    "memory": ("mmap", 0, _PROBE_MEMORY, 3, _MAP_PRIVATE_ANONYMOUS, -1, 0),
}
"""Acts that only the resource limits forbid."""
_NOTHING_OUTSIDE = {
    "files": "none", "open": "ENOENT", "create": "EROFS", "connect": "ENETUNREACH", "processes": "ESRCH",
}  # fmt: skip
"""What `_outside` finds in namespaces of its own."""


def _tried(acts: _Acts) -> dict[str, str]:
    """Try some acts and return how each ended: the errno's name, or `done`."""
    found = {}
    for name, (call, *arguments) in acts.items():
        result = kernel.raw(call, *arguments)
        if call == "clone" and result == 0:
            os._exit(0)
        found[name] = errno.errorcode.get(-result, str(-result)) if result < 0 else "done"
    return found


def _outside() -> dict[str, str]:
    """Look for a file, a place to write, a network and another process, and return how it ended."""
    socket = kernel.raw("socket", _AF_INET, _SOCK_STREAM, 0)
    acts: _Acts = {
        "open": ("openat", _AT_FDCWD, b"/proc/self/status", os.O_RDONLY, 0),
        "create": ("openat", _AT_FDCWD, b"/created", os.O_WRONLY | os.O_CREAT, 0o600),
        "connect": ("connect", socket, _LOOPBACK, len(_LOOPBACK)),
        "processes": ("kill", -1, 0),  # to every other but pid 1
    }
    return {"files": "some" if any(Path("/").iterdir()) else "none", **_tried(acts)}


def _asked(enter: Callable[[], object], act: Callable[[], dict[str, str]]) -> dict[str, str]:
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


def _bounds(wanted: dict[str, int]) -> Bounds:
    """Return limits, soft equal to hard and at most the current ones; without those the system lacks."""
    bounds = []
    for name, value in wanted.items():
        which = getattr(resource, name, None)
        if which is not None:
            hard = resource.getrlimit(which)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            bounds.append((which, (value, value)))
    return bounds


def limit_zygote() -> None:
    """No core files, no file contents, no locked memory, no queues, a plain stack."""
    none = dict.fromkeys(("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"), 0)
    apply_limits(_bounds({**none, "RLIMIT_STACK": _STACK}))


def child_limits(cpu_s: float, memory_bytes: int) -> Bounds:
    """Return a child's limits: CPU time (whole seconds, killed at once), address space, no processes, no descriptors.

    With RLIMIT_NOFILE 0 nothing that makes a descriptor works any more; the
    ones that are open stay usable.
    """
    wanted = {
        "RLIMIT_CPU": max(1, math.ceil(cpu_s)),
        "RLIMIT_AS": memory_bytes,
        "RLIMIT_NPROC": 0,
        "RLIMIT_NOFILE": 0,
    }
    return _bounds(wanted)


def apply_limits(bounds: Bounds) -> None:
    """Set limits, as far as the system allows them."""
    for which, pair in bounds:
        try:
            resource.setrlimit(which, pair)
        except (ValueError, OSError):
            continue  # macOS refuses some; the preflight checks which hold
