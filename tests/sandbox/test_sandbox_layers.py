"""Each layer really holds in a real child, and the level says what is left when one is missing."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacks.catalogue import PRELUDES
from attacks.confined import job_of

from codeguard.sandbox import Call, Job, Level, Sandbox, Status, Tier
from codeguard.sandbox.inside import syscalls

# A job in the native tier makes the call by number through ctypes, past every Python function.
SOURCE = (
    PRELUDES["raw"]
    + """
NAMED = dict(
    stat=(262, 79), fork=(56, 220), execve=(59, 221), read=(0, 63), write=(1, 64), dup=(32, 23), pipe2=(293, 59),
    fcntl=(72, 25), wait4=(61, 260), umount2=(166, 39), seccomp=(317, 277), setuid=(105, 146), capset=(126, 91),
    sendto=(44, 206), bind=(49, 200), socketpair=(53, 199), shmget=(29, 194), setitimer=(38, 103),
    landlock_restrict_self=(446, 446), setrlimit=(160, 164), sethostname=(170, 161), reboot=(169, 142),
    sched_setaffinity=(203, 122), getxattr=(191, 8), fadvise64=(221, 223),
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
    "another core": ("sched_setaffinity", (0, 8, bytes(8)), errno.EPERM),
    "attribute of a file": ("getxattr", (b"/", b"user.x", bytes(8), 8), errno.EACCES),
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
    "fadvise64": (3, 0, 0, 0),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Level.L0, without=frozenset({"files"})) as made:
        if made.level < Level.L2:
            pytest.skip(f"this machine reaches {made.level.name}: {made.layers()}")
        yield made


def test_every_zygote_tries_the_forbidden_acts_before_it_serves(sandbox: Sandbox) -> None:
    layers = {layer.name: layer for layer in sandbox.layers()}
    for name in ("no_new_privs", "landlock", "seccomp", "child_filter", "rlimits", "capabilities"):
        assert layers[name].engaged, layers[name].detail
    assert "namespaces" in layers
    tried = "open EACCES, stat EACCES, connect EPERM, fork EPERM, exec EACCES, kill EPERM, wait EPERM, ptrace EPERM"
    tried += ", mount EPERM, unshare EPERM, prctl EPERM, executable memory EPERM, wake others EPERM"
    assert all(act in layers["child_filter"].detail for act in tried.split(", "))
    assert "open EACCES" in layers["landlock"].detail
    assert layers["rlimits"].detail == "descriptors EMFILE, processes EAGAIN, memory ENOMEM"


def attempt(sandbox: Sandbox, call: str, arguments: tuple[object, ...]) -> tuple[Status, object]:
    job = Job(SOURCE, (Call("attempt", (call, *arguments)),), Tier.NATIVE)
    result = sandbox.run(job)
    return result.status, result.calls[0].value


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
    ("without", "level"),
    [
        ({"namespaces"}, Level.L2),
        ({"namespaces", "landlock"}, Level.L1),
        ({"landlock"}, Level.L2),
        ({"child_filter"}, Level.L0),
        ({"capabilities"}, Level.L1),
        ({"seccomp"}, Level.L0),
        ({"rlimits"}, Level.L0),
    ],
    ids=lambda value: "+".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_the_level_says_what_is_missing(sandbox: Sandbox, without: set[str], level: Level) -> None:
    job = Job("def f(): return 1", (Call("f"),))
    with Sandbox(Level.L0, without=frozenset(without)) as reduced:
        assert reduced.level == min(level, sandbox.level)
        assert all(not layer.engaged for layer in reduced.layers() if layer.name in without)
        assert reduced.run(job).calls[0].value == 1
        assert reduced.run(job).level is reduced.level


def test_below_the_required_level_nothing_runs() -> None:
    with Sandbox(Level.L2, without=frozenset({"namespaces", "landlock"})) as reduced:
        for tier in Tier:
            result = reduced.run(job_of("def f(): return 1", (Call("f"),), tier))
            assert result.status is Status.UNSUPPORTED
            assert result.calls == ()
            assert "L2 is required" in result.detail or "required is L2" in result.detail


@pytest.mark.parametrize("machine", [0, 1])
def test_filters_stay_within_what_the_kernel_takes(machine: int) -> None:
    for program in (syscalls.zygote_filter(machine), syscalls.child_filter(machine)):
        assert len(program) % 8 == 0
        assert len(program) // 8 < 4096


def run_filter(program: bytes, architecture: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """Interpret a filter as the kernel would."""
    import struct

    data = struct.pack("<IIQ6Q", number, architecture, 0, *(*arguments, *[0] * (6 - len(arguments))))
    code = list(struct.iter_unpack("=HBBI", program))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, constant = code[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, constant)
        elif operation == 0x06:
            return int(constant)
        elif operation == 0x05:
            at += constant
        else:
            holds = {
                0x15: accumulator == constant,
                0x35: accumulator >= constant,
            }[operation]
            at += if_true if holds else if_false


ARCHITECTURES = pytest.mark.parametrize("machine", [0, 1], ids=["x86-64", "arm64"])
FILTERS = {
    "zygote": (syscalls.zygote_filter, syscalls.CHILD | syscalls.ZYGOTE),
    "child": (syscalls.child_filter, syscalls.CHILD),
}
LOW, EVERY_BIT = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
# more than every value, flag and combination that the kernel gives a meaning, and negative numbers
TRIED = [*range(1100), *(1 << bit for bit in range(64)), *(LOW - number for number in range(50)), EVERY_BIT]


@ARCHITECTURES
@pytest.mark.parametrize("name", FILTERS)
def test_every_number_gets_the_answer_of_its_table(machine: int, name: str) -> None:
    made, allowed = FILTERS[name]
    program, architecture = made(machine), syscalls.AUDIT_ARCH[machine]
    names = {numbers[machine]: call for call, numbers in syscalls.NUMBERS.items()}
    for number in range(600):
        call = names.get(number)
        if call not in allowed:
            expected = syscalls.ERRNO | syscalls.REFUSED[call] if call in syscalls.REFUSED else syscalls.KILL
            for arguments in ((0,) * 6, (EVERY_BIT,) * 6):
                assert run_filter(program, architecture, number, arguments) == expected, call
            continue
        compared = allowed[call].arguments
        right = [EVERY_BIT] * 6  # what is not compared is free
        for argument in compared:
            right[argument.place] = next(iter(argument.values.values()))
        assert run_filter(program, architecture, number, tuple(right)) == syscalls.ALLOW, call
        for argument in compared:
            for value in TRIED:
                tried = (*right[: argument.place], value, *right[argument.place + 1 :])
                fits = value & LOW in argument.values.values()
                expected = syscalls.ALLOW if fits else syscalls.ERRNO | errno.EPERM
                assert run_filter(program, architecture, number, tried) == expected, (call, value)


# What the kernel's headers call these values, and the only ones that let the call through in a child.
ONLY = {
    "futex": (1, {0 | 128, 1 | 128, 9 | 128, 9 | 128 | 256}),
    "mmap": (3, {0x02 | 0x20}),
    "mprotect": (2, {0, 1, 2, 1 | 2}),
    "mremap": (3, {1}),
    "clock_gettime": (0, {0, 1}),
    "getrandom": (2, {0, 1}),
    "read": (0, {4}),
    "write": (0, {3}),
}


@ARCHITECTURES
@pytest.mark.parametrize("call", ONLY)
def test_a_child_gets_through_with_these_values_alone(machine: int, call: str) -> None:
    place, values = ONLY[call]
    number = syscalls.NUMBERS[call][machine]
    assert number is not None
    program, through = syscalls.child_filter(machine), set()
    for value in TRIED:
        arguments = [0] * 6
        if call == "mmap":
            arguments[2] = 3
        arguments[place] = value
        if run_filter(program, syscalls.AUDIT_ARCH[machine], number, tuple(arguments)) == syscalls.ALLOW:
            through.add(value & LOW)
    assert through == values


@ARCHITECTURES
@pytest.mark.parametrize("made", [syscalls.zygote_filter, syscalls.child_filter])
def test_a_foreign_table_of_numbers_ends_the_process(machine: int, made: Callable[[int], bytes]) -> None:
    number = syscalls.NUMBERS["exit_group"][machine]
    assert number is not None
    x32 = 0x40000000  # x86-64's second table, which no program here uses
    here = syscalls.AUDIT_ARCH[machine]
    assert run_filter(made(machine), here, number) == syscalls.ALLOW
    assert run_filter(made(machine), here, number | x32) == syscalls.KILL
    for architecture in (
        0x40000003,
        0x40000028,
        syscalls.AUDIT_ARCH[1 - machine],
    ):  # 32 bits of each, the other
        assert run_filter(made(machine), architecture, number) == syscalls.KILL


@ARCHITECTURES
def test_no_process_shares_memory_or_an_end_with_the_zygote(machine: int) -> None:
    number = syscalls.NUMBERS["clone"][machine]
    assert number is not None
    program, architecture = syscalls.zygote_filter(machine), syscalls.AUDIT_ARCH[machine]
    through = {
        flags for flags in TRIED if run_filter(program, architecture, number, (flags,)) == syscalls.ALLOW
    }
    assert through == {17}
    for flag in range(8, 32):
        assert run_filter(program, architecture, number, (17 | 1 << flag,)) == syscalls.ERRNO | errno.EPERM


HEADERS = [
    (0, Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), re.compile(r"#define __NR_(\w+) (\d+)")),
    (1, Path("/usr/include/asm-generic/unistd.h"), re.compile(r"#define __NR(?:3264)?_(\w+) (\d+)")),
]


@pytest.mark.parametrize(("machine", "header", "line"), HEADERS, ids=["x86-64", "arm64"])
def test_numbers_are_those_of_the_kernels_headers(machine: int, header: Path, line: re.Pattern[str]) -> None:
    if not header.exists():
        pytest.skip("no kernel headers here")
    known = {name: int(number) for name, number in line.findall(header.read_text())}
    known["newfstatat"] = known.get("newfstatat", known.get("fstatat", -1))
    ours = {name: column[machine] for name, column in syscalls.NUMBERS.items()}
    assert {name: number for name, number in ours.items() if known.get(name, number) != number} == {}


def test_an_unknown_machine_has_no_column() -> None:
    assert syscalls.column("riscv64") is None
    assert syscalls.column(os.uname().machine) in (0, 1, None)
