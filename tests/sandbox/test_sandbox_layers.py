"""Each layer really holds in a real child, and the level says what is left when one is missing."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacks.confined import job_of

from codeguard.sandbox import Call, Job, Level, Sandbox, Status, Tier
from codeguard.sandbox.inside import bpf, syscalls

REFUSED = {
    "open": "EACCES",
    "stat": "EACCES",
    "connect": "EPERM",
    "fork": "EPERM",
    "exec": "EACCES",
    "kill": "EPERM",
    "wait": "EPERM",
    "ptrace": "EPERM",
    "mount": "EPERM",
    "unshare": "EPERM",
    "prctl": "EPERM",
    "executable memory": "EPERM",
    "wake others": "EPERM",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Level.L0, without=frozenset({"files"})) as made:
        if made.level < Level.L2:
            pytest.skip(f"this machine reaches {made.level.name}: {made.layers()}")
        yield made


def test_every_zygote_tries_the_forbidden_acts_before_it_serves(sandbox: Sandbox) -> None:
    details = {layer.name: layer.detail for layer in sandbox.layers()}
    for act, code in REFUSED.items():
        assert f"{act} {code}" in details["child_filter"]
    assert "open EACCES" in details["landlock"]
    assert details["rlimits"] == "descriptors EMFILE, processes EAGAIN, memory ENOMEM"


TRIES = [
    ("os.open('/', os.O_RDONLY)", 13),
    ("os.stat('/')", 13),
    ("os.fork()", 1),
    ("os.kill(1, 0)", 1),
    ("os.execv('/bin/true', ['true'])", 13),
    ("os.waitpid(-1, os.WNOHANG)", 1),
    ("os.pipe()", 1),
    ("os.dup(3)", 1),
    ("os.write(2, b'x')", 1),
    ("os.read(3, 1)", 1),
    ("os.setuid(0)", 1),
    ("os.chroot('/')", 1),
    ("os.sched_setaffinity(0, {0})", 1),
    ("os.memfd_create('x')", 13),
    ("socket.socket()", 1),
    ("socket.socketpair()", 1),
    ("signal.setitimer(signal.ITIMER_REAL, 1)", 1),
]


@pytest.mark.parametrize(("expression", "number"), TRIES)
def test_a_running_job_is_refused_by_the_same_numbers(sandbox: Sandbox, expression: str, number: int) -> None:
    source = (
        "import os, socket, signal, resource\n"
        f"def f():\n    try:\n        {expression}\n    except OSError as error:\n        return error.errno\n"
    )
    result = sandbox.run(Job(source, (Call("f"),), Tier.NATIVE))
    assert result.calls[0].value == number, result


def test_a_system_call_in_no_list_ends_the_child(sandbox: Sandbox) -> None:
    source = "import os\ndef f(): os.pidfd_open(0) if False else os.getxattr('/', 'user.x')\n"
    assert sandbox.run(Job(source, (Call("f"),), Tier.NATIVE)).status is Status.COMPLETED
    source = "import os\ndef f(): os.posix_fadvise(3, 0, 0, 0)\n"
    assert sandbox.run(Job(source, (Call("f"),), Tier.NATIVE)).status is Status.VIOLATION


@pytest.mark.parametrize(
    ("without", "level"),
    [
        ({"namespaces"}, Level.L2),
        ({"namespaces", "landlock"}, Level.L1),
        ({"landlock"}, Level.L2),
        ({"child_filter"}, Level.L0),
        ({"seccomp"}, Level.L0),
        ({"rlimits"}, Level.L0),
        ({"cgroup"}, Level.L3),
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
    for program in (bpf.zygote_filter(machine), bpf.child_filter(machine)):
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
    "zygote": (bpf.zygote_filter, syscalls.CHILD | syscalls.ZYGOTE),
    "child": (bpf.child_filter, syscalls.CHILD),
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
            expected = bpf.ERRNO | syscalls.REFUSED[call] if call in syscalls.REFUSED else bpf.KILL
            for arguments in ((0,) * 6, (EVERY_BIT,) * 6):
                assert run_filter(program, architecture, number, arguments) == expected, call
            continue
        compared = allowed[call].arguments
        right = [EVERY_BIT] * 6  # what is not compared is free
        for argument in compared:
            right[argument.place] = next(iter(argument.values.values()))
        assert run_filter(program, architecture, number, tuple(right)) == bpf.ALLOW, call
        for argument in compared:
            for value in TRIED:
                tried = (*right[: argument.place], value, *right[argument.place + 1 :])
                fits = value & LOW in argument.values.values()
                expected = bpf.ALLOW if fits else bpf.ERRNO | errno.EPERM
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
    program, through = bpf.child_filter(machine), set()
    for value in TRIED:
        arguments = [0] * 6
        if call == "mmap":
            arguments[2] = 3
        arguments[place] = value
        if run_filter(program, syscalls.AUDIT_ARCH[machine], number, tuple(arguments)) == bpf.ALLOW:
            through.add(value & LOW)
    assert through == values


@ARCHITECTURES
@pytest.mark.parametrize("made", [bpf.zygote_filter, bpf.child_filter])
def test_a_foreign_table_of_numbers_ends_the_process(machine: int, made: Callable[[int], bytes]) -> None:
    number = syscalls.NUMBERS["exit_group"][machine]
    assert number is not None
    x32 = 0x40000000  # x86-64's second table, which no program here uses
    here = syscalls.AUDIT_ARCH[machine]
    assert run_filter(made(machine), here, number) == bpf.ALLOW
    assert run_filter(made(machine), here, number | x32) == bpf.KILL
    for architecture in (
        0x40000003,
        0x40000028,
        syscalls.AUDIT_ARCH[1 - machine],
    ):  # 32 bits of each, the other
        assert run_filter(made(machine), architecture, number) == bpf.KILL


@ARCHITECTURES
def test_no_process_shares_memory_or_an_end_with_the_zygote(machine: int) -> None:
    number = syscalls.NUMBERS["clone"][machine]
    assert number is not None
    program, architecture = bpf.zygote_filter(machine), syscalls.AUDIT_ARCH[machine]
    through = {flags for flags in TRIED if run_filter(program, architecture, number, (flags,)) == bpf.ALLOW}
    assert through == {17}
    for flag in range(8, 32):
        assert run_filter(program, architecture, number, (17 | 1 << flag,)) == bpf.ERRNO | errno.EPERM


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
