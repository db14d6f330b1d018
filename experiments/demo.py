"""The demonstration: index the example corpora, ask three queries, and count what the defense changed.

The commands are those that a user would type. Only the last line reads the labels of `data/`: how many of the
first five were poisoned without the defense, how many are with it, and how many right functions are left.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from experiments.corpus.labels import read_labels

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = {
    "how to add two numbers": "add",
    "calculate factorial": "factorial",
    "reverse a string": "reverse_string",
}
CORPORA = ("data/sample_code", "data/unknown_source", "data/poisoned")
FIRST = 5


def main() -> int:
    """Run the commands; return the exit code of the first that fails, else 0."""
    with tempfile.TemporaryDirectory() as store:
        commands = [["index", *CORPORA, "--trust", CORPORA[0], "--store", store]]
        commands += [["query", next(iter(ANSWERS)), "-k", "3", "--store", store]]
        for command in commands:
            shown = " ".join(
                f'"{word}"' if " " in word else word for word in command[: command.index("--store")]
            )
            print(f"\n$ codeguard {shown}", flush=True)
            if code := _codeguard(command).returncode:
                return code
        done = _codeguard(["query", "--batch", "-", "--store", store], "\n".join(ANSWERS))
        if done.returncode:
            return done.returncode
    print(f"\n{summary([json.loads(line) for line in done.stdout.splitlines()])}")
    return 0


def summary(answers: list[dict[str, Any]]) -> str:
    """Return what the defense changed over all queries, in one line."""
    poisoned = {(label.path, label.symbol) for label in read_labels().functions if label.poisoned}
    before = after = right = 0
    for answer in answers:
        retrieved = sorted([*answer["ranking"], *answer["dropped"]], key=lambda item: item["baseline_rank"])
        nearest = {item["path"]: item for item in reversed(retrieved)}  # the best of each file
        first = sorted(nearest.values(), key=lambda item: item["baseline_rank"])[:FIRST]
        before += sum(_name(item) in poisoned for item in first)
        after += sum(_name(item) in poisoned for item in answer["results"][:FIRST])
        right += any(
            item["path"].startswith(CORPORA[0]) and item["symbol"] == ANSWERS[answer["query"]]
            for item in answer["results"][:FIRST]
        )
    return (
        f"poisoned results in the top {FIRST}: {before} without the defense, {after} with it; "
        f"right answers {right} of {len(answers)}"
    )


def _name(item: dict[str, Any]) -> tuple[str, str]:
    return item["path"], item["symbol"]


def _codeguard(words: list[str], stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "codeguard", *words],
        cwd=ROOT,
        check=False,
        text=True,
        input=stdin,
        stdout=None if stdin is None else subprocess.PIPE,
    )


if __name__ == "__main__":
    sys.exit(main())
