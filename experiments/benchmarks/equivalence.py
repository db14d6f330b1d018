"""`codeguard equiv` on pairs whose answer is known, beside CrossHair's diffbehavior where it is installed.

    python -m experiments.benchmarks.equivalence FOLDER [--tasks 20] [--crosshair crosshair]

FOLDER holds files.jsonl of functions with trusted references, poison and clean rewrites (function_poison_dev). A
reference beside its wrong-logic poison has to differ; "same" there is wrong. Beside a clean rewrite nothing is
known for certain, so only what is decided is counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codeguard.audit.equivalence import compare_files

WRONG, TRIGGER, CLEAN = "wrong_logic", "trigger", "clean"


def function_of(code: str) -> str:
    """Return the name of the last function of a file."""
    return [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)][-1]


def crosshair(command: str, first: tuple[Path, str], second: tuple[Path, str], seconds: int) -> str:
    """Return what diffbehavior says: same (on all paths), differs, or unknown."""
    names = [f"{path.stem}.{name}" for path, name in (first, second)]
    try:
        done = subprocess.run(
            [command, "diffbehavior", "--per_condition_timeout", str(seconds), *names],
            cwd=first[0].parent,
            env={**os.environ, "PYTHONPATH": str(first[0].parent)},
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds * 10 + 60,
        )
    except subprocess.TimeoutExpired:
        return "unknown"
    if done.returncode == 1:
        return "differs"
    # Without this it has only run out of time.
    return "same" if done.returncode == 0 and "All paths exhausted" in done.stdout else "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print, for each kind of pair and each tool, how often which answer came, and the seconds."""
    parser = argparse.ArgumentParser(description="codeguard equiv on pairs with known answers")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--crosshair", help="CrossHair's command, to be compared with")
    parser.add_argument("--seconds", type=int, default=10, help="CrossHair's time for a pair")
    options = parser.parse_args(arguments)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (options.folder / "files.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        rows[row["task"]].append(row)
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    spent: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, task in enumerate(sorted(rows)[: options.tasks]):
            reference = next(row for row in rows[task] if row["role"] == "trusted")
            first = Path(folder) / f"first{number}.py"
            first.write_text(reference["source"])
            for kind in (WRONG, TRIGGER, CLEAN):
                other = next((row for row in rows[task] if kind in (row["role"], row.get("class"))), None)
                if other is None:
                    continue
                second = Path(folder) / f"{kind}{number}.py"
                second.write_text(other["source"])
                pair = (first, function_of(reference["source"])), (second, function_of(other["source"]))
                began = time.monotonic()
                answers[f"codeguard {kind}"][compare_files(*pair).result.value] += 1
                spent["codeguard"] += time.monotonic() - began  # type: ignore[assignment]
                if options.crosshair:
                    began = time.monotonic()
                    answers[f"crosshair {kind}"][crosshair(options.crosshair, *pair, options.seconds)] += 1
                    spent["crosshair"] += time.monotonic() - began  # type: ignore[assignment]
    print(json.dumps({"answers": answers, "seconds": {k: round(v, 1) for k, v in spent.items()}}, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
