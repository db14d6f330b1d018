"""The command line. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import importlib

import click

from codeguard import __version__

# Name of a command -> its module and attribute, and one line for `--help`, so that asking for help
# loads no command.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "index": ("codeguard.cli.index", "index", "Bring an index up to date with paths of code."),
    "query": ("codeguard.cli.query", "query", "Ask the index, defended."),
    "audit": ("codeguard.cli.audit", "audit", "Look for what is wrong in code, without an index."),
    "check": ("codeguard.cli.check", "check", "Run the behavior checker on a file."),
    "trust": ("codeguard.cli.trust", "trust", "Build, sign, verify and show manifests of trusted code."),
    "store": ("codeguard.cli.store", "store", "Look after an index: show, verify, compact, export it."),
    "text": ("codeguard.cli.text", "text", "Defenses for text corpora."),
    "doctor": (
        "codeguard.cli.doctor",
        "doctor",
        "Show what works here: sandbox layers, embedding, store, versions.",
    ),
    "signals": ("codeguard.cli.signals", "signals", "List the registered signals with their weights."),
    "rules": ("codeguard.cli.rules", "rules", "List every rule that an audit may name."),
    "explain": ("codeguard.cli.explain", "explain", "Explain one rule with a bad and a good example."),
    "accept": ("codeguard.cli.accept", "accept", "Overrule what is said of a chunk's text, by its digest."),
    "mcp": ("codeguard.cli.mcp", "mcp", "Serve the index to an assistant (Model Context Protocol)."),
    "completion": ("codeguard.cli.completion", "completion", "Print the completion script of a shell."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="codeguard")
@click.option(
    "--config",
    type=click.Path(dir_okay=False),
    help="Configuration file (TOML) instead of the user's own.",
)
def main(config: str | None) -> None:
    """Defend code retrieval against poisoned corpora.

    Exit codes: 0 fine, 1 findings, 2 usage or error, 3 nothing to do under the given paths.
    """
