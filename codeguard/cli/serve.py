"""`codeguard serve`."""

from __future__ import annotations

import signal
from contextlib import suppress

import click

from codeguard.cli.options import BUDGET, STORE
from codeguard.cli.output import guarded, read_settings, say, warn


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
    from codeguard.api import CodeGuard
    from codeguard.config import below_level
    from codeguard.index.sandbox_budget import own_level
    from codeguard.integrations.web.application import Application
    from codeguard.integrations.web.gate import Gate
    from codeguard.integrations.web.server import bound
    from codeguard.integrations.web.server import serve as answer

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends it as Ctrl-C does
    settings = read_settings(context, store=store)
    with CodeGuard.open(settings=settings, create=False) as guard, bound(port) as listening:
        level = own_level().name
        if below := below_level(level, settings.defense.required_level):
            warn(below)
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
