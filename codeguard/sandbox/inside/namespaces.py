"""New namespaces: an identity without rights, an empty file system, no network, pid 1."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from . import kernel, syscalls

NOBODY = 65534
_INSIDE_ID = 1000  # what the mapped user is called inside
_FLAGS = (
    kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)
_MOUNT_POINTS = ("/tmp", "/mnt", "/run", "/var", "/proc")


def leave_root() -> None:
    """Become nobody where this process may; root would own files and have limits of its own."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # else /proc/self, and so the maps, belong to root


def enter(machine: int, control: int) -> None:
    """Move into new namespaces and go on as pid 1 there; OSError where the system refuses.

    The process that was started stays behind, waits and ends with it: pid 1
    dies with that one, and everything in the namespace with pid 1.
    """
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(_FLAGS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{_INSIDE_ID} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{_INSIDE_ID} {group} 1")
    child = os.fork()
    if child:
        _wait_outside(child, control)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    kernel.sethostname(b"sandbox")
    _empty_root(machine)


def _wait_outside(child: int, control: int) -> None:
    try:
        os.close(control)
        kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        os.closerange(0, 1 << 16)
        os.waitpid(child, 0)
    finally:
        os._exit(0)


def _empty_root(machine: int) -> None:
    """Put an empty read-only file system in the place of everything."""
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    point = next(path for path in _MOUNT_POINTS if Path(path).is_dir())
    kernel.mount("sandbox", point, "tmpfs", flags, "size=4k,nr_inodes=1,mode=0555")
    os.chdir(point)
    pivot = syscalls.NUMBERS["pivot_root"][machine]
    assert pivot is not None
    try:
        kernel.pivot_root(pivot)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # the initial ramfs cannot be pivoted away: cover it
        kernel.mount(".", "/", None, kernel.MS_MOVE)
        os.chroot(".")
    os.chdir("/")
    kernel.mount(None, "/", None, flags | kernel.MS_REMOUNT | kernel.MS_RDONLY)
