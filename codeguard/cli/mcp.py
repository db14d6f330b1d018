"""`codeguard mcp`."""

from __future__ import annotations

import click

from codeguard.cli.output import guarded, read_settings


@click.command()
@click.option("--store", help="Folder, or http(s)://host:port of a Chroma server.  [default: .codeguard]")
@click.option(
    "--mode",
    type=click.Choice(["rerank", "drop"]),
    default="drop",
    show_default=True,
    help="What happens to the convicted.",
)
@click.pass_context
@guarded
def mcp(context: click.Context, store: str | None, mode: str) -> None:
    """Serve the index to an assistant by the Model Context Protocol, on stdin and stdout."""
    from codeguard.guard import CodeGuard
    from codeguard.integrations.mcp import make_server

    with CodeGuard.open(settings=read_settings(context, store=store), create=False) as guard:
        make_server(guard, mode=mode).run("stdio")
