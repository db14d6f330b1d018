"""Each layer really holds in a real child, and the level says what is left when one is missing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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
        ({"zygote"}, Level.L0),
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
            result = reduced.run(Job("def f(): return 1", (Call("f"),), tier))
            assert result.status is Status.UNSUPPORTED
            assert result.calls == ()
            assert "L2 is required" in result.detail or "required is L2" in result.detail


@pytest.mark.parametrize("machine", [0, 1])
def test_filters_stay_within_what_the_kernel_takes(machine: int) -> None:
    for program in (bpf.zygote_filter(machine), bpf.child_filter(machine, 3, 4)):
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
                0x45: bool(accumulator & constant),
            }[operation]
            at += if_true if holds else if_false


BY_ARGUMENT = {
    *("mmap", "mprotect", "clone", "read", "write", "madvise", "prctl"),
    *("clock_gettime", "clock_getres", "clock_nanosleep"),
}


@pytest.mark.parametrize("machine", [0, 1], ids=["x86-64", "arm64"])
def test_every_number_gets_the_answer_of_its_table(machine: int) -> None:
    names = {numbers[machine]: name for name, numbers in syscalls.NUMBERS.items()}
    zygote, child = bpf.zygote_filter(machine), bpf.child_filter(machine, 3, 4)
    architecture = syscalls.AUDIT_ARCH[machine]
    for number in range(600):
        name = names.get(number)
        for program, allowed in ((zygote, syscalls.COMPUTE | syscalls.ZYGOTE), (child, syscalls.COMPUTE)):
            found = run_filter(program, architecture, number)
            if name in BY_ARGUMENT:
                continue
            if name in allowed:
                assert found == bpf.ALLOW, name
            elif name in syscalls.REFUSED:
                assert found == bpf.ERRNO | syscalls.REFUSED[name], name
            else:
                assert found == bpf.KILL, number
    number = {name: column[machine] or 0 for name, column in syscalls.NUMBERS.items()}
    refused = bpf.ERRNO | 1
    for option in range(80):
        assert run_filter(child, architecture, number["prctl"], (option,)) == refused
        allowed_option = bpf.ALLOW if option in (1, 22) else refused  # PR_SET_PDEATHSIG, PR_SET_SECCOMP
        assert run_filter(zygote, architecture, number["prctl"], (option,)) == allowed_option
    assert run_filter(child, architecture, number["write"], (3, 0, 0)) == bpf.ALLOW
    assert run_filter(child, architecture, number["write"], (1, 0, 0)) == refused
    assert run_filter(child, architecture, number["read"], (4, 0, 0)) == bpf.ALLOW
    assert run_filter(child, architecture, number["read"], (3, 0, 0)) == refused
    assert run_filter(child, architecture, number["mmap"], (0, 0, 3)) == bpf.ALLOW
    assert run_filter(child, architecture, number["mprotect"], (0, 0, 5)) == refused
    assert run_filter(child, architecture, number["clone"], (17,)) == refused
    invalid = bpf.ERRNO | 22
    for advice in range(120):
        expected = bpf.ALLOW if advice in (0, 1, 2, 3, 4, 8, 14, 15) else invalid
        assert run_filter(child, architecture, number["madvise"], (0, 4096, advice)) == expected
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep"):
        for clock in (0, 1, 3, 11):
            assert run_filter(child, architecture, number[name], (clock,)) == bpf.ALLOW
        for clock in (12, 0xFFFFFFF2, 0xFFFFFFFFFFFFFFF2):
            assert run_filter(child, architecture, number[name], (clock,)) == invalid
    assert run_filter(zygote, architecture, number["clone"], (0x01200011,)) == bpf.ALLOW
    assert run_filter(zygote, architecture, number["clone"], (0x01200011 | 0x100,)) == refused
    assert run_filter(zygote, 0x40000003, number["write"]) == bpf.KILL
    x32 = 0x40000000  # x86-64's second table of numbers, which no program here uses
    assert run_filter(zygote, architecture, number["write"] | x32) == bpf.KILL


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
