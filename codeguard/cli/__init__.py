"""The command line: the only package that prints or exits.

Heavy modules are imported by the commands that need them.
"""

from __future__ import annotations

import atexit
import difflib
import gc
import importlib
import os
from typing import Any

import click

from codeguard import __version__
from codeguard.cli.output import STARTED_IN, fail_for_import, in_one_line
from codeguard.escaping import escaped

# Command name -> one line for `--help`, so that help imports no command. Each command is an attribute of the
# module of the same name, or of the module named below.
COMMANDS: dict[str, str] = {
    "init": "Propose what is your own in this folder, and write it down once you confirm.",
    "setup": "Connect an assistant: write its configuration.",
    "index": "Bring an index up to date with paths of code.",
    "query": "Ask the index, defended.",
    "status": "Show in a few lines what is indexed, trusted, convicted, changed.",
    "ls": "List the indexed files.",
    "diff": "Show what has changed on the disk since the last index.",
    "rm": "Take files out of the index.",
    "audit": "Look for what is wrong in code, without an index.",
    "check": "Run the behavior checker on a file.",
    "trust": "Build, sign, verify and show manifests of trusted code.",
    "store": "Look after an index: verify what it holds.",
    "text": "Defenses for text corpora.",
    "doctor": "Show what works here: sandbox layers, embedding, store, versions.",
    "rules": "List every rule that an audit may name.",
    "explain": "Explain one rule with a bad and a good example.",
    "accept": "Overrule what is said of a chunk's text, by its digest.",
    "config": "Show the configuration in force.",
    "serve": "Show the index as a web site on this machine.",
    "mcp": "Serve the index to an assistant (Model Context Protocol).",
    "hook": "Audit what an assistant is about to read, for its client.",
}
# Matrices are small here: numpy takes up to four times as long with two threads, which wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# The process frees everything at its end anyway; without this it would run a full garbage collection first.
atexit.register(gc.freeze)
_TOGETHER = {"audit": "check", "config": "init", "rules": "explain accept", "serve": "mcp", "setup": "hook"}
_TOGETHER["status"] = "ls diff rm store"
MODULES = {command: module for module, commands in _TOGETHER.items() for command in commands.split()}


class LazyGroup(click.Group):
    """A group that imports its commands when they are run."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the options before the command."""
        with in_one_line(lambda: " ".join(args[:1])):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse the command's own arguments and run it."""
        with in_one_line(lambda: ctx.invoked_subcommand):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(f"{__name__}.{MODULES.get(cmd_name, cmd_name)}")
        except ImportError as error:
            fail_for_import(cmd_name, error)
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest commands with a name similar to the unknown one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=3)
            meant = f" (did you mean {' or '.join(near)}?)" if near else ""
            raise click.UsageError(f"no such command {escaped(args[0])!r}{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _run_in(context: click.Context, option: click.Parameter, folder: str | None) -> None:
    """Change to a folder, and keep the one before."""
    if folder is not None:
        context.meta[STARTED_IN] = os.getcwd()  # noqa: PTH109
        os.chdir(folder)


@click.group("codeguard", cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="codeguard")
@click.option(
    "-C",
    "folder",
    type=click.Path(exists=True, file_okay=False),
    is_eager=True,
    expose_value=False,
    callback=_run_in,
    help="Run as if started in this folder.",
)
@click.option(
    "--config",
    type=click.Path(dir_okay=False),
    help="Configuration file (TOML) instead of the user's own.",
)
def main(config: str | None) -> None:
    """Defend code retrieval against poisoned corpora.

    Exit codes: 0 fine, 1 findings, 2 usage or error, 3 nothing to do under the given paths.
    """
