"""`codeguard serve` and `mcp`: the index for a browser, and for an assistant."""

from __future__ import annotations

import math
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codeguard import interpreter
from codeguard.cli.output import BUDGET, STORE, STORES, config_file, opened_guards, say, warn

if TYPE_CHECKING:
    from codeguard.api import CodeGuard

EVERY_S = 30.0
COMMAND = "from codeguard.cli import main; main()"


@contextmanager
def _guards(stores: Sequence[str]) -> Iterator[list[CodeGuard]]:
    """Open the guards of stores, and warn where the sandbox is too weak for checks."""
    from codeguard.config import below_level
    from codeguard.index.behavior_reports import own_level

    with opened_guards(stores) as guards:
        if below := below_level(own_level(), guards[0].settings.defense.required_level):
            warn(below)
        yield guards


@click.command()
@STORE
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one."
)
@BUDGET
def serve(store: str | None, port: int) -> None:
    """Serve the index as a web site on this machine, until interrupted.

    Answers with what the defense pushed out and why, a map of what is trusted, unknown and convicted, and findings.
    It changes nothing, listens only on 127.0.0.1, and serves anyone who has the token in the printed
    address. Nothing is loaded from elsewhere, and the pages have no scripts.
    """
    from codeguard.integrations.web import Application, Gate, bound
    from codeguard.integrations.web import serve as answer

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends it as Ctrl-C does
    with _guards([store] if store else []) as (guard,), bound(port) as listening:
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
@STORES
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
@click.option(
    "--refresh/--no-refresh", default=True, show_default=True, help="Index again what the disk has changed."
)
@BUDGET
def mcp(stores: tuple[str, ...], mode: str, roots: tuple[Path, ...], refresh: bool) -> None:
    """Serve the index to an assistant over the Model Context Protocol, on stdin and stdout.

    With several --store, code is checked against what the first one trusts.
    """
    from codeguard.integrations.mcp import make_server

    with _guards(stores) as guards:
        refreshed = Refreshed(guards, config_file())
        start = refreshed.start if refresh else lambda: None
        make_server(*guards, mode=mode, roots=roots, refresh=start).run("stdio")


class Refreshed:
    """Brings indexes up to date while they are in use, by `codeguard index` in processes of its own."""

    def __init__(self, guards: Sequence[CodeGuard], config: str | None) -> None:
        same = ["-C", str(Path.cwd()), *(["--config", config] if config else [])]
        self._commands = [[*same, "index", "--store", guard.settings.store] for guard in guards]
        self.running: list[subprocess.Popen[bytes]] = []
        self._started = -math.inf

    def start(self) -> list[subprocess.Popen[bytes]]:
        """Start them where the last ones have ended and began some time ago; an answer does not wait for them."""
        self.running = [item for item in self.running if item.poll() is None]
        if self.running or time.monotonic() - self._started < EVERY_S:
            return []
        self._started = time.monotonic()
        nowhere = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.running = [interpreter.start(COMMAND, *words, **nowhere) for words in self._commands]
        return self.running
