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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codeguard.sandbox.inside import bpf, kernel, syscalls

ALL = frozenset(range(64))
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw,
# sys_chroot, mknod, audit_write, setfcap: what Docker and Podman leave to a container's root
DOCKER = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31})
ORDINARY = 1000
NOT_IN_PASSWD = 54321

_NAMESPACES = 0x7E020000  # the flags of clone that make a namespace
_NEWUSER = 0x10000000
_PR_CAP_AMBIENT = 47
_LANDLOCK_WRITE_FILE = 2
_MS = kernel.MS_NOSUID | kernel.MS_NODEV

# Numbers (x86-64, arm64) of calls that the sandbox itself has no use for.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_mempolicy": (239, 236),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pkey_alloc": (330, 289),
    "process_madvise": (440, 440),
    "quotactl": (179, 60),
    "request_key": (249, 218),
    "sched_setattr": (314, 274),
    "set_mempolicy": (238, 237),
    "setdomainname": (171, 162),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
} | syscalls.NUMBERS


@dataclass(frozen=True, slots=True)
class Refusal:
    """One system call that ends with an error: always, or where an argument has one of these bits or equals."""

    call: str
    code: int = errno.EPERM
    argument: int = -1
    bits: int = 0
    equals: int = 0

    def program(self) -> bpf.Program:
        """Return the filter's answer to this call."""
        refuse = (6, 0, 0, bpf.ERRNO | self.code)
        if self.argument < 0:
            return [refuse]
        load = (0x20, 0, 0, 16 + 8 * self.argument)
        compare = (0x45, 0, 1, self.bits) if self.bits else (0x15, 0, 1, self.equals)
        return [load, compare, refuse, (6, 0, 0, bpf.ALLOW)]


def refusals(names: str, code: int = errno.EPERM) -> tuple[Refusal, ...]:
    """Return refusals of calls by their names in one text."""
    return tuple(Refusal(name, code) for name in names.split())


# What Docker's default profile forbids without CAP_SYS_ADMIN and its like, as far as anything here calls it.
DOCKER_FILTER = (
    Refusal("clone", errno.EPERM, 0, bits=_NAMESPACES),
    Refusal("clone3", errno.ENOSYS),
    *refusals(
        "acct add_key bpf clock_settime delete_module fanotify_init finit_module fsconfig fsmount fsopen fspick"
        " get_mempolicy init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp"
        " kexec_file_load kexec_load keyctl mbind migrate_pages mount mount_setattr move_mount move_pages"
        " open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root process_madvise quotactl reboot"
        " request_key set_mempolicy setdomainname sethostname setns settimeofday swapoff swapon syslog umount2"
        " unshare userfaultfd vhangup"
    ),
)
# Profiles from before kernel 4.8 also forbid to trace, and know none of the calls made since.
OLD_DOCKER_FILTER = (
    *DOCKER_FILTER,
    *refusals("ptrace process_vm_readv process_vm_writev"),
    *refusals("landlock_create_ruleset landlock_add_rule landlock_restrict_self close_range openat2"),
    *refusals("epoll_pwait2 faccessat2 fchmodat2 pidfd_open rseq"),
)
NO_LANDLOCK = refusals("landlock_create_ruleset landlock_add_rule landlock_restrict_self", errno.ENOSYS)
LANDLOCK_OFF = refusals("landlock_create_ruleset landlock_add_rule landlock_restrict_self", errno.EOPNOTSUPP)
NO_USER_NAMESPACES = (
    Refusal("unshare", errno.EPERM, 0, bits=_NEWUSER),
    Refusal("clone", errno.EPERM, 0, bits=_NEWUSER),
    Refusal("clone3", errno.ENOSYS),
)
FULL_USER_NAMESPACES = tuple(
    replace(item, code=errno.ENOSPC) if item.call != "clone3" else item for item in NO_USER_NAMESPACES
)
# What a kernel in user space answers that has a part of Linux only.
GVISOR = (
    *NO_LANDLOCK,
    *refusals("seccomp rseq membarrier clone3 close_range openat2 io_uring_setup userfaultfd", errno.ENOSYS),
    *refusals("pidfd_open pidfd_getfd pidfd_send_signal epoll_pwait2 kcmp bpf perf_event_open", errno.ENOSYS),
    *refusals("landlock_add_rule pkey_alloc sched_setattr process_madvise fsopen move_mount", errno.ENOSYS),
    Refusal("prctl", errno.EINVAL, 0, equals=_PR_CAP_AMBIENT),
)
# What a libc other than glibc never calls, and kernels of its time do not have.
OLD_KERNEL = (
    *NO_LANDLOCK,
    *refusals(
        "clone3 rseq membarrier close_range openat2 faccessat2 statx memfd_create copy_file_range",
        errno.ENOSYS,
    ),
    *refusals(
        "pidfd_open pidfd_send_signal pidfd_getfd epoll_pwait2 getrandom preadv2 pwritev2", errno.ENOSYS
    ),
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


def _rootless(name: str, stands_for: str, **changes: object) -> Environment:
    single = ("0 1000 1",)
    made = Environment(name, stands_for, 0, DOCKER, single, DOCKER_FILTER)
    return replace(made, **changes)  # type: ignore[arg-type]


SUBORDINATE = ("0 1000 1", "1 100000 65535")
NO_CGROUP = ("cgroup read-only",)

ENVIRONMENTS: dict[str, Environment] = {
    item.name: item
    for item in (
        Environment("nothing-taken", "the machine itself, as root"),
        Environment("ordinary-user", "the machine itself, as a user other than root", ORDINARY),
        Environment("docker-root", "Docker's defaults, root", 0, DOCKER, refused=DOCKER_FILTER, mounts=NO_CGROUP),
        Environment(
            "docker-user", "Docker's defaults, --user 1000", ORDINARY, DOCKER, refused=DOCKER_FILTER, mounts=NO_CGROUP
        ),
        Environment(
            "docker-old", "an old Docker's defaults (no Landlock), root", 0, DOCKER,
            refused=OLD_DOCKER_FILTER, mounts=NO_CGROUP,
        ),
        Environment(
            "docker-unconfined", "Docker, seccomp=unconfined, root", 0, DOCKER, mounts=NO_CGROUP
        ),
        Environment(
            "no-new-privileges", "Docker, no-new-privileges, root", 0, DOCKER, refused=DOCKER_FILTER,
            no_new_privs=True, mounts=NO_CGROUP,
        ),
        Environment(
            "cap-drop-all", "Docker, --cap-drop ALL, root", 0, frozenset(), refused=DOCKER_FILTER, mounts=NO_CGROUP
        ),
        Environment(
            "cap-drop-all-unconfined", "Docker, --cap-drop ALL, seccomp=unconfined, root", 0, frozenset(),
            mounts=NO_CGROUP,
        ),
        Environment(
            "restricted", "Kubernetes' restricted profile",
            ORDINARY, frozenset(), refused=DOCKER_FILTER, no_new_privs=True, mounts=NO_CGROUP,
        ),
        _rootless("rootless", "rootless Docker or Podman, root", user_map=SUBORDINATE, mounts=NO_CGROUP),
        _rootless(
            "rootless-cap-drop-all", "rootless, --cap-drop ALL", user_map=SUBORDINATE, capabilities=frozenset(),
            mounts=NO_CGROUP,
        ),
        _rootless("rootless-single", "rootless without subordinate ids, root", mounts=NO_CGROUP),
        _rootless(
            "rootless-single-cap-drop-all", "rootless without subordinate ids, --cap-drop ALL, no-new-privileges",
            capabilities=frozenset(), no_new_privs=True, mounts=NO_CGROUP,
        ),
        _rootless("rootless-unconfined", "rootless, all capabilities, no filter", capabilities=ALL, refused=()),
        Environment("no-userns", "user namespaces forbidden", ORDINARY, refused=NO_USER_NAMESPACES),
        Environment(
            "userns-full", "user.max_user_namespaces=0", ORDINARY, refused=FULL_USER_NAMESPACES
        ),
        Environment(
            "apparmor-userns", "Ubuntu 24.04: user namespaces without rights in them", ORDINARY, maps_refused=True
        ),
        Environment("no-landlock", "a kernel without Landlock", ORDINARY, refused=NO_LANDLOCK),
        Environment("landlock-off", "Landlock not in the boot's lsm=", ORDINARY, refused=LANDLOCK_OFF),
        Environment(
            "docker-no-landlock", "Docker's defaults without Landlock, --user 1000", ORDINARY, DOCKER,
            refused=(*DOCKER_FILTER, *NO_LANDLOCK), mounts=NO_CGROUP,
        ),
        Environment(
            "gvisor", "gVisor, root", 0, DOCKER,
            refused=(*GVISOR, Refusal("clone", errno.EPERM, 0, bits=_NAMESPACES), Refusal("unshare")),
            mounts=NO_CGROUP,
        ),
        Environment(
            "no-seccomp", "a system that takes no seccomp filter", ORDINARY,
            refused=(Refusal("prctl", errno.EINVAL, 0, equals=kernel.PR_SET_SECCOMP),),
        ),
        Environment(
            "wsl2", "WSL2, a user", ORDINARY, refused=NO_LANDLOCK,
            mounts=NO_CGROUP,
        ),
        Environment(
            "old-kernel", "an old kernel", ORDINARY, refused=OLD_KERNEL
        ),
        Environment(
            "read-only", "Docker, --read-only, --user 1000", ORDINARY, DOCKER,
            refused=DOCKER_FILTER, mounts=("root read-only", *NO_CGROUP),
        ),
        Environment(
            "read-only-tmp", "Docker, --read-only, --tmpfs /tmp", ORDINARY, DOCKER,
            refused=DOCKER_FILTER, mounts=("root read-only", "tmp", *NO_CGROUP),
        ),
        Environment(
            "shm-64m", "Docker's /dev/shm of 64 MB, --user 1000", ORDINARY, DOCKER, refused=DOCKER_FILTER,
            mounts=("shm 64 MB", *NO_CGROUP),
        ),
        Environment(
            "no-shm", "no /dev/shm to write to, --user 1000", ORDINARY, DOCKER, refused=DOCKER_FILTER,
            mounts=("shm read-only", *NO_CGROUP),
        ),
        Environment("no-cgroup", "control groups read-only", mounts=NO_CGROUP),
        Environment("hidepid", "/proc with hidepid=2, a user", ORDINARY, mounts=("proc hidepid",)),
        Environment("no-proc", "no /proc", ORDINARY, mounts=("proc empty",)),
        Environment(
            "few-processes", "RLIMIT_NPROC 64, --user of its own", NOT_IN_PASSWD, DOCKER, refused=DOCKER_FILTER,
            limits={resource.RLIMIT_NPROC: 64},
        ),
        Environment(
            "no-processes", "RLIMIT_NPROC 1", NOT_IN_PASSWD + 1, DOCKER,
            refused=DOCKER_FILTER, limits={resource.RLIMIT_NPROC: 1}, variables={"OPENBLAS_NUM_THREADS": "1"},
        ),
        Environment("few-files", "RLIMIT_NOFILE 64", ORDINARY, limits={resource.RLIMIT_NOFILE: 64}),
        Environment("little-memory", "RLIMIT_AS 1 GiB", ORDINARY, limits={resource.RLIMIT_AS: 1 << 30}),
        Environment(
            "no-home", "Kubernetes' restricted profile, no HOME", NOT_IN_PASSWD, frozenset(),
            refused=DOCKER_FILTER, no_new_privs=True, mounts=NO_CGROUP, variables={"HOME": None},
        ),
        Environment(
            "home-not-writable", "OpenShift, HOME=/ not writable", NOT_IN_PASSWD, frozenset(),
            refused=DOCKER_FILTER, no_new_privs=True, mounts=NO_CGROUP, variables={"HOME": "/"},
        ),
    )
}  # fmt: skip


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
        kernel.Filter(bpf.assemble(machine, programs, bpf.ALLOW)).install()
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


def _read_only_control_groups(_: str) -> None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        place, kind = line.split()[1:3]
        if kind.startswith("cgroup"):
            kernel.mount(None, place, None, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY)


def _hide_processes(_: str) -> None:
    _unshare(kernel.CLONE_NEWPID)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    kernel.mount("proc", "/proc", "proc", _MS, "hidepid=2")


_MOUNTS: dict[str, Callable[[str], None]] = {
    "root read-only": _read_only_root,
    "cgroup read-only": _read_only_control_groups,
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
