"""A first run of the audit over popular packages: what somebody sees who switches the hook on.

    python -m experiments.benchmarks.audit_popular [--half …] [--cache FOLDER] [--read N] [--less-sure]

The wheels in `audit_popular.toml` are pinned by sha256, fetched through pip, and audited as they unpack, licences,
RECORD and compiled parts with them; those from `twelfth` on are source distributions with their tests.
Rules were fixed on `development`, then on what was false in `frozen` to `fifth`, each once it was measured. `sixth` and
those after it were named before they were measured, once.
`--read` prints so many findings of medium severity and above and at least medium confidence with their surroundings,
chosen by the digest of their fingerprints, for a person to judge; with `--less-sure` of low confidence.
"""

from __future__ import annotations

import hashlib
import tarfile
import tomllib
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from codeguard.audit.findings import AuditReport, Finding
from codeguard.audit.repetition import by_message
from codeguard.audit.run import AuditOptions, audit
from codeguard.escaping import escaped
from codeguard.models import Confidence, Severity
from experiments.benchmark.packages import Package, cache_folder, fetch
from experiments.benchmarks.audit_common import finish, parser_of

LIST = Path(__file__).with_suffix(".toml")
AROUND = 4  # lines shown before and after a finding


def main() -> None:
    """Audit each wheel by itself, print and write the figures."""
    parser = parser_of(__doc__)
    sets = tomllib.loads(LIST.read_text(encoding="utf-8"))
    parser.add_argument("--half", choices=sets, default=next(reversed(sets)))
    parser.add_argument("--cache", type=Path, help="folder for the wheels  [default: the user's cache]")
    parser.add_argument(
        "--read", type=int, default=0, metavar="N", help="print N findings to be judged by a person"
    )
    parser.add_argument("--less-sure", action="store_true", help="of low confidence instead")
    arguments = parser.parse_args()
    folder = cache_folder(arguments.cache)
    reports: dict[str, AuditReport] = {}
    found: list[tuple[Finding, Path]] = []
    for row in sets[arguments.half]:
        package = Package(**row)
        home = unpacked(package, folder)
        report = audit([home], AuditOptions(behavior=False))
        reports[package.label] = report
        found += [(item, home) for item in report.open if item.severity >= Severity.MEDIUM]
    listed = [pair for pair in found if _less_sure(pair[0]) == arguments.less_sure]
    for item, home in sorted(listed, key=lambda pair: _order(pair[0]))[: arguments.read]:
        print(_shown(item, home))
    finish(_figures(reports, [item for item, _ in found]), arguments.json)


def unpacked(package: Package, folder: Path) -> Path:
    """Return the folder that a pinned wheel or source distribution unpacks to, made where it is not there."""
    home = folder / "wheels" / package.label
    if not home.is_dir():
        found = fetch(package, folder)
        if found.name.endswith(".whl"):
            with zipfile.ZipFile(found) as wheel:
                wheel.extractall(home)
        else:
            with tarfile.open(found) as source:
                source.extractall(home, filter="data")
    return home


def _less_sure(item: Finding) -> bool:
    return item.confidence == Confidence.LOW


def _order(item: Finding) -> str:
    return hashlib.sha256(item.fingerprint.encode()).hexdigest()


def _shown(item: Finding, home: Path) -> str:
    """Return a finding with its reason and the lines around it, none of which can act on a terminal."""
    path = home.parent / item.path
    lines = path.read_text("utf-8", errors="replace").split("\n") if path.is_file() else []
    first = max(0, item.place.start_line - 1 - AROUND)
    around = [
        f"  {number:6} {escaped(text[:160])}"
        for number, text in enumerate(lines[first : item.place.start_line + AROUND], first + 1)
    ]
    head = f"{escaped(item.path)}:{item.place.start_line} {item.severity.name.lower()} {item.rule}"
    return "\n".join([head, f"  {escaped(item.reason)}", *around, ""])


def _figures(reports: dict[str, AuditReport], found: list[Finding]) -> dict[str, Any]:
    return {
        "files": sum(report.files for report in reports.values()),
        "lines": sum(report.lines for report in reports.values()),
        "seconds": round(sum(report.seconds for report in reports.values()), 1),
        "findings": len(found),
        "less_sure": sum(map(_less_sure, found)),
        "messages": len(by_message(item for item in found if not _less_sure(item))),  # of the main list
        "by_package": {
            name: sum(item.severity >= Severity.MEDIUM for item in report.open)
            for name, report in reports.items()
        },
        "by_rule": dict(Counter(item.rule for item in found).most_common()),
    }


if __name__ == "__main__":
    main()
