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
    """Maintain an index: show, verify, export it."""


@store.command("info")
@STORE
@FORMAT
@click.pass_context
@guarded
def info_command(context: click.Context, store: str | None, format_: str) -> None:
    """Show what the index holds and how much space it takes."""
    from codeguard.index.maintenance import info
    from codeguard.reports.styled import level_line

    with opened_index(context, store) as workspace:
        found = info(workspace)
    if format_ == "json":
        say_json({"schema": "codeguard.index.store-info/1", **found})
        return
    say(f"store      {found['store']} (state in {found['state']})")
    say(f"holds      {found['files']} files, {found['chunks']} chunks, {found['vectors']} vectors")
    say(f"made with  embedding {found['embedding'] or 'none yet'}, {found['chunker'] or 'no chunker yet'}")
    say(f"root       {found['root'] or 'none yet'}")
    required = workspace.settings.defense.required_level
    say(f"sandbox    {level_line(found['sandbox_level'], required).removeprefix('sandbox').lstrip(' :')}")
    say(f"disk       {found['bytes'] / 1e6:.1f} MB, the catalog {found['bytes_catalog'] / 1e6:.1f} MB of it")
    if found["unfinished"]:
        say(f"unfinished {found['unfinished']} writes: the next index, query or verify carries them out")


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


@store.command("export")
@STORE
@click.pass_context
@guarded
def export_command(context: click.Context, store: str | None) -> None:
    """Write every chunk with its evidence, one JSON object per line."""
    from codeguard.ranking.inventory import export

    with opened_index(context, store) as workspace:
        for record in export(workspace):
            say_json(record)
