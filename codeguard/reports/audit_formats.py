"""The formats of an audit: JSON, annotations and the summary of a job here, the others in a module each."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from codeguard.analysis.rules import Rule
from codeguard.audit.findings import AuditReport, Finding
from codeguard.audit.rules import all_rules, kind_of_rule
from codeguard.corpus.secrets import mask_secrets
from codeguard.escaping import FinishedPage, ReportText, escaped
from codeguard.models import Severity, named
from codeguard.reports.styled import counted, level_line

LEVELS = {  # of SARIF and, but for a letter, of GitHub
    Severity.INFO: "note",
    Severity.LOW: "note",
    Severity.MEDIUM: "warning",
    Severity.HIGH: "error",
    Severity.CRITICAL: "error",
}
ROWS, CELL = 50, 300  # rows of a table of a summary, characters of a cell


@dataclass(frozen=True, slots=True)
class AuditView:
    """The input of a format: the report, the severity that fails the audit, the required sandbox level.

    `first_run` says that a baseline could be created from this audit, `in_full` that the user asked for
    everything. `command` and `made` are the command line and the time, to be shown on a page.
    """

    report: AuditReport
    fail_on: Severity
    required_level: str
    first_run: bool = False
    in_full: bool = False
    command: str = ""
    made: str = ""


def rendered(name: str, view: AuditView) -> str | dict[str, Any]:
    """Return a report in a format of `format_names`: text, a `FinishedPage`, or a JSON value."""
    if name == "json":
        return audit_json(view.report, view.fail_on)
    if name == "github":
        return github_annotations(view)
    if name == "summary":
        return job_summary(view)
    shown: str | dict[str, Any] = importlib.import_module(f"codeguard.reports.audit_{name}").render(view)
    return shown


def audit_json(report: AuditReport, fail_on: Severity = Severity.MEDIUM) -> dict[str, Any]:
    """Return the report as plain values; untrusted text is not escaped."""
    failing = {item.fingerprint for item in report.failing(fail_on)}
    return {
        "schema": "codeguard.audit/1",
        **named(report, "files functions lines trust"),
        "trusted_files": report.trusted,
        **named(report, "sandbox_level checked ran"),
        "budget": report.budget and asdict(report.budget),
        "hidden": report.hidden,
        "below": {severity.name.lower(): count for severity, count in sorted(report.below.items())},
        "seconds": round(report.seconds, 3),
        "findings": [
            {**finding_json(item), "fails": item.fingerprint in failing} for item in report.findings
        ],
        "skipped": [asdict(item) for item in report.skipped],
        "notes": list(report.notes),
        "warnings": list(report.warnings),
    }


def finding_json(item: Finding) -> dict[str, Any]:
    """Return one finding as plain values."""
    return {
        "rule": item.rule,
        "kind": kind_of_rule(item.rule).value,
        "path": item.path,
        **named(item.place, "start_line start_column end_line end_column"),
        "severity": item.severity.name.lower(),
        "confidence": item.confidence.name.lower(),
        **named(item, "reason symbol digest text_digest fingerprint standing note"),
        "measurements": dict(item.measurements),
    }


def github_annotations(view: AuditView) -> ReportText:
    """Return a workflow command for each warning and each open finding, which GitHub shows beside the lines, and a line
    for the log that says what there was to find, and in what.

    Escaping follows the workflow commands of actions/toolkit: in a message `%`, CR and LF are percent-encoded, in a
    property `:` and `,` as well.
    """
    report = view.report
    warnings = [f"::warning title=codeguard::{_message(line)}" for line in report.warnings]
    known = {named.id: named.rule for named in all_rules()} if report.open else {}
    lines = [*warnings, *(_annotation(item, known.get(item.rule)) for item in report.open)]
    lines.append(f"{_headline(view)}; {'; '.join(map(escaped, _examined(view)))}")
    return ReportText("\n".join(lines), (item.digest for item in report.open))


def _annotation(item: Finding, rule: Rule | None) -> str:
    command = LEVELS[item.severity].replace("note", "notice")
    place = item.place
    properties = {
        "file": item.path,
        "line": str(place.start_line),
        "endLine": str(max(place.start_line, place.end_line)),
        "title": rule.summary if rule is not None else item.rule,
    }
    if place.end_line == place.start_line:  # columns count only within one line
        properties |= {"col": str(place.start_column), "endColumn": str(place.end_column)}
    shown = {key: _message(text).replace(":", "%3A").replace(",", "%2C") for key, text in properties.items()}
    listed = ",".join(map("=".join, shown.items()))
    lines = [item.reason, rule.advice if rule is not None else ""]
    lines.append(
        "{} severity, {} confidence; codeguard explain ".format(*_grades(item))
        + item.rule
        + f"; digest {item.digest}" * bool(item.digest)
    )
    return f"::{command} {listed}::{_message(chr(10).join(filter(None, lines)))}"


def _grades(item: Finding) -> tuple[str, str]:
    return item.severity.name.lower(), item.confidence.name.lower()


def _message(text: str) -> str:
    return escaped(text, keep="\r\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def job_summary(view: AuditView) -> FinishedPage:
    """Return what fails and what is for review as Markdown tables, for the summary of a job.

    Punctuation of untrusted text is written as numeric character references (CommonMark 0.31, section 2.5), which no
    Markdown reads as its own.
    """
    report = view.report
    failing = sorted(report.failing(view.fail_on), key=lambda item: -item.severity)
    review = [item for item in report.open if item.for_review]
    lines = [f"## {_headline(view)}", "", f"{'; '.join(map(_cell, _examined(view)))}."]
    lines += [f"\n**{_cell(line)}**" for line in report.warnings]
    rows = [[*_grades(item), item.rule, _place(item), item.reason] for item in failing]
    lines += _table("", ("severity", "confidence", "rule", "place", "what"), rows)
    advice = {named.id: named.rule.advice for named in all_rules()} if failing else {}
    rows = [[rule, advice.get(rule, "")] for rule in dict.fromkeys(item.rule for item in failing)]
    lines += _table("How to fix it", ("rule", "`codeguard explain RULE` says more"), rows)
    if failing:
        lines += [
            "",
            'Honest all the same? `codeguard accept DIGEST --reason "…"`, with the digest of its annotation.',
        ]
    compared = [item for item in review if "call" in item.measurements]
    shown = ("call", "before", "now", "alongside")
    rows = [[_place(item), *(str(item.measurements[key]) for key in shown)] for item in compared]
    head = ("place", "smallest call", "before", "now", "tests and examples")
    lines += _table("Changed behavior of trusted code", head, rows)
    rows = [[_place(item), item.reason] for item in review if item not in compared]
    lines += _table("Other changes of trusted code", ("place", "what"), rows)
    return FinishedPage("\n".join(lines))


def _headline(view: AuditView) -> str:
    failing, review = (
        view.report.failing(view.fail_on),
        [item for item in view.report.open if item.for_review],
    )
    return f"codeguard: {counted(len(failing), 'finding')} to fix, {counted(len(review), 'note')} for review"


def _examined(view: AuditView) -> tuple[str, ...]:
    report = view.report
    size = f"{counted(report.files, 'file')}, {counted(report.lines, 'line')}"
    return level_line(report.sandbox_level, view.required_level), report.trust, size


def _place(item: Finding) -> str:
    return f"{item.path}:{item.place.start_line}" + (f" ({item.symbol})" if item.symbol else "")


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


def examples_of(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the bad and the good example, each with its title, as a block of Markdown that it cannot end."""
    for title, example in (("Bad", rule.bad), ("Good", rule.good)):
        if example:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", example)), default=0))
            yield title, f"{fence}{rule.language}\n{example.strip(chr(10))}\n{fence}"
