"""How soon a new index answers: a query of another process by words, and the index complete.

    python -m experiments.benchmarks.first_answer FOLDER... [--trust PATH] [--query TEXT] [--rounds N]

Each round indexes the folders by `codeguard index` into an empty store, from a
cold shell, while another process asks by `codeguard query` again and again
until it has an answer. Elapsed seconds from the start of the first, medians of
the rounds. `complete` is of a round in which nobody asks, and so are the
processor seconds: of all processes together.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from experiments.benchmarks.processor import adopt_orphans, processor_seconds

PAUSE_S = 0.05
PATIENCE_S = 600.0
COMMAND = (sys.executable, "-P", "-m", "codeguard")


class Round:
    """One new index, in a folder of its own."""

    def __init__(self, folders: Sequence[str], trust: Sequence[str], home: Path) -> None:
        self._store = ("--store", str(home / "store"))
        trusted = [word for path in trust for word in ("--trust", path)]
        self._words = (*COMMAND, "index", *folders, *trusted, *self._store)
        self._environment = {**os.environ, "XDG_CONFIG_HOME": str(home / "config")}

    def _started(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(words, env=self._environment, stdout=quiet, stderr=quiet)

    def complete(self) -> float:
        """Return the seconds of the whole index, with nobody asking."""
        start = time.perf_counter()
        if self._started(self._words).wait(PATIENCE_S) != 0:
            raise SystemExit("the index failed; run it by hand to see why")
        return time.perf_counter() - start

    def first_answer(self, query: str) -> float:
        """Return the seconds until a query of another process has an answer."""
        start = time.perf_counter()
        index = self._started(self._words)
        asked = (*COMMAND, "query", query, *self._store)
        try:
            while time.perf_counter() - start < PATIENCE_S:
                ended = index.poll() is not None
                if self._started(asked).wait(PATIENCE_S) == 0:
                    return time.perf_counter() - start
                if ended:
                    break
                time.sleep(PAUSE_S)
        finally:
            index.wait(PATIENCE_S)
        raise SystemExit("no query had an answer; ask by hand to see why")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--trust", action="append", default=[])
    parser.add_argument("--query", default="reverse a string")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    adopt_orphans()
    first, complete, processor = [], [], []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory(prefix="first-answer-") as home:
            first.append(Round(arguments.folders, arguments.trust, Path(home)).first_answer(arguments.query))
        with tempfile.TemporaryDirectory(prefix="first-answer-") as home:
            before = processor_seconds()
            complete.append(Round(arguments.folders, arguments.trust, Path(home)).complete())
            processor.append(processor_seconds() - before)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians of {arguments.rounds} rounds")
    print(f"first answer {statistics.median(first):.2f} s")
    print(f"complete     {statistics.median(complete):.2f} s")
    print(f"processor    {statistics.median(processor):.2f} s")


if __name__ == "__main__":
    main()
