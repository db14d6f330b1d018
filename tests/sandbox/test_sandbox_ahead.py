"""Children that are forked before their job is known: nothing of one check reaches another's."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from ended import gone

from codeguard.sandbox import Call, Job, Level, Limits, Sandbox, Status, Tier
from codeguard.sandbox.inside.wire import RESULT
from codeguard.sandbox.zygotes import SPARE, Zygote

pytestmark = pytest.mark.ci

SECRET = "only-the-first-check-knows-"
# Reads every page that the interpreter's own objects lie in, and those between them.
SCAN = """
import ctypes, gc, os
MASK = 14 if os.uname().machine == "x86_64" else 135
LIBC = ctypes.CDLL(None, use_errno=True)
def scan(parts):
    sought = "".join(parts).encode()  # backwards: what is looked for never lies here itself
    pages = set()
    for thing in gc.get_objects():
        for one in (thing, *gc.get_referents(thing)):
            pages.add(id(one) >> 12)
    pages = {page + more for page in pages for more in range(-4, 5)}
    return [hits(sought, page) for page in sorted(pages)].count(True)
def hits(sought, page):
    # reads a mask of signals there before it refuses the action, which is none
    ctypes.set_errno(0)
    LIBC.syscall(MASK, 99, ctypes.c_void_p(page << 12), None, ctypes.c_size_t(8))
    if ctypes.get_errno() != 22:
        return False
    return sought in ctypes.string_at(page << 12, 4096)[::-1]
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        if made.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {made.level.name} only")
        yield made


def native(source: str, *calls: Call, limits: Limits = Limits(wall_s=20.0)) -> Job:  # noqa: B008 - frozen
    return Job(source, calls or (Call("f"),), Tier.NATIVE, limits)


def test_no_later_child_holds_anything_of_an_earlier_check() -> None:
    source = f"import os\nKEPT = {SECRET!r} + 'source'\ndef f(x):\n    return [KEPT, x] * 50\n"
    given = f"{SECRET}argument"
    with Sandbox() as sandbox:
        for _ in range(SPARE + 1):
            first = sandbox.run(native(source, Call("f", (given,))))
            assert first.calls[0].value == [SECRET + "source", given] * 50
        scan = native(SCAN, Call("scan", (list(SECRET[::-1]),)))
        for _ in range(SPARE + 2):
            assert [call.value for call in sandbox.run(scan).calls] == [0]


def test_the_scan_finds_what_is_there(sandbox: Sandbox) -> None:
    scan = native(SCAN + f"KEPT = [{SECRET!r}]\n", Call("scan", (list(SECRET[::-1]),)))
    assert sandbox.run(scan).calls[0].value


DESCRIPTORS = """
import os
def f():
    found = []
    for number in range(1024):
        if number != RESULT:
            try:
                os.close(number)
                found.append(number)
            except OSError as error:
                if error.errno != 9:
                    found.append(error.errno)
    return found
"""


def test_the_result_pipe_is_the_only_descriptor_once_code_runs(sandbox: Sandbox) -> None:
    for _ in range(SPARE + 2):
        assert sandbox.run(native(f"RESULT = {RESULT}" + DESCRIPTORS)).calls[0].value == []


def test_the_number_of_the_job_pipe_cannot_be_made_again(sandbox: Sandbox) -> None:
    source = "import os\ndef f():\n    return os.read(4, 1)\n"
    result = sandbox.run(native(source))
    assert result.calls[0].exception[0] == "OSError"
    assert "[Errno 9]" in result.calls[0].message


GROW = "def f():\n    return len(bytearray(100 * 1024 * 1024))\n"


def test_a_job_has_its_own_limits_whatever_the_waiting_children_were_made_for(sandbox: Sandbox) -> None:
    narrow = Limits(wall_s=20.0, memory_bytes=96 * 1024 * 1024)
    wide = Limits(wall_s=20.0)
    for limits, status in [(wide, Status.COMPLETED), (narrow, Status.MEMORY)] * 3:
        assert sandbox.run(native(GROW, limits=limits)).status is status


KILL = """
import os, signal
def f():
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError as error:
        return error.errno
    return 0
"""


@pytest.mark.parametrize("without", [set(), {"seccomp", "child_filter"}], ids=["all layers", "no filters"])
def test_no_child_ends_those_that_wait(without: set[str]) -> None:
    with Sandbox(Level.L0, without=frozenset(without)) as sandbox:
        versions = {layer.name: layer.detail for layer in sandbox.layers()}
        if without and not versions["landlock"].startswith(("version 6", "version 7", "version 8")):
            pytest.skip("this kernel's Landlock does not know signals")
        sandbox.run(native("import os\ndef f():\n    return 1\n"))
        zygote = sandbox.idle()[-1]
        for number in range(SPARE + 1):
            sandbox.run(native(KILL))
            result = sandbox.run(native(f"import os\ndef f():\n    return {number}\n"))
            assert result.calls[0].value == number
        assert zygote in sandbox.idle()


def test_a_job_larger_than_a_pipe_arrives_whole(sandbox: Sandbox) -> None:
    text = "".join(map(chr, range(32, 127))) * 4000
    job = Job("def f(x):\n    return len(x), x[-95:]\n", (Call("f", (text,)),), limits=Limits(wall_s=20.0))
    assert sandbox.run(job).calls[0].value == (len(text), text[-95:])


DRIBBLE = """
import os
def f():
    while True:
        os.write(3, b"\\x7f")
"""


def test_a_child_that_dribbles_holds_nobody_up_and_ends_at_its_deadline() -> None:
    slow = native(DRIBBLE, limits=Limits(wall_s=0.5, frame_bytes=1 << 30))
    quick = Job("def f():\n    return 1\n", (Call("f"),), limits=Limits(wall_s=20.0))
    with Sandbox(workers=2) as sandbox:
        first, *rest = sandbox.run_many([slow, *[quick] * 20])
    assert first.status is Status.TIMEOUT
    assert [result.calls[0].value for result in rest] == [1] * 20


def test_waiting_children_end_with_the_sandbox() -> None:
    with Sandbox() as sandbox:
        sandbox.run(native("def f():\n    return 1\n"))
        (zygote,) = sandbox.idle()
        assert isinstance(zygote, Zygote)
        pids = [zygote.pid, *_below(zygote.pid)]
        assert len(pids) >= 1 + SPARE
    assert all(gone(pid, 0) for pid in pids)


def test_a_waiting_child_that_dies_costs_no_verdict() -> None:
    job = Job("def f():\n    return 7\n", (Call("f"),), limits=Limits(wall_s=20.0))
    with Sandbox() as sandbox:
        sandbox.run(job)
        (zygote,) = sandbox.idle()
        assert isinstance(zygote, Zygote)
        for pid in _below(zygote.pid)[-SPARE:]:
            with contextlib.suppress(ProcessLookupError):  # one that was just buried
                os.kill(pid, signal.SIGKILL)
        assert [sandbox.run(job).calls[0].value for _ in range(4)] == [7] * 4


def _below(pid: int) -> list[int]:
    try:
        direct = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return direct + [below for child in direct for below in _below(child)]
