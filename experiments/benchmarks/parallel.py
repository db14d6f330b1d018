"""What processes and a cluster bring: one index made by one process, by two, and by a dask cluster.

    python -m experiments.benchmarks.parallel [--files N] [--workers N] [--rounds N]

Files of the standard library, two thirds of them trusted and the others
looked at by every signal and run by the behavior checker, lexical embedding.
Each figure is a whole `codeguard index` into an empty folder: elapsed, and
processor time of all processes, the cluster's workers included (their start
is not in the elapsed time: a cluster is there before). The smallest of the
rounds, which take turns. Every index is compared with the first one, record
by record of `codeguard store export`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
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

from experiments.benchmarks.processor import adopt_orphans, processor_seconds
from experiments.benchmarks.standard_library import read, shuffled_by, standard_files

LARGEST = 60_000  # bytes of a file


@dataclass(frozen=True, slots=True)
class Run:
    """One index: seconds elapsed, seconds of the processor, digest of all it says."""

    wall_s: float
    cpu_s: float
    digest: str


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


def index(folder: Path, state: Path, *options: str) -> Run:
    """Index the corpus by a command of its own, and read what it made."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}

    def codeguard(*words: str) -> bytes:
        command = [sys.executable, "-P", "-m", "codeguard", *words, "--store", str(state)]
        return subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True).stdout

    before, start = processor_seconds(), time.perf_counter()
    codeguard("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical", *options)
    wall, cpu = time.perf_counter() - start, processor_seconds() - before
    records = sorted(codeguard("store", "export").splitlines())
    return Run(wall, cpu, hashlib.sha256(b"\n".join(records)).hexdigest())


def measured(folder: Path, workers: int) -> Iterator[tuple[str, Run]]:
    """Index once each way; the seed of the checks' inputs is the same for all."""
    for name, options in (("one process", ("--jobs", "1")), ("two processes", ("--jobs", "2"))):
        yield name, index(folder, seeded(folder, name), *options)
    with cluster(workers) as address:
        name = f"cluster of {workers}"
        yield name, index(folder, seeded(folder, name), "--cluster", address)


def seeded(folder: Path, name: str) -> Path:
    """Return an empty state directory with the seed that all have."""
    state = folder / "states" / name.replace(" ", "_")
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    (state / "seed").write_bytes(b"s" * 32)
    (state / "seed").chmod(0o600)
    return state


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=180)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    adopt_orphans()
    found: dict[str, list[Run]] = {}
    with tempfile.TemporaryDirectory(prefix="parallel-") as name:
        folder = Path(name)
        corpus(folder, arguments.files)
        for _ in range(arguments.rounds):
            for way, run in measured(folder, arguments.workers):
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
