"""An audit as a page: findings by rule, the most severe first, each with its line and a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from codeguard.audit.findings import AuditReport, Finding
from codeguard.audit.rules import FindingKind, NamedRule, all_rules, kind_of_rule
from codeguard.corpus.secrets import mask_secrets
from codeguard.escaping import FinishedPage
from codeguard.models import Severity
from codeguard.reports.audit_formats import AuditView
from codeguard.reports.html.page import Page, code_block, folded, page_of, place, table, tag, text
from codeguard.reports.styled import counted, level_line

OPEN_PER_RULE = 10  # findings of a rule that are shown expanded
MOST_PER_RULE = 200
_KIND = {
    Severity.CRITICAL: "bad",
    Severity.HIGH: "bad",
    Severity.MEDIUM: "warning",
    Severity.LOW: "",
    Severity.INFO: "",
}


def render(view: AuditView) -> FinishedPage:
    """Return the page of one audit."""
    report, fail_on = view.report, view.fail_on
    failing = report.failing(fail_on)
    by_rule: dict[str, list[Finding]] = {}
    for item in sorted(report.open, key=lambda found: (-found.severity, -found.confidence, found.rule)):
        by_rule.setdefault(item.rule, []).append(item)
    known = {rule.id: rule for rule in all_rules()}
    body = ""
    for kind in FindingKind:
        of_kind = {name: items for name, items in by_rule.items() if kind_of_rule(name) is kind}
        if of_kind:
            classes = _classes([item for items in of_kind.values() for item in items])
            body += f"<h2 class='{classes}'>{text(kind.heading)}</h2>\n"
            body += "".join(_rule(name, items, known.get(name)) for name, items in of_kind.items())
    overruled = [item for item in report.findings if not item.open]
    if overruled:
        body += folded(f"{len(overruled)} overruled", _overruled(overruled))
    if report.skipped:
        counts = Counter(item.reason for item in report.skipped)
        rows = [[str(count), text(reason)] for reason, count in counts.most_common()]
        body += folded(f"{counted(len(report.skipped), 'file')} not audited", table(["files", "why"], rows))
    if report.notes:
        body += folded("notes", table(["note"], [[text(note)] for note in report.notes]))
    present = {item.severity for item in report.open}
    return page_of(
        Page(
            title="Audit",
            story=_story(report, failing, fail_on),
            body=body or "<p>No finding.</p>",
            facts={
                "files": str(report.files),
                "lines": f"{report.lines:,}",
                "functions looked at": f"{report.checked}, {report.ran} of them run now",
                "checked in": level_line(report.sandbox_level, view.required_level),
                **({"sandbox": str(report.budget)} if report.budget else {}),
                "trust": report.trust,
            },
            command=view.command,
            made=view.made,
            warnings=report.warnings,
            filters={s.name.lower(): s.name.lower() for s in sorted(present, reverse=True)},
        )
    )


def _story(report: AuditReport, failing: Sequence[Finding], fail_on: Severity) -> str:
    if not report.open:
        return f"Nothing was found in {counted(report.files, 'file')}."
    files = len({item.path for item in failing})
    worst = Counter(item.severity.name.lower() for item in failing)
    grave = ", ".join(
        f"{worst[s.name.lower()]} {s.name.lower()}"
        for s in sorted(Severity, reverse=True)
        if worst[s.name.lower()]
    )
    read = counted(report.files, "file")
    if not failing:
        found = counted(len(report.open), "finding")
        return f"{found} in {read}, none of them {fail_on.name.lower()} or worse."
    need = "1 finding needs" if len(failing) == 1 else f"{len(failing)} findings need"
    return f"{need} a look ({grave}), in {files} of {read}."


def _rule(name: str, items: Sequence[Finding], rule: NamedRule | None) -> str:
    worst = max(item.severity for item in items)
    summary = text(rule.rule.summary) if rule else ""
    head = f"<h3 class='{_classes(items)}'>{summary or text(name)} <span class='place'>{text(name)}</span> "
    head += f"{tag(f'{len(items)} × {worst.name.lower()}', _KIND[worst])}</h3>"
    about = ""
    if rule is not None:
        inside = "".join(
            f"<p>{text(part)}</p>" for part in rule.rule.explanation.split("\n\n") if part.strip()
        )
        for title, example in (("instead of", rule.rule.bad), ("write", rule.rule.good)):
            if example:
                inside += f"<p>{title}</p>{code_block(example)}"
        if inside:
            about = folded("why, and how to write it instead", inside)
    shown = "".join(map(_finding, items[:OPEN_PER_RULE]))
    more = items[OPEN_PER_RULE:MOST_PER_RULE]
    if more:
        shown += folded(f"{len(items) - OPEN_PER_RULE} more", "".join(map(_finding, more)))
    if len(items) > MOST_PER_RULE:
        shown += f"<p>… and {len(items) - MOST_PER_RULE} more: --format json lists all.</p>"
    return f"<section>{head}{about}{shown}</section>\n"


def _classes(items: Sequence[Finding]) -> str:
    """Return the classes by which the page's filters show and hide a heading."""
    return " ".join(sorted({f"s-{item.severity.name.lower()}" for item in items}))


def _finding(item: Finding) -> str:
    severity = item.severity.name.lower()
    where = place(item.path, item.place.start_line)
    symbol = f" in <code>{text(item.symbol)}</code>" if item.symbol else ""
    head = f"<p>{tag(severity, _KIND[item.severity])} {where}{symbol}</p>"
    body = f"<p>{text(item.reason)}</p>{_snippet(item)}"
    digest = f'<p class="faint">digest <code>{text(item.digest)}</code></p>' if item.digest else ""
    return f'<article class="{_KIND[item.severity]} f-{severity}">{head}{body}{digest}</article>\n'


def _snippet(item: Finding) -> str:
    """Return the source line of a finding with the match marked."""
    source = mask_secrets(item.snippet)[:400]
    if not source.strip():
        return ""
    start = min(item.place.start_column - 1, len(source))
    same_line = item.place.end_line == item.place.start_line
    end = max(start, min(item.place.end_column - 1, len(source))) if same_line else len(source)
    before, marked, after = source[:start], source[start:end], source[end:]
    return f"<pre class='marked'>{text(before.lstrip())}<mark>{text(marked)}</mark>{text(after)}</pre>"


def _overruled(items: Sequence[Finding]) -> str:
    rows = [
        [text(item.rule), place(item.path, item.place.start_line), text(item.standing.value), text(item.note)]
        for item in items
    ]
    return table(["rule", "place", "by", "reason"], rows)
