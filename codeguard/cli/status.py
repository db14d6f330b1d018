"""`codeguard status`, `ls`, `diff`, `rm` and `store`: what the index holds, what has changed since, what is damaged."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codeguard.cli.output import (
    EXIT_ERROR,
    EXIT_FINDINGS,
    FORMAT,
    STORE,
    Progress,
    opened_index,
    read_settings,
    say,
    say_json,
    say_lines,
)
from codeguard.errors import ConfigError, ManifestError, NothingToDoError

if TYPE_CHECKING:
    from codeguard.index.workspace import Workspace


@click.command()
@STORE
@FORMAT
def status(store: str | None, format_: str) -> None:
    """Summarize what is indexed, trusted, found and changed since, and what to do next."""
    from codeguard.index.maintenance import changes, indexed_files
    from codeguard.reports.index import trend_lines
    from codeguard.reports.styled import counted, kinds, level_line

    with opened_index(store) as workspace:
        files, since, trend = indexed_files(workspace), changes(workspace), workspace.trend
        suspects = [item for item in files if item.suspects]
        facts: dict[str, Any] = {
            "schema": "codeguard.status/1",
            "files": len(files),
            "chunks": workspace.catalog.count(),
            "trusted_files": sum(item.trusted for item in files),
            "indexed_paths": [str(path) for path in workspace.indexed_paths],
            "excluded": workspace.excluded(),
            "trusted_paths": [item.path for item in workspace.trusted_paths if item.trusted],
            "trust_refused": _refused(workspace),
            "suspects": [asdict(item) for item in suspects],
            "suspects_known": workspace.suspects is not None,
            "trend": trend and asdict(trend),
            "unfinished": _unfinished(workspace),
            "sandbox_level": workspace.catalog.meta("sandbox_level") or "",
            "since": asdict(since),
        }
    excluded, trusted, unfinished = facts["excluded"], facts["trusted_paths"], facts["unfinished"]
    refused = facts["trust_refused"]
    if format_ == "json":
        say_json(facts)
        if refused:
            sys.exit(EXIT_ERROR)
        return
    required = read_settings(store=store).defense.required_level
    chunks = counted(facts["chunks"], "chunk")
    say(f"indexed    {counted(len(files), 'file')}, cut into {chunks} (functions and other pieces)")
    say(f"from       {', '.join(facts['indexed_paths'])}")
    if excluded:
        say(f"without    {', '.join(excluded)}")
    if unfinished:
        say(f"unfinished {unfinished}")
    if refused:
        say(f"trusted    nothing can be: {refused}")
    elif trusted:
        say(f"trusted    {counted(facts['trusted_files'], 'file')} of {', '.join(trusted)}")
    else:
        say("trusted    nothing: no code is compared with yours until codeguard index PATH… --trust PATH")
    if facts["suspects_known"]:
        found = kinds(kind for item in suspects for kind, names in item.suspects.items() for _ in names)
        say(f"found      {found}{': codeguard ls --convicted' if suspects else ''}")
        for line in trend_lines(trend):
            say(f"           {line}")
    else:
        say(f"found      not known yet{'' if unfinished else ': codeguard index finds out'}")
    say(f"checks     {level_line(facts['sandbox_level'], required)}")
    if since:
        counts = f"{counted(len(since.added), 'file')} new, {len(since.changed)} changed, {len(since.removed)} gone"
        say(f"on disk    {counts}: codeguard diff lists them, codeguard index brings the index up to date")
    else:
        say("on disk    nothing has changed since")
    if refused:
        sys.exit(EXIT_ERROR)


def _unfinished(workspace: Workspace) -> str:
    """Return what is left of a run that is under way or was ended early, or ""."""
    from codeguard.index.workspace import Stage

    left = {
        Stage.WORDS: "some files are not in it yet, and what is new is not trusted yet",
        Stage.VECTORS: f"{workspace.catalog.intended()} of its chunks are found by their words only",
        Stage.CHECKS: "not every function is checked yet",
    }.get(workspace.stage())
    if left is None:
        return ""
    if workspace.under_way():
        return f"an index is being made: {left}"
    return f"the last run was ended early: {left}; codeguard index completes it"


def _refused(workspace: Workspace) -> str:
    """Return why the manifest of the trusted paths is refused, so that every query is, or ""."""
    try:
        workspace.manifest  # noqa: B018
    except (ManifestError, ConfigError) as error:
        return str(error)
    return ""


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--trusted", is_flag=True, help="Only what is trusted.")
@click.option(
    "--convicted", is_flag=True, help="Only files in which something is harmful, convicted or demoted."
)
@STORE
@FORMAT
def ls(
    paths: tuple[str, ...],
    trusted: bool,
    convicted: bool,
    store: str | None,
    format_: str,
) -> None:
    """List the indexed files, or only those in PATHS (as the index names them)."""
    from codeguard.index.maintenance import compared, indexed_files
    from codeguard.reports.styled import Styled, line

    with opened_index(store) as workspace:
        listed = indexed_files(workspace, [path.rstrip("/").removeprefix("./") for path in paths])
        files = [
            item
            for item in compared(workspace, listed)
            if (item.trusted or not trusted) and (item.suspects or not convicted)
        ]
    if paths and not files and not trusted and not convicted:
        raise NothingToDoError(
            "no such file in the index", got=", ".join(paths), hint="codeguard ls lists what is indexed"
        )
    if format_ == "json":
        say_json({"schema": "codeguard.ls/1", "files": [asdict(item) for item in files]})
        return
    lines = [line(Styled("state      bytes  file", "faint"))] if files else []
    for item in files:
        state = "trusted" if item.trusted else "changed" if item.changed else ""
        mark = Styled(f"{state:<8}", "good" if item.trusted else "bad")
        wrong = "; ".join(f"{kind}: {', '.join(symbols)}" for kind, symbols in item.suspects.items())
        lines.append(
            line(
                mark,
                Styled(f"{item.size:>9}  ", "faint"),
                Styled(item.path, "place", item.path, 1),
                Styled(f"  {wrong}" if wrong else "", "bad"),
            )
        )
    say_lines(lines)


@click.command()
@STORE
@FORMAT
def diff(store: str | None, format_: str) -> None:
    """Show what has changed on disk since the last index: new (+), changed (~) and deleted (-) files.

    Files are compared by content; one that is not trusted is not read if its times, size and inode are those of
    before. The index is not changed.
    """
    from codeguard.index.maintenance import changes
    from codeguard.reports.styled import Styled, line

    with opened_index(store) as workspace:
        since = changes(workspace)
    if format_ == "json":
        say_json({"schema": "codeguard.diff/1", **asdict(since)})
        return
    lines = [line(Styled(f"+ {name}", "good")) for name in since.added]
    lines += [line(Styled(f"~ {name}", "warning")) for name in since.changed]
    lines += [line(Styled(f"- {name}", "bad")) for name in since.removed]
    say_lines(lines or [line("nothing has changed")])


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@STORE
def rm(paths: tuple[Path, ...], store: str | None) -> None:
    """Remove files, and everything below folders, from the index. The files themselves stay.

    A later `index` of a parent folder adds them again if they still exist: exclude them with --exclude.
    """
    from codeguard.index.maintenance import remove
    from codeguard.reports.styled import counted, some_of

    with opened_index(store) as workspace:
        gone = remove(workspace, paths)
    say(f"out of the index: {counted(len(gone), 'file')}: {some_of(gone)}")


SHOWN = 20


@click.group()
def store() -> None:
    """Maintain an index."""


@store.command("verify")
@STORE
@click.option("--all", "all_", is_flag=True, help="Embed every chunk again, not a sample.")
@click.option("--repair", is_flag=True, help="Write again what is missing or rewritten.")
@FORMAT
def verify_command(store: str | None, all_: bool, repair: bool, format_: str) -> None:
    """Compare catalog and vectors; exit code 1 if something is missing, unknown or rewritten."""
    from codeguard.errors import REBUILD
    from codeguard.index.maintenance import verify

    with opened_index(store) as workspace:
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
