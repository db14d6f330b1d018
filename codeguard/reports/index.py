"""The report of an indexing run, as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from codeguard.config import below_level
from codeguard.escaping import escaped
from codeguard.index.report import FALSE_CLAIM, HARM, IndexReport, Suspect, Trend
from codeguard.models import SpecCoverage, Verdict
from codeguard.reports.styled import by_reason, counted, kinds, some_of

SHOWN = 10
MISSING = 5
LISTED = " (--format json lists all)"
NOTHING_TRUSTED = "trusted: nothing, so no code is compared with yours; name your own with --trust PATH"


def index_json(report: IndexReport) -> dict[str, Any]:
    """Return the report as plain values, schema `codeguard.index/1`."""
    return {"schema": "codeguard.index/1", **asdict(report)}


def index_text(report: IndexReport, required_level: str) -> str:
    """Return the report as text: counts first, then everything that was left out."""
    signature = f", signed by {escaped(', '.join(report.signed_by))}" if report.signed_by else ""
    if report.manifest_unsigned:
        others = "the others " if report.signed_by else ""
        signature += f", {others}named by you and not signed"
    level = [*filter(None, [below_level(report.sandbox_level, required_level)])]
    if report.nothing_changed:
        return "\n".join([*level, _nothing_changed(report)])
    groups = {name: list(found) for name, found in groupby(report.suspects, key=lambda item: item.kind)}
    lines = [
        *level,
        f"{counted(report.files, 'file')} in {counted(report.chunks, 'chunk')}: "
        f"queries can find {report.searchable} by {report.embedding}, the others are blank or withheld",
        f"this run: {counted(report.unchanged, 'file')} unchanged, {counted(report.added, 'chunk')} written, "
        f"{report.removed} removed, in {report.seconds:.1f} s",
        f"trusted: {counted(report.trusted_files, 'file')}{signature}"
        if report.trusted_files
        else NOTHING_TRUSTED,
        f"to compare with: {counted(report.coverage.functions, 'trusted function')}, "
        f"{report.coverage.with_examples} of them with examples, and {report.coverage.hand_written} hand-written specs "
        "(shipped with codeguard, or your own)",
        *_missing(report.coverage),
        *([f"reading: {counted(len(groups[HARM]), 'chunk')} would do harm"] if HARM in groups else []),
        _behavior(report),
        *([f"sandbox: {report.budget}"] if report.budget else []),
        *trend_lines(report.trend),
    ]
    if report.trusted_before:
        lines.insert(4, f"trusted as before: {escaped(', '.join(report.trusted_before))}")
    if report.not_written:
        lines.append(
            "not trusted, because it was installed and not written here; --trust names it all the same:"
        )
        lines += by_reason(((item.reason, item.path) for item in report.not_written), LISTED)
    lines += [row for name, found in groups.items() for row in _suspects(found, name)]
    noted: dict[str, list[str]] = {}
    for note in report.notes:
        path, _, reason = note.partition(": ")
        noted.setdefault(path, []).append(reason)
    if by_lines := [path for path in report.by_lines if path not in noted]:
        lines.append(f"chunked by lines: {counted(len(by_lines), 'file')}: {some_of(by_lines, LISTED)}")
    if report.secrets:
        kept = sum(item.withheld for item in report.secrets)
        lines.append(f"secrets: {len(report.secrets)} chunks hold one, {kept} of them withheld, all masked")
        for item in report.secrets[:SHOWN]:
            rules = ", ".join(f"secrets.{rule}" for rule in item.rules)
            lines.append(f"  {escaped(item.path)}:{item.start_line}-{item.end_line}: {rules}")
        if len(report.secrets) > SHOWN:
            lines.append(f"  … and {len(report.secrets) - SHOWN} more")
    if report.notes:
        lines.append(f"notes: {counted(len(noted), 'file')}")
        lines += by_reason((("; ".join(reasons), path) for path, reasons in noted.items()), LISTED)
    if report.skipped:
        lines.append(f"skipped: {len(report.skipped)}")
        lines += by_reason(((item.reason, item.path) for item in report.skipped), LISTED)
    return "\n".join(lines)


def trend_lines(trend: Trend | None) -> list[str]:
    """Return what the last run convicted or demoted newly, and what no longer, a line each."""
    if trend is None:
        return []
    named = {"newly found": trend.newly, "no longer found": trend.no_longer}
    return [
        f"{words} since the run before: {counted(len(found), 'suspect')}: {some_of(found)}"
        for words, found in named.items()
        if found
    ]


def _nothing_changed(report: IndexReport) -> str:
    found, skipped = kinds(item.kind for item in report.suspects), counted(len(report.skipped), "path")
    return f"nothing changed: {counted(report.files, 'file')}, {found}, {skipped} skipped{LISTED}"


def _missing(coverage: SpecCoverage) -> list[str]:
    """Return which packages the trusted functions lack in the sandbox, if any."""
    named = [f"{escaped(name)} ({count})" for name, count in coverage.missing.items()]
    if not named:
        return []
    rest = f" and {len(named) - MISSING} more{LISTED}" if len(named) > MISSING else ""
    return [
        "not in the sandbox, though trusted functions import them: "
        f"{', '.join(named[:MISSING])}{rest}; name pure Python ones in defense.modules (codeguard config show)"
    ]


def _behavior(report: IndexReport) -> str:
    """Return how many functions have which kind of verdict; most have nothing to be compared with."""
    total = sum(report.verdicts.values())
    if not total:
        return "behavior: no function of unknown origin" if report.sandbox_level else "behavior: not checked"
    convicted = len(report.convicted)
    named = {
        "demoted for a false claim": report.verdicts.get(FALSE_CLAIM, 0),
        "passed": report.verdicts.get(Verdict.PASS, 0),
        "differ by convention": report.verdicts.get(Verdict.DIFFERS, 0),
    }
    named["without a verdict"] = total - convicted - sum(named.values())
    parts = [f"{number} {name}" for name, number in named.items() if number]
    line = ", ".join([f"behavior: {convicted} of {counted(total, 'function')} convicted", *parts])
    # Those who are convicted or demoted are listed; why another one has no verdict is not.
    return f"{line}; codeguard check FILE says why" if named["without a verdict"] else line


def _suspects(found: Sequence[Suspect], kind: str) -> list[str]:
    """Return a line for each of the first functions, and how many more there are."""
    lines = [
        f"  {escaped(item.path)}:{item.line} {escaped(item.symbol or '(module)')}  "
        f"{item.verdict}: {escaped(item.reason)}" + (f" ({escaped(item.accepted)})" if item.accepted else "")
        for item in found[:SHOWN]
    ]
    more = len(found) - SHOWN
    return [*lines, f"  … and {more} more {kind}{LISTED}"] if more > 0 else lines
