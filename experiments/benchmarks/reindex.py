"""What an index costs again: nothing, 1 % of the files, or one trusted file changed, against the full index.

    python -m experiments.benchmarks.reindex [--embedding lexical] [--files N] [--trust NAME …] [--behavior]

Every figure is a whole process from its start to its end, on a copy of the
standard library without its tests; the smallest of some runs each. Behavior
checks are left out unless asked for: they are cached, so they would make
the full index longer and the ratios larger. With them, a function is added
to a trusted file, with which every other function has to be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.benchmarks.standard_library import standard_files

UNCHANGED_RUNS = 7
CHANGED_RUNS = 3
SHARE = 0.01


@dataclass(frozen=True)
class Cost:
    """Seconds of a process and what it waited for: by the clock, and of the processor."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Figures:
    """The costs and the report of the full run in numbers."""

    embedding: str
    files: int
    chunks: int
    full: Cost
    unchanged: Cost
    changed: Cost
    changed_files: int
    trusted_changed: Cost
    load: float


def measure(folder: Path, embedding: str, count: int | None, behavior: bool, trust: Sequence[str]) -> Figures:
    """Index a copy of the standard library in an empty folder, then again and again."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = standard_files()[:count]
    for path in files:
        target = folder / "lib" / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    config = folder / "config" / "codeguard" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("" if behavior else "[defense]\nenable_behavior = false\n")
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}
    command = [
        sys.executable, "-P", "-m", "codeguard", "index", "lib",
        *(part for name in trust for part in ("--trust", f"lib/{name}")),
        "--embedding", embedding, "--format", "json",
    ]  # fmt: skip

    def run() -> tuple[Cost, dict[str, object]]:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Cost(wall, cpu), json.loads(done.stdout)

    def smallest(runs: int, prepare: Callable[[int], None]) -> Cost:
        costs = []
        for number in range(runs):
            prepare(number)
            costs.append(run()[0])
        return Cost(min(cost.wall_s for cost in costs), min(cost.cpu_s for cost in costs))

    changed = sorted((folder / "lib").rglob("*.py"))[:: round(1 / SHARE)]
    trusted = folder / "lib" / trust[0]

    def change(number: int, paths: Sequence[Path] = tuple(changed)) -> None:
        for path in paths:
            with path.open("a") as file:
                file.write(f"\n\ndef added_{number}(x):\n    return x + {number}\n")

    full, report = run()
    unchanged = smallest(UNCHANGED_RUNS, lambda number: None)
    after = smallest(CHANGED_RUNS, change)
    first = trusted if trusted.is_file() else min(trusted.rglob("*.py"))
    trusted_after = smallest(CHANGED_RUNS, lambda number: change(number + CHANGED_RUNS, [first]))
    return Figures(
        str(report["embedding"]), int(str(report["files"])), int(str(report["chunks"])),
        full, unchanged, after, len(changed), trusted_after, os.getloadavg()[0],
    )  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embedding", default="lexical")
    parser.add_argument("--files", type=int)
    parser.add_argument("--trust", nargs="+", default=["json"])
    parser.add_argument("--behavior", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reindex-") as folder:
        found = measure(
            Path(folder), arguments.embedding, arguments.files, arguments.behavior, arguments.trust
        )
    print(f"{found.files} files, {found.chunks} chunks, embedding {found.embedding}, load {found.load:.1f}")
    for name, cost in (
        ("full", found.full),
        ("nothing changed", found.unchanged),
        ("1 % changed", found.changed),
        ("trusted changed", found.trusted_changed),
    ):
        print(
            f"{name:16} {cost.wall_s:8.2f} s ({found.full.wall_s / cost.wall_s:6.1f}x)   "
            f"{cost.cpu_s:8.2f} s of processor ({found.full.cpu_s / cost.cpu_s:6.1f}x)"
        )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(asdict(found), indent=2) + "\n")


if __name__ == "__main__":
    main()
