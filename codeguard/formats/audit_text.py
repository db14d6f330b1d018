"""An audit for a person: each finding with its source line and a caret, then the counts."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from codeguard.escaping import escaped
from codeguard.findings import AuditReport, Finding
from codeguard.formats.level import level_line
from codeguard.models import Severity, Skipped

WIDTH = 120  # columns of a source line; of a longer one the part around the finding is shown
SHOWN = 10  # of what was skipped


def audit_text(report: AuditReport, fail_on: Severity, required_level: str = "L2") -> str:
    """Return the report; the sandbox level first, what fails the audit before what does not."""
    lines = [f"{level_line(report.sandbox_level, required_level)}; {escaped(report.trust)}"]
    failing = report.failing(fail_on)
    others = [item for item in report.open if item not in failing]
    overruled = [item for item in report.findings if not item.open]
    for item in (*others, *failing):
        lines += _finding(item)
    if overruled:
        lines.append(f"overruled: {len(overruled)}")
        lines += [
            f"  {_place(item)}: {item.rule}  {item.standing.value}: {escaped(item.note)}"
            for item in overruled
        ]
    lines += _summary(report, failing)
    return "\n".join(lines)


def _finding(item: Finding) -> list[str]:
    head = f"{_place(item)}: {item.severity.name.lower()} {escaped(item.rule)} "
    lines = [f"{head}({item.confidence.name.lower()} confidence)"]
    lines += [f"  {part}" for part in _source(item)]
    lines.append(f"  {escaped(item.reason)}")
    if item.digest:
        symbol = f" of {escaped(item.symbol)}" if item.symbol else ""
        lines.append(f"  digest{symbol}: {item.digest}")
    return [*lines, ""]


def _place(item: Finding) -> str:
    return f"{escaped(item.path)}:{item.place.start_line}:{item.place.start_column}"


def _source(item: Finding) -> list[str]:
    """Return the source line as it may be shown and a line of carets under the place."""
    if not item.snippet.strip():
        return []
    start = min(item.place.start_column - 1, len(item.snippet))
    same_line = item.place.end_line == item.place.start_line
    end = min(item.place.end_column - 1, len(item.snippet)) if same_line else len(item.snippet)
    indent = len(item.snippet) - len(item.snippet.lstrip())
    first = max(min(indent, start), start - WIDTH // 2)
    before = _shown(item.snippet[first:start])
    marked = _shown(item.snippet[start : max(start, end)])
    after = _shown(item.snippet[max(start, end) :])
    room = max(0, WIDTH - len(before))
    line = (before + marked + after)[: len(before) + room]
    carets = "^" * max(1, min(_columns(marked), room))
    return [line.rstrip(), " " * _columns(before) + carets]


def _shown(text: str) -> str:
    return escaped(text.replace("\t", " "))


def _columns(text: str) -> int:
    """Return the columns that escaped text takes on a terminal: two for wide characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _summary(report: AuditReport, failing: Sequence[Finding]) -> list[str]:
    rate = f" in {report.seconds:.1f} s"
    lines = [
        f"{report.files} files, {report.functions} functions, {report.lines} lines{rate}; "
        f"behavior of {report.checked} functions looked at, {report.ran} run"
    ]
    if report.skipped:
        lines.append(f"not audited: {len(report.skipped)}")
        counts = Counter(item.reason for item in report.skipped)
        lines += [f"  {count} × {escaped(reason)}" for reason, count in counts.most_common(SHOWN)]
        lines += _names(report.skipped)
    if report.hidden:
        lines.append(f"{report.hidden} findings of rules or confidences that were not asked for")
    by_rule: dict[str, Counter[Severity]] = {}
    for item in report.open:
        by_rule.setdefault(item.rule, Counter())[item.severity] += 1
    for rule, severities in sorted(by_rule.items()):
        parts = ", ".join(
            f"{count} {severity.name.lower()}" for severity, count in sorted(severities.items())
        )
        lines.append(f"  {rule}: {parts}")
    overruled = len(report.findings) - len(report.open)
    more = f", {overruled} overruled" if overruled else ""
    lines.append(f"{len(report.open)} findings{more}, {len(failing)} of them fail the audit")
    return lines


def _names(skipped: Sequence[Skipped]) -> list[str]:
    lines = [f"  {escaped(item.path)}: {escaped(item.reason)}" for item in skipped[:SHOWN]]
    more = [f"  … and {len(skipped) - SHOWN} more (--format json lists all)"] if len(skipped) > SHOWN else []
    return lines + more
