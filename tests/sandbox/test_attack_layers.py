"""Each layer is active in the real child: what is forbidden is refused, by which errno or signal."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest
from attacks.raw import RAW

from codeguard.sandbox import Call, Job, Level, Sandbox, Status, Tier

# A job in the native tier makes the call by number through ctypes, past every Python function.
SOURCE = (
    RAW
    + """
NAMED = dict(
    stat=(262, 79), fork=(56, 220), execve=(59, 221), read=(0, 63), write=(1, 64), dup=(32, 23), pipe2=(293, 59),
    fcntl=(72, 25), wait4=(61, 260), umount2=(166, 39), seccomp=(317, 277), setuid=(105, 146), capset=(126, 91),
    sendto=(44, 206), bind=(49, 200), socketpair=(53, 199), shmget=(29, 194), setitimer=(38, 103),
    landlock_restrict_self=(446, 446), setrlimit=(160, 164), sethostname=(170, 161), reboot=(169, 142),
)
def attempt(name, *arguments):
    number = SYS.get(name) or NAMED[name][os.uname().machine != "x86_64"]
    kept = [C.create_string_buffer(a) if isinstance(a, bytes) else a for a in arguments]
    return syscall(number, *(C.addressof(a) if not isinstance(a, int) else a for a in kept))
"""
)

# act: (system call, arguments, errno)
REFUSED: dict[str, tuple[str, tuple[object, ...], int]] = {
    "open": ("openat", (-100, b"/", 0, 0), errno.EACCES),
    "stat": ("stat", (-100, b"/", bytes(256), 0), errno.EACCES),
    "execute": ("execve", (b"/bin/true", 0, 0), errno.EACCES),
    "execute a descriptor": ("execveat", (3, b"", 0, 0, 0x1000), errno.EACCES),
    "anonymous file": ("memfd_create", (b"x", 0), errno.EACCES),
    "socket": ("socket", (2, 1, 0), errno.EPERM),
    "Unix socket": ("socket", (1, 1, 0), errno.EPERM),
    "netlink socket": ("socket", (16, 3, 0), errno.EPERM),
    "connect": ("connect", (3, bytes(16), 16), errno.EPERM),
    "send": ("sendto", (3, b"x", 1, 0, 0, 0), errno.EPERM),
    "bind": ("bind", (3, bytes(16), 16), errno.EPERM),
    "socket pair": ("socketpair", (1, 1, 0, bytes(8)), errno.EPERM),
    "fork": ("fork", (17, 0, 0, 0, 0), errno.EPERM),
    "clone3": ("clone3", (bytes(64), 64), errno.ENOSYS),
    "kill the zygote": ("kill", (1, 9), errno.EPERM),
    "kill everyone": ("kill", (-1, 9), errno.EPERM),
    "signal a thread": ("tgkill", (1, 1, 9), errno.EPERM),
    "wait": ("wait4", (-1, 0, 1, 0), errno.EPERM),
    "ptrace": ("ptrace", (0, 0, 0, 0), errno.EPERM),
    "read another's memory": ("process_vm_readv", (1, 0, 0, 0, 0, 0), errno.EPERM),
    "steal a descriptor": ("pidfd_getfd", (3, 0, 0), errno.EPERM),
    "mount": ("mount", (b"x", b"/", b"tmpfs", 0, 0), errno.EPERM),
    "unmount": ("umount2", (b"/", 2), errno.EPERM),
    "change root": ("chroot", (b"/",), errno.EPERM),
    "new user namespace": ("unshare", (0x10000000,), errno.EPERM),
    "join a namespace": ("setns", (3, 0), errno.EPERM),
    "host name": ("sethostname", (b"x", 1), errno.EPERM),
    "dumpable": ("prctl", (4, 1, 0, 0, 0), errno.EPERM),
    "another filter": ("seccomp", (1, 0, 0), errno.EPERM),
    "change user": ("setuid", (0,), errno.EPERM),
    "capabilities": ("capset", (0, 0), errno.EPERM),
    "raise a limit": ("prlimit64", (0, 9, bytes(16), 0), errno.EPERM),
    "limits of the zygote": ("prlimit64", (1, 7, bytes(16), 0), errno.EPERM),
    "priority of the zygote": ("setpriority", (0, 1, 19), errno.EPERM),
    "executable memory": ("mmap", (0, 4096, 5, 0x22, -1, 0), errno.EPERM),
    "memory made executable": ("mprotect", (0, 4096, 4), errno.EPERM),
    "locked memory": ("mlock", (0, 4096), errno.EPERM),
    "shared memory": ("shmget", (1, 4096, 0o1600), errno.EPERM),
    "read": ("read", (0, bytes(8), 8), errno.EPERM),
    "write elsewhere": ("write", (1, b"x", 1), errno.EPERM),
    "duplicate": ("dup", (3,), errno.EPERM),
    "pipe": ("pipe2", (bytes(8), 0), errno.EPERM),
    "owner of the result pipe": ("fcntl", (3, 8, 1), errno.EPERM),
    "timer": ("setitimer", (0, bytes(32), 0), errno.EPERM),
    "reboot": ("reboot", (0, 0, 0, 0), errno.EPERM),
}

# calls that no ordinary program makes: the child is killed
KILLED: dict[str, tuple[object, ...]] = {
    "io_uring_setup": (4, bytes(120)),
    "bpf": (0, 0, 0),
    "userfaultfd": (1,),
    "perf_event_open": (0, 0, -1, -1, 0),
    "keyctl": (0, -4, 0),
    "add_key": (0, 0, 0, 0, -4),
    "personality": (0x0440000,),
    "open_tree": (-100, b"/", 0),
    "move_mount": (-1, 0, -1, 0, 0),
    "name_to_handle_at": (-100, b"/", 0, 0, 0),
    "timer_create": (0, 0, 0),
    "kcmp": (1, 1, 0, 0, 0),
    "msgget": (1, 0o1600),
    "mq_open": (b"x", 0o102, 0o600, 0),
    "process_madvise": (3, 0, 0, 0, 0),
    "migrate_pages": (0, 0, 0, 0),
    "acct": (0,),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        if made.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {made.level.name} only")
        yield made


def attempt(sandbox: Sandbox, call: str, arguments: tuple[object, ...]) -> tuple[Status, object]:
    job = Job(SOURCE, (Call("attempt", (call, *arguments)),), Tier.NATIVE)
    result = sandbox.run(job)
    return result.status, result.calls[0].value


def test_every_start_says_which_layers_hold_and_how_that_was_found_out(sandbox: Sandbox) -> None:
    layers = {layer.name: layer for layer in sandbox.layers()}
    assert {
        "namespaces",
        "capabilities",
        "no_new_privs",
        "landlock",
        "seccomp",
        "child_filter",
        "rlimits",
    } <= set(layers)
    for name in ("no_new_privs", "landlock", "seccomp", "child_filter", "rlimits", "capabilities"):
        assert layers[name].engaged, layers[name].detail
    shown = layers["child_filter"].detail
    for act in ("open EACCES", "connect EPERM", "fork EPERM", "kill EPERM", "ptrace EPERM", "mount EPERM"):
        assert act in shown


@pytest.mark.parametrize("act", REFUSED)
def test_act_is_refused_in_the_child(act: str, sandbox: Sandbox) -> None:
    call, arguments, code = REFUSED[act]
    assert attempt(sandbox, call, arguments) == (Status.COMPLETED, -code)


@pytest.mark.parametrize("call", KILLED)
def test_call_of_no_ordinary_program_ends_the_child(call: str, sandbox: Sandbox) -> None:
    assert attempt(sandbox, call, KILLED[call])[0] is Status.VIOLATION


def test_harmless_call_is_allowed_so_that_the_refusals_mean_something(sandbox: Sandbox) -> None:
    assert attempt(sandbox, "munmap", (0x10000, 4096)) == (Status.COMPLETED, 0)


@pytest.mark.parametrize(
    "layer", ["namespaces", "capabilities", "landlock", "seccomp", "child_filter", "rlimits"]
)
def test_layer_left_out_is_reported_and_lowers_the_level(layer: str) -> None:
    with Sandbox(level_required=Level.L0, without=frozenset({layer})) as without:
        assert layer not in {found.name for found in without.layers() if found.engaged}
        assert without.level < Level.L3
