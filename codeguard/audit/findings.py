"""The results of an audit: findings with a location, a fingerprint and a standing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from codeguard.analysis.observations import AUDIT, DISCOVERY, Place
from codeguard.index.report import BudgetReport
from codeguard.models import Confidence, Severity, Skipped, text_digest

CHANGE = "change"  # what a change does to code that was trusted before it
NEW_EFFECT = f"{CHANGE}.new-effect"
FOR_REVIEW = frozenset(f"{CHANGE}.{rule}" for rule in ("behavior", "not-compared"))
OF_FACT = frozenset({AUDIT, DISCOVERY, CHANGE, "provenance"})
"""The signals that report what the audit could not read or finish, what a manifest says, or what a change removed."""
_FACTS = frozenset(
    {"behavior.replaced"}
)  # rules of other signals that report what the text says, not a likeness


def is_fact(rule: str) -> bool:
    """Return whether findings of a rule are facts, which count whatever their confidence, and not estimates."""
    return rule.partition(".")[0] in OF_FACT or rule in _FACTS


class Standing(StrEnum):
    """Whether a finding counts, and if not, what overruled it."""

    OPEN = "open"
    BASELINED = "baselined"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding in an audited file.

    `rule` is `signal.rule`. `digest` is the sha256 of the chunk's text (of the file's bytes if no chunk is
    concerned), which is what `accept` takes; `symbol` names the chunk. `snippet` is the unescaped first line
    of the location: untrusted text. `text_digest` is over the lines of the location without their
    indentation, `fingerprint` over rule, path, that digest and the occurrence number, so that both stay the
    same when lines move. `note` is the reason for a standing other than open.
    """

    rule: str
    path: str
    place: Place
    severity: Severity
    confidence: Confidence
    reason: str
    digest: str = ""
    symbol: str = ""
    snippet: str = ""
    text_digest: str = ""
    fingerprint: str = ""
    standing: Standing = Standing.OPEN
    note: str = ""
    measurements: Mapping[str, float | int | str | bool] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether it has not been overruled."""
        return self.standing is Standing.OPEN

    @property
    def columns(self) -> tuple[int, int]:
        """The start and the end of what was found in the snippet."""
        length, place = len(self.snippet), self.place
        start = min(max(place.start_column - 1, 0), length)
        end = min(place.end_column - 1, length) if place.end_line == place.start_line else length
        return start, max(start, end)

    @property
    def sure(self) -> bool:
        """Whether it counts at the point where the audit operates: not a guess."""
        return self.confidence > Confidence.LOW or is_fact(self.rule)

    @property
    def for_review(self) -> bool:
        """Whether it is a note about a change of trusted code, which a reviewer reads and which fails nothing."""
        return self.rule in FOR_REVIEW

    def overruled(self, standing: Standing, note: str) -> Finding:
        """Return the finding with another standing and its reason."""
        return replace(self, standing=standing, note=note)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of an audit.

    `functions` and `lines` count what was audited. `skipped` is what was not, including ignored files; `notes` are
    lines `path: reason` about ignore rules that do not count.
    `hidden` counts findings excluded by the selection of rules. `checked` counts
    functions whose behavior was examined, `ran` those that had to be run for it. `trusted` counts the audited
    files that are trusted as they are, whose behavior is not examined. `below` counts the open findings
    that `narrowed` left out because of their severity, `unsure` those that are not sure. `budget` is what the checks
    spent in the sandbox, if there were any.
    """

    findings: tuple[Finding, ...]
    files: int = 0
    functions: int = 0
    lines: int = 0
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: int = 0
    trust: str = "nothing is trusted"
    trusted: int = 0
    sandbox_level: str = ""
    checked: int = 0
    ran: int = 0
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    below: Mapping[Severity, int] = field(default_factory=dict)
    unsure: int = 0
    budget: BudgetReport | None = None

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that have not been overruled."""
        return tuple(item for item in self.findings if item.open)

    def failing(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the open findings of at least this severity that are sure and no mere notes: they fail an audit."""
        return tuple(
            item
            for item in self.open
            if item.severity >= severity and item.sure and not (item.for_review and not item.severity)
        )

    def narrowed(self, severity: Severity) -> AuditReport:
        """Return the report without what is less severe or not sure, which is only counted."""
        kept = tuple(
            item for item in self.findings if item.for_review or (item.severity >= severity and item.sure)
        )
        left_out = [
            item for item in self.open if (not item.for_review and item.severity < severity) or not item.sure
        ]
        below = Counter(item.severity for item in left_out if item.sure)
        return replace(self, findings=kept, below=below, unsure=len(left_out) - below.total())


def with_fingerprints(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in the order of the files, each with a unique fingerprint."""
    ordered = sorted(
        findings, key=lambda item: (item.path, item.place.start_line, item.place.start_column, item.rule)
    )
    seen: Counter[tuple[str, str, str]] = Counter()
    result = []
    for item in ordered:
        key = (item.rule, item.path, item.text_digest)
        seen[key] += 1
        result.append(replace(item, fingerprint=text_digest("\0".join((*key, str(seen[key]))))[:32]))
    return result
