"""`codeguard status`, `ls`, `diff` and `rm`: what the index holds, and what has changed since."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codeguard.cli.options import FORMAT, STORE, opened_index
from codeguard.cli.output import EXIT_ERROR, guarded, read_settings, say, say_json, say_lines
from codeguard.errors import ConfigError, ManifestError, NothingToDoError

if TYPE_CHECKING:
    from codeguard.index.workspace import Workspace

SHOWN = 10
UNDER_WAY = "an index is being made"


@click.command()
@STORE
@FORMAT
@click.pass_context
@guarded
def status(context: click.Context, store: str | None, format_: str) -> None:
    """Summarize what is indexed, trusted, convicted and changed since, and what to do next."""
    from codeguard.index.contents import changes, convictions_known, indexed_files
    from codeguard.reports.styled import counted

    with opened_index(context, store) as workspace:
        files = indexed_files(workspace)
        since = changes(workspace)
        paths = [str(path) for path in workspace.indexed_paths]
        excluded = workspace.excluded()
        trusted = [item.path for item in workspace.trusted_paths if item.trusted]
        level = workspace.catalog.meta("sandbox_level") or ""
        chunks = workspace.catalog.count()
        unfinished = _unfinished(workspace)
        known = convictions_known(workspace)
        refused = _refused(workspace)
    convicted = [item for item in files if item.convicted]
    if format_ == "json":
        say_json(
            {
                "schema": "codeguard.status/1",
                "files": len(files),
                "chunks": chunks,
                "trusted_files": sum(item.trusted for item in files),
                "indexed_paths": paths,
                "excluded": excluded,
                "trusted_paths": trusted,
                "trust_refused": refused,
                "convicted": [asdict(item) for item in convicted],
                "convicted_known": known,
                "unfinished": unfinished,
                "sandbox_level": level,
                "since": asdict(since),
            }
        )
        if refused:
            sys.exit(EXIT_ERROR)
        return
    required = read_settings(context, store=store).defense.required_level
    say(
        f"indexed    {counted(len(files), 'file')}, cut into {counted(chunks, 'chunk')} (functions and other pieces)"
    )
    say(f"from       {', '.join(paths)}")
    if excluded:
        say(f"without    {', '.join(excluded)}")
    if unfinished:
        say(f"unfinished {unfinished}")
    if refused:
        say(f"trusted    nothing can be: {refused}")
    elif trusted:
        say(f"trusted    {counted(sum(item.trusted for item in files), 'file')} of {', '.join(trusted)}")
    else:
        say("trusted    nothing: no code is compared with yours until codeguard index PATH… --trust PATH")
    functions = sum(len(item.convicted) for item in convicted)
    if known:
        say(
            f"convicted  {counted(functions, 'function')} in {counted(len(convicted), 'file')}"
            + (": codeguard ls --convicted" if convicted else " by the behavior checks")
        )
    elif unfinished.startswith(UNDER_WAY):
        say("convicted  not known yet")
    else:
        say("convicted  not known: the last run was ended early or made repairs; codeguard index finds out")
    say(f"checks     {_checks(level, required)}")
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
        return f"{UNDER_WAY}: {left}"
    return f"the last run was ended early: {left}; codeguard index completes it"


def _refused(workspace: Workspace) -> str:
    """Return why the manifest of the trusted paths is refused, so that every query is, or ""."""
    try:
        workspace.manifest  # noqa: B018
    except (ManifestError, ConfigError) as error:
        return str(error)
    return ""


def _checks(level: str, required: str) -> str:
    """Return whether functions of unknown origin were run, and how confined."""
    from codeguard.reports.styled import level_line

    if not level:
        return "no function has been run yet"
    line = level_line(level, required)
    return (
        line if "BELOW" in line else f"functions of unknown origin were run in the sandbox at level {level}"
    )


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--trusted", is_flag=True, help="Only what is trusted.")
@click.option("--convicted", is_flag=True, help="Only files with convicted functions.")
@STORE
@FORMAT
@click.pass_context
@guarded
def ls(
    context: click.Context,
    paths: tuple[str, ...],
    trusted: bool,
    convicted: bool,
    store: str | None,
    format_: str,
) -> None:
    """List the indexed files, or only those in PATHS (as the index names them)."""
    from codeguard.index.contents import compared, indexed_files
    from codeguard.reports.styled import Styled, line

    with opened_index(context, store) as workspace:
        listed = indexed_files(workspace, [path.rstrip("/").removeprefix("./") for path in paths])
        files = [
            item
            for item in compared(workspace, listed)
            if (item.trusted or not trusted) and (item.convicted or not convicted)
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
        mark = Styled("changed ", "bad") if item.changed else Styled("        ")
        if item.trusted:
            mark = Styled("trusted ", "good")
        wrong = Styled(f"  convicted: {', '.join(item.convicted)}", "bad") if item.convicted else ""
        lines.append(
            line(mark, Styled(f"{item.size:>9}  ", "faint"), Styled(item.path, "place", item.path, 1), wrong)
        )
    say_lines(lines)


@click.command()
@STORE
@FORMAT
@click.pass_context
@guarded
def diff(context: click.Context, store: str | None, format_: str) -> None:
    """Show what has changed on disk since the last index: new (+), changed (~) and deleted (-) files.

    Files are compared by content; one that is not trusted is not read if its times, size and inode are those of
    before. The index is not changed.
    """
    from codeguard.index.contents import changes
    from codeguard.reports.styled import Styled, line

    with opened_index(context, store) as workspace:
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
@click.pass_context
@guarded
def rm(context: click.Context, paths: tuple[Path, ...], store: str | None) -> None:
    """Remove files, and everything below folders, from the index. The files themselves stay.

    A later `index` of a parent folder adds them again if they still exist: exclude them with --exclude.
    """
    from codeguard.index.contents import remove
    from codeguard.reports.styled import counted

    with opened_index(context, store) as workspace:
        gone = remove(workspace, paths)
    for name in gone[:SHOWN]:
        say(f"- {name}")
    if len(gone) > SHOWN:
        say(f"  … and {len(gone) - SHOWN} more")
    say(f"out of the index: {counted(len(gone), 'file')}")
