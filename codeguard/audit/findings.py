"""What an audit found: findings with a place, a fingerprint and a standing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from codeguard.analysis.observations import Place
from codeguard.models import Confidence, Severity, Skipped, text_digest


class Standing(StrEnum):
    """Whether a finding counts, and if not, who says so."""

    OPEN = "open"
    BASELINED = "baselined"
    ACCEPTED = "accepted"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that stands out in an audited file.

    `rule` is `signal.rule`. `digest` is the sha256 of the chunk's text (of
    the file's bytes where no chunk is meant), which is what `accept` takes;
    `symbol` names the chunk. `snippet` is the first line of the place as it
    is: untrusted text. `text_digest` is over the lines of the place without
    their indentation, `fingerprint` over rule, path, that digest and the
    number of its occurrence, so that both hold where lines move. `note` is
    the reason of a standing other than open.
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
        """Whether nobody has overruled it."""
        return self.standing is Standing.OPEN

    def overruled(self, standing: Standing, note: str) -> Finding:
        """Return the finding with another standing and its reason."""
        return replace(self, standing=standing, note=note)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything an audit has to say.

    `functions` and `lines` count what was audited. `skipped` is what was
    not, ignored files among it. `hidden` counts findings that the selection
    of rules or the least confidence left out. `checked` counts functions
    whose behavior was looked at, `ran` those that had to be run for it.
    `trusted` counts the audited files that are trusted as they are: nobody
    looks at their behavior. `vouched` says that a signature or an index stands
    behind that, not only the paths that this audit was told to trust.
    `below` counts the open findings that `at_least` left out.
    """

    findings: tuple[Finding, ...]
    files: int = 0
    functions: int = 0
    lines: int = 0
    skipped: tuple[Skipped, ...] = ()
    hidden: int = 0
    trust: str = "nothing is trusted"
    trusted: int = 0
    vouched: bool = False
    sandbox_level: str = ""
    checked: int = 0
    ran: int = 0
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    below: Mapping[Severity, int] = field(default_factory=dict)

    @property
    def all_on_your_word(self) -> bool:
        """Whether every audited file is trusted, and nothing but the user's word says so."""
        return bool(self.files) and self.trusted == self.files and not self.vouched

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that nobody has overruled."""
        return tuple(item for item in self.findings if item.open)

    def failing(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the open findings of at least this severity."""
        return tuple(item for item in self.open if item.severity >= severity)

    def at_least(self, severity: Severity) -> AuditReport:
        """Return the report without the findings that are less severe, which are counted."""
        below = Counter(item.severity for item in self.open if item.severity < severity)
        kept = tuple(item for item in self.findings if item.severity >= severity)
        return replace(self, findings=kept, below=below)


def with_fingerprints(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in the order of the files, each with a fingerprint of its own."""
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
