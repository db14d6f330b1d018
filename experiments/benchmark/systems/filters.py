"""What people would pick today: a scanner or a list of trusted files as a filter behind the fused retrieval."""

from __future__ import annotations

import json
import re
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


class Reordered:
    """Puts the candidates of a retrieval in another order; nothing is run, read or removed."""

    main = True

    def __init__(self, name: str, search: Searching, order: Callable[[Sequence[Hit]], Sequence[Hit]]) -> None:
        self.name, self.parts = name, search.parts
        self._search, self._order = search, order

    def ask(self, questions: Sequence[str], k: int) -> list[Answer]:
        """Return the candidates in the new order."""
        found = [tuple(self._order(hits)) for hits in self._search.search(questions)]
        return [Answer(one_per_file(hits, k), hits) for hits in found]


def is_own(hit: Hit) -> bool:
    """Return whether the team's list of files holds a hit's."""
    return hit.path.startswith(f"{TRUSTED}/")


def namesakes_last(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the best own hit first, and unlisted functions with the name of an own one last."""
    own = {_name(hit) for hit in hits if is_own(hit)}
    best = next((hit for hit in hits if is_own(hit)), None)
    rest = [hit for hit in hits if hit is not best]
    last = {id(hit) for hit in rest if not is_own(hit) and _name(hit) in own}
    first = [] if best is None else [best]
    return [*first, *(hit for hit in rest if id(hit) not in last), *(hit for hit in rest if id(hit) in last)]


def own_first_at_equal_relevance(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return own hits before others of about the same rank: within steps that double."""
    order = sorted(enumerate(hits, 1), key=lambda item: (item[0].bit_length(), not is_own(item[1]), item[0]))
    return [hit for _, hit in order]


def majority_first(hits: Sequence[Hit], akin: float = 0.6) -> Sequence[Hit]:
    """Return hits, of several of one name the ones first that most of the others resemble."""
    words = {id(hit): frozenset(re.findall(r"\w+", hit.text)) for hit in hits}
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(_name(hit) or f"{hit.path}:{hit.start_line}", []).append(hit)
    ordered = {
        name: iter(
            sorted(
                group,
                key=lambda hit, group=group: (
                    -sum(  # type: ignore[misc]
                        _likeness(words[id(hit)], words[id(other)]) >= akin for other in group
                    )
                ),
            )
        )
        for name, group in groups.items()
    }
    return [next(ordered[_name(hit) or f"{hit.path}:{hit.start_line}"]) for hit in hits]


def _name(hit: Hit) -> str:
    return hit.symbol.rpartition(".")[2]


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


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
        return "" if is_own(hit) else "not trusted"

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


def semgrep_scan(rules: Path, root: Path, files: Sequence[Path]) -> Lines:
    """Return semgrep's findings by the rules of a folder; nothing is fetched or sent.

    Raises:
        RuntimeError: semgrep gave no result.
    """
    command = ["semgrep", "scan", "--config", str(rules), "--json", "--quiet", "--metrics", "off"]
    command += ["--disable-version-check", "--no-git-ignore", *map(str, files)]
    shown = _output(command)
    found: dict[str, list[tuple[int, int, str]]] = {}
    for item in json.loads(shown)["results"]:
        path = str(Path(item["path"]).relative_to(root))
        found.setdefault(path, []).append((item["start"]["line"], item["end"]["line"], item["check_id"]))
    return found


def skill_scan(root: Path, files: Sequence[Path]) -> Lines:
    """Return what cisco-ai-skill-scanner finds, each file given to it as a skill of its own, by its static analyzers.

    Raises:
        RuntimeError: it gave no result.
    """
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(files):
            skill = Path(folder, str(number), "SKILL.md")
            skill.parent.mkdir()
            text = path.read_text(encoding="utf-8")
            front = "" if text.startswith("---\n") else "---\nname: one\ndescription: a file\n---\n\n"
            skill.write_text(f"{front}{'' if path.suffix == '.py' else text}", "utf-8")
            if path.suffix == ".py":
                shutil.copyfile(path, skill.with_name(path.name))
        report = json.loads(_output(["skill-scanner", "scan-all", folder, "--format", "json"]))
    found: dict[str, list[tuple[int, int, str]]] = {}
    for scanned in report["results"]:
        bad = [item["rule_id"] for item in scanned["findings"] if item["severity"] in ("HIGH", "CRITICAL")]
        if bad:
            path = files[int(Path(scanned["skill_path"]).name)]
            found[str(path.relative_to(root))] = [
                (1, path.read_text("utf-8").count("\n") + 1, ", ".join(bad))
            ]
    return found


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"{command[0]} gave no result: {done.stderr.strip()[-300:]}")
    return done.stdout


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


def systems(search: Searching, rules: Path | None = None) -> list[Reordered | Filtered]:
    """Return the orders and filters that can be had here behind a retrieval; `rules` is a folder for semgrep."""
    bandit = Scanner("bandit", bandit_scan)
    made: list[Reordered | Filtered] = [
        Reordered("own first, namesakes last", search, namesakes_last),
        Reordered("own first at equal relevance", search, own_first_at_equal_relevance),
        Reordered("majority", search, majority_first),
        trusted_only(search),
        by_lines("bandit, chunks", search, bandit, whole_file=False),
        by_lines("bandit, files", search, bandit, whole_file=True),
    ]
    if guarddog_command():
        made.append(by_lines("guarddog, files", search, Scanner("guarddog", guarddog_scan), whole_file=True))
    if shutil.which("skill-scanner"):
        made.append(
            by_lines("skill-scanner, files", search, Scanner("skill-scanner", skill_scan), whole_file=True)
        )
    if rules is not None:
        semgrep = Scanner("semgrep", partial(semgrep_scan, rules))
        made.append(by_lines("semgrep, chunks", search, semgrep, whole_file=False))
    return made
