"""`codeguard query`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import click

from codeguard.cli.output import guarded, read_settings, say_block, say_json, warn
from codeguard.errors import ConfigError

QUERIES_AT_ONCE = 32


@click.command()
@click.argument("text", required=False)
@click.option("-k", type=int, default=5, show_default=True, help="How many results, one a file.")
@click.option("--store", help="Folder, or http(s)://host:port of a Chroma server.  [default: .codeguard]")
@click.option("--mode", type=click.Choice(["rerank", "drop"]), help="What happens to the convicted.")
@click.option(
    "--order", type=click.Choice(["score", "penalty"]), help="Distance and penalty, or penalty alone."
)
@click.option("--no-defense", is_flag=True, help="Rank by retrieval alone, for comparison.")
@click.option(
    "--explain", is_flag=True, help="Before and after, every penalty with its reason, sums by file."
)
@click.option(
    "--batch", type=click.File("r", encoding="utf-8", errors="replace"), help="One query a line; - is stdin."
)
@click.option("--embedding", help="The embedding the index was made with.  [default: as remembered]")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
@guarded
def query(
    context: click.Context,
    text: str | None,
    k: int,
    store: str | None,
    mode: str | None,
    order: str | None,
    no_defense: bool,
    explain: bool,
    batch: IO[str] | None,
    embedding: str | None,
    format_: str,
) -> None:
    """Ask the index for code that answers TEXT.

    With --batch, writes one JSON object a line, for every line that is not empty.
    """
    from codeguard.formats.ranking import explanation_text, ranking_text
    from codeguard.guard import CodeGuard

    if (text is None) == (batch is None):
        raise ConfigError("query", got="both" if batch else "neither", expected="either TEXT or --batch FILE")
    settings = read_settings(context, store=store, embedding=embedding)
    with CodeGuard.open(settings=settings, create=False) as guard:
        if batch is not None:
            for group in _groups(batch):
                for ranking in guard.query_many(group, k, mode=mode, order=order, defense=not no_defense):
                    say_json(ranking.to_json())
            return
        assert text is not None
        ranking = guard.query(text, k, mode=mode, order=order, defense=not no_defense)
    if format_ == "json":
        say_json(ranking.to_json())
        return
    for line in ranking.warnings:
        warn(line)
    say_block(explanation_text(ranking) if explain else ranking_text(ranking))


def _groups(lines: IO[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for line in lines:
        if line.strip():
            group.append(line.strip())
        if len(group) == QUERIES_AT_ONCE:
            yield group
            group = []
    if group:
        yield group
