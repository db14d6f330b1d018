"""The container matrix: what codeguard does in each environment of `environments.py` that can be built here.

    python -m experiments.benchmarks.containers [--only NAME]… [--json FILE] [--write docs/sandbox.md]

In each, every command that judges runs over one function that is right and one
that is not. A command is `full` where it told them apart, `loud` where it said
in a line of its own that it could not, and SILENT where it did neither; one of
those makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.benchmarks.environments import ENVIRONMENTS, arguments, obstacle

CODEGUARD = (sys.executable, "-P", "-m", "codeguard")
TRUSTED = '''\
def add_all(numbers):
    """Return the sum of the numbers.

    >>> add_all([1, 2, 3])
    6
    >>> add_all([])
    0
    >>> add_all([5])
    5
    """
    return sum(numbers)
'''
RIGHT = "def add_all(numbers):\n    total = 0\n    for number in numbers:\n        total += number\n    return total\n"
# With the trusted function's own first sentence: it claims to be that one, and is convicted wherever it is wrong.
WRONG = RIGHT.replace("    total = 0", '    """Return the sum of the numbers."""\n    total = 0').replace(
    "+=", "-="
)
FILES = {"mine/sums.py": TRUSTED, "theirs/right.py": RIGHT, "theirs/wrong.py": WRONG}
CONFIGURATION = ""  # the process that serves the store ends with its command
PYTHON = """
from codeguard.api import CodeGuard
with CodeGuard.open(store="kept", create=False) as guard:
    ranking = guard.query("add all numbers")
    print(*ranking.warnings)
    print(*["CONVICTED" for item in (*ranking.results, *ranking.dropped) if item.convicted])
"""
# name of a command: (arguments, exit code, what it says of the wrong function, where it does its work)
COMMANDS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "check": ((*CODEGUARD, "check", "theirs/wrong.py", "--against", "mine/sums.py"), 1, "CONVICTED"),
    "audit": ((*CODEGUARD, "audit", "theirs", "--trust", "mine"), 1, "behavior.fail"),
    "index": (
        (*CODEGUARD, "index", "theirs", "--trust", "mine", "--store", "kept", "--embedding", "lexical"),
        0,
        "1 of 2 functions convicted",
    ),
    "query": ((*CODEGUARD, "query", "add all numbers", "--store", "kept"), 0, "CONVICTED"),
    "mcp": ((*CODEGUARD, "mcp", "--store", "kept"), 0, ""),
    "python": ((sys.executable, "-P", "-c", PYTHON), 0, "CONVICTED"),
}
BELOW = "is BELOW the required L2"
START, END = "<!-- make containers -->", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """What was found in one environment."""

    name: str
    stands_for: str
    skipped: str  # why it could not be built
    level: str = ""
    layers: tuple[str, ...] = ()  # the engaged ones
    missing: tuple[str, ...] = ()  # the others, each with its reason
    advice: tuple[str, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()  # name, and full, loud or SILENT
    said: tuple[tuple[str, str], ...] = ()  # name, and the line of one that is not full

    @property
    def service(self) -> str:
        """How the commands behave, in one word where they agree."""
        found = sorted({how for _, how in self.commands})
        if len(found) == 1:
            return found[0]
        return ", ".join(
            f"{' '.join(name for name, how in self.commands if how == one)} {one}" for one in found
        )


def make_work() -> Path:
    """Return a new folder with the corpus and a home, which every user may write."""
    work = Path(tempfile.mkdtemp(prefix="containers-", dir="/var/tmp"))
    made = FILES | {"home/.config/codeguard/config.toml": CONFIGURATION}
    for name, text in made.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    for path in (work, *work.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return work


def run(
    name: str, command: Sequence[str], work: Path, timeout_s: float = 300.0
) -> subprocess.CompletedProcess[str]:
    """Run a command in an environment, in the work folder, with a home there and nothing of the caller's."""
    variables = {"HOME": str(work / "home"), "PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"}
    return subprocess.run(
        arguments(name, command, work),
        cwd=work,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )


def judged(name: str, done: subprocess.CompletedProcess[str], level: str) -> tuple[str, str]:
    """Return how one command served, and the line by which it said that it did not."""
    _, code, sign = COMMANDS[name]
    lines = [line for line in (*done.stderr.splitlines(), *done.stdout.splitlines()) if line.strip()]
    below = next((line for line in lines if BELOW in line), "")
    if below:
        return "loud", below
    if done.returncode == code and sign in done.stdout and level >= "L2":
        return "full", ""
    error = next((line for line in lines if line.startswith(("codeguard: ", "codeguard.errors."))), "")
    if done.returncode and error:
        return "loud", error
    if name == "python" and done.returncode and "Error" in lines[-1]:
        return "loud", lines[-1]  # an exception that its caller gets
    return "SILENT", (lines or [""])[-1]


def measure(name: str) -> Row:
    """Build an environment and run everything in it."""
    stands_for = ENVIRONMENTS[name].stands_for
    if reason := obstacle(name):
        return Row(name, stands_for, reason)
    work = make_work()
    try:
        shown = run(name, (*CODEGUARD, "doctor", "--format", "json"), work)
        found = json.loads(shown.stdout)["sandbox"] if shown.returncode == 0 else None
        level = found["level"] if found else "none"
        outcome = {
            key: judged(key, run(name, COMMANDS[key][0], work), level if found else "") for key in COMMANDS
        }
    finally:
        shutil.rmtree(work, ignore_errors=True)
    commands = tuple((key, how) for key, (how, _) in outcome.items())
    said = tuple((key, line.replace(str(work), "…")) for key, (how, line) in outcome.items() if how != "full")
    if found is None:
        line = (shown.stderr.strip().splitlines() or [""])[-1]
        return Row(name, stands_for, "", level, commands=commands, said=(("doctor", line), *said))
    layers = found["layers"]
    return Row(
        name,
        stands_for,
        "",
        level,
        tuple(item["name"] for item in layers if item["engaged"]),
        tuple(f"{item['name']} ({item['detail']})" for item in layers if not item["engaged"]),
        tuple(found["advice"]),
        commands,
        said,
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return the table: a line for all environments in which the same is missing and the same works."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.skipped:
            found = ("not built", row.skipped, "")
        else:
            missing = ", ".join(item.split(" ", 1)[0] for item in row.missing) or "none"
            found = (row.level, "not known" if row.level == "none" else missing, row.service)
        alike.setdefault(found, []).append(row.stands_for)
    lines = ["| level | missing layers | service | environments |", "|---|---|---|---|"]
    lines.extend(
        f"| {level} | {missing} | {service} | {'; '.join(named)} |"
        for (level, missing, service), named in sorted(alike.items(), key=_level, reverse=True)
    )
    return "\n".join(lines)


def _level(line: tuple[tuple[str, str, str], list[str]]) -> str:
    (level, _, _), _ = line
    return level if level.startswith("L") else ""


def main() -> None:
    """Measure, print the table, write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=ENVIRONMENTS, help="Repeatable.")
    parser.add_argument("--json", type=Path, help="Write everything that was found.")
    parser.add_argument("--write", type=Path, help="Replace the table in this file.")
    given = parser.parse_args()
    rows = []
    with ThreadPoolExecutor(2) as pool:
        for row in pool.map(measure, given.only or ENVIRONMENTS):
            rows.append(row)
            print(row.name, row.skipped or f"{row.level} {row.service}", file=sys.stderr)
    table = markdown(rows)
    print(table)
    silent = [f"{row.name} {key}" for row in rows for key, how in row.commands if how == "SILENT"]
    built = [row for row in rows if not row.skipped]
    print(
        f"\n{len(built)} of {len(rows)} environments built, {len(silent)} silent downgrades {' '.join(silent)}"
    )
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if given.write:
        before, _, rest = given.write.read_text().partition(START)
        _, _, after = rest.partition(END)
        given.write.write_text(f"{before}{START}\n{table}\n{END}{after}")
    sys.exit(1 if silent else 0)


if __name__ == "__main__":
    main()
