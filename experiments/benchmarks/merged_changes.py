"""How often the audit of a change fails on changes that a project merged.

    python -m experiments.benchmarks.merged_changes REPOSITORY --trust src [--most N] [--json FILE]

Each commit on the first parents of the newest one that touches Python is audited as a pull request is: `codeguard
audit --since` its first parent, with the project's own code trusted as it was before. The changes were reviewed and
merged, so that whatever fails is a false alarm unless someone who reads it says otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.benchmarks.audit_common import finish, parser_of, rate

Row = dict[str, Any]


def main() -> None:
    """Print each change that fails and what failed it, and the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("repository", type=Path, help="a git repository")
    parser.add_argument("--trust", action="append", default=[], help="a path that is the project's own")
    parser.add_argument("--most", type=int, default=50, help="changes, the newest first")
    parser.add_argument("--no-behavior", action="store_true", help="run nothing in the sandbox")
    arguments = parser.parse_args()
    options = [word for path in arguments.trust for word in ("--trust", path)]
    options += ["--no-behavior"] if arguments.no_behavior else []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "checkout"
        _git(
            Path.cwd(), "clone", "--quiet", "--no-checkout", str(arguments.repository.resolve()), str(folder)
        )
        listed = _git(folder, "log", "--first-parent", "--min-parents=1", "--format=%H", "--", "*.py").split()
        rows = [_audited(folder, commit, options, Path(scratch)) for commit in listed[: arguments.most]]
    failed = [row for row in rows if row["failing"]]
    for row in failed:
        print(row["commit"][:10], *row["failing"], sep="\n  ")
    seconds = sorted(row["seconds"] for row in rows)
    figures = {
        "failed": rate(len(failed), len(rows)),
        "rules": dict(
            Counter(rule for row in failed for rule in {line.split()[0] for line in row["failing"]})
        ),
        "notes": sum(row["notes"] for row in rows),
        "median_s": seconds[len(seconds) // 2] if seconds else 0,
    }
    finish(figures, arguments.json)


def _audited(folder: Path, commit: str, options: list[str], state: Path) -> Row:
    _git(folder, "checkout", "--quiet", "--detach", commit)
    own = {"XDG_CONFIG_HOME": str(state / "config"), "XDG_STATE_HOME": str(state / "state")}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "codeguard", "audit", "--since", "HEAD^1", *options, "--format", "json"],
        cwd=folder,
        env=os.environ | own,
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{commit}: the audit ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    report = json.loads(done.stdout)
    return {
        "commit": commit,
        "failing": [
            f"{item['rule']} {item['path']}:{item['start_line']} {item['reason']}"
            for item in report["findings"]
            if item["fails"]
        ],
        "notes": sum(
            item["rule"].startswith("change.") and item["severity"] == "info" for item in report["findings"]
        ),
        "seconds": report["seconds"],
    }


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
