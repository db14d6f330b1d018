"""`codeguard index`."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codeguard.cli.output import (
    BUDGET,
    FORMAT,
    STORE,
    Progress,
    read_settings,
    say_block,
    say_json,
    warn,
)
from codeguard.errors import ConfigError, NoIndexError

if TYPE_CHECKING:
    from codeguard.config import Settings


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--trust", multiple=True, type=click.Path(), help="A path that is the team's own; remembered. Repeatable."
)
@click.option(
    "--untrust", multiple=True, type=click.Path(), help="A path that is no longer trusted. Repeatable."
)
@click.option("--rebuild", is_flag=True, help="Make the index new from the files, earlier runs' among them.")
@STORE
@click.option("--embedding", help="auto, static, minilm, …; see `codeguard doctor`.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.  [default: one a core]")
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Leave these out, as in .gitignore; remembered. '!GLOB' takes it back. Repeatable.",
)
@click.option("--include-secrets", is_flag=True, help="Index what holds secrets as well; they are masked.")
@click.option(
    "--watch",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stay, and index again what has changed after so long a pause, until interrupted.",
)
@FORMAT
@BUDGET
def index(
    paths: tuple[str, ...],
    trust: tuple[str, ...],
    untrust: tuple[str, ...],
    rebuild: bool,
    store: str | None,
    embedding: str | None,
    jobs: int | None,
    exclude: tuple[str, ...],
    include_secrets: bool,
    watch: float | None,
    format_: str,
) -> None:
    """Bring an index up to date with PATHS (files or folders).

    Code under --trust is the team's own: it is indexed as well, and its functions, examples and tests are the
    reference for checking other code. It stays trusted in later runs until --untrust. Without PATH, everything
    that earlier runs indexed is brought up to date, or with --rebuild indexed again. What --exclude leaves out stays
    out in later runs; --include-secrets counts for one run.
    """
    from codeguard.api import CodeGuard
    from codeguard.reports.index import index_json, index_text

    settings = read_settings(store=store, embedding=embedding, jobs=jobs)
    settings = settings.replace(include_secrets=include_secrets or settings.include_secrets)
    if not paths and not rebuild:
        paths = _indexed_before(settings)
    with CodeGuard.open(trust=trust, untrust=untrust, settings=settings, renew=True) as guard:
        report = guard.index(paths, rebuild=rebuild, exclude=exclude, progress=Progress())
        while True:
            for line in report.warnings:
                warn(line)
            if format_ == "json":
                say_json(index_json(report))
            else:
                say_block(index_text(report, settings.defense.required_level))
            if watch is None:
                return
            time.sleep(watch)
            while (report := guard.index(paths)).nothing_changed:
                time.sleep(watch)


def _indexed_before(settings: Settings) -> tuple[str, ...]:
    """Return the paths of earlier runs that are still there; raise ConfigError if nothing was indexed."""
    from codeguard.index.trusted_paths import refuse_gone
    from codeguard.index.workspace import Workspace

    known: list[Path] = []
    with contextlib.suppress(NoIndexError), contextlib.closing(Workspace(settings)) as workspace:
        known = workspace.indexed_paths
        refuse_gone(Path(workspace.catalog.meta("root") or "."), known, workspace.trusted_paths)
    there = tuple(str(path) for path in known if os.path.lexists(path))
    if not there:
        raise ConfigError(
            "index what?",
            got="no path, and none of an earlier run" + (" is there" if known else ""),
            expected="PATH…",
            hint="for example: codeguard index src vendor --trust src",
        )
    for path in known:
        if str(path) not in there:
            warn(f"{path} is no longer there: codeguard rm {path} takes its files out of the index")
    return there
