"""The demonstration: index the example corpora, ask three queries, show before and after."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

QUERIES = ("how to add two numbers", "calculate factorial", "reverse a string")
CORPORA = ("data/sample_code", "data/unknown_source", "data/poisoned")


def main() -> int:
    """Run the commands a user would run; the exit code of the first that fails, else 0."""
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as store:
        commands = [["doctor"], ["index", *CORPORA, "--trust", CORPORA[0], "--store", store]]
        commands += [["query", query, "--explain", "--store", store] for query in QUERIES]
        for command in commands:
            shown = " ".join(f'"{word}"' if " " in word else word for word in command)
            print(f"\n$ codeguard {shown}", flush=True)
            done = subprocess.run([sys.executable, "-m", "codeguard", *command], cwd=root, check=False)
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
