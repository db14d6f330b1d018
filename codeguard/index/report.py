"""The report of an indexing run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from codeguard.index.sandbox_budget import BudgetReport
from codeguard.models import Skipped, SpecCoverage

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
