"""Runs a command in an environment like a container's: `python environments.py NAME -- COMMAND…`.

No container engine is needed. This process takes from itself what the engine
takes away, by the same means of the kernel: mounts, a user namespace, resource
limits, the bounding set of capabilities, a seccomp filter, the user; then it
becomes the command. Most environments need root to build; `obstacle` says why
one cannot be built on a machine.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import os
import resource
import struct
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codeguard.sandbox.inside import kernel, syscalls

ALL = frozenset(range(64))
CAPABILITIES = {
    "all": ALL,
    # chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw,
    # sys_chroot, mknod, audit_write, setfcap: what Docker and Podman leave to a container's root
    "docker": frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}),
    "none": frozenset(),
}
_LANDLOCK_WRITE_FILE = 2
_MS = kernel.MS_NOSUID | kernel.MS_NODEV
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    name: (numbers[0], numbers[1] if len(numbers) > 1 else None)
    for name, numbers in _TABLE["numbers"].items()
} | syscalls.NUMBERS


@dataclass(frozen=True, slots=True)
class Refusal:
    """One system call that ends with an error: always, or where an argument has one of these bits or equals."""

    call: str
    code: int = errno.EPERM
    argument: int = -1
    bits: int = 0
    equals: int = 0

    def program(self) -> syscalls.Program:
        """Return the filter's answer to this call."""
        refuse = (6, 0, 0, syscalls.ERRNO | self.code)
        if self.argument < 0:
            return [refuse]
        load = (0x20, 0, 0, 16 + 8 * self.argument)
        compare = (0x45, 0, 1, self.bits) if self.bits else (0x15, 0, 1, self.equals)
        return [load, compare, refuse, (6, 0, 0, syscalls.ALLOW)]


def _refusals(filters: Sequence[str]) -> tuple[Refusal, ...]:
    """Return what the filters of these names refuse."""
    return tuple(
        Refusal(
            call,
            getattr(errno, row["error"]),
            row.get("argument", -1),
            row.get("bits", 0),
            row.get("equals", 0),
        )
        for name in filters
        for row in _TABLE["filters"][name]
        for call in row["calls"].split()
    )


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment: what is taken away, in the words of the kernel."""

    name: str
    stands_for: str
    user: int = 0
    capabilities: frozenset[int] = ALL  # of the bounding set
    user_map: tuple[str, ...] = ()  # of a user namespace: first id inside, first outside, how many
    refused: tuple[Refusal, ...] = ()
    no_new_privs: bool = False
    mounts: tuple[str, ...] = ()  # see `_MOUNTS`
    limits: Mapping[int, int] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    maps_refused: bool = False  # namespaces can be made, and nothing in them changed

    @property
    def needs_root(self) -> bool:
        """Whether only root can build it."""
        ordinary = self.no_new_privs and self.capabilities == ALL and not self.user_map
        return not (ordinary and self.user == 0 and not self.mounts)


def _environment(name: str, row: Mapping[str, Any]) -> Environment:
    """Return the environment of a row of the table."""
    made: dict[str, Any] = {
        "capabilities": CAPABILITIES[row.get("capabilities", "all")],
        "refused": _refusals(row.get("refused", ())),
        "limits": {getattr(resource, f"RLIMIT_{kind}"): most for kind, most in row.get("limits", {}).items()},
        # false: it is not set
        "variables": {name: text or None for name, text in row.get("variables", {}).items()},
        "user_map": tuple(row.get("user_map", ())),
        "mounts": tuple(row.get("mounts", ())),
    }
    return Environment(name, **{**row, **made})


ENVIRONMENTS = {name: _environment(name, row) for name, row in _TABLE["environments"].items()}


def arguments(name: str, command: Sequence[str], work: Path, root: Path | None = None) -> list[str]:
    """Return the command line that runs a command in an environment, `work` being writable there.

    With a `root`, that folder becomes the whole file system, and `work` is a path in it.
    """
    at = [] if root is None else ["--root", str(root)]
    return [sys.executable, "-P", str(Path(__file__).resolve()), *at, name, str(work), "--", *command]


def obstacle(name: str) -> str:
    """Return why this machine cannot build an environment, empty where it can."""
    environment = ENVIRONMENTS[name]
    if sys.platform != "linux" or syscalls.column(os.uname().machine) is None:
        return f"no filters for {sys.platform} on {os.uname().machine}"
    if environment.needs_root and os.geteuid() != 0:
        return f"only root can build {name}"
    done = subprocess.run(
        arguments(name, [sys.executable, "-c", "pass"], Path("/var/tmp")),
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1] if done.returncode else ""


def _become(environment: Environment, work: Path, command: Sequence[str], root: Path | None) -> None:
    """Take everything away, then be the command. Never returns."""
    machine = syscalls.column(os.uname().machine)
    assert machine is not None
    if environment.needs_root or root is not None:
        _mount(environment, work, root)
    if environment.user_map:
        _enter_user_namespace(environment.user_map)
    for which, value in environment.limits.items():
        resource.setrlimit(which, (value, value))
    for capability in ALL - environment.capabilities:
        with contextlib.suppress(OSError):  # past the last one
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
    if environment.no_new_privs:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if environment.maps_refused:
        _refuse_maps()
    if environment.refused:
        programs = {}
        for refusal in environment.refused:
            number = _NUMBERS[refusal.call][machine]
            if number is not None:
                programs[number] = refusal.program()
        kernel.Filter(syscalls.assemble(machine, programs, syscalls.ALLOW)).install()
    if environment.user:
        os.setgroups([])
        os.setresgid(environment.user, environment.user, environment.user)
        os.setresuid(environment.user, environment.user, environment.user)
    for name, text in environment.variables.items():
        if text is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = text
    os.chdir(Path.cwd() if root is None else work)  # the same place, as the mounts made it
    os.execv(command[0], list(command))


def _mount(environment: Environment, work: Path, root: Path | None) -> None:
    _unshare(kernel.CLONE_NEWNS)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    if root is None:
        _open_the_way(Path(sys.base_prefix))
        _open_the_way(Path(sys.prefix))
    else:
        _move_into(root)
    for name in environment.mounts:
        _MOUNTS[name](str(work))


def _move_into(root: Path) -> None:
    """Make a folder the root, with the system's /proc, /dev and /sys in it."""
    kernel.mount(str(root), str(root), None, kernel.MS_BIND | kernel.MS_REC)
    kernel.mount("proc", str(root / "proc"), "proc", _MS)
    for name in ("dev", "sys"):
        kernel.mount(f"/{name}", str(root / name), None, kernel.MS_BIND | kernel.MS_REC)
    os.chdir(root)
    kernel.pivot_root()
    os.chdir("/")


def _open_the_way(place: Path) -> None:
    """Let every user reach the interpreter, also where it lies in a folder that is only root's."""
    for folder in reversed(place.parents):
        if not folder.stat().st_mode & 0o001:
            held = os.open(place, os.O_PATH)
            kernel.mount("tmpfs", str(folder), "tmpfs", _MS, "mode=0755")
            place.mkdir(parents=True)
            kernel.mount(f"/proc/self/fd/{held}", str(place), None, kernel.MS_BIND | kernel.MS_REC)
            os.close(held)
            return


def _read_only_root(work: str) -> None:
    kernel.mount(work, work, None, kernel.MS_BIND)
    kernel.mount(None, "/", None, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY)


def _hide_processes(_: str) -> None:
    _unshare(kernel.CLONE_NEWPID)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    kernel.mount("proc", "/proc", "proc", _MS, "hidepid=2")


_MOUNTS: dict[str, Callable[[str], None]] = {
    "root read-only": _read_only_root,
    "tmp": lambda _: kernel.mount("tmp", "/tmp", "tmpfs", _MS, "mode=1777"),
    "shm 64 MB": lambda _: kernel.mount("shm", "/dev/shm", "tmpfs", _MS, "size=64m"),
    "shm read-only": lambda _: kernel.mount("shm", "/dev/shm", "tmpfs", _MS | kernel.MS_RDONLY),
    "proc hidepid": _hide_processes,
    "proc empty": lambda _: kernel.mount("proc", "/proc", "tmpfs", _MS | kernel.MS_RDONLY),
}


def _enter_user_namespace(lines: Sequence[str]) -> None:
    """Become root of a user namespace; a child of ours that stays outside writes the maps."""
    ready, go = os.pipe(), os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.read(ready[0], 1)
        for kind in ("uid_map", "gid_map"):
            Path(f"/proc/{parent}/{kind}").write_text("\n".join(lines))
        os.write(go[1], b"x")
        os._exit(0)
    _unshare(kernel.CLONE_NEWUSER)
    os.write(ready[1], b"x")
    os.close(go[1])
    if os.read(go[0], 1) != b"x":
        raise OSError("the maps of the user namespace could not be written")
    os.waitpid(child, 0)
    for descriptor in (*ready, go[0]):
        os.close(descriptor)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _refuse_maps() -> None:
    """Forbid writing below /proc, and mounting, by Landlock: the maps of a new user namespace stay empty."""
    libc = ctypes.CDLL(None, use_errno=True)
    rules = kernel.raw("landlock_create_ruleset", struct.pack("=Q", _LANDLOCK_WRITE_FILE), 8, 0)
    if rules < 0:
        raise OSError(-rules, "Landlock is needed to build this environment")
    for folder in Path("/").iterdir():
        if folder.name != "proc" and folder.is_dir():
            held = os.open(folder, os.O_PATH)
            rule = struct.pack("=Qi", _LANDLOCK_WRITE_FILE, held)
            if libc.syscall(445, rules, 1, rule, 0) < 0:
                raise OSError(ctypes.get_errno(), "landlock_add_rule")
            os.close(held)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1) if os.geteuid() else None
    kernel.landlock_restrict(rules)
    os.close(rules)


def _unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(ctypes.c_int(flags)) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"unshare: {os.strerror(code)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path)
    parser.add_argument("name", choices=ENVIRONMENTS)
    parser.add_argument("work", type=Path)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    try:
        _become(ENVIRONMENTS[given.name], given.work, given.command, given.root)
    except OSError as error:
        sys.exit(f"cannot build {given.name}: {error}")
