"""An audit as Markdown for the summary of a job: what fails, and what is for review, as tables.

Punctuation of untrusted text is written as numeric character references (CommonMark 0.31, section 2.5), which no
Markdown reads as its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codeguard.audit.findings import Finding
from codeguard.corpus.secrets import mask_secrets
from codeguard.escaping import FinishedPage, escaped
from codeguard.reports.audit_formats import AuditView
from codeguard.reports.level import level_line
from codeguard.reports.styled import counted

ROWS, CELL = 50, 300  # rows of a table, characters of a cell


def render(view: AuditView) -> FinishedPage:
    """Return the summary of one audit."""
    report = view.report
    failing = sorted(report.failing(view.fail_on), key=lambda item: -item.severity)
    review = [item for item in report.open if item.for_review]
    lines = [
        f"## codeguard: {counted(len(failing), 'finding')} to fix, {counted(len(review), 'note')} for review",
        "",
        f"{_cell(level_line(report.sandbox_level, view.required_level))}; {_cell(report.trust)}; "
        f"{counted(report.files, 'file')}, {counted(report.lines, 'line')}.",
    ]
    lines += [f"\n**{_cell(line)}**" for line in report.warnings]
    rows = [[_grade(item), item.rule, _place(item), item.reason] for item in failing]
    lines += _table("", ("severity, confidence", "rule", "place", "what"), rows)
    compared = [item for item in review if "call" in item.measurements]
    shown = ("call", "before", "now", "alongside")
    rows = [[item.symbol, _place(item), *(str(item.measurements[key]) for key in shown)] for item in compared]
    head = ("function", "place", "smallest call", "before", "now", "tests and examples")
    lines += _table("Changed behavior of trusted code", head, rows)
    rows = [[item.symbol, _place(item), item.reason] for item in review if item not in compared]
    lines += _table("Other changes of trusted code", ("function", "place", "what"), rows)
    return FinishedPage("\n".join(lines))


def _grade(item: Finding) -> str:
    return f"{item.severity.name.lower()}, {item.confidence.name.lower()}"


def _place(item: Finding) -> str:
    return f"{item.path}:{item.place.start_line}"


def _table(title: str, head: Sequence[str], rows: Sequence[Iterable[str]]) -> list[str]:
    if not rows:
        return []
    lines = ["", *([f"### {title}", ""] if title else []), _row(head), _row("---" for _ in head)]
    lines += [_row(map(_cell, row)) for row in rows[:ROWS]]
    return [*lines, *(["", f"and {len(rows) - ROWS} more"] if len(rows) > ROWS else [])]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    shown = escaped(mask_secrets(text[:CELL]))
    return "".join(char if char.isalnum() or char == " " else f"&#{ord(char)};" for char in shown)
