"""Poison at k on labelled functions: the whole way, index and query.

    python -m experiments.benchmarks.function_poison_ranking FOLDER [-k 5] [--json FILE]

FOLDER holds files.jsonl and queries.jsonl (task, role, class, path, source; query a task). The files are written
under the neutral paths that the data gives; `ours/` is trusted. `--alone` leaves the trusted file of each task
out, one task at a time, and counts what is then said of that task's other files.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codeguard.api import CodeGuard
from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.config import DefenseConfig, Settings
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import checkable
from codeguard.models import SourceFile
from codeguard.ranking.defense import Candidate, DefenseManager
from codeguard.ranking.reranking import Ranked, Ranking
from codeguard.ranking.signals.base import SignalServices
from codeguard.sandbox import Sandbox
from experiments.report import write_json
from experiments.workbench import SEED

Row = dict[str, Any]


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument(
        "--alone", action="store_true", help="also without the trusted twin, one task at a time"
    )
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = _read(options.folder / "files.jsonl")
    queries = _read(options.folder / "queries.jsonl")
    results: dict[str, Any] = {"with_twin": ranked(rows, queries, options.k, options.embedding)}
    if options.alone:
        results["alone"] = alone(rows)
    if options.json:
        write_json(results, options.json)
    return 0


def ranked(rows: Sequence[Row], queries: Sequence[Row], k: int, embedding: str) -> dict[str, Any]:
    """Index everything, ask one query a task, count what stands in the top k."""
    by_path = {row["path"]: row for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "corpus"
        for row in rows:
            path = root / row["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(row["source"])
        settings = Settings(
            store=str(Path(folder) / "store"),
            root=str(root),
            embedding=embedding,
            fixed_seed=SEED,
            share=False,
        )
        with CodeGuard.open(settings=settings, trust=[root / "ours"]) as guard:
            report = guard.index([root])
            print(
                f"indexed {report.files} files in {report.seconds:.0f} s, {len(report.convicted)} functions convicted"
            )
            rankings = guard.query_many([query["query"] for query in queries], k)
    before = sum(_poison(ranking.baseline_results, by_path) for ranking in rankings)
    after = sum(_poison(ranking.results, by_path) for ranking in rankings)
    print(f"poison@{k}: {before} before, {after} after ({after / max(before, 1):.1%})")
    lost = [
        line
        for query, ranking in zip(queries, rankings, strict=True)
        for line in _lost(query, ranking, by_path)
    ]
    print(f"trusted or clean implementation a candidate but not in the top {k}: {len(lost)}")
    print("\n".join(f"  {line}" for line in lost))
    left = [
        f"{query['task']}: {item.chunk.path} {by_path[item.chunk.path]['class']} {item.verdict}"
        for query, ranking in zip(queries, rankings, strict=True)
        for item in ranking.results
        if by_path[item.chunk.path]["role"] == "poison"
    ]
    print("\n".join(f"  still in the top {k}: {line}" for line in left))
    return {"poison_before": before, "poison_after": after, "lost": lost, "left": left}


def alone(rows: Sequence[Row]) -> dict[str, Any]:
    """Judge each task's files without its trusted file: what is convicted, what is demoted."""
    files = {row["path"]: chunk_file(row["path"], row["source"].encode()) for row in rows}
    counts: Counter[tuple[str, str]] = Counter()
    library = SpecLibrary.load()
    with Sandbox() as sandbox:
        for task in dict.fromkeys(row["task"] for row in rows):
            trusted = [files[row["path"]] for row in rows if row["role"] == "trusted" and row["task"] != task]
            checker = BehaviorChecker(library.with_trusted(trusted), sandbox, seed=SEED)
            config = DefenseConfig(enable_provenance=False, enable_distance=False)
            manager = DefenseManager(config, services=SignalServices(behavior=checker.check))
            for row in rows:
                if row["task"] == task and row["role"] != "trusted":
                    worst = _worst(manager, files[row["path"]])
                    fate = (
                        "convicted" if worst.convicted else "demoted" if worst.penalty > 0 else "let through"
                    )
                    kind = str(row.get("class") or row["role"])
                    counts[kind, fate] += 1
                    if kind == "clean" and fate != "let through":
                        print(
                            f"  clean {task} {row['path']}: {fate}: {[part.reason for part in worst.evidence]}"
                        )
    table = {f"{kind} {fate}": count for (kind, fate), count in sorted(counts.items())}
    print("without the trusted twin:")
    print("\n".join(f"  {name:<28} {count}" for name, count in table.items()))
    return table


def _worst(manager: DefenseManager, file: SourceFile) -> Ranked:
    candidates = [
        Candidate(str(n), chunk, file, 0.0) for n, chunk in enumerate(file.chunks) if checkable(chunk)
    ]
    outcome = manager.apply(candidates)
    return max(outcome.retained, key=lambda item: (item.convicted, item.penalty))


def _read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _poison(items: Sequence[Ranked], rows: dict[str, Row]) -> int:
    return sum(rows[item.chunk.path]["role"] == "poison" for item in items)


def _lost(query: Row, ranking: Ranking, rows: dict[str, Row]) -> list[str]:
    shown = {item.chunk.path for item in ranking.results}
    candidates = {item.chunk.path: item for item in ranking.ranking}
    return [
        f"{query['task']} {rows[path]['role']}: rank {item.rank} {item.verdict} {item.penalty:+.2f}"
        for path, item in candidates.items()
        if rows[path]["task"] == query["task"] and rows[path]["role"] != "poison" and path not in shown
    ]


if __name__ == "__main__":
    sys.exit(main())
