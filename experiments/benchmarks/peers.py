"""What the audit and its peers say of the same files, in one run on one machine.

    python -m experiments.benchmarks.peers SETS [--peers FOLDER] [--only SET ...] [--record]

SETS are those of `experiments.freeze`; FOLDER holds the programs bandit and ruff, by default beside this Python. Each
tool reads every file of a set once, in one process, and counts at one setting: what fails an audit of ours, without
files that it could not read; bandit's findings of medium severity and confidence and above and all of them, and all
of ruff's rules of the kind (S). A bad file is found, a good one falsely flagged, by any such finding. `--record`
writes into `docs/figures.json`.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.figures import Figure, record, shown

SETS = ("published", "packages")
OURS = ("-P", "-m", "codeguard", "audit", ".", "--no-behavior", "--jobs", "1", "--format", "json")
COMMANDS = {
    "codeguard": OURS,
    "bandit": ("-q", "-r", ".", "-f", "json", "-ll", "-ii"),
    "bandit_any": ("-q", "-r", ".", "-f", "json"),
    "ruff": (
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "S",
        "--exit-zero",
        "--output-format",
        "json",
        ".",
    ),
}


def main() -> None:
    """Print a table of each set, and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", type=Path)
    parser.add_argument("--peers", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    figures: dict[str, Figure] = {}
    for name in arguments.only:
        folder = arguments.sets / name
        rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text("utf-8").splitlines()]
        bad, good = ({row["path"] for row in rows if row["label"] == label} for label in ("bad", "good"))
        for tool, words in COMMANDS.items():
            program = sys.executable if tool == "codeguard" else arguments.peers / tool.partition("_")[0]
            answer, seconds = _run([str(program), *words], folder / "files")
            flagged = [path.removeprefix("./") for path in _flagged(tool, answer, folder / "files")]
            found, false = bad & {*flagged}, good & {*flagged}
            figures |= {
                f"{name}_{tool}_found": [len(found), len(bad)],
                f"{name}_{tool}_false": [len(false), len(good)],
                f"{name}_{tool}_findings": sum(path in good for path in flagged),
                f"{name}_{tool}_cpu": round(seconds, 1),
            }
            said = (f"{what} {shown(figures[f'{name}_{tool}_{what}'])}" for what in ("found", "false"))
            print(
                f"{name}, {tool}: {'; '.join(said)}; {len(flagged)} findings, {seconds:.1f} s CPU", flush=True
            )
    if arguments.record:
        record("peers", figures)


def _run(words: list[str], folder: Path) -> tuple[Any, float]:
    """Return the answer of a command in JSON, and the seconds of all processors that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{words[:4]} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _flagged(tool: str, answer: Any, folder: Path) -> Iterator[str]:
    """Yield the file of each finding that counts."""
    if tool == "codeguard":
        judged = (item for item in answer["findings"] if item["kind"] != "unread")
        yield from (item["path"] for item in judged if item["fails"])
    elif tool == "ruff":
        yield from (Path(item["filename"]).relative_to(folder.resolve()).as_posix() for item in answer)
    else:
        yield from (item["filename"] for item in answer["results"])


if __name__ == "__main__":
    main()
