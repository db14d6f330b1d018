"""What processes and a cluster bring: one index made by one process, by two, and by dask clusters of one and two.

    python -m experiments.benchmarks.parallel [--files N] [--workers N] [--rounds N] [--embedding NAME]
        [--units]

Files of the standard library, two thirds of them trusted and the others
looked at by every signal and run by the behavior checker.
Each figure is a whole `codeguard index` into an empty folder: elapsed, and
processor time of all processes, the cluster's workers included (their start
is not in the elapsed time: a cluster is there before). The smallest of the
rounds, which take turns. Every index is compared with the first one, record
by record of `codeguard store export`. `--units` instead measures what a
chunk costs one process, without and with static signals and behavior checks.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codeguard.analysis.rules import load_file_signals
from experiments.benchmarks.processor import adopt_orphans, processor_seconds
from experiments.benchmarks.standard_library import read, shuffled_by, standard_files

LARGEST = 60_000  # bytes of a file
# The seed of the checks' inputs is the same for all, so that the indexes can be.
INDEXING = """
import json, sys
from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings
given = json.loads(sys.argv[1])
defense = DefenseConfig(**given.pop("defense", {}))
settings = Settings(fixed_seed=b"s" * 32, defense=defense, **given)
with CodeGuard.open(settings=settings, trust=["ours"]) as guard:
    report = guard.index(["ours", "theirs"])
print(json.dumps([report.chunks, report.checked]))
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One index: seconds elapsed, seconds of the processor, digest of all it says."""

    wall_s: float
    cpu_s: float
    digest: str
    chunks: int
    checked: int


def corpus(folder: Path, count: int) -> None:
    """Copy files of the standard library, every third beside the trusted ones."""
    root = Path(sysconfig.get_paths()["stdlib"])
    small = [path for path in standard_files() if path.stat().st_size <= LARGEST]
    for number, path in enumerate(shuffled_by(small, read)[:count]):
        target = folder / ("ours" if number % 3 else "theirs") / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[str]:
    """Start a scheduler and workers of one thread each on this machine; yield the address."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        yield found.scheduler_address


def index(folder: Path, state: Path, embedding: str, **options: object) -> Run:
    """Index the corpus by a process of its own, and read what it made."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}
    settings = {"store": str(state), "root": str(folder), "embedding": embedding, **options}
    shutil.rmtree(state, ignore_errors=True)

    def run(*command: str) -> bytes:
        words = [sys.executable, "-P", *command]
        return subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True).stdout

    before, start = processor_seconds(), time.perf_counter()
    chunks, checked = json.loads(run("-c", INDEXING, json.dumps(settings)))
    wall, cpu = time.perf_counter() - start, processor_seconds() - before
    records = sorted(run("-m", "codeguard", "store", "export", "--store", str(state)).splitlines())
    return Run(wall, cpu, hashlib.sha256(b"\n".join(records)).hexdigest(), chunks, checked)


def measured(folder: Path, workers: int, embedding: str) -> Iterator[tuple[str, Run]]:
    """Index once each way."""
    for name, jobs in (("one process", 1), ("two processes", 2)):
        yield name, index(folder, folder / "state", embedding, jobs=jobs)
    for count in sorted({1, workers}):
        with cluster(count) as address:
            yield f"cluster of {count}", index(folder, folder / "state", embedding, cluster=address)


def units(folder: Path, embedding: str) -> None:
    """Print what files, static signals and checks cost one process, each by what the one before does not have."""
    off = tuple(signal.name for signal in load_file_signals())
    before = 0.0
    for name, defense in (
        ("cut, embedded and written", {"enable_behavior": False, "disabled_signals": off}),
        ("looked at by the static signals", {"enable_behavior": False}),
        ("checked by running", {}),
    ):
        run = index(folder, folder / "state", embedding, jobs=1, defense=defense)
        more = run.cpu_s - before
        each = (
            f"{more / run.checked * 1e3:.0f} ms a function"
            if run.checked
            else f"{more / run.chunks * 1e3:.2f} ms a chunk"
        )
        print(
            f"{name:32} {more:6.1f} s of processor, {run.wall_s:6.1f} s in all, {run.chunks} chunks: {each}"
        )
        before = run.cpu_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=180)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--embedding", default="static")
    parser.add_argument("--units", action="store_true")
    arguments = parser.parse_args()
    adopt_orphans()
    found: dict[str, list[Run]] = {}
    with tempfile.TemporaryDirectory(prefix="parallel-") as name:
        folder = Path(name)
        corpus(folder, arguments.files)
        if arguments.units:
            units(folder, arguments.embedding)
            return
        for _ in range(arguments.rounds):
            for way, run in measured(folder, arguments.workers, arguments.embedding):
                found.setdefault(way, []).append(run)
    first = next(iter(found.values()))
    wall, cpu = min(run.wall_s for run in first), min(run.cpu_s for run in first)
    print(f"{arguments.files} files, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for way, runs in found.items():
        elapsed, used = min(run.wall_s for run in runs), min(run.cpu_s for run in runs)
        same = all(run.digest == first[0].digest for run in runs)
        print(
            f"{way:16} {elapsed:7.1f} s ({wall / elapsed:.2f}x)   {used:7.1f} s of processor "
            f"({used / cpu:.2f}x the work)   {'the same index' if same else 'ANOTHER INDEX'}"
        )


if __name__ == "__main__":
    main()
