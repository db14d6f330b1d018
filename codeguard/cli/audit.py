"""`codeguard audit`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codeguard.cli.output import EXIT_FINDINGS, Progress, guarded, say_block, say_json, warn

SEVERITIES = ("info", "low", "medium", "high", "critical")
CONFIDENCES = ("low", "medium", "high")


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--select", multiple=True, metavar="RULE", help="Only these rules or signals. Repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules or signals. Repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="medium",
    show_default=True,
    help="Least severity for exit code 1.",
)
@click.option("--min-confidence", type=click.Choice(CONFIDENCES), default="low", show_default=True)
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.  [default: one a core]")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
)
@click.pass_context
@guarded
def audit(
    context: click.Context,
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    min_confidence: str,
    jobs: int | None,
    format_: str,
) -> None:
    """Audit files as they would enter the corpus.

    Exit code 1 where an open finding is at least as severe as --fail-on.
    """
    from codeguard.audit import AuditOptions
    from codeguard.audit import audit as run_audit
    from codeguard.auditing.rules import Selection
    from codeguard.formats.audit_json import audit_json
    from codeguard.formats.audit_text import audit_text
    from codeguard.models import Confidence, Severity

    options = AuditOptions(
        selection=Selection(select, ignore),
        min_confidence=Confidence[min_confidence.upper()],
        jobs=jobs,
    )
    least = Severity[fail_on.upper()]
    report = run_audit([Path(path) for path in paths], options, progress=Progress())
    for line in report.warnings:
        warn(line)
    if format_ == "json":
        say_json(audit_json(report))
    else:
        say_block(audit_text(report, least))
    if report.failing(least):
        sys.exit(EXIT_FINDINGS)
