"""Options shared by several commands, and the index that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from codeguard.cli.output import BUDGET_KEY, read_settings, warn

if TYPE_CHECKING:
    from codeguard.api import CodeGuard
    from codeguard.index.workspace import Workspace

F = TypeVar("F", bound=Callable[..., Any])
STARTED_IN = (
    "codeguard.started_in"  # of the context: the folder before `-C`, where names that a hook passes lie
)


def option_group(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, which the help shows in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def format_option(*more: str) -> Callable[[F], F]:
    """Return the option for the output format: text, json, and any others the command supports."""
    choice = click.Choice(["text", "json", *more])
    return click.option("--format", "format_", type=choice, default="text", show_default=True)


def store_option(what: str = "Folder, or http(s)://host:port of a Chroma server.") -> Callable[[F], F]:
    """Return the option for the location of the index; `what` is its help text."""
    return click.option("--store", help=f"{what}  [default: .codeguard]")


def _keep_budget(context: click.Context, _: click.Parameter, seconds: float | None) -> None:
    context.meta[BUDGET_KEY] = seconds


STORE = store_option()
STORES = click.option(
    "--store",
    "stores",
    multiple=True,
    help="Folder, or http(s)://host:port of a Chroma server. Repeatable: one answer of several.  [default: .codeguard]",
)
BUDGET = click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    expose_value=False,
    callback=_keep_budget,
    help="CPU seconds that the sandbox may spend on this run; each file has a fair share.  [default: 900]",
)
FORMAT = format_option()


@contextmanager
def opened_guards(context: click.Context, stores: Sequence[str], **changes: Any) -> Iterator[list[CodeGuard]]:
    """Open the guards of stores, or that of the settings."""
    from codeguard.api import CodeGuard

    with ExitStack() as stack:
        yield [
            stack.enter_context(
                CodeGuard.open(settings=read_settings(context, store=store, **changes), create=False)
            )
            for store in dict.fromkeys(stores) or [None]
        ]


@contextmanager
def opened_index(context: click.Context, store: str | None) -> Iterator[Workspace]:
    """Open the index of the settings, and show its warnings if nothing went wrong."""
    from codeguard.index.workspace import Workspace

    workspace = Workspace(read_settings(context, store=store))
    try:
        yield workspace
        for line in workspace.warnings:
            warn(line)
    finally:
        workspace.close()
