"""What people would pick today: a scanner or a list of trusted files as a filter behind the fused retrieval."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments.benchmark.corpora import TRUSTED, chunks_of
from experiments.benchmark.systems.base import Answer, Change, Decision, Hit, Part, Tampering, one_per_file
from experiments.benchmark.systems.retrievers import Searching

Lines = Mapping[str, Sequence[tuple[int, int, str]]]  # by path: first line, last line, reason


class Scanner:
    """Keeps what a scanner says of each unknown file; `scan` gets real paths and answers by them."""

    def __init__(self, name: str, scan: Callable[[Path, Sequence[Path]], Lines]) -> None:
        self.name = name
        self._scan = scan
        self.found: dict[str, Sequence[tuple[int, int, str]]] = {}

    def index(self, change: Change) -> None:
        """Scan what is new; the team's own files are not looked at."""
        for path in (*change.removed, *change.added):
            self.found.pop(path, None)
        new = [change.root / path for path in change.added if not path.startswith(f"{change.trusted}/")]
        if new:
            self.found |= self._scan(change.root, new)

    def tamper(self, tampering: Tampering) -> Callable[[], None] | None:
        """Return nothing: there is no vector store."""
        return None

    def close(self) -> None:
        """Do nothing."""


class Filtered:
    """Removes candidates by what a rule says of them."""

    def __init__(
        self, name: str, search: Searching, reason: Callable[[Hit], str], parts: Sequence[Part] = ()
    ) -> None:
        self.name = name
        self.main = True
        self.parts = (*search.parts, *parts)
        self._search, self._reason = search, reason

    def ask(self, questions: Sequence[str], k: int) -> list[Answer]:
        """Return what the filter leaves."""
        return [self._answer(hits, k) for hits in self._search.search(questions)]

    def _answer(self, hits: Sequence[Hit], k: int) -> Answer:
        judged = []
        for hit in hits:
            reason = self._reason(hit)
            decision = Decision.CONVICTED if reason else Decision.NONE
            judged.append(replace(hit, decision=decision, reasons=(reason,) if reason else ()))
        return Answer(one_per_file((hit for hit in judged if not hit.reasons), k), tuple(judged))


def trusted_only(search: Searching) -> Filtered:
    """Return the filter that leaves the team's own files and nothing else."""

    def reason(hit: Hit) -> str:
        return "" if hit.path.startswith(f"{TRUSTED}/") else "not trusted"

    return Filtered("trusted only", search, reason)


def by_lines(name: str, search: Searching, scanner: Scanner, *, whole_file: bool) -> Filtered:
    """Return the filter that removes candidates with a finding in their lines, or anywhere in their file."""

    def reason(hit: Hit) -> str:
        for first, last, text in scanner.found.get(hit.path, ()):
            if whole_file or (first <= hit.end_line and last >= hit.start_line):
                return text
        return ""

    return Filtered(name, search, reason, [scanner])


def bandit_scan(root: Path, files: Sequence[Path]) -> Lines:
    """Return bandit's findings of medium and high severity."""
    from bandit.core.config import BanditConfig
    from bandit.core.manager import BanditManager

    manager = BanditManager(BanditConfig(), "file")
    manager.discover_files([str(path) for path in files if path.suffix == ".py"])
    manager.run_tests()
    found: dict[str, list[tuple[int, int, str]]] = {}
    for issue in manager.get_issue_list(sev_level="MEDIUM", conf_level="LOW"):
        path = str(Path(issue.fname).relative_to(root))
        lines = issue.linerange or [issue.lineno]
        found.setdefault(path, []).append((min(lines), max(lines), f"{issue.test_id} {issue.text}"))
    return found


def guarddog_command() -> str | None:
    """Return the guarddog command, None where it is not installed."""
    return shutil.which("guarddog")


def guarddog_version() -> str:
    """Return what the command says of its version: it may stand in an environment of its own."""
    command = guarddog_command()
    if command is None:
        return "not installed"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout.split() or ["unknown"])[-1]


def guarddog_scan(root: Path, files: Sequence[Path]) -> Lines:
    """Return guarddog's threats in source; what it calls a capability is none.

    Raises:
        RuntimeError: guarddog gave no result.
    """
    command = guarddog_command()
    assert command is not None
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            copy = Path(folder) / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        done = subprocess.run(
            [command, "pypi", "scan", folder, "--output-format", "json"],
            capture_output=True,
            text=True,
            check=False,
        )
    shown = next((line for line in reversed(done.stdout.splitlines()) if line.startswith("{")), "")
    if not shown:
        raise RuntimeError(f"guarddog gave no result: {done.stderr.strip()[-300:]}")
    found: dict[str, list[tuple[int, int, str]]] = {}
    for rule, hits in json.loads(shown)["results"].items():
        for hit in hits if rule.startswith("threat-") and isinstance(hits, list) else ():
            path_name, _, line = str(hit["location"]).rpartition(":")
            found.setdefault(path_name, []).append((int(line), int(line), rule))
    return found


def command_scan(command: str, root: Path, files: Sequence[Path]) -> Lines:
    """Return what a command flags.

    It reads a JSON object with `text` a line, one a chunk, and writes one
    with `flagged` (true or false) and `reason` a line, in the same order; it
    may live in an environment of its own.

    Raises:
        ValueError: the command failed or answered something else.
    """
    places, asked = [], []
    for path in files:
        name = str(path.relative_to(root))
        for chunk in chunks_of(name, path.read_text(encoding="utf-8")):
            places.append((name, chunk.start_line, chunk.end_line))
            asked.append(json.dumps({"text": chunk.text}))
    done = subprocess.run(
        shlex.split(command), input="\n".join(asked), capture_output=True, text=True, check=False
    )
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != len(asked):
        got = done.stderr.strip()[-300:] or f"{len(answers)} lines"
        raise ValueError(f"--scanner {command}: got {got}, expected {len(asked)} lines of JSON")
    found: dict[str, list[tuple[int, int, str]]] = {}
    for (name, first, last), line in zip(places, answers, strict=True):
        answer = json.loads(line)
        if answer["flagged"]:
            found.setdefault(name, []).append((first, last, str(answer.get("reason") or "flagged")))
    return found


def scanner(name_and_command: str, search: Searching) -> Filtered:
    """Return the filter of `NAME=COMMAND`, by chunk; ValueError where it is not of that form."""
    name, equals, command = name_and_command.partition("=")
    if not (name and equals and command):
        raise ValueError(f"--scanner {name_and_command}: expected NAME=COMMAND")
    return by_lines(name, search, Scanner(name, partial(command_scan, command)), whole_file=False)


def systems(search: Searching) -> list[Filtered]:
    """Return the filters that can be had here behind a retrieval."""
    bandit = Scanner("bandit", bandit_scan)
    made = [
        trusted_only(search),
        by_lines("bandit, chunks", search, bandit, whole_file=False),
        by_lines("bandit, files", search, bandit, whole_file=True),
    ]
    if guarddog_command():
        made.append(by_lines("guarddog, files", search, Scanner("guarddog", guarddog_scan), whole_file=True))
    return made
