"""What a check costs, against peers on the same machine in the same run.

    python experiments/benchmarks/sandbox.py [--repeats N] [--json FILE] [--evalplus DIR]

One check is a fresh process that defines `add` and calls it twice. Peers: a
fresh `python -I -c` without isolation, bubblewrap around it where it is
installed, EvalPlus' untrusted_check where DIR (a site-packages directory)
has it. Every round measures every contender once, one after another, so that
a noisy machine disturbs all alike; ratios are medians of the rounds'. Beside
the time that passes stands the CPU time of all processes that take part, which
other programs on the machine disturb less. Linear scaling compares one worker
with all its processes held to one core and a worker a core on all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from codeguard.sandbox import Call, Job, Level, Sandbox, Status

SOURCE = "def add(a, b):\n    return a + b\n"
CALLS = (Call("add", (1, 2)), Call("add", (3, 4)))
SCRIPT = SOURCE + "assert add(1, 2) == 3 and add(3, 4) == 7\n"
BWRAP = [
    "bwrap",
    *["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    "--unshare-all",
    "--die-with-parent",
]
# its own interpreter, with its own packages: prints seconds a check
EVALPLUS = """
import sys, time
sys.path.insert(0, sys.argv[1])
from evalplus.eval import untrusted_check
code = {source!r}
def once():
    inputs = [[1, 2], [3, 4]]
    status, _ = untrusted_check("humaneval", code, inputs, "add", expected=[3, 7], atol=0, ref_time=[0.1, 0.1])
    assert status == "pass", status
if __name__ == "__main__":
    once()
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            once()
        print((time.perf_counter() - start) / int(line), flush=True)
"""


def sources(prefix: str) -> Iterator[str]:
    """Yield sources that no cache has seen."""
    number = 0
    while True:
        number += 1
        yield f"{SOURCE}# {prefix} {number}\n"


def timed(count: int, check: Callable[[], object]) -> float:
    """Return seconds a check."""
    start = time.perf_counter()
    for _ in range(count):
        check()
    return (time.perf_counter() - start) / count


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below a process."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from descendants(child)


def cpu_seconds() -> float:
    """Return the CPU time of this process, of its children that ended, and of those that live."""
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    for pid in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        spent += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return spent


def on_one_core(measure: Callable[[], float]) -> float:
    """Measure with this process, and what it starts meanwhile, held to one core."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})
    try:
        return measure()
    finally:
        os.sched_setaffinity(0, every)


def one(sandbox: Sandbox, fresh: Iterator[str] | None) -> Callable[[], object]:
    """Return a check in the sandbox, compiled anew or from the cache."""

    def check() -> None:
        result = sandbox.run(Job(next(fresh) if fresh else SOURCE, CALLS))
        assert result.status is Status.COMPLETED, result
        assert [call.value for call in result.calls] == [3, 7]

    return check


def many(sandbox: Sandbox, count: int, fresh: Iterator[str]) -> float:
    """Return seconds a check with every worker busy."""
    start = time.perf_counter()
    for result in sandbox.run_many(Job(next(fresh), CALLS) for _ in range(count)):
        assert result.status is Status.COMPLETED, result
    return (time.perf_counter() - start) / count


def evalplus(packages: Path, stack: ExitStack) -> Callable[[int], float] | None:
    """Start EvalPlus in an interpreter of its own; None where it does not run."""
    process = subprocess.Popen(
        [sys.executable, "-c", EVALPLUS.format(source=SOURCE), str(packages)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    stack.callback(process.kill)
    given, said = process.stdin, process.stdout
    assert given is not None
    assert said is not None
    if said.readline().strip() != "ready":
        return None

    def measure(count: int) -> float:
        given.write(f"{count}\n")
        given.flush()
        return float(said.readline())

    return measure


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--checks", type=int, default=40, help="checks of ours a round")
    parser.add_argument("--evalplus", type=Path, help="its site-packages, of this Python version")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows: dict[str, list[float]] = {}
    cores = os.cpu_count() or 1
    command = [sys.executable, "-I", "-c", SCRIPT]
    with ExitStack() as stack:
        every = stack.enter_context(Sandbox(Level.L0))
        bare = stack.enter_context(
            Sandbox(
                Level.L0,
                without=frozenset({"namespaces", "landlock", "seccomp", "child_filter", "rlimits", "cgroup"}),
            )
        )
        alone = stack.enter_context(Sandbox(Level.L0, workers=1))
        together = stack.enter_context(Sandbox(Level.L0, workers=cores))
        fresh = sources("run")
        contenders: dict[str, Callable[[], float]] = {
            "python -I -c": lambda: timed(4, lambda: subprocess.run(command, check=True)),
            "codeguard, compiled anew": lambda: timed(arguments.checks, one(every, fresh)),
            "codeguard, compiled before": lambda: timed(arguments.checks, one(every, None)),
            "bare zygote, compiled anew": lambda: timed(arguments.checks, one(bare, fresh)),
            "one worker on one core": lambda: on_one_core(lambda: many(alone, 2 * arguments.checks, fresh)),
            f"{cores} workers": lambda: many(together, 2 * arguments.checks * cores, fresh),
        }
        if shutil.which("bwrap"):
            contenders["bwrap + python"] = lambda: timed(
                4, lambda: subprocess.run([*BWRAP, *command], check=True)
            )
        peer = evalplus(arguments.evalplus, stack) if arguments.evalplus else None
        if peer is not None:
            contenders["EvalPlus untrusted_check"] = lambda: peer(4)
        print(f"level {every.level.name}, {cores} cores, Python {sys.version.split()[0]}")
        for contender in contenders.values():
            contender()  # start and warm
        checks = {"python -I -c": 4, "EvalPlus untrusted_check": 4, "bwrap + python": 4}
        checks |= {"one worker on one core": 2 * arguments.checks}
        checks |= {f"{cores} workers": 2 * arguments.checks * cores}
        spent: dict[str, float] = dict.fromkeys(contenders, 0.0)
        for _ in range(arguments.repeats):
            for name, contender in contenders.items():
                before = cpu_seconds()
                rows.setdefault(name, []).append(contender())
                count = checks.get(name, arguments.checks)
                spent[name] += (cpu_seconds() - before) / count / arguments.repeats
    for name, found in rows.items():
        median, best = statistics.median(found) * 1e3, min(found) * 1e3
        print(f"  {name:28} {median:7.2f} ms, best {best:7.2f} ms, CPU {spent[name] * 1e3:6.2f} ms")
    ratios = {}
    for name, over, under in (
        ("times a fresh python -I -c", "python -I -c", "codeguard, compiled anew"),
        ("times it, compiled before", "python -I -c", "codeguard, compiled before"),
        ("times bwrap + python", "bwrap + python", "codeguard, compiled anew"),
        ("times EvalPlus", "EvalPlus untrusted_check", "codeguard, compiled anew"),
        ("all layers over the bare zygote", "codeguard, compiled anew", "bare zygote, compiled anew"),
        (f"times one worker on one core with {cores}", "one worker on one core", f"{cores} workers"),
    ):
        if over in rows and under in rows:
            paired = [first / second for first, second in zip(rows[over], rows[under], strict=True)]
            best = min(rows[over]) / min(rows[under])
            ratios[name] = {"median": statistics.median(paired), "best of each": best}
            cpu = spent[over] / spent[under] if spent[under] else 0.0
            ratios[name]["CPU time"] = cpu
            print(
                f"  {statistics.median(paired):6.2f} {name} (best of each: {best:.2f}, CPU time: {cpu:.2f})"
            )
        else:
            print(textwrap.indent(f"not measured: {name}", "  "))
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"seconds": rows, "cpu_seconds": spent, "ratios": ratios}, indent=1)
        )


if __name__ == "__main__":
    main()
