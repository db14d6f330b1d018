"""What hostile files cost: an index of the standard library's files, and of the same beside files that hurt.

    python -m experiments.benchmarks.hostile_files [--files N] [--no-behavior] [--json FILE]

Prints the processor time of both runs with all of their processes, what each
hostile file costs in an index of its own (above that of an empty file), the
largest memory of any process, which files the report names, and the ratio of
the rest: the run with the hostile files, less what they cost by themselves, to
the run without them. A hostile file may cost five seconds of the processor,
the rest 10 % more.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.benchmarks.standard_library import standard_files

ALLOWED_S, ALLOWED_RATIO = 5.0, 1.10


def hostile_files() -> dict[str, str]:
    """Return files that were slow, large in memory or without an end for some reader, by their names."""
    return {
        "global.py": "import os\nglobal x\nx = []\nx.append(os.name)\n",
        "dotted.py": f"import {'.'.join('a' * 50_000)}\n",
        "arrows.c": "x=>" * 7_000,
        "backslashes.py": "x = 1 + \\\n" + "\\\n" * 100_000 + "2\n",
        "keywords.py": "lambda: " * 100_000 + "1\n",
        "definitions.py": "".join(
            f"def f{number}(a):\n    return f{number - 1}(a)\n" for number in range(20_000)
        ),
        "signs.py": "-" * 900_000 + "1\n",
        "brackets.js": "[" * 900_000,
        "operators.py": "/*\n" * 200_000,
        "cells.ipynb": '{"cells": ' + "[" * 900_000,
        "aliases.py": "import os\n" + "".join(f"a{n} = a{n - 1} + a{n - 1}\n" for n in range(1, 30_000)),
    }


@dataclass(frozen=True)
class Run:
    """One index: seconds of the processor, megabytes of its largest process, files, and what its notes name."""

    cpu_s: float
    peak_mb: float
    files: int
    named: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """Both runs; `costs_s` is what each hostile file takes by itself, `ratio` that of the other files' time."""

    plain: Run
    hostile: Run
    costs_s: dict[str, float]
    ratio: float
    load: float

    @property
    def most_expensive_s(self) -> float:
        """What the most expensive hostile file takes."""
        return max(self.costs_s.values())


def index(folder: Path, state: str, path: str = "lib") -> Run:
    """Index a path below a folder in a process of its own."""
    command = [
        sys.executable, "-P", "-m", "codeguard", "index", path, "--store", state, "--embedding", "lexical",
        "--format", "json",
    ]  # fmt: skip
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}
    measured = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss, done.stdout.decode()]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", measured, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    cpu_s, kilobytes, said = json.loads(done.stdout)
    report = json.loads(said)
    named = sorted({note.partition(":")[0] for note in report["notes"] if "/hostile/" in note})
    return Run(cpu_s, kilobytes / 1000, int(report["files"]), tuple(named))


def measure(folder: Path, count: int, behavior: bool) -> Figures:
    """Index `count` files of the standard library in an empty folder, then the same beside the hostile ones."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in standard_files()[:count]:
        target = folder / "lib" / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    config = folder / "config" / "codeguard" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("share = false\n" + ("" if behavior else "[defense]\nenable_behavior = false\n"))
    plain = index(folder, "plain")
    hostile = hostile_files()
    (folder / "lib" / "hostile").mkdir()
    for name, text in hostile.items():
        (folder / "lib" / "hostile" / name).write_text(text)
    beside = index(folder, "beside")
    costs = _alone(folder, hostile)
    ratio = (beside.cpu_s - sum(costs.values())) / plain.cpu_s
    return Figures(plain, beside, costs, ratio, os.getloadavg()[0])


def _alone(folder: Path, files: Mapping[str, str]) -> dict[str, float]:
    """Return what each file costs in an index of its own, above that of an empty file."""
    used: dict[str, float] = {}
    for number, (name, text) in enumerate({"empty.py": "", **files}.items()):
        place = folder / "alone" / str(number)
        place.mkdir(parents=True)
        (place / name).write_text(text)
        used[name] = index(folder, f"state{number}", f"alone/{number}").cpu_s
    start = used.pop("empty.py")
    return {name: max(0.0, seconds - start) for name, seconds in used.items()}


def main() -> None:
    """Measure and print; exit 1 where hostile files cost more than they may."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--no-behavior", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        found = measure(Path(folder), arguments.files, not arguments.no_behavior)
    for name, run in (("without", found.plain), ("with", found.hostile)):
        print(f"{name:8} {run.files} files, {run.cpu_s:.1f} s of the processor, peak {run.peak_mb:.0f} MB")
    for name, seconds in found.costs_s.items():
        print(f"  {name:16} {seconds:5.2f} s by itself (allowed {ALLOWED_S:g})")
    print(f"the rest: {found.ratio:.2f}x (allowed {ALLOWED_RATIO:g}x); load {found.load:.1f}")
    print(f"named: {', '.join(found.hostile.named)}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(asdict(found), indent=2) + "\n")
    sys.exit(found.ratio > ALLOWED_RATIO or found.most_expensive_s > ALLOWED_S)


if __name__ == "__main__":
    main()
