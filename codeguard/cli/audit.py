"""`codeguard audit` and `check`."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Any

import click

from codeguard.cli.output import (
    BUDGET,
    EXIT_ERROR,
    EXIT_FINDINGS,
    EXIT_NOTHING,
    FORMAT,
    STARTED_IN,
    Progress,
    origin,
    read_settings,
    say_report,
    store_option,
    warn,
)
from codeguard.errors import ConfigError
from codeguard.escaping import escaped
from codeguard.reports import format_names

SEVERITIES = ("info", "low", "medium", "high", "critical")
_FOR_PEOPLE = ("text", "summary", "github")  # formats that show medium severity and above
_FILE = click.Path(dir_okay=False, path_type=Path)


class _Command(click.Command):
    """A command that does not mistake file names passed by a hook for options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option that is also the name of a file, such as `--no-behavior`."""
        words = args[: args.index("--")] if "--" in args else args
        started_in = ctx.meta.get(STARTED_IN, "")
        for word in words:
            if word.startswith("-") and os.path.lexists(os.path.join(started_in, word)):  # noqa: PTH118
                raise click.UsageError(
                    f"a file is named like an option: {escaped(word)}; put -- before the names"
                )
        return super().parse_args(ctx, args)


@click.command(cls=_Command)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--since",
    metavar="REF",
    help="What was committed since the history of REF and the checked-out one part, not the files.",
)
@click.option("--staged", is_flag=True, help="What the git index holds for the next commit, not the files.")
@click.option(
    "--trust", multiple=True, type=click.Path(path_type=Path), help="A path that is your own. Repeatable."
)
@store_option("Folder of the index whose trust and evidence count.")
@click.option(
    "--policy",
    type=_FILE,
    help="The team's rules for it, from outside of the audited paths or before the change.",
)
@click.option("--baseline", type=_FILE, help="Known findings; it counts from outside of the audited paths.")
@click.option(
    "--write-baseline", type=_FILE, help="Write down what is shown as known; reasons that it has are kept."
)
@click.option("--reason", default="", help="Reason of new entries of the baseline.")
@click.option(
    "--exclude", multiple=True, metavar="GLOB", help="Leave these out, as in .gitignore. Repeatable."
)
@click.option("--select", multiple=True, metavar="RULE", help="Only these rules or signals. Repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules or signals. Repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="medium",
    show_default=True,
    help="Least severity for exit code 1.",
)
@click.option(
    "--min-severity",
    type=click.Choice(SEVERITIES),
    help="Do not show what is less severe.  [default: medium in text, summary and github, else all]",
)
@click.option(
    "--all",
    "show_all",
    is_flag=True,
    help="Show everything in full, also what is less sure.",
)
@click.option("--no-behavior", is_flag=True, help="Run nothing in the sandbox.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.  [default: one a core]")
@click.option(
    "--format",
    "format_",
    type=click.Choice(format_names()),
    default="text",
    show_default=True,
)
@click.option(
    "--output",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Write it in another format as well, such as sarif=FILE. Repeatable.",
)
@BUDGET
def audit(
    paths: tuple[Path, ...],
    store: str | None,
    baseline: Path | None,
    write_baseline: Path | None,
    exclude: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    min_severity: str | None,
    show_all: bool,
    no_behavior: bool,
    format_: str,
    output: tuple[str, ...],
    **named: Any,
) -> None:
    """Audit PATHS (files or folders) as they would enter the corpus.

    Needs no index. Exit code 1 if an open finding of medium or high confidence is at least as severe as --fail-on; 2
    if a path, or the commit to compare with, does not exist; 3 if the paths hold no file. Findings of low confidence
    are shown with --all and fail nothing.
    """
    gc.disable()  # for the imports; `run_audit` does its own collecting
    of_change = named["staged"], named["since"] is not None
    if not paths and not any(of_change) and named["policy"] is None:
        raise ConfigError(
            "audit what?",
            got="no path",
            expected="PATH…, --since REF, --staged or --policy FILE",
            hint="codeguard audit --help",
        )
    if all(of_change):
        raise ConfigError("which change?", got="--staged and --since", expected="one of them")
    if write_baseline is not None and baseline is not None:
        raise ConfigError("which baseline?", got="--baseline and --write-baseline", expected="one of them")
    if show_all and min_severity is not None:
        raise ConfigError("what to show?", got="--all and --min-severity", expected="one of them")
    from codeguard.audit.rules import RuleSelection
    from codeguard.audit.run import AuditOptions
    from codeguard.audit.run import audit as run_audit
    from codeguard.models import Severity
    from codeguard.reports.audit_formats import AuditView, rendered

    settings = read_settings(store=store)
    settings = settings.replace(exclude=(*settings.exclude, *exclude))
    if store is not None and not settings.state.is_dir():
        raise ConfigError("--store", got=f"no folder {settings.state}", expected="the folder of an index")
    least = Severity[fail_on.upper()]
    files = [_output(item) for item in output]
    usual = Severity.INFO if show_all else min(Severity.MEDIUM, least)
    shown = Severity[min_severity.upper()] if min_severity is not None else usual
    options = AuditOptions(
        selection=RuleSelection(select, ignore),
        behavior=not no_behavior,
        baseline=write_baseline or baseline,
        update_baseline=write_baseline is not None,
        baseline_from=shown,
        **named,
    )
    report = run_audit(paths, options, settings, progress=Progress())
    first_run = options.baseline is None and not options.of_change
    for line in report.warnings:
        warn(line)
    for name, file in [(format_, None), *files]:
        if show_all or name == "json":
            narrowed = report if min_severity is None else report.narrowed(shown)
        else:
            narrowed = report.narrowed(
                shown if name in _FOR_PEOPLE or min_severity is not None else Severity.INFO
            )
        level = settings.defense.required_level
        view = AuditView(narrowed, least, level, first_run, show_all, **origin())
        say_report(rendered(name, view), file)
    if report.failing(least):
        sys.exit(EXIT_FINDINGS)


def _output(text: str) -> tuple[str, Path]:
    """Return the format and the file of an `--output`."""
    name, _, file = text.partition("=")
    if name not in format_names() or not file:
        raise ConfigError("--output", got=repr(text), expected=f"FORMAT=FILE, of {', '.join(format_names())}")
    return name, Path(file)


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
def check(target: str, against: tuple[str, ...], store: str | None, format_: str) -> None:
    """Run the behavior checker on the functions of a file, in the sandbox.

    Exit code 1: a function is convicted, is not the trusted function that it claims to be, or spends its share of
    --budget; 2: one could not be tested because the sandbox is too weak or codeguard failed; 3: none could be tested,
    because nothing says what they should do or they cannot be run.
    """
    from codeguard.audit.check import check_file
    from codeguard.index.report import SandboxBudget
    from codeguard.models import CONVICTING, Verdict
    from codeguard.reports.check import check_json, check_text, checked_below, untested

    path, _, symbol = target.partition("::")
    settings = read_settings(store=store)
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
