"""The audit's time against bandit's on the same files: pre-commit runs, and the whole standard library.

    python -m experiments.benchmarks.audit_speed [--rounds N] [--jobs N] [--only PART ...] [--json FILE]

Both run as processes of their own, in turn, so that a busy machine slows both
alike. Given are the medians of the rounds' ratios, ours over bandit's; below
1 ours is faster. bandit runs in one process, so the standard library is
also measured with one job of ours. Both find their bytecode, as they do where
they are installed: what a checkout or an environment variable leaves out of it
is made before the first round.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.benchmarks.audit_common import environment_in, finish, parser_of
from experiments.benchmarks.standard_library import standard_files

TRUSTED = Path(__file__).parents[2] / "data" / "sample_code"
CHANGED = 10
PARTS = ("one changed file", "changed files", "standard library")
CODEGUARD = (sys.executable, "-P", "-m", "codeguard")
BANDIT = (sys.executable, "-m", "bandit", "-q", "-f", "json", "-o", os.devnull)


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of one run: on the clock, and of all processors for it and its children."""

    wall: float
    cpu: float


def main() -> None:
    """Measure, print and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--rounds", type=int, default=7, help="of the small measurement; a third for the large"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="worker processes of ours on the standard library"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = environment_in(folder)
        figures: dict[str, Any] = {
            "bandit": version("bandit"),
            "python": sys.version.split()[0],
            "load": os.getloadavg(),
        }
        for part, count in (("one changed file", 1), ("changed files", CHANGED)):
            if part in arguments.only:
                figures[part] = _changed(folder / part, environment, arguments.rounds, count)
        if "standard library" in arguments.only:
            rounds = max(3, arguments.rounds // 3)
            figures["standard library"] = _library(folder, environment, rounds, arguments.jobs)
    finish(figures, arguments.json)


def _changed(project: Path, environment: dict[str, str], rounds: int, count: int) -> dict[str, Any]:
    """Changed files beside an index of trusted code: with the evidence kept, without behavior, and bandit."""
    project.mkdir()
    shutil.copytree(TRUSTED, project / "ours")
    files = [path for path in standard_files() if 4_000 < path.stat().st_size < 40_000]
    names = []
    for path in files[:: len(files) // CHANGED][:count]:
        shutil.copy(path, project / path.name)
        names.append(path.name)
    index = [*CODEGUARD, "index", "ours", "--trust", "ours", "--embedding", "lexical"]
    subprocess.run(index, cwd=project, env=environment, check=True, capture_output=True, timeout=600)

    def run(*words: str) -> Callable[[], Spent]:
        return lambda: _timed(words, project, environment)

    ours, bandit = run(*CODEGUARD, "audit", *names, "--format", "json"), run(*BANDIT, *names)
    bandit()
    first = ours()
    measured = _rounds(
        {
            "audit": ours,
            "audit without behavior": run(*CODEGUARD, "audit", *names, "--no-behavior", "--format", "json"),
            "start": run(*CODEGUARD, "audit", "--help"),
            "python": run(sys.executable, "-c", "pass"),
            "bandit": bandit,
        },
        rounds,
    )
    size = sum((project / item).stat().st_size for item in names)
    figures = _ratios(measured, ("audit", "audit without behavior"))
    starts = zip(measured["start"], measured["python"], strict=True)
    figures["help over python -c pass"] = round(statistics.median(a.wall / b.wall for a, b in starts), 2)
    return {"files": len(names), "bytes": size, "first run, nothing kept": round(first.wall, 2), **figures}


def _library(folder: Path, environment: dict[str, str], rounds: int, jobs: int) -> dict[str, Any]:
    """The standard library, static signals alone: nothing of it has a specification to be held against."""
    names = [str(path) for path in standard_files()]

    def run(*words: str) -> Callable[[], Spent]:
        return lambda: _timed((*words, *names), folder, environment)

    audit = (*CODEGUARD, "audit", "--no-behavior", "--format", "json")
    measured = _rounds(
        {
            f"audit, {jobs} jobs": run(*audit, "--jobs", str(jobs)),
            "audit, 1 job": run(*audit, "--jobs", "1"),
            "bandit": run(*BANDIT),
        },
        rounds,
    )
    size = sum(Path(name).stat().st_size for name in names)
    return {"files": len(names), "bytes": size, **_ratios(measured, (f"audit, {jobs} jobs", "audit, 1 job"))}


def _rounds(commands: dict[str, Callable[[], Spent]], rounds: int) -> dict[str, list[Spent]]:
    measured: dict[str, list[Spent]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            measured[name].append(command())
    return measured


def _ratios(measured: dict[str, list[Spent]], ours: Sequence[str]) -> dict[str, Any]:
    figures: dict[str, Any] = {
        f"{name}, seconds": round(statistics.median(item.wall for item in times), 3)
        for name, times in measured.items()
    }
    figures |= {
        f"{name}, processor": round(statistics.median(item.cpu for item in times), 3)
        for name, times in measured.items()
    }
    for name in ours:
        pairs = list(zip(measured[name], measured["bandit"], strict=True))
        figures[f"{name} / bandit, clock"] = round(statistics.median(a.wall / b.wall for a, b in pairs), 2)
        figures[f"{name} / bandit, processor"] = round(statistics.median(a.cpu / b.cpu for a, b in pairs), 2)
    return figures


def _timed(words: Sequence[str], folder: Path, environment: dict[str, str]) -> Spent:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False, timeout=900)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{words[:4]} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main()
