"""`codeguard completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from codeguard.cli.output import guarded
from codeguard.errors import ConfigError


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@guarded
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: eval "$(codeguard completion bash)"
    zsh:  eval "$(codeguard completion zsh)"
    fish: codeguard completion fish | source
    """
    from codeguard.cli import main

    kind = get_completion_class(shell)
    if kind is None:
        raise ConfigError("shell", got=shell, expected="bash, zsh or fish")
    click.echo(kind(main, {}, "codeguard", "_CODEGUARD_COMPLETE").source())
