"""`codeguard accept`."""

from __future__ import annotations

import click

from codeguard.cli.options import FORMAT, store_option
from codeguard.cli.output import guarded, read_settings, say, say_json


@click.command()
@click.argument("digest")
@click.option("--reason", required=True, help="Why; shown wherever the text is met from now on.")
@click.option("--by", metavar="NAME", help="Who.  [default: the name of your account]")
@store_option("Folder of the index whose state keeps it.")
@FORMAT
@click.pass_context
@guarded
def accept(
    context: click.Context, digest: str, reason: str, by: str | None, store: str | None, format_: str
) -> None:
    """Overrule the findings about a chunk's text, given its DIGEST (sha256, as audit and query show it).

    The decision is stored in the state directory with name and date, and always shown from then on. A changed
    text has another digest and is evaluated anew.
    """
    from dataclasses import asdict

    from codeguard.trust.acceptances import accept as keep

    settings = read_settings(context, store=store)
    entry = keep(settings.state, digest.lower(), reason, by=by)
    if format_ == "json":
        say_json({"schema": "codeguard.accept/1", **asdict(entry)})
    else:
        say(f"{entry.digest} {entry.say()}")
