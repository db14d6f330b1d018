"""False alarms of the audit on code that counts as clean: the standard library and installed packages.

    python -m experiments.benchmarks.audit_clean [FOLDER…] [--json FILE] [--behavior]

For each package and all together: the share of functions with a finding of
medium or higher severity, findings per 1,000 lines, by rule; and of each
rule the ten findings that a reader should look at first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codeguard.audit.findings import AuditReport, Finding
from codeguard.audit.run import AuditOptions, audit
from codeguard.models import Severity
from experiments.benchmarks.audit_common import finish, parser_of, rate
from experiments.benchmarks.standard_library import package_files, standard_files

PACKAGES = ("more_itertools", "toolz", "boltons", "requests", "click", "flask", "attr", "attrs", "rich")
WORST = 10


def main() -> None:
    """Audit each package by itself, print and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="instead of the default packages")
    parser.add_argument("--behavior", action="store_true", help="run the hand-written specs as well")
    arguments = parser.parse_args()
    reports = {}
    for name, paths in _targets(arguments.folders).items():
        if paths:
            reports[name] = audit(paths, AuditOptions(behavior=arguments.behavior))
    figures = {
        "all": _figures(list(reports.values())),
        "packages": {name: _figures([report]) for name, report in reports.items()},
        "worst": _worst(list(reports.values())),
    }
    finish(figures, arguments.json)


def _targets(folders: Sequence[Path]) -> dict[str, list[Path]]:
    if folders:
        return {str(folder): [folder] for folder in folders}
    return {"standard library": standard_files(), **{name: package_files(name) for name in PACKAGES}}


def _figures(reports: Sequence[AuditReport]) -> dict[str, Any]:
    found = [item for report in reports for item in _counted(report)]
    functions = {(item.path, item.symbol, item.digest) for item in found if item.symbol}
    lines = sum(report.lines for report in reports)
    total = sum(report.functions for report in reports)
    return {
        "files": sum(report.files for report in reports),
        "functions": rate(len(functions), total),
        "lines": lines,
        "findings": len(found),
        "per_1000_lines": round(1000 * len(found) / lines, 4) if lines else None,
        "by_rule": dict(Counter(item.rule for item in found).most_common()),
        "seconds": round(sum(report.seconds for report in reports), 2),
        "skipped": sum(len(report.skipped) for report in reports),
    }


def _counted(report: AuditReport) -> list[Finding]:
    return [item for item in report.findings if item.severity >= Severity.MEDIUM]


def _worst(reports: Sequence[AuditReport]) -> dict[str, list[dict[str, Any]]]:
    """Return the most severe and most confident findings of each rule."""
    found: dict[str, list[Finding]] = {}
    for report in reports:
        for item in _counted(report):
            found.setdefault(item.rule, []).append(item)
    worst = {}
    for rule, items in sorted(found.items()):
        items.sort(key=lambda item: (-item.severity, -item.confidence, item.path, item.place.start_line))
        worst[rule] = [
            {
                "place": f"{item.path}:{item.place.start_line}",
                "symbol": item.symbol,
                "severity": item.severity.name.lower(),
                "line": item.snippet.strip()[:160],
                "reason": item.reason,
            }
            for item in items[:WORST]
        ]
    return worst


if __name__ == "__main__":
    main()
