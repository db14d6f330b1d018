"""`codeguard mcp`."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codeguard import interpreter
from codeguard.cli.options import BUDGET, STORES, opened_guards
from codeguard.cli.output import guarded, warn

if TYPE_CHECKING:
    from codeguard.api import CodeGuard

EVERY_S = 30.0
COMMAND = "from codeguard.cli import main; main()"


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
@click.pass_context
@guarded
def mcp(
    context: click.Context, stores: tuple[str, ...], mode: str, roots: tuple[Path, ...], refresh: bool
) -> None:
    """Serve the index to an assistant over the Model Context Protocol, on stdin and stdout.

    With several --store, code is checked against what the first one trusts.
    """
    from codeguard.config import below_level
    from codeguard.index.sandbox_budget import own_level
    from codeguard.integrations.mcp import make_server

    with opened_guards(context, stores) as guards:
        level = own_level().name
        if below := below_level(level, guards[0].settings.defense.required_level):
            warn(below)
        refreshed = Refreshed(guards, context.find_root().params.get("config"))
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
