"""Inline ignores, `# codeguard: ignore[rule] reason`: honored only in files of a verified manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codeguard.analysis.engine import INLINE_IGNORE
from codeguard.analysis.observations import AUDIT, Observation
from codeguard.audit.findings import Finding, Standing
from codeguard.audit.rules import RuleSelection

RULE = f"{AUDIT}.{INLINE_IGNORE}"


@dataclass(frozen=True, slots=True)
class Ignore:
    """A comment that asks to ignore a finding.

    `lines` are the lines it applies to: its own, and the next one where it
    stands alone. `problem` says why it cannot count, empty if it may.
    """

    lines: tuple[int, ...]
    rules: tuple[str, ...]
    reason: str
    problem: str

    @classmethod
    def of(cls, item: Observation) -> Ignore:
        """Return the ignore comment of an observation `audit.inline-ignore`."""
        asked, line = item.measurements, item.place.start_line
        return cls(
            lines=(line, line + 1) if asked["alone"] else (line,),
            rules=tuple(filter(None, str(asked["rules"]).split(","))),
            reason=str(asked["reason"]),
            problem=str(asked["problem"]),
        )


def uncounted(ignore: Ignore, covered: bool) -> str:
    """Return why an ignore does not count, empty if it does."""
    if not covered:
        return "asks to be ignored, in a file that no verified manifest covers"
    return f"asks to be ignored, but {ignore.problem}" if ignore.problem else ""


def suppressed(findings: Sequence[Finding], ignores: Mapping[str, Sequence[Ignore]]) -> list[Finding]:
    """Return the findings, suppressing those that an ignore comment of their file names on their line."""
    result = []
    for item in findings:
        for ignore in ignores.get(item.path, ()):
            named = RuleSelection(ignore.rules).takes(item.rule) and item.place.start_line in ignore.lines
            if named and item.rule != RULE:
                item = item.overruled(Standing.SUPPRESSED, ignore.reason)
                break
        result.append(item)
    return result
