"""Of changes that break a line, how many do the tests notice?

    python -m experiments.benchmarks.tests_notice SCRATCH [--each 2] [--seed 1] [--only ranking trust]

Clones this checkout into SCRATCH, changes one place there by an operator of cosmic-ray (install
`codeguard-rag[mutation]`), runs the tests of that package until one fails, and puts the place back. What no
test noticed is printed as a difference: a person has to say whether it does the same as before, or which test
is missing.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from experiments.benchmarks.mutation import any_mutant
from experiments.text.common import wilson

ROOT = Path(__file__).parents[2]
SECONDS = 900  # a change that makes the tests hang is noticed as well
# Where each part of the product is tested, quick tests first.
TESTS = {
    "ranking": "ranking test_rerank.py test_fusion.py test_evaluation.py test_defense.py test_file_context.py "
    "test_judging.py test_guard.py signals/test_near_copy.py audit integrations golden",
    "trust": "provenance test_discovery.py audit cli store/test_state_folder.py",
    "analysis": "analysis reading signals audit golden",
    "reports": "reports audit cli integrations golden",
    "audit": "audit golden",
}
PARTS = {
    "ranking": "codeguard/ranking",
    "trust": "codeguard/trust",
    "analysis": "codeguard/analysis/*.py",
    "reports": "codeguard/reports",
    "audit": "codeguard/audit",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A mutant of a module: the operator, and the module's text before and after."""

    part: str
    path: str
    operator: str
    before: str
    after: str

    def difference(self) -> str:
        """Return the changed lines, as a unified difference without context."""
        lines = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def changes(part: str, each: int, seed: int) -> list[Change]:
    """Return `each` mutants of every module of a part, the same for the same seed."""
    where = ROOT / PARTS[part]
    files = sorted(where.rglob("*.py")) if where.is_dir() else sorted(where.parent.glob(where.name))
    found = []
    for file in files:
        path, text = file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
        for number in range(each):
            made = any_mutant(text, Random(f"{seed} {path} {number}"))
            if made is not None:
                found.append(Change(part, path, made[0], text, made[1]))
    return found


def is_noticed(change: Change, clone: Path) -> bool:
    """Return whether a test of the part fails, or does not end, with the change in place."""
    file = clone / change.path
    command = [".venv/bin/python", "-m", "pytest", "-x", "-m", "not slow and not soak"]
    command += ["-n", "2", "--dist", "loadfile"]
    command += [f"tests/{name}" for name in TESTS[change.part].split()]
    file.write_text(change.after, encoding="utf-8")
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=clone,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(change.before, encoding="utf-8")
    return done.returncode != 0


def main() -> None:
    """Print what was not noticed, and the share that was by part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--each", type=int, default=2, help="mutants of a module (default 2)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    clone = arguments.scratch / "clone"
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(["make", "--silent", ".venv/installed"], cwd=clone, check=True)
    noticed: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for part in arguments.only:
        for change in changes(part, arguments.each, arguments.seed):
            made[part] += 1
            if is_noticed(change, clone):
                noticed[part] += 1
            else:
                print(f"{change.path} {change.operator}\n{change.difference()}\n", flush=True)
        print(_share(part, noticed[part], made[part]), flush=True)
    print(_share("all", noticed.total(), made.total()))


def _share(name: str, noticed: int, made: int) -> str:
    low, high = wilson(noticed, made)
    return f"{name}: {noticed} of {made} noticed = {noticed / max(made, 1):.1%} [{low:.1%}, {high:.1%}]"


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)  # the clone's tests see the clone's packages
    main()
