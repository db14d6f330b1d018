"""Whatever an item does to its worker: it ends by a bound, is told which, and the others are answered."""

import contextlib
import ctypes
import gc
import importlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeguard.workers.processes import Processes, in_worker, open_executor, spread
from codeguard.workers.tasks import Allowance, DeadlineError, ItemBounds, Run, TaskAnswer

pytestmark = pytest.mark.ci

TESTS = Path(__file__).parent
BOUNDS = ItemBounds(cpu_s=0.5, wall_s=30.0, memory_bytes=300 << 20)


def loop() -> None:
    while True:
        pass


def loop_in_c() -> None:
    ctypes.CDLL(None).qsort(  # four billion equal items: nothing of Python runs meanwhile
        (ctypes.c_char * 8)(), 1 << 40, 0, ctypes.CDLL(None).memcmp
    )
    "a".translate({}) and sum(range(10**12))  # where that is over at once


def regex() -> None:
    re.fullmatch("(a|a)*b", "a" * 64)


def swallow() -> None:
    while True:
        with contextlib.suppress(BaseException):
            while True:
                pass


def allocate() -> None:
    bytearray(4 << 30)


def allocate_slowly() -> None:
    kept = []
    while True:
        kept.append(bytes(1 << 20))  # not touched: 300 MB of pages take a busy machine longer than the bound


def leave() -> None:
    os._exit(0)


def crash() -> None:
    ctypes.string_at(0)


def fail() -> None:
    raise ValueError("no")


def wait() -> None:
    time.sleep(3600)


HOSTILE = {
    "loop": (loop, "cpu"),
    "loop in C": (loop_in_c, "cpu"),
    "regex": (regex, "cpu"),
    "swallow": (swallow, "cpu"),
    "allocate": (allocate, "memory"),
    "allocate slowly": (allocate_slowly, "memory"),
    "leave": (leave, "died"),
    "crash": (crash, "died"),
    "fail": (fail, "failed"),
}


def act() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        yield b"first"
        name = payload.decode()
        if name in HOSTILE:
            HOSTILE[name][0]()
        if name == "wait":
            wait()
        yield payload.upper()

    return run


def with_deadline() -> Run:
    """As a detector runs: a step that is ended is told, and the next one has its turn."""

    def run(payload: bytes) -> Iterator[bytes]:
        allowance = Allowance(0.3)
        for name in payload.decode().split(","):
            try:
                with allowance.step():
                    if name in HOSTILE:
                        HOSTILE[name][0]()
                yield name.encode()
            except DeadlineError as error:
                yield f"{name}: {error.bound}".encode()

    return run


def where() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        yield f"{os.getpid()} {os.getppid()} {in_worker()}".encode()

    return run


def opened() -> Run:
    """Answer what is open."""

    def run(payload: bytes) -> Iterator[bytes]:
        for place in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                yield bytes(place.readlink())

    return run


def keep() -> Run:
    """Answer how often all garbage was collected; the item "keep" takes memory that stays taken."""
    kept: list[bytearray] = []
    collected: list[int] = []
    gc.callbacks.append(
        lambda phase, info: collected.append(1) if (phase, info["generation"]) == ("start", 2) else None
    )

    def run(payload: bytes) -> Iterator[bytes]:
        if payload == b"keep":
            kept.append(bytearray(128 << 20))
        yield str(len(collected)).encode()

    return run


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TESTS))


@pytest.fixture(scope="module")
def answers() -> dict[str, TaskAnswer]:
    """All of it in one batch, between others."""
    names = ["before", *HOSTILE, "after"]
    sys.path.insert(0, str(TESTS))
    with open_executor(1) as executor:
        found = dict(
            zip(names, spread(executor, act, [[name.encode() for name in names]], None, BOUNDS), strict=True)
        )
    sys.path.remove(str(TESTS))
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_what_ended_an_item_is_told_and_what_it_had_is_kept(
    answers: dict[str, TaskAnswer], name: str
) -> None:
    answer = answers[name]
    assert answer.ended == HOSTILE[name][1]
    assert answer.parts == (() if answer.ended == "died" else (b"first",))
    assert answer.why
    assert answer.lasting


def test_the_others_of_the_batch_are_answered(answers: dict[str, TaskAnswer]) -> None:
    assert answers["before"].last == b"BEFORE"
    assert answers["after"].last == b"AFTER"


def test_what_waits_for_ever_is_ended_by_the_clock_and_that_is_not_lasting() -> None:
    with open_executor(1) as executor:
        (answer,) = spread(executor, act, [[b"wait"]], None, ItemBounds(60.0, wall_s=0.5))
    assert (answer.ended, answer.lasting) == ("wall", False)


@pytest.mark.parametrize("name", ["loop", "regex"])
def test_a_step_that_hears_its_deadline_leaves_the_rest_its_turn(name: str) -> None:
    with open_executor(1) as executor:
        (answer,) = spread(executor, with_deadline, [[f"a,{name},b".encode()]], None, BOUNDS)
    assert answer.parts == (b"a", f"{name}: cpu".encode(), b"b")


def test_a_deadline_lets_an_import_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = (
        "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nmade = True\n"
    )
    (tmp_path / "slow_to_import.py").write_text(slow)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(DeadlineError), Allowance(0.1).step():
        importlib.import_module("slow_to_import")
        loop()
    assert sys.modules["slow_to_import"].made


def test_a_step_that_swallows_its_deadline_is_ended_from_outside() -> None:
    with open_executor(1) as executor:
        (answer,) = spread(executor, with_deadline, [[b"a,swallow,b"]], None, BOUNDS)
    assert (answer.ended, answer.parts) == ("cpu", (b"a",))


LIMITED = """
import resource, sys; sys.path.insert(0, sys.argv[1])
from test_bounds import act
from codeguard.workers.processes import Processes, send
from codeguard.workers.tasks import ItemBounds
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
with Processes(1) as pool:
    for memory in (None, 1 << 30, 100 << 30):
        (answer,) = send(pool, act, [b"a"], None, ItemBounds(5.0, memory_bytes=memory)).result()
        print((answer.ended, answer.last))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of the address space on Linux only")
def test_workers_begin_where_the_user_may_not_have_all_memory() -> None:
    """As `ulimit -v` has it, and some batch systems."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", LIMITED, str(TESTS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["('', b'A')"] * 3, done.stderr


ALONE = """
import sys; sys.path.insert(0, sys.argv[1])
from test_bounds import act, opened, where
from codeguard.workers.processes import Processes, may_fork
from codeguard.workers.processes import spread
from codeguard.workers.tasks import ItemBounds
import os
assert may_fork()
os.open(sys.argv[1], os.O_RDONLY)
with Processes(2, fork=True, load=lambda: print("loaded")) as pool:
    names = [b"a", b"loop in C", b"leave", b"b"]
    print(sys.argv[1].encode() in next(spread(pool, opened, [[b""]])).parts)
    found = list(spread(pool, act, [[name] for name in names], None, ItemBounds(0.5)))
    print([answer.ended for answer in found])
    print({line.split()[1] == str(os.getpid()).encode() for line in (a.last for a in spread(pool, where, [[b""]] * 8))})
print(open("/proc/self/task/%d/children" % os.getpid()).read() == "")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")
def test_a_process_with_one_thread_is_forked_and_what_it_loses_is_replaced() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", ALONE, str(TESTS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["loaded", "False", "['', 'cpu', 'died', '']", "{True}", "True"], (
        done.stderr
    )


ORPHAN = """
import time
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
import sys; sys.path.insert(0, sys.argv[1])
from test_bounds import act, where
from codeguard.workers.processes import Processes, send
from codeguard.workers.tasks import NO_BOUNDS
pool = Processes(1, fork=sys.argv[2] == "fork")
print(send(pool, where, [b""], None, NO_BOUNDS).result()[0].last.decode().split()[0], flush=True)
send(pool, act, [b"loop in C"], None, NO_BOUNDS)
while True:  # a signal that comes just before one long wait would not end that
    time.sleep(0.05)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", ["fork", "fresh"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_worker_outlives_its_parent(how: str, number: int) -> None:
    from ended import gone  # the processes that load this file find its folder alone

    with subprocess.Popen(
        [sys.executable, "-P", "-c", ORPHAN, str(TESTS), how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.send_signal(number)
        parent.wait()
        assert gone(worker)


def test_a_worker_imports_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "codeguard", "signal", "ctypes", "sitecustomize", "resource"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with Processes(1) as executor:
        assert next(spread(executor, act, [[b"x"]])).last == b"X"
    assert not (tmp_path / "ran").exists()


def test_memory_that_stays_taken_costs_one_collection_and_not_one_for_every_item() -> None:
    items = [b"first", b"keep", *[b"next"] * 6]
    with Processes(1) as executor:
        counts = [int(answer.last) for answer in spread(executor, keep, [items])]
    assert counts[2] == counts[1] + 1
    assert counts[-1] == counts[2]
