"""`codeguard check`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codeguard.cli.options import BUDGET, FORMAT, store_option
from codeguard.cli.output import (
    EXIT_ERROR,
    EXIT_FINDINGS,
    EXIT_NOTHING,
    guarded,
    read_settings,
    say_report,
    warn,
)


@click.command()
@click.argument("target", metavar="FILE[::SYMBOL]")
@click.option(
    "--against",
    multiple=True,
    type=click.Path(),
    help="A trusted file or folder to derive expectations from. Repeatable.",
)
@store_option("Folder of the index whose trusted code counts.")
@BUDGET
@FORMAT
@click.pass_context
@guarded
def check(
    context: click.Context, target: str, against: tuple[str, ...], store: str | None, format_: str
) -> None:
    """Run the behavior checker on the functions of a file, in the sandbox.

    Exit code 1: a function is convicted, is not the trusted function that it claims to be, or spends its share of
    --budget; 2: one could not be tested because the sandbox is too weak or codeguard failed; 3: none could be tested,
    because nothing says what they should do or they cannot be run.
    """
    from codeguard.audit.check import check_file
    from codeguard.index.sandbox_budget import SandboxBudget
    from codeguard.models import CONVICTING, Verdict
    from codeguard.reports.check import check_json, check_text, checked_below, untested

    path, _, symbol = target.partition("::")
    settings = read_settings(context, store=store)
    budget = SandboxBudget.of(settings.defense)
    checked = check_file(
        Path(path),
        symbol or None,
        against=[Path(other) for other in against],
        settings=settings,
        budget=budget,
        warn=warn,
    )
    spent = budget.report()
    if spent.unfinished:
        warn(spent.unfinished)
    required = settings.defense.required_level
    if below := checked_below(checked, required):
        warn(below)
    say_report((check_json if format_ == "json" else check_text)(checked, required, spent))
    if spent.files or any(item.report.verdict in CONVICTING or item.report.false_claim for item in checked):
        sys.exit(EXIT_FINDINGS)
    if below or any(item.report.verdict is Verdict.ERROR for item in checked):
        sys.exit(EXIT_ERROR)
    if untested(checked):
        warn("no function was tested; --against PATH names the code to compare with")
        sys.exit(EXIT_NOTHING)
