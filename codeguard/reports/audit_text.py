"""An audit as text: findings by rule, how to fix them, each with its line and a caret, then the counts."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from codeguard.analysis.observations import DISCOVERY
from codeguard.audit.findings import AuditReport, Finding
from codeguard.audit.rules import all_rules, by_kind
from codeguard.config import below_level
from codeguard.escaping import ReportText, escaped
from codeguard.reports.audit_formats import AuditView
from codeguard.reports.styled import by_reason, counted

WIDTH = 120  # columns of a source line; longer ones are cut to the part around the finding
SHOWN = 10  # skipped files, findings overruled for one reason; of more findings the less sure are summed up
LISTED = " (--format json lists all)"


def render(view: AuditView) -> ReportText:
    """Return the report as text: sandbox level first, intent last and in each kind the most severe rule, then counts.

    Findings of low confidence are in the report where the user asked for everything.
    """
    report = view.report
    below = below_level(report.sandbox_level, view.required_level)
    lines = [f"{f'{below}; ' if below else ''}{escaped(report.trust)}"]
    if report.open:
        advice = {item.id: (item.rule.summary, item.rule.advice) for item in all_rules()}
        parts = {
            f"{kind.heading}: {{}}": rules
            for kind, rules in reversed(by_kind(item for item in report.open if item.sure).items())
        }
        unsure = by_kind(item for item in report.open if not item.sure).values()
        parts["less sure, fails nothing: {} of low confidence"] = {
            rule: group for rules in unsure for rule, group in rules.items()
        }
        for heading, rules in parts.items():
            count = sum(map(len, rules.values()))
            lines += ["", heading.format(counted(count, "finding"))] if count else []
            worst = {rule: max(item.severity for item in group) for rule, group in rules.items()}
            for rule, group in sorted(rules.items(), key=lambda row: (worst[row[0]], row[0])):
                lines += _group(rule, group, *advice.get(rule, ("", "")))
    lines += _overruled([item for item in report.findings if not item.open])
    lines += _summary(report)
    failing = len(report.failing(view.fail_on))
    if failing:
        lines += _ways_out(failing, first_run=view.first_run)
    unlisted = sum(count for severity, count in report.below.items() if severity >= view.fail_on)
    text = "\n".join([*lines, _counts(report, failing + unlisted)])
    return ReportText(text, (item.digest for item in report.findings))


def _group(rule: str, group: Sequence[Finding], summary: str, remediation: str) -> list[str]:
    counts = Counter(item.severity for item in group)
    shown = ", ".join(f"{count} {severity.name.lower()}" for severity, count in sorted(counts.items()))
    lines = [
        "",
        f"{escaped(rule)}: {escaped(summary)} ({shown})" if summary else f"{escaped(rule)} ({shown})",
    ]
    lines += [f"  fix: {escaped(remediation)}"] if remediation else []
    ordered = sorted(group, key=lambda item: item.severity)
    for item in ordered:
        lines += _finding(item)
    return lines


def _finding(item: Finding) -> list[str]:
    lines = [f"  {_place(item)}: {item.severity.name.lower()} ({item.confidence.name.lower()} confidence)"]
    lines += [f"    {part}" for part in _source(item)]
    lines.append(f"    {escaped(item.reason)}")
    if item.digest:
        symbol = f" of {escaped(item.symbol)}" if item.symbol else ""
        lines.append(f"    digest{symbol}: {item.digest}")
    return lines


def _overruled(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the overruled findings, by who overruled them and why; many with the same reason are counted."""
    if not findings:
        return
    yield ""
    yield f"overruled: {len(findings)}"
    groups: dict[tuple[str, str], list[Finding]] = {}
    for item in findings:
        groups.setdefault((item.standing.value, item.note), []).append(item)
    for (standing, note), group in groups.items():
        said = escaped(note) if note.startswith(standing) else f"{standing}: {escaped(note)}"
        if len(group) > SHOWN:
            yield f"  {len(group)} findings  {said} (--format json lists them)"
        else:
            yield from (f"  {_place(item)}: {escaped(item.rule)}  {said}" for item in group)


def _place(item: Finding) -> str:
    return f"{escaped(item.path)}:{item.place.start_line}:{item.place.start_column}"


def _source(item: Finding) -> list[str]:
    """Return the escaped source line and a line of carets under the match."""
    if not item.snippet.strip():
        return []
    start, end = item.columns
    indent = len(item.snippet) - len(item.snippet.lstrip())
    first = max(min(indent, start), start - WIDTH // 2)
    before = _shown(item.snippet[first:start])
    marked = _shown(item.snippet[start:end])
    after = _shown(item.snippet[end:])
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


def _summary(report: AuditReport) -> list[str]:
    rate = f" in {report.seconds:.1f} s"
    checked = f"; behavior of {counted(report.checked, 'function')} checked, {report.ran} of them anew"
    lines = [
        "",
        f"{counted(report.files, 'file')}, {counted(report.functions, 'function')}, "
        f"{counted(report.lines, 'line')}{rate}{checked if report.checked else ''}",
    ]
    if report.budget:
        lines.append(f"sandbox: {report.budget}")
    if report.trusted:
        lines.append(
            f"trusted: {report.trusted} of the {report.files} files, their behavior is not looked at"
        )
    lines += _not_audited(report)
    lines += [f"note: {escaped(note)}" for note in report.notes[:SHOWN]]
    if len(report.notes) > SHOWN:
        lines.append(f"… and {len(report.notes) - SHOWN} more notes{LISTED}")
    if report.hidden:
        lines.append(f"{counted(report.hidden, 'finding')} of rules that were not asked for")
    return lines


def _not_audited(report: AuditReport) -> list[str]:
    """Return what was skipped, by reason; a file that a finding above is about is only counted."""
    if not report.skipped:
        return []
    told = {item.path for item in report.open if item.rule.startswith(f"{DISCOVERY}.")}
    others = [item for item in report.skipped if item.path not in told]
    above = len(report.skipped) - len(others)
    line = f"not audited: {len(report.skipped)}"
    if above:
        line += f", {above} of them in findings above"
    by = by_reason(((item.reason, item.path) for item in others), LISTED)
    more = [f"  … and {len(by) - SHOWN} more reasons{LISTED}"] if len(by) > SHOWN else []
    return [line, *by[:SHOWN], *more]


def _ways_out(failing: int, *, first_run: bool) -> Iterator[str]:
    """Yield how to accept findings, and how to create a baseline on a first run."""
    yield 'why: codeguard explain RULE; honest all the same: codeguard accept DIGEST --reason "…"'
    if first_run:
        count = "it is" if failing == 1 else f"all {failing} are"
        yield (
            f"code that was there before? add `--write-baseline ../baseline.json` to this command once: {count} "
            "written down, and `--baseline ../baseline.json` then reports what is new"
        )


def _counts(report: AuditReport, failing: int) -> str:
    overruled = len(report.findings) - len(report.open)
    more = f", {overruled} overruled" if overruled else ""
    notes = sum(item.for_review for item in report.open)
    found = counted(len(report.open) - notes + sum(report.below.values()) + report.unsure, "finding")
    more += f", {counted(notes, 'note')} for review" if notes else ""
    line = f"{found}{more}, {failing} of them fail{'s' if failing == 1 else ''} the audit"
    if not report.below and not report.unsure:
        return line
    parts = [f"{count} {severity.name.lower()}" for severity, count in sorted(report.below.items())]
    parts += [f"{report.unsure} of low confidence"] if report.unsure else []
    return f"{line}; not shown: {', '.join(parts)} (--all shows them)"
