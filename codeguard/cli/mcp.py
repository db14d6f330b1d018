"""`codeguard mcp`."""

from __future__ import annotations

from pathlib import Path

import click

from codeguard.cli.options import BUDGET, STORE
from codeguard.cli.output import guarded, read_settings, warn


@click.command()
@STORE
@click.option(
    "--mode",
    type=click.Choice(["rerank", "drop"]),
    default="drop",
    show_default=True,
    help="What happens to the convicted.",
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder that audit_path may read. Repeatable.  [default: none]",
)
@BUDGET
@click.pass_context
@guarded
def mcp(context: click.Context, store: str | None, mode: str, roots: tuple[Path, ...]) -> None:
    """Serve the index to an assistant over the Model Context Protocol, on stdin and stdout."""
    from codeguard.api import CodeGuard
    from codeguard.config import below_level
    from codeguard.index.sandbox_budget import own_level
    from codeguard.integrations.mcp import make_server

    settings = read_settings(context, store=store)
    with CodeGuard.open(settings=settings, create=False) as guard:
        level = own_level().name
        if below := below_level(level, settings.defense.required_level):
            warn(below)
        make_server(guard, mode=mode, roots=roots).run("stdio")
