"""`codeguard learn`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codeguard.cli.options import BUDGET, FORMAT, store_option
from codeguard.cli.output import Progress, guarded, read_settings, say, say_json, warn
from codeguard.errors import ConfigError, CorpusError, NoIndexError, NothingToDoError, SandboxError

if TYPE_CHECKING:
    from codeguard.behavior.learning.learn import Learned
    from codeguard.config import Settings

UNCONFINED = "runs unconfined, as it does without codeguard; calls of trusted functions are recorded"
LEFT_OUT = (
    ("left_out_unrepeatable", "call", "left out: {}, which the sandbox did not see the same again"),
    ("unfinished", "function", "not finished within --budget: {}, nothing new is kept of them"),
    ("left_out_private", "call", "left out: {} with what looks private, or a path of this machine"),
    ("stale_calls", "call", "of functions that are gone: {} of before"),
)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--trust",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder or file whose functions are recorded. Repeatable.  [default: the index's trusted paths]",
)
@store_option("Folder of the index whose trusted paths count.")
@click.option(
    "--accept-failures", is_flag=True, help="Learn although the command fails; its exit code stays."
)
@click.option(
    "--cases", type=click.IntRange(1, 48), default=16, show_default=True, help="Most calls of one function."
)
@FORMAT
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@BUDGET
@click.pass_context
@guarded
def learn(
    context: click.Context,
    trust: tuple[Path, ...],
    store: str | None,
    accept_failures: bool,
    cases: int,
    format_: str,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND, your own tests, and keep calls of trusted functions as evidence.

    \b
    codeguard learn --trust src -- pytest
    codeguard learn --trust src -- python -m unittest

    The calls are written to codeguard.learned.toml in each trusted folder: commit it, and index, check and
    audit read it like doctests. The exit code is the command's own.
    """
    from codeguard.behavior.learning.learn import Learner, grouped, read_tree
    from codeguard.behavior.learning.recording import record
    from codeguard.behavior.learning.samples import Privacy
    from codeguard.sandbox import Level, Sandbox, read_given
    from codeguard.trust.local import write_atomically

    settings = read_settings(context, store=store)
    trees = [read_tree(path) for path in _trusted(trust, settings)]
    if not any(file.language == "python" for tree in trees for file in tree.files):
        raise NothingToDoError("no Python file under the trusted paths", hint="say where they are: --trust")
    for tree in trees:
        tree.recorded()  # report files that cannot be extended before running the tests
    required = Level[settings.defense.required_level]
    workers, given = settings.jobs or os.cpu_count() or 1, read_given(settings.defense.modules)
    with contextlib.closing(Sandbox(required, workers=workers, given=given)) as sandbox:
        if sandbox.level < required:
            raise SandboxError(
                "what is recorded is run again in the sandbox",
                got=sandbox.level.name,
                expected=required.name,
                hint="see: codeguard doctor",
            )
        warn(f"{command[0]} {UNCONFINED}")
        recording = record(command, [tree.folder for tree in trees])
        if recording.exit_code and not accept_failures:
            warn(f"the command ended with {recording.exit_code}: nothing is learned; see --accept-failures")
            sys.exit(recording.exit_code)
        if recording.cut:
            warn("the recording was cut: the command sent more than is read")
        places = [Path.cwd(), *(tree.folder.resolve() for tree in trees)]
        privacy, seconds = Privacy(os.environ, places), settings.defense.budget_s
        learner = Learner(sandbox, privacy, most=cases, seconds=seconds)
        learned = []
        for tree, samples in zip(trees, grouped(recording.lines, trees), strict=True):
            found = learner.learn(tree, samples, Progress())
            if found.text:
                write_atomically(found.path, found.text.encode("utf-8"))
            learned.append(found)
    _report(learned, format_)
    sys.exit(recording.exit_code)


def _trusted(given: Sequence[Path], settings: Settings) -> list[Path]:
    """Return the trusted paths: those given, else the index's, else the configuration's."""
    paths = list(given)
    if not paths:
        from codeguard.index.workspace import Workspace

        with contextlib.suppress(NoIndexError), contextlib.closing(Workspace(settings)) as workspace:
            paths = [Path(item.path) for item in workspace.trusted_paths if item.trusted]
    if not paths:
        raise ConfigError(
            "no trusted path",
            got="none",
            expected="the folder of your own code",
            hint="give --trust PATH, before the command",
        )
    for path in paths:
        if not path.exists():
            raise CorpusError(f"no such path: {path}", hint="check the path")
    return paths


def _report(learned: Sequence[Learned], format_: str) -> None:
    rows = [asdict(item) | {"path": str(item.path)} for item in learned]
    if format_ == "json":
        shown = [{key: value for key, value in row.items() if key != "text"} for row in rows]
        say_json({"schema": "codeguard.learn/1", "learned": shown})
        return
    from codeguard.reports.styled import counted

    for item, row in zip(learned, rows, strict=True):
        if not item.called:
            say(f"{item.path.parent}: none of its {item.functions} functions was called by the command")
            warn("did it run an installed copy? Run it on the trusted folder: PYTHONPATH, or pip install -e")
            continue
        before, after = item.with_evidence_before, item.with_evidence
        gained = counted(after - before, "function")
        say(f"{item.path}: {gained} gained evidence: {after} of {item.functions} have it, {before} had")
        called, calls = counted(item.called, "function"), counted(item.calls, "call")
        say(f"  called: {called}; kept: {calls}, {item.new_calls} of them new")
        for key, noun, line in LEFT_OUT:
            if row[key]:
                say(f"  {line.format(counted(row[key], noun))}")
