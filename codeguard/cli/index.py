"""`codeguard index`."""

from __future__ import annotations

from pathlib import Path

import click

from codeguard.cli.output import Progress, guarded, read_settings, say_block, say_json, warn


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option("--trust", multiple=True, type=click.Path(), help="A path that is the team's own. Repeatable.")
@click.option("--store", help="Folder, or http(s)://host:port of a Chroma server.  [default: .codeguard]")
@click.option("--embedding", help="auto, minilm, lexical, …; see `codeguard doctor`.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.  [default: one a core]")
@click.option("--cluster", help="Address of a dask scheduler (tcp://host:port) instead of processes here.")
@click.option("--quarantine", is_flag=True, help="Keep convicted functions out of the collection.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
@guarded
def index(
    context: click.Context,
    paths: tuple[str, ...],
    trust: tuple[str, ...],
    store: str | None,
    embedding: str | None,
    jobs: int | None,
    cluster: str | None,
    quarantine: bool,
    format_: str,
) -> None:
    """Bring an index up to date with PATHS (files or folders).

    What is under --trust is the team's own code: it is indexed as well, and what it says its
    functions do is what the others are checked against.
    """
    from codeguard.formats.index import index_json, index_text
    from codeguard.unchanged import unchanged_report

    settings = read_settings(context, store=store, embedding=embedding, jobs=jobs, cluster=cluster)
    trusted = [Path(path) for path in trust or settings.defense.trust_paths]
    report = unchanged_report(settings, [Path(path) for path in paths], trusted, quarantine)
    if report is None:
        from codeguard.guard import CodeGuard

        with CodeGuard.open(trust=trust, settings=settings) as guard:
            report = guard.index(paths, quarantine=quarantine, progress=Progress())
    for line in report.warnings:
        warn(line)
    if format_ == "json":
        say_json(index_json(report))
    else:
        say_block(index_text(report))
