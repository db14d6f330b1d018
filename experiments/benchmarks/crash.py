"""Kill -9: afterwards all is whole, and a second run completes.

    python -m experiments.benchmarks.crash [--trials 100] [--seed 1] [--out FILE]

Each trial changes, adds and deletes files of a small real corpus, starts
`codeguard index`, and kills it at a random moment of the time an index takes. Then
a query has to answer without a warning, `codeguard store verify --all` has to be clean, every file that was indexed
before has to be there, no chunk twice, and the same command again has to
leave exactly what the files hold.
A full disk, missing rights and several commands at once are tested in tests/store.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from codeguard.corpus.chunking import chunk_file
from codeguard.index.catalog import chunk_ids
from experiments.benchmarks.standard_library import standard_files

FILES = 40
LARGEST = 6_000
SHARE = 0.7  # of the time of a full index: a changed one is shorter
CODEGUARD = (sys.executable, "-P", "-m", "codeguard")


@dataclass
class Outcome:
    """What happened in all trials; `failures` says what was not whole, one line a trial."""

    trials: int = 0
    ended_before: int = 0
    interrupted_writes: int = 0
    half_done: int = 0
    failures: list[str] = field(default_factory=list)


class Corpus:
    """Small files of the standard library in a folder, changed at random; texts change with every trial."""

    def __init__(self, folder: Path, rng: random.Random, files: int = FILES) -> None:
        self.folder = folder
        self._rng = rng
        small = [path for path in standard_files() if 500 < path.stat().st_size < LARGEST]
        self._texts = {
            f"f{number}.py": path.read_text("utf-8", "replace")
            for number, path in enumerate(rng.sample(small, files))
        }
        folder.mkdir()
        for name, text in self._texts.items():
            (folder / name).write_text(text)
        (folder / "trusted").mkdir()
        (folder / "trusted" / "ours.py").write_text(
            'def add(a, b):\n    """Add.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
        )

    def change(self, trial: int) -> None:
        """Rewrite, delete and restore some files."""
        for name in sorted(self._texts):
            path, dice = self.folder / name, self._rng.random()
            if dice < 0.1:
                path.unlink(missing_ok=True)
            elif dice < 0.6 or not path.exists():
                path.write_text(f"{self._texts[name]}\n\ndef added_{trial}(x):\n    return x + {trial}\n")

    def ids(self) -> set[str]:
        """Return the ids of every chunk that the files hold."""
        found: set[str] = set()
        for path in self.folder.rglob("*.py"):
            found.update(
                chunk_ids(chunk_file(path.relative_to(self.folder).as_posix(), path.read_bytes()).chunks)
            )
        return found


def crash(trials: int, seed: int, folder: Path, files: int = FILES) -> Outcome:
    """Run the trials in an empty folder."""
    rng = random.Random(seed)
    corpus, environment = _prepared(folder, seed, files)
    outcome = Outcome()
    start = time.monotonic()
    _command(corpus.folder, environment, *_INDEX, check=True)
    duration = time.monotonic() - start
    for trial in range(trials):
        before = _catalogued(corpus.folder)
        corpus.change(trial)
        outcome.trials += 1
        try:
            _kill(corpus.folder, environment, rng.uniform(0.0, SHARE * duration), outcome)
            _examine(corpus, environment, before, outcome)
        except AssertionError as error:
            outcome.failures.append(f"trial {trial}: {error}")
    return outcome


def _prepared(folder: Path, seed: int, files: int) -> tuple[Corpus, dict[str, str]]:
    """Return a corpus in a folder, and an environment with a configuration of its own."""
    config = folder / "config"
    (config / "codeguard").mkdir(parents=True)
    (config / "codeguard" / "config.toml").write_text("")
    corpus = Corpus(folder / "corpus", random.Random(seed), files)
    return corpus, {**os.environ, "XDG_CONFIG_HOME": str(config)}


_INDEX = ("index", ".", "--trust", "trusted", "--embedding", "lexical", "--jobs", "1", "--format", "json")


def _command(
    folder: Path, environment: dict[str, str], *words: str, check: bool = False
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CODEGUARD, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=check,
        timeout=600,
    )


def _kill(folder: Path, environment: dict[str, str], after_s: float, outcome: Outcome) -> None:
    process = subprocess.Popen(
        [*CODEGUARD, *_INDEX],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        process.wait(after_s)
        outcome.ended_before += 1
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=600)
    assert process.returncode <= 0, f"index failed: {errors.strip()}"


def _examine(corpus: Corpus, environment: dict[str, str], before: set[str], outcome: Outcome) -> None:
    known = _catalogued(corpus.folder)
    present = {path.name for path in corpus.folder.glob("*.py")} | {"trusted/ours.py"}
    lost = (before & present) - known
    assert not lost, f"lost after the kill: {sorted(lost)}"
    _unsuspicious(
        _command(corpus.folder, environment, "query", "add", "--format", "json"), "the query", unfinished=True
    )
    verified = _command(corpus.folder, environment, "store", "verify", "--all", "--format", "json")
    assert verified.returncode == 0, f"not clean: {verified.stdout[:500]} {verified.stderr[:500]}"
    report = json.loads(verified.stdout)
    outcome.interrupted_writes += bool(report["carried_out"])
    outcome.half_done += known != present
    _unsuspicious(_command(corpus.folder, environment, *_INDEX), "the second run")
    with sqlite3.connect(corpus.folder / ".codeguard" / "catalog.sqlite3") as db:
        ids = [row[0] for row in db.execute("SELECT id FROM chunks")]
        intents = db.execute("SELECT count(*) FROM intents").fetchone()[0]
    assert len(ids) == len(set(ids)), "a chunk is there twice"
    assert set(ids) == corpus.ids(), "the catalog is not what the files hold"
    assert intents == 0, "writes are left undone"
    final = _command(corpus.folder, environment, "store", "verify", "--all")
    assert final.returncode == 0, f"not clean at the end: {final.stdout[:500]} {final.stderr[:500]}"


def _unsuspicious(done: subprocess.CompletedProcess[str], what: str, *, unfinished: bool = False) -> None:
    """A crash is no tampering: nothing may be refused, and nothing told but that the index was not finished."""
    assert done.returncode == 0, f"{what} failed: {done.stderr.strip()}"
    warnings = json.loads(done.stdout)["warnings"]
    if unfinished:
        expected = ("the index was ended before", "shown as indexed, not trusted: ")
        warnings = [line for line in warnings if not line.startswith(expected)]
    assert not warnings, f"{what} warns: {warnings}"


def _catalogued(folder: Path) -> set[str]:
    path = folder / ".codeguard" / "catalog.sqlite3"
    if not path.exists():
        return set()
    with sqlite3.connect(path) as db:
        return {row[0] for row in db.execute("SELECT path FROM files")}


def main() -> None:
    """Run the trials and print what happened."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        outcome = crash(arguments.trials, arguments.seed, Path(name))
    text = json.dumps(vars(outcome), indent=2)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(f"{text}\n")
    sys.exit(1 if outcome.failures else 0)


if __name__ == "__main__":
    main()
