"""`codeguard serve` and `mcp`: the index for a browser, and for an assistant."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codeguard.cli.output import BUDGET, STORE, guarded, read_settings, say, warn

if TYPE_CHECKING:
    from codeguard.api import CodeGuard


@contextmanager
def _guard(context: click.Context, store: str | None) -> Iterator[CodeGuard]:
    """Open a guard over the index, and warn where the sandbox is too weak for checks."""
    from codeguard.api import CodeGuard
    from codeguard.config import below_level
    from codeguard.index.sandbox_budget import own_level

    settings = read_settings(context, store=store)
    with CodeGuard.open(settings=settings, create=False) as guard:
        if below := below_level(own_level().name, settings.defense.required_level):
            warn(below)
        yield guard


@click.command()
@STORE
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one."
)
@BUDGET
@click.pass_context
@guarded
def serve(context: click.Context, store: str | None, port: int) -> None:
    """Serve the index as a web site on this machine, until interrupted.

    Answers with what the defense pushed out and why, a map of what is trusted, unknown and convicted, and findings.
    It changes nothing, listens only on 127.0.0.1, and serves anyone who has the token in the printed
    address. Nothing is loaded from elsewhere, and the pages have no scripts.
    """
    from codeguard.integrations.web import Application, Gate, bound
    from codeguard.integrations.web import serve as answer

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends it as Ctrl-C does
    with _guard(context, store) as guard, bound(port) as listening:
        gate = Gate(listening.getsockname()[1])
        application = Application(guard, gate)
        click.echo(gate.address)  # `say` would mask the token
        say("Ctrl-C ends it")
        try:
            with suppress(KeyboardInterrupt):
                answer(application, listening)
            say("stopped")
        finally:
            application.close()


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
    from codeguard.integrations.mcp import make_server

    with _guard(context, store) as guard:
        make_server(guard, mode=mode, roots=roots).run("stdio")
