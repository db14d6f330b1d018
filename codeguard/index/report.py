"""The report of an indexing run, and its form as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from codeguard.index.sandbox_budget import BudgetReport
from codeguard.models import Skipped, SpecCoverage

FALSE_CLAIM = "false_claim"  # counted beside the verdicts: calls showed that a function is not what it claims
Progress = Callable[[str, int, int], None]  # stage, done, total


@dataclass(frozen=True, slots=True)
class Suspect:
    """A function that the behavior checker convicts or demotes, with the reason."""

    path: str
    symbol: str
    line: int
    sha256: str
    verdict: str
    reason: str
    accepted: str = ""  # who overruled it, when and why


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
    demoted: tuple[Suspect, ...] = ()  # functions that make a false claim
    trusted_before: tuple[str, ...] = ()  # paths that this run trusts because of an earlier one
    budget: BudgetReport | None = None
    not_written: tuple[Skipped, ...] = ()  # below trusted paths, not trusted because a tool installed it

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> IndexReport:
        """Rebuild a report from `to_json`'s value; raise KeyError or TypeError if malformed."""
        fields = dict(value)
        return cls(
            **{
                **fields,
                **{key: tuple(Skipped(**item) for item in fields[key]) for key in ("skipped", "not_written")},
                "secrets": tuple(
                    WithheldLines(**{**item, "rules": tuple(item["rules"])}) for item in fields["secrets"]
                ),
                **{key: tuple(Suspect(**item) for item in fields[key]) for key in ("convicted", "demoted")},
                "coverage": SpecCoverage(**fields["coverage"]),
                "budget": (budget := fields["budget"])
                and BudgetReport(**{**budget, "files": tuple(budget["files"])}),
                **{
                    key: tuple(fields[key])
                    for key in ("by_lines", "notes", "signed_by", "warnings", "trusted_before")
                },
            }
        )
