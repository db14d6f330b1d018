"""`codeguard check`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codeguard.cli.output import EXIT_FINDINGS, guarded, read_settings, say_block, say_json


@click.command()
@click.argument("target", metavar="FILE[::SYMBOL]")
@click.option(
    "--against",
    multiple=True,
    type=click.Path(),
    help="A trusted file to derive expectations from. Repeatable.",
)
@click.option("--store", help="Folder of the index whose trusted code counts.  [default: .codeguard]")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
@guarded
def check(
    context: click.Context, target: str, against: tuple[str, ...], store: str | None, format_: str
) -> None:
    """Run the behavior checker on the functions of a file, in the sandbox.

    Exit code 1 where a function is convicted.
    """
    from codeguard.check import check_file
    from codeguard.formats.check import check_json, check_text
    from codeguard.signals.behavior import CONVICTING

    path, _, symbol = target.partition("::")
    settings = read_settings(context, store=store)
    checked = check_file(
        Path(path), symbol or None, against=[Path(other) for other in against], settings=settings
    )
    if format_ == "json":
        say_json(check_json(checked))
    else:
        say_block(check_text(checked))
    if any(item.report.verdict in CONVICTING for item in checked):
        sys.exit(EXIT_FINDINGS)
