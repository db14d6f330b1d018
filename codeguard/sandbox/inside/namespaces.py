"""New namespaces: an identity without rights, an empty file system, no network, pid 1."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from os import getegid, geteuid  # as they are before the world of the code under test
from pathlib import Path

from . import kernel

NOBODY = 65534
_INSIDE_ID = 1000  # the uid of the mapped user inside
_FLAGS = (
    kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)
_WELL = b"\0"
_MOUNT_POINTS = ("/tmp", "/mnt", "/run", "/var", "/proc")


def leave_root() -> None:
    """Switch to the user nobody if permitted; root would own files and be exempt from limits.

    Root without capabilities may not, and if the user nobody is not mapped there is no such user: then
    nothing changes, and the capabilities layer tests what the current user can do.
    """
    if geteuid() != 0:
        return
    changes: tuple[Callable[[], object], ...] = (
        lambda: os.setgroups([]),
        lambda: os.setresgid(NOBODY, NOBODY, NOBODY),
        lambda: os.setresuid(NOBODY, NOBODY, NOBODY),
        # else /proc/self, and so the maps, belong to root
        lambda: kernel.prctl(kernel.PR_SET_DUMPABLE, 1),
    )
    for change in changes:
        with contextlib.suppress(OSError):
            change()


def enter(control: int) -> None:
    """Go on as pid 1 of new namespaces; raise OSError if the system refuses, and then nothing has changed.

    The process that was started stays behind, waits and ends with it: pid 1
    dies with that one, and everything in the namespace with pid 1. Some
    systems refuse only after the namespaces are made (the maps, the mounts),
    so a child makes them for itself, and says whether it went well.
    """
    user, group = geteuid(), getegid()
    reading, writing = os.pipe()
    try:
        child = kernel.clone(_FLAGS)
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
        os.closerange(0, 1 << 16)
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
