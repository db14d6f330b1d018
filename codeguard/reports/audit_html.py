"""An audit as a page: findings by rule, the most severe first, each with its line and a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from codeguard.audit.findings import AuditReport, Finding
from codeguard.audit.rules import all_rules, by_kind
from codeguard.corpus.secrets import mask_secrets
from codeguard.escaping import FinishedPage
from codeguard.models import Severity
from codeguard.reports.audit_formats import AuditView
from codeguard.reports.html.page import Page, page_of
from codeguard.reports.styled import counted, level_line

OPEN_PER_RULE = 10  # findings of a rule that are shown expanded
MOST_PER_RULE = 200
LONGEST_SNIPPET = 400  # characters


def render(view: AuditView) -> FinishedPage:
    """Return the page of one audit."""
    report = view.report
    ordered = sorted(report.open, key=lambda found: (-found.severity, -found.confidence, found.rule))
    present = {item.severity for item in report.open}
    page = Page(
        title="Audit",
        story=_story(report, report.failing(view.fail_on), view.fail_on),
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
    return page_of(
        page,
        "audit.html",
        by_kind=by_kind(ordered),
        rules={rule.id: rule.rule for rule in all_rules()},
        overruled=[item for item in report.findings if not item.open],
        skipped=Counter(item.reason for item in report.skipped).most_common(),
        report=report,
        shown=OPEN_PER_RULE,
        most=MOST_PER_RULE,
        snippet=_snippet,
    )


def _story(report: AuditReport, failing: Sequence[Finding], fail_on: Severity) -> str:
    if not report.open:
        return f"Nothing was found in {counted(report.files, 'file')}."
    files = len({item.path for item in failing})
    worst = Counter(item.severity for item in failing)
    grave = ", ".join(
        f"{worst[severity]} {severity.name.lower()}" for severity in sorted(worst, reverse=True)
    )
    read = counted(report.files, "file")
    if not failing:
        found = counted(len(report.open), "finding")
        return f"{found} in {read}, none of them {fail_on.name.lower()} or worse."
    need = "1 finding needs" if len(failing) == 1 else f"{len(failing)} findings need"
    return f"{need} a look ({grave}), in {files} of {read}."


def _snippet(item: Finding) -> tuple[str, str, str]:
    """Return the source line of a finding as what is before the match, the match, and what follows."""
    source = mask_secrets(item.snippet)[:LONGEST_SNIPPET]  # masked first: half a secret is not recognized
    start, end = item.columns
    return source[:start].lstrip(), source[start:end], source[end:]
