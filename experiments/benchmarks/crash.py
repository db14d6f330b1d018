"""Kill -9, several at once, a full disk, no right: afterwards all is whole, and a second run completes.

    python -m experiments.benchmarks.crash [--trials 100] [--rounds 5] [--seed 1] [--out FILE]

Each trial of the kills changes, adds and deletes files of a small real corpus, starts
`codeguard index`, and kills it at a random moment of the time an index takes. Then
a query has to answer without a warning, `codeguard store verify --all` has to be clean, every file that was indexed
before has to be there, no chunk twice, and the same command again has to
leave exactly what the files hold. The others are described at their functions.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from codeguard.corpus.chunking import chunk_file
from codeguard.index.catalog import chunk_ids
from experiments.benchmarks.standard_library import standard_files

FILES = 40
LARGEST = 6_000
SHARE = 0.7  # of the time of a full index: a changed one is shorter
FREE_KIB = (32, 128, 512, 1024, 1536, 2048)
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
    corpus = Corpus(folder / "corpus", rng, files)
    config = folder / "config"
    (config / "codeguard").mkdir(parents=True)
    (config / "codeguard" / "config.toml").write_text("")
    environment = {**os.environ, "XDG_CONFIG_HOME": str(config)}
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


# Beside kills: several at once, no room, no right


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: the failure, the number of trials, what was reported, and what was lost."""

    what: str
    trials: int
    said: str
    lost: str

    def line(self) -> str:
        """Return the row of a table in Markdown."""
        return f"| {self.what} | {self.trials} | {self.said} | {self.lost} |"


class Place:
    """A folder with a corpus, an index of it, and a configuration of its own."""

    def __init__(self, folder: Path, seed: int, files: int = FILES) -> None:
        folder.mkdir(mode=0o700)
        self.corpus = Corpus(folder / "corpus", random.Random(seed), files)
        self.folder = self.corpus.folder
        self.state = self.folder / ".codeguard"
        (folder / "config" / "codeguard").mkdir(parents=True)
        (folder / "config" / "codeguard" / "config.toml").write_text("")
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return _command(self.folder, self.environment, *words)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command."""
        return subprocess.Popen(
            [*CODEGUARD, *words], cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def in_small_disk(self, free_kib: int, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a shell line with the state on a file system with so much room; what is there afterwards is kept.

        A tmpfs in a mount namespace of its own.
        """
        used = (
            sum(path.stat().st_blocks // 2 + 4 for path in self.state.rglob("*"))
            if self.state.exists()
            else 0
        )
        script = (
            f'cp -a .codeguard "$KEPT" && mount -t tmpfs -o mode=0700,size={used + free_kib}k none .codeguard && '
            'cp -a "$KEPT/." .codeguard && { "$@"; code=$?; rm -rf "$KEPT"; cp -a .codeguard "$KEPT"; exit $code; }'
        )
        kept = self.folder.parent / "kept"
        self.state.mkdir(mode=0o700, exist_ok=True)
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, "sh", *words],
            cwd=self.folder, env={**self.environment, "KEPT": str(kept)}, capture_output=True, text=True,
            check=False, timeout=600,
        )  # fmt: skip
        shutil.rmtree(self.state)
        kept.rename(self.state)
        return done

    def whole(self) -> str:
        """Return what is not as the files say after one more run, "" where all is."""
        again = self.run(*_INDEX)
        if again.returncode != 0:
            return f"the next run failed: {again.stderr.strip()}"
        with contextlib.closing(sqlite3.connect(self.state / "catalog.sqlite3")) as db:
            ids = [row[0] for row in db.execute("SELECT id FROM chunks")]
        if len(ids) != len(set(ids)) or set(ids) != self.corpus.ids():
            return "the catalog is not what the files hold"
        verified = self.run("store", "verify", "--all")
        return (
            "" if verified.returncode == 0 else f"not clean: {verified.stdout[:300]} {verified.stderr[:300]}"
        )


def _one_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.strip().splitlines()
    if done.returncode != 2 or len(lines) != 1 or "internal error" in lines[0]:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.strip()[:400]}")
    return lines[0]


def _lost(failures: Sequence[str]) -> str:
    return "nothing" if not failures else "; ".join(sorted(set(failures)))


def crowd(folder: Path, rounds: int, seed: int) -> Row:
    """Two index and three query at the same moment, round after round."""
    place, failures = Place(folder, seed), []
    assert place.run(*_INDEX).returncode == 0
    for trial in range(rounds):
        place.corpus.change(trial)
        writers = [place.start(*_INDEX) for _ in range(2)]
        readers = [place.start("query", "open a file", "--format", "json") for _ in range(3)]
        for process in (*writers, *readers):
            _, errors = process.communicate(timeout=600)
            if process.returncode != 0:
                failures.append(f"exit {process.returncode}: {errors.strip()[:200]}")
    problem = place.whole()
    return Row(
        "two writers and three readers at once", rounds,
        "the second writer waits, readers are answered", _lost([*failures, *([problem] if problem else [])]),
    )  # fmt: skip


def full_disk(folder: Path, free_kib: Sequence[int], seed: int) -> Row:
    """Index into a file system with so much room, then ask it while it is full, then go on with more room."""
    failures, said, answered = [], Counter[str](), 0
    for number, free in enumerate(free_kib):
        place = Place(folder / str(number), seed + number)
        small = ("index", "trusted", "--trust", "trusted", "--embedding", "lexical", "--jobs", "1")
        assert place.run(*small).returncode == 0
        ask = [*CODEGUARD, "query", "add", "--format", "json"]
        script = (
            '"$@"; code=$?; ' + shlex.join(ask) + " > ../answer 2> ../refusal; echo $? > ../asked; exit $code"
        )
        done = place.in_small_disk(free, "sh", "-c", script, "sh", *CODEGUARD, *_INDEX)
        try:
            said[_reason(_one_line(done))] += 1
        except AssertionError as error:
            failures.append(f"{free} KiB: {error}")
        asked = int((place.folder.parent / "asked").read_text())
        answered += asked == 0
        if asked not in (0, 2) or len((place.folder.parent / "refusal").read_text().splitlines()) > 1:
            failures.append(
                f"{free} KiB: asked while full: {(place.folder.parent / 'refusal').read_text()[:300]}"
            )
        problem = place.whole()
        if problem:
            failures.append(f"{free} KiB: {problem}")
    reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(said.items()))
    return Row(
        f"disk full with {free_kib[0]} KiB to {free_kib[-1]} KiB free (tmpfs)", len(free_kib),
        f"one line, exit 2: {reasons}; a query on the full disk answered {answered} times, else one line",
        _lost(failures),
    )  # fmt: skip


def _reason(line: str) -> str:
    found = re.findall(r"\(([^()]*)", re.sub(r"\(code: \d+\) ", "", line))
    return found[-1].rpartition(": ")[2][:60] if found else line[:60]


def refused(folder: Path, seed: int) -> list[Row]:
    """Use an index that is read-only, and one of another user."""
    place = Place(folder, seed)
    assert place.run(*_INDEX).returncode == 0
    before = _contents(place.state)
    script = 'mount --bind .codeguard .codeguard && mount -o remount,bind,ro .codeguard && exec "$@"'
    rows, failures, said = [], [], set()
    for words in (_INDEX, ("query", "add"), ("store", "verify"), ("accept", "0" * 64, "--reason", "x")):
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, "sh", *CODEGUARD, *words],
            cwd=place.folder, env=place.environment, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        try:
            if words == _INDEX and done.returncode == 0:
                continue  # nothing changed, so nothing is written
            said.add(_reason(_one_line(done)))
        except AssertionError as error:
            failures.append(f"{words[0]}: {error}")
    if _contents(place.state) != before:
        failures.append("the state changed")
    problem = place.whole()
    rows.append(Row("read-only state", 4, f"one line, exit 2: {', '.join(sorted(said))}",
                    _lost([*failures, *([problem] if problem else [])])))  # fmt: skip
    if os.geteuid() == 0:
        rows.append(_foreign(place))
    return rows


def _foreign(place: Place) -> Row:
    failures = []
    everything = [place.state, *place.state.rglob("*")]
    before = _contents(place.state)
    for owner in (12_345, 65_534):
        for path in everything:
            os.chown(path, owner, owner)
        for words in (_INDEX, ("query", "add"), ("store", "verify"), ("accept", "0" * 64, "--reason", "x")):
            try:
                line = _one_line(place.run(*words))
                if "another user's" not in line:
                    failures.append(line)
            except AssertionError as error:
                failures.append(f"{words[0]}: {error}")
        audited = place.run("audit", "trusted")
        if audited.returncode != 0 or "it is ignored" not in audited.stderr:
            failures.append(f"audit: {audited.stderr[:200]}")
    if _contents(place.state) != before:
        failures.append("the state changed")
    for path in everything:
        os.chown(path, 0, 0)
    problem = place.whole()
    said = "one line, exit 2, with the owner; audit continues without it"
    return Row(
        "state of another user (two owners)", 10, said, _lost([*failures, *([problem] if problem else [])])
    )


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def table(arguments: argparse.Namespace, folder: Path) -> list[Row]:
    """Run all that is not a kill."""
    seed = arguments.seed
    rows = [crowd(folder / "crowd", arguments.rounds, seed)]
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0:
        (folder / "full").mkdir()
        rows.append(full_disk(folder / "full", FREE_KIB, seed))
        rows.extend(refused(folder / "refused", seed))
    else:
        print("left out: disk full, read-only (no user namespaces here)")
    return rows


def main() -> None:
    """Run the trials and print what happened."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5, help="of two writers and three readers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        folder = Path(name)
        (folder / "kills").mkdir()
        outcome = crash(arguments.trials, arguments.seed, folder / "kills")
        kills = Row(
            f"kill -9 at random moments ({outcome.ended_before} had ended before)",
            outcome.trials,
            f"{outcome.half_done} left files unfinished, {outcome.interrupted_writes} left writes pending",
            _lost(outcome.failures),
        )
        rows = [kills, *table(arguments, folder)]
    print("| failure | trials | reported | lost |\n|---|---|---|---|")
    for row in rows:
        print(row.line())
    if arguments.out is not None:
        arguments.out.write_text(
            json.dumps({"kills": vars(outcome), "rows": [asdict(row) for row in rows]}, indent=2) + "\n"
        )
    sys.exit(1 if any(row.lost != "nothing" for row in rows) else 0)


if __name__ == "__main__":
    main()
