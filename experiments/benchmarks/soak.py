"""Many checks, hostile ones among them, and zygotes killed on the way: nothing may leak, no verdict be lost.

    python experiments/benchmarks/soak.py [--checks 100000] [--hostile 0.05] [--kill-every 2000] [--json FILE]

Prints and checks: every ordinary job has its own right answer, once; the
host's descriptors, child processes, control groups and temporary files are
as before; memory of host and zygotes is flat (last tenth against second).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

from codeguard.sandbox import Call, Job, Level, Limits, Sandbox, Status, Tier
from codeguard.sandbox.zygotes import Zygote

SHORT = Limits(wall_s=0.3, cpu_s=1.0)
PATIENT = Limits(wall_s=20.0)  # a busy machine is not what this measures
HOSTILE = {
    "loop": "def f():\n    while True: pass\n",
    "memory": "def f(): return 'x' * 10**10\n",
    "exit": "import os\ndef f(): os._exit(0)\n",
    "abort": "import os\ndef f(): os.abort()\n",
    "fork": "import os\ndef f():\n    while True: os.fork()\n",
    "files": "import os\ndef f(): return [open(f'@TMP@/leak{n}', 'w') for n in range(99)]\n",
    "network": "import socket\ndef f(): return socket.create_connection(('127.0.0.1', 9))\n",
    "flood": "import os\ndef f():\n    while True: os.write(3, b'x' * 65536)\n",
    "forged": "import os\ndef f(): os.write(3, b'\\0\\0\\0\\1x'); os._exit(0)\n",
    "recursion": "def f(): return f()\n",
    "kill": "import os\ndef f(): os.kill(1, 9)\n",
    "system call": "import os\ndef f(): os.posix_fadvise(3, 0, 0, 0)\n",
}


def jobs(count: int, share: float, seed: int) -> Iterator[tuple[Job, int | None]]:
    """Yield jobs, each with the answer it must have, None for a hostile one."""
    generator = random.Random(seed)
    names = sorted(HOSTILE)
    for number in range(count):
        if generator.random() < share:
            source = HOSTILE[generator.choice(names)].replace("@TMP@", tempfile.gettempdir())
            yield Job(source, (Call("f"),), Tier.NATIVE, SHORT), None
        else:
            source = f"def f(n):\n    return n + {number % 50}\n"
            yield Job(source, (Call("f", (number,)),), limits=PATIENT), number + number % 50


def resident(pid: int) -> int:
    """Return a process's resident kilobytes, 0 where it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS")), 0)


def children(pid: int) -> list[int]:
    """Return the processes below a process."""
    try:
        direct = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return direct + [below for child in direct for below in children(child)]


def zygote_processes() -> list[int]:
    """Return the zygotes: who was started, and the first process of its namespace; not their children."""
    started = [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    found = list(started)
    for pid in started:
        path = Path(f"/proc/{pid}/task/{pid}/children")
        if path.exists():
            found += map(int, path.read_text().split())
    return found


def groups() -> set[str]:
    """Return this process's control groups."""
    return {str(path) for path in Path("/sys/fs/cgroup").rglob(f"codeguard-{os.getpid()}-*")}


def main() -> int:
    """Run and report; 1 where something leaked or was lost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checks", type=int, default=100_000)
    parser.add_argument("--hostile", type=float, default=0.05)
    parser.add_argument("--kill-every", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # others use the shared folder too: what is in this one comes from here
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        return soak(arguments, Path(folder))


def held(folder: Path) -> dict[str, int]:
    """Return what may not grow: descriptors, processes and control groups of this process, temporary files."""
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "processes": len(children(os.getpid())),
        "groups": len(groups()),
        "temporary files": len(list(folder.rglob("*"))),
    }


def soak(arguments: argparse.Namespace, folder: Path) -> int:
    """Run the checks and report; 1 where something leaked or was lost."""
    before = held(folder)
    pairs = jobs(arguments.checks, arguments.hostile, arguments.seed)
    expected: deque[int | None] = deque()
    asked = 0
    statuses: Counter[str] = Counter()
    memory: list[tuple[int, int, int]] = []
    wrong = lost = killed = 0
    start = time.monotonic()

    def given() -> Iterator[Job]:
        nonlocal asked
        for job, answer in pairs:
            expected.append(answer)
            asked += 1
            yield job

    with Sandbox(Level.L1, workers=arguments.workers) as sandbox:
        done = 0
        for done, result in enumerate(sandbox.run_many(given()), 1):
            answer = expected.popleft()
            statuses[f"{'hostile' if answer is None else 'ordinary'}: {result.status}"] += 1
            if answer is not None:
                lost += result.status is not Status.COMPLETED
                wrong += result.status is Status.COMPLETED and result.calls[0].value != answer
            if done % arguments.kill_every == 0:
                victims = zygote_processes()
                if victims:
                    os.kill(random.Random(done).choice(victims), signal.SIGKILL)
                    killed += 1
            if done % max(1, arguments.checks // 50) == 0:
                zygotes = [zygote for zygote in sandbox._roster.idle() if isinstance(zygote, Zygote)]
                largest = max(
                    (resident(pid) for z in zygotes for pid in (z.pid, *children(z.pid))), default=0
                )
                memory.append((done, resident(os.getpid()), largest))
    seconds = time.monotonic() - start
    after = held(folder)
    report = {
        "checks": done,
        "asked": asked,
        "seconds": round(seconds, 1),
        "zygotes killed": killed,
        "wrong": wrong,
        "lost": lost,
        "before": before,
        "after": after,
        "host and largest zygote, kB": memory[:: max(1, len(memory) // 10)],
        "statuses": dict(statuses.most_common()),
    }
    print(json.dumps(report, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1))
    leaked = [name for name in after if after[name] > before[name]]
    return 1 if wrong or lost or leaked or done != arguments.checks else 0


if __name__ == "__main__":
    sys.exit(main())
