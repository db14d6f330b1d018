"""What an indexing run reports, and what its checks may spend in the sandbox, for each file and in all.

What a check may spend depends on the files and on what the others spent before, not on the order or the number of
workers: the files that are not fully checked get equal shares of what is left, and a file's functions equal shares
of that. What a share leaves goes to the next round, so cheap checks come first and no file can use up another's
share.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from codeguard.config import DefenseConfig
from codeguard.models import Chunk, Skipped, SourceFile, SpecCoverage

if TYPE_CHECKING:
    pass

LEAST_GROWTH = 2.0  # times its share before, from which on a check that had spent that is run again
Subject = tuple[Chunk, SourceFile]


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """What a run may spend and has spent, in CPU seconds of the sandbox, and the files that spent their shares."""

    spent_s: float
    allowed_s: float
    file_s: float
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.spent_s:.1f} of {self.allowed_s:g} CPU seconds, at most {self.file_s:g} of them for a file"

    @property
    def unfinished(self) -> str:
        """A line about the files that are not fully checked, or ""."""
        count = len(self.files)
        if not count:
            return ""
        named = "1 file is" if count == 1 else f"{count} files are"
        return f"{named} not fully checked: too large, or the share of the budget is spent ({self}; see --budget)"


@dataclass
class SandboxBudget:
    """The CPU seconds of one run in the sandbox; time that code sleeps counts like time that it runs.

    Args:
        run_s: for all files together.
        file_s: for each of them.
        coming: how many files there are, where they are not checked together.
    """

    run_s: float = math.inf
    file_s: float = math.inf
    coming: int = 0
    spent_s: float = 0.0
    _of_file: dict[str, float] = field(default_factory=dict)
    _unfinished: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, config: DefenseConfig) -> SandboxBudget:
        """Return the budget of one run with this configuration."""
        return cls(config.budget_s, min(config.budget_s, config.file_budget_s))

    @property
    def limits(self) -> tuple[float, float]:
        """For the run and for a file: a check that spent its share is run again when either is raised."""
        return self.run_s, self.file_s

    def shares(self, subjects: Sequence[Subject]) -> list[float]:
        """Return the seconds of each function in the next round."""
        count = Counter(file.path for _, file in subjects)
        others = max(0, self.coming - len(self._of_file.keys() | count.keys()))
        left = max(0.0, self.run_s - self.spent_s) / (len(count) + others) if count else 0.0
        return [
            max(0.0, min(left, self.file_s - self._of_file.get(file.path, 0.0))) / count[file.path]
            for _, file in subjects
        ]

    def again(self, subjects: Sequence[Subject], before: Sequence[float]) -> list[bool]:
        """Return which of the functions that spent these shares are worth another round."""
        return [
            share > 0 and share >= LEAST_GROWTH * old
            for share, old in zip(self.shares(subjects), before, strict=True)
        ]

    def charge(self, path: str, seconds: float) -> None:
        """Count what a check of a function of this file has spent."""
        self.spent_s += seconds
        self._of_file[path] = self._of_file.get(path, 0.0) + seconds

    def unfinished(self, path: str) -> None:
        """Note that a function of this file is not fully checked."""
        self._unfinished.add(path)

    def report(self) -> BudgetReport:
        """Return what was spent so far."""
        spent_s, files = round(self.spent_s, 3), tuple(sorted(self._unfinished))
        return BudgetReport(spent_s, self.run_s, self.file_s, files)


def together(first: BudgetReport | None, second: BudgetReport | None) -> BudgetReport | None:
    """Return what two parts of a run spent, None if neither could spend anything."""
    if first is None or second is None:
        return first or second
    files = tuple(sorted({*first.files, *second.files}))
    return replace(first, spent_s=round(first.spent_s + second.spent_s, 3), files=files)


HARM = "harmful"  # said instead of a verdict where reading found harm that was planted
FALSE_CLAIM = "false_claim"  # counted beside the verdicts: calls showed that a function is not what it claims
Progress = Callable[[str, int, int], None]  # stage, done, total


@dataclass(frozen=True, slots=True)
class Suspect:
    """A function that the behavior checker convicts or demotes, or a chunk that would do harm, with the reason."""

    path: str
    symbol: str
    line: int
    sha256: str
    verdict: str
    reason: str
    accepted: str = ""  # who overruled it, when and why

    @property
    def kind(self) -> str:
        """The decision: harmful, demoted or convicted."""
        return {HARM: HARM, "false claim": "demoted", "unannounced": "demoted"}.get(self.verdict, "convicted")


@dataclass(frozen=True, slots=True)
class Trend:
    """What the last run that changed something did to the suspects: chunks as "path symbol"."""

    newly: tuple[str, ...]
    no_longer: tuple[str, ...]

    @classmethod
    def between(cls, before: Iterable[Mapping[str, Any]], now: Iterable[Suspect]) -> Trend:
        """Return what differs between the suspects of two runs, the earlier one's as plain values."""
        old = dict.fromkeys(f"{item['path']} {item['symbol']}" for item in before if not item["accepted"])
        new = dict.fromkeys(f"{item.path} {item.symbol}" for item in now if not item.accepted)
        return cls(tuple(sorted(new.keys() - old.keys())), tuple(sorted(old.keys() - new.keys())))


@dataclass(frozen=True, slots=True)
class WithheldLines:
    """The lines of a file that contain secrets, the rules, and whether they are excluded from retrieval."""

    path: str
    start_line: int
    end_line: int
    rules: tuple[str, ...]
    withheld: bool


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The result of an indexing run. Counts are of the whole index unless named `added` or `removed`."""

    files: int
    chunks: int
    added: int
    removed: int
    unchanged: int
    skipped: tuple[Skipped, ...]
    secrets: tuple[WithheldLines, ...]
    by_lines: tuple[str, ...]  # except prose
    notes: tuple[str, ...]
    trusted_files: int
    manifest_unsigned: bool
    signed_by: tuple[str, ...]
    coverage: SpecCoverage
    checked: int  # functions that this run checked
    verdicts: Mapping[str, int]  # how many functions of the index have each verdict, or a false claim
    convicted: tuple[Suspect, ...]
    sandbox_level: str
    embedding: str
    seconds: float
    warnings: tuple[str, ...]
    searchable: int = 0  # chunks that queries can find: not blank, not withheld
    demoted: tuple[Suspect, ...] = ()  # chunks that would do harm, and functions that make a false claim
    trusted_before: tuple[str, ...] = ()  # paths that this run trusts because of an earlier one
    budget: BudgetReport | None = None
    nothing_changed: bool = False
    trend: Trend | None = None  # None if no earlier run ended
    not_written: tuple[Skipped, ...] = ()  # below trusted paths, not trusted because a tool installed it

    @property
    def suspects(self) -> list[Suspect]:
        """What is convicted or demoted, each once: harm first, then what is wrong, then what is suspicious."""
        first: dict[tuple[str, int], Suspect] = {}
        order = (HARM, "convicted", "demoted")
        for item in sorted((*self.convicted, *self.demoted), key=lambda item: order.index(item.kind)):
            first.setdefault((item.path, item.line), item)
        return list(first.values())
