"""Findings as workflow commands, which GitHub Actions shows next to the changed lines.

Escaping follows the workflow commands of actions/toolkit: in a message `%`,
CR and LF are percent-encoded, in a property `:` and `,` as well.
"""

from __future__ import annotations

from codeguard.audit.findings import AuditReport, Finding
from codeguard.escaping import escaped
from codeguard.models import Severity
from codeguard.reports.audit_formats import AuditView


def render(view: AuditView) -> str:
    """Return the annotations, or "" if there are none."""
    return github_annotations(view.report)


def github_annotations(report: AuditReport) -> str:
    """Return one line for each warning and each open finding."""
    warnings = [f"::warning title=codeguard::{_message(line)}" for line in report.warnings]
    return "\n".join([*warnings, *map(_annotation, report.open)])


def _annotation(item: Finding) -> str:
    command = (
        "error"
        if item.severity >= Severity.HIGH
        else "warning"
        if item.severity >= Severity.MEDIUM
        else "notice"
    )
    place = item.place
    properties = {
        "file": item.path,
        "line": str(place.start_line),
        "endLine": str(max(place.start_line, place.end_line)),
        "title": f"{item.rule} ({item.severity.name.lower()}, {item.confidence.name.lower()} confidence)",
    }
    if place.end_line == place.start_line:  # columns count only within one line
        properties |= {"col": str(place.start_column), "endColumn": str(place.end_column)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {listed}::{_message(item.reason)}"


def _message(text: str) -> str:
    return escaped(text, keep="\r\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
