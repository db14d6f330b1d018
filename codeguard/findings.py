"""What an audit found: findings with a place, a fingerprint and a standing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from codeguard.models import Confidence, Severity, Skipped

FINGERPRINT_LINES = 200  # of a finding that reaches further, the first ones decide


class Standing(StrEnum):
    """Whether a finding counts, and if not, who says so."""

    OPEN = "open"
    BASELINED = "baselined"
    ACCEPTED = "accepted"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a finding is: lines and columns count from 1, in characters; the end column is exclusive."""

    start_line: int = 1
    start_column: int = 1
    end_line: int = 1
    end_column: int = 1


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
    """

    findings: tuple[Finding, ...]
    files: int = 0
    functions: int = 0
    lines: int = 0
    skipped: tuple[Skipped, ...] = ()
    hidden: int = 0
    trust: str = "nothing is trusted"
    sandbox_level: str = ""
    checked: int = 0
    ran: int = 0
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that nobody has overruled."""
        return tuple(item for item in self.findings if item.open)

    def failing(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the open findings of at least this severity."""
        return tuple(item for item in self.open if item.severity >= severity)


def digest_of_lines(lines: Iterable[str]) -> str:
    """Return the sha256 of lines without the white space around them."""
    stripped = "\n".join(line.strip() for line in lines)
    return hashlib.sha256(stripped.encode("utf-8", "surrogatepass")).hexdigest()


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
        parts = "\0".join((*key, str(seen[key])))
        print_ = hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        result.append(replace(item, fingerprint=print_))
    return result
