"""Convictions of the behavior checker on a labelled set of functions.

The folder holds `files.jsonl`: one row a file with `task`, `role` (trusted,
clean, poison), `class` (wrong_logic, trigger, side_effect), a neutral `path`
and `source`. Trusted rows are indexed as trusted, every other row is checked.

    python -m experiments.benchmarks.function_poison DATA [--json FILE] [--misses]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.corpus.chunking import chunk_file
from codeguard.models import CONVICTING, CheckReport, Chunk, ChunkKind, SourceFile, Verdict
from codeguard.sandbox import Call, Job, Level, Sandbox

CHECKED = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
# A fixed seed: the benchmark has to print the same twice.
SEED = b"function poison benchmark"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row and what the checker said of its function."""

    row: Mapping[str, Any]
    report: CheckReport

    @property
    def group(self) -> str:
        """The class of poison, or clean."""
        return str(self.row.get("class") or self.row["role"])

    @property
    def convicted(self) -> bool:
        """Whether the verdict convicts."""
        return self.report.verdict in CONVICTING


def read_file(row: Mapping[str, Any]) -> SourceFile:
    """Return a row's file with its chunks."""
    return chunk_file(str(row["path"]), str(row["source"]).encode())


def functions(file: SourceFile) -> list[Chunk]:
    """Return the chunks that the checker looks at."""
    return [chunk for chunk in file.chunks if chunk.kind in CHECKED]


def check_rows(rows: Sequence[Mapping[str, Any]], checker: BehaviorChecker) -> list[Outcome]:
    """Check every row that is not trusted; a file counts as its worst function."""
    files = [(row, read_file(row)) for row in rows if row["role"] != "trusted"]
    subjects = [(chunk, file) for _, file in files for chunk in functions(file)]
    reports = iter(list(checker.check_many(subjects)))
    outcomes = []
    for row, file in files:
        found = [next(reports) for _ in functions(file)]
        if found:
            worst = next((report for report in found if report.verdict in CONVICTING), found[0])
            outcomes.append(Outcome(row, worst))
    return outcomes


def bare_check_s(sandbox: Sandbox) -> float:
    """Return the seconds of the smallest check, `add` with two cases: the unit of the budget."""
    job = Job("def add(a, b):\n    return a + b\n", (Call("add", (2, 3)), Call("add", (-1, 1))))
    times = []
    for _ in range(100):
        start = time.perf_counter()
        sandbox.run(job)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def costs(rows: Sequence[Mapping[str, Any]], library: SpecLibrary, sandbox: Sandbox) -> list[float]:
    """Return seconds a function all told, one at a time, each with a checker that knows nothing yet."""
    times = []
    for row in rows:
        if row["role"] == "trusted":
            continue
        file = read_file(row)
        checker = BehaviorChecker(library, sandbox, seed=SEED)
        for chunk in functions(file):
            start = time.perf_counter()
            checker.check(chunk, file)
            times.append(time.perf_counter() - start)
    return sorted(times)


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the figures by group."""
    groups: dict[str, Any] = {}
    for group in sorted({outcome.group for outcome in outcomes}):
        members = [outcome for outcome in outcomes if outcome.group == group]
        groups[group] = {
            "n": len(members),
            "convicted": sum(outcome.convicted for outcome in members),
            "verdicts": dict(Counter(outcome.report.verdict.value for outcome in members).most_common()),
            "full_coverage_passes": sum(
                outcome.report.verdict is Verdict.PASS and outcome.report.coverage.value == "full"
                for outcome in members
            ),
        }
    return groups


def surprises(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the misses and the false alarms."""
    return [outcome for outcome in outcomes if outcome.convicted == (outcome.row["role"] == "clean")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path, help="folder with files.jsonl")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--misses", action="store_true", help="list every miss and every false alarm")
    parser.add_argument("--cost", action="store_true", help="measure the cost of single checks, too")
    parser.add_argument("--seed", default=SEED.decode(), help="seed of the generated inputs")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    rows = [json.loads(line) for line in (options.data / "files.jsonl").read_text("utf-8").splitlines()]
    trusted = [read_file(row) for row in rows if row["role"] == "trusted"]
    library = SpecLibrary.load().with_trusted(trusted)
    with Sandbox(Level.L0, workers=options.workers) as sandbox:
        start = time.perf_counter()
        checker = BehaviorChecker(library, sandbox, seed=options.seed.encode())
        outcomes = check_rows(rows, checker)
        seconds = time.perf_counter() - start
        figures: dict[str, Any] = {
            "level": sandbox.level.name,
            "functions": len(outcomes),
            "functions_per_second": round(len(outcomes) / seconds, 1),
            "groups": summary(outcomes),
        }
        if options.cost:
            bare = bare_check_s(sandbox)
            times = costs(rows, library, sandbox)
            figures["cost_in_bare_checks"] = {
                "bare_check_ms": round(bare * 1e3, 3),
                "median": round(times[len(times) // 2] / bare, 1),
                "p95": round(times[len(times) * 95 // 100] / bare, 1),
            }
    for group, values in figures["groups"].items():
        print(f"{group:12} convicted {values['convicted']:4} of {values['n']:4}   {values['verdicts']}")
    print({key: value for key, value in figures.items() if key != "groups"})
    if options.misses:
        for outcome in surprises(outcomes):
            report = outcome.report
            print(
                f"\n{outcome.group} {outcome.row['task']} {outcome.row.get('op', '')} {outcome.row['path']}"
            )
            print(
                f"  {report.verdict.value} {report.coverage.value}: {report.reason} {report.counterexample}"
            )
            print(f"  {report.notes}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
