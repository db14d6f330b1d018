"""An audit as SARIF 2.1.0 (OASIS), for code scanning services and editors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from codeguard import __version__
from codeguard.audit.findings import AuditReport, Finding, Standing
from codeguard.audit.rules import NamedRule, all_rules, kind_of_rule
from codeguard.escaping import escaped
from codeguard.models import Severity
from codeguard.reports.audit_formats import LEVELS, AuditView, examples_of

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
FINGERPRINT = "codeguard/v1"
# Code scanning services sort by this score: 0 to 10, in the bands of CVSS.
_SCORES = {
    Severity.INFO: "0.0",
    Severity.LOW: "3.0",
    Severity.MEDIUM: "5.5",
    Severity.HIGH: "8.0",
    Severity.CRITICAL: "9.5",
}
_KINDS = {Standing.BASELINED: "external", Standing.ACCEPTED: "external"}


def render(view: AuditView) -> dict[str, Any]:
    """Return the report with all existing rules."""
    return sarif(view.report, all_rules())


def sarif(report: AuditReport, rules: Sequence[NamedRule]) -> dict[str, Any]:
    """Return the report as a SARIF log of one run; `rules` are those that its findings may name."""
    used = {item.rule for item in report.findings}
    named = [rule for rule in rules if rule.id in used]
    index = {rule.id: position for position, rule in enumerate(named)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "codeguard",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for rule in named],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {ROOT: {"description": {"text": "The folder the audit ran in."}}},
                "results": [_result(item, index) for item in report.findings],
                "invocations": [_invocation(report)],
            }
        ],
    }


def _rule(named: NamedRule) -> dict[str, Any]:
    rule = named.rule
    return {
        "id": named.id,
        "name": "".join(map(str.capitalize, re.split("[._-]", named.id))),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.explanation or rule.summary},
        "help": {"text": _help_text(named), "markdown": _help_markdown(named)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {
            "tags": [
                "security",
                kind_of_rule(named.id).value,
                *(f"external/cwe/cwe-{number:03d}" for number in rule.cwe),
            ],
            "precision": {0: "low", 1: "medium", 2: "high"}[int(rule.confidence)],
            "security-severity": _SCORES[rule.severity],
        },
    }


def _help_text(named: NamedRule) -> str:
    rule = named.rule
    examples = {"Bad": rule.bad, "Good": rule.good}
    parts = [rule.explanation or rule.summary, rule.remediation]
    parts += [f"{title}:\n{example}" for title, example in examples.items() if example]
    parts += [", ".join(f"CWE-{number}" for number in rule.cwe)]
    return "\n\n".join(filter(None, parts))


def _help_markdown(named: NamedRule) -> str:
    rule = named.rule
    parts = [rule.explanation or rule.summary, *filter(None, [rule.remediation])]
    parts += [f"{title}:\n\n{block}" for title, block in examples_of(rule)]
    parts += [f"[CWE-{n}](https://cwe.mitre.org/data/definitions/{n}.html)" for n in rule.cwe]
    return "\n\n".join(parts)


def _result(item: Finding, index: Mapping[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": item.rule,
        "level": LEVELS[item.severity],
        "message": {"text": escaped(item.reason) or item.rule},
        "locations": [{"physicalLocation": _physical(item)}],
        "partialFingerprints": {FINGERPRINT: item.fingerprint},
        "properties": {
            "kind": kind_of_rule(item.rule).value,
            "severity": item.severity.name.lower(),
            "confidence": item.confidence.name.lower(),
            "digest": item.digest,
            "standing": item.standing.value,
        },
    }
    if item.rule in index:
        result["ruleIndex"] = index[item.rule]
    if item.symbol:
        logical = {"fullyQualifiedName": escaped(item.symbol)}
        result["locations"][0]["logicalLocations"] = [logical]
    # An empty list states that the finding is not suppressed.
    result["suppressions"] = [] if item.open else [_suppression(item)]
    return result


def _physical(item: Finding) -> dict[str, Any]:
    place = item.place
    start_line = max(1, place.start_line)
    start_column = max(1, place.start_column)
    end_line = max(start_line, place.end_line)
    least = start_column if end_line == start_line else 1
    region: dict[str, Any] = {
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": max(least, place.end_column),
    }
    if item.snippet.strip():
        region["snippet"] = {"text": escaped(item.snippet)}
    uri = quote(item.path.encode("utf-8", "surrogatepass"), safe="/")
    return {"artifactLocation": {"uri": uri, "uriBaseId": ROOT}, "region": region}


def _suppression(item: Finding) -> dict[str, Any]:
    kind = _KINDS[item.standing]
    return {"kind": kind, "status": "accepted", "justification": escaped(item.note) or item.standing.value}


def _invocation(report: AuditReport) -> dict[str, Any]:
    notes = [f"{report.trust}; sandbox {report.sandbox_level or 'not used'}", *report.warnings]
    notes += [f"sandbox: {report.budget}"] if report.budget else []
    notes += [f"not audited: {item.path}: {item.reason}" for item in report.skipped]
    notes += report.notes
    return {
        "executionSuccessful": True,
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": escaped(note)}} for note in notes
        ],
    }
