"""Many jobs, several zygotes, some of which die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from codeguard.errors import SandboxError
from codeguard.sandbox import Call, Job, Level, Limits, Sandbox, Status, World, zygotes
from codeguard.sandbox.model import Tier
from codeguard.sandbox.zygotes import Zygote

pytestmark = pytest.mark.ci

PATIENT = Limits(wall_s=20.0)  # a busy machine is not what these tests are about


def numbered(number: int) -> Job:
    return Job(f"def f(): return {number}", (Call("f"),), limits=PATIENT)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Level.L1, workers=2) as made:
        yield made


def test_results_come_in_the_order_given(sandbox: Sandbox) -> None:
    slow = Job("def f():\n    while True: pass", (Call("f"),), limits=Limits(wall_s=0.2))
    jobs = [slow if index in (0, 7) else numbered(index) for index in range(20)]
    results = list(sandbox.run_many(jobs))
    assert [result.status for result in results].count(Status.TIMEOUT) == 2
    assert [result.calls[0].value for result in results] == [None if n in (0, 7) else n for n in range(20)]


BUSY = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nwhile True: pass"
STANDING = (
    "import threading\ndef f():\n    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire({})\n"
)
SLEPT = STANDING.format("timeout=0.15") + "    while True:\n        pass\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who waits for a core")
def test_a_loaded_machine_makes_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three others share the core of a job that has much to do, so it takes four times as long.

    What it may take is twice what this machine needs for it alone: a fixed number would fail on a slower one.
    """
    monkeypatch.setattr(zygotes, "_MOST_WAITS", 1000)
    before = time.process_time()
    sum(range(10_000_000))
    alone_s = time.process_time() - before
    cores = os.sched_getaffinity(0)
    core = min(cores)
    busy = [
        subprocess.Popen([sys.executable, "-I", "-c", BUSY, str(core)], stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    source = "def f():\n    return sum(range(10_000_000))\n"
    long = Job(source, (Call("f"),), limits=Limits(2 * alone_s, cpu_s=20.0))
    try:
        for process in busy:
            assert process.stdout is not None
            process.stdout.readline()
        os.sched_setaffinity(0, {core})
        with Sandbox(Level.L1, workers=2) as made:
            first, second = made.run_many([long, numbered(1)])
    finally:
        os.sched_setaffinity(0, cores)
        for process in busy:
            process.kill()
            process.communicate()
    assert (first.status, second.calls[0].value) == (Status.COMPLETED, 1)


@pytest.mark.parametrize("source", [STANDING.format(""), SLEPT], ids=["stands", "slept, then spins"])
def test_one_that_waits_for_something_else_is_cut(sandbox: Sandbox, source: str) -> None:
    job = Job(source, (Call("f"),), Tier.NATIVE, Limits(wall_s=0.2))
    result = sandbox.run(job)
    assert result.status is Status.TIMEOUT
    assert result.spent_s == pytest.approx(
        0.2, abs=0.1
    )  # on a core or asleep: the wait for a core does not count


def test_parts_of_a_second_are_a_limit_and_the_parent_counts_them(sandbox: Sandbox) -> None:
    spins = Job("while True: pass\n", (), Tier.NATIVE, Limits(wall_s=30.0, cpu_s=0.2))
    result = sandbox.run(spins)
    assert (result.status, result.detail) == (Status.TIMEOUT, "more than 0.2 s of CPU time")
    assert result.spent_s == pytest.approx(0.2, abs=0.1)


def test_an_abandoned_iteration_leaves_the_sandbox_usable(sandbox: Sandbox) -> None:
    results = sandbox.run_many(map(numbered, range(50)))
    assert next(results).calls[0].value == 0
    results.close()  # type: ignore[attr-defined]
    assert sandbox.run(numbered(7)).calls[0].value == 7


def test_threads_may_share_a_sandbox(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda number: sandbox.run(numbered(number)).calls[0].value, range(40)))
    assert found == list(range(40))


def killer(sandbox: Sandbox, done: threading.Event) -> None:
    """Kill whatever zygote is known, again and again."""
    for _ in range(15):
        if done.wait(0.05):
            return
        for zygote in list(sandbox.idle()):
            if isinstance(zygote, Zygote):
                os.kill(zygote.pid, signal.SIGKILL)


def test_no_verdict_is_lost_or_doubled_when_zygotes_are_killed() -> None:
    done = threading.Event()
    with Sandbox(Level.L1, workers=2) as sandbox:
        thread = threading.Thread(target=killer, args=(sandbox, done))
        thread.start()
        found = [sandbox.run(numbered(number)) for number in range(60)]
        done.set()
        thread.join()
    assert [result.calls[0].value for result in found if result.status is Status.COMPLETED] == [
        number for number, result in enumerate(found) if result.status is Status.COMPLETED
    ]
    assert all(result.status in (Status.COMPLETED, Status.NO_SIGNAL) for result in found)
    assert sum(result.status is Status.NO_SIGNAL for result in found) <= 3


@pytest.mark.slow
def test_a_zygote_that_stops_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zygotes, "_HUNG_S", 2.0)
    with Sandbox(Level.L1) as sandbox:
        assert sandbox.run(numbered(1)).calls[0].value == 1
        (zygote,) = sandbox.idle()
        assert isinstance(zygote, Zygote)
        serving = Path(f"/proc/{zygote.pid}/task/{zygote.pid}/children").read_text().split()
        for pid in [zygote.pid, *map(int, serving)]:
            os.kill(pid, signal.SIGSTOP)
        # children that wait already still do their work; who stopped is found out when it owes an answer
        for number in range(2, 8):
            job = replace(
                numbered(number), limits=Limits(wall_s=5.0)
            )  # a child that stopped is waited for so long
            assert sandbox.run(job).calls[0].value == number
        assert zygote not in sandbox.idle()


def test_closing_leaves_no_process_and_no_descriptor() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    sandbox = Sandbox(Level.L1, workers=2)
    list(sandbox.run_many(map(numbered, range(4))))
    pids = [zygote.pid for zygote in sandbox.idle() if isinstance(zygote, Zygote)]
    assert pids
    sandbox.close()
    # Other tests' threads may close some of theirs meanwhile.
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert sandbox.run(numbered(1)).status is Status.UNSUPPORTED


def test_constructing_starts_nothing() -> None:
    assert Sandbox(workers=3).idle() == ()
    with pytest.raises(SandboxError, match="1 or more"):
        Sandbox(workers=0)


def test_each_hash_seed_has_a_zygote_of_its_own(sandbox: Sandbox) -> None:
    source = "def f(): return hash('a')"
    found = {
        sandbox.run(Job(source, (Call("f"),), world=World(hash_seed=seed))).calls[0].value
        for seed in (0, 1, 2)
    }
    assert len(found) == 3
