"""`codeguard store`."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from codeguard.cli.options import FORMAT, STORE, opened_index
from codeguard.cli.output import EXIT_FINDINGS, Progress, guarded, say, say_json

SHOWN = 20


@click.group()
def store() -> None:
    """Maintain an index."""


@store.command("verify")
@STORE
@click.option("--all", "all_", is_flag=True, help="Embed every chunk again, not a sample.")
@click.option("--repair", is_flag=True, help="Write again what is missing or rewritten.")
@FORMAT
@click.pass_context
@guarded
def verify_command(context: click.Context, store: str | None, all_: bool, repair: bool, format_: str) -> None:
    """Compare catalog and vectors; exit code 1 if something is missing, unknown or rewritten."""
    from codeguard.errors import REBUILD
    from codeguard.index.maintenance import verify

    with opened_index(context, store) as workspace:
        report = verify(workspace, all_vectors=all_, repair=repair, progress=Progress())
    if format_ == "json":
        say_json({"schema": "codeguard.index.store-verify/1", "clean": report.clean, **asdict(report)})
    else:
        say(f"{report.chunks} chunks compared, {report.embedded} of them embedded again")
        if report.carried_out:
            say(f"{report.carried_out} interrupted writes finished first")
        if report.foreign:
            say(f"{report.foreign} entries that this catalog does not know")
        for kind, count in sorted(report.found.items()):
            say(f"DAMAGE {kind}: {count}")
        for item in report.damage[:SHOWN]:
            say(f"  {item.kind}: {item.place or item.id}")
        if len(report.damage) > SHOWN:
            say(f"  … and {sum(report.found.values()) - SHOWN} more (--format json lists a thousand)")
        say(
            "clean"
            if report.clean
            else REBUILD
            if any(kind.startswith("catalog") for kind in report.found)
            else "written again; verify once more"
            if repair
            else "repair it with: codeguard store verify --repair"
        )
    if not report.clean:
        sys.exit(EXIT_FINDINGS)
