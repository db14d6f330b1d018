"""An audit as JSON, schema `codeguard.audit/1`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from codeguard.audit.findings import AuditReport, Finding
from codeguard.audit.rules import kind_of_rule
from codeguard.models import Severity
from codeguard.reports.audit_formats import AuditView


def render(view: AuditView) -> dict[str, Any]:
    """Return the report as JSON."""
    return audit_json(view.report, view.fail_on)


def audit_json(report: AuditReport, fail_on: Severity = Severity.MEDIUM) -> dict[str, Any]:
    """Return the report as plain values; untrusted text is not escaped."""
    failing = {item.fingerprint for item in report.failing(fail_on)}
    return {
        "schema": "codeguard.audit/1",
        "files": report.files,
        "functions": report.functions,
        "lines": report.lines,
        "trust": report.trust,
        "trusted_files": report.trusted,
        "sandbox_level": report.sandbox_level,
        "checked": report.checked,
        "ran": report.ran,
        "budget": report.budget and asdict(report.budget),
        "hidden": report.hidden,
        "below": {severity.name.lower(): count for severity, count in sorted(report.below.items())},
        "seconds": round(report.seconds, 3),
        "findings": [
            {**finding_json(item), "fails": item.fingerprint in failing} for item in report.findings
        ],
        "skipped": [{"path": item.path, "reason": item.reason} for item in report.skipped],
        "notes": list(report.notes),
        "warnings": list(report.warnings),
    }


def finding_json(item: Finding) -> dict[str, Any]:
    """Return one finding as plain values."""
    return {
        "rule": item.rule,
        "kind": kind_of_rule(item.rule).value,
        "path": item.path,
        "start_line": item.place.start_line,
        "start_column": item.place.start_column,
        "end_line": item.place.end_line,
        "end_column": item.place.end_column,
        "severity": item.severity.name.lower(),
        "confidence": item.confidence.name.lower(),
        "reason": item.reason,
        "symbol": item.symbol,
        "digest": item.digest,
        "text_digest": item.text_digest,
        "fingerprint": item.fingerprint,
        "standing": item.standing.value,
        "note": item.note,
        "measurements": dict(item.measurements),
    }
