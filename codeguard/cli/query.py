"""`codeguard query`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

import click

from codeguard.cli.output import (
    BUDGET,
    STORES,
    format_option,
    opened_guards,
    origin,
    say_json,
    say_lines,
    say_report,
    warn,
)
from codeguard.errors import ConfigError

QUERIES_AT_ONCE = 32
EXAMPLE = "for example: codeguard query 'reverse a string'"


@click.command()
@click.argument("text", required=False)
@click.option("-k", type=int, default=5, show_default=True, help="How many results.")
@click.option(
    "--per-file",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many of them may be of one file.",
)
@click.option("--full", is_flag=True, help="All of the code instead of its first lines.")
@STORES
@click.option(
    "--mode",
    type=click.Choice(["rerank", "drop"]),
    help="Convicted results: last (rerank) or left out (drop).",
)
@click.option(
    "--order",
    type=click.Choice(["score", "penalty"]),
    help="Sort by nearness and penalties, or by penalties alone.",
)
@click.option("--no-defense", is_flag=True, help="Rank by retrieval alone, for comparison.")
@click.option(
    "--explain", is_flag=True, help="Before and after, every penalty with its reason, sums by file."
)
@click.option(
    "--batch", type=click.File("r", encoding="utf-8", errors="replace"), help="One query a line; - is stdin."
)
@click.option("--embedding", help="The embedding the index was made with.  [default: as remembered]")
@format_option("html")
@BUDGET
def query(
    text: str | None,
    k: int,
    per_file: int,
    full: bool,
    stores: tuple[str, ...],
    mode: str | None,
    order: str | None,
    no_defense: bool,
    explain: bool,
    batch: IO[str] | None,
    embedding: str | None,
    format_: str,
) -> None:
    """Search the index for code that answers TEXT.

    With --batch, writes one JSON object per line, for every line that is not empty.
    """
    from codeguard.api import query_together
    from codeguard.reports.ranking import ranking_lines

    if (text is None) is (batch is None):
        got = "nothing" if text is None else "TEXT and --batch"
        raise ConfigError("query what?", got=got, expected="TEXT or --batch FILE", hint=EXAMPLE)
    how = {"mode": mode, "order": order, "defense": not no_defense}
    with opened_guards(stores, embedding=embedding) as guards:
        said: set[str] = set()
        if batch is not None:
            for group in _groups(batch):
                for ranking in query_together(guards, group, k, **how):
                    _warn_once(ranking.warnings, said)
                    say_json(ranking.to_json())
            return
        assert text is not None
        (ranking,) = query_together(guards, [text], k, **how)
        required = guards[0].settings.defense.required_level
    _warn_once(ranking.warnings, said)
    if format_ == "json":
        say_json(ranking.to_json())
        return
    if format_ == "html":
        from codeguard.reports.html.ranking import ranking_page

        say_report(ranking_page(ranking, required, **origin()))
        return
    say_lines(ranking_lines(ranking, required, per_file=per_file, full=full, explain=explain))


def _warn_once(lines: Sequence[str], said: set[str]) -> None:
    for line in lines:
        if line not in said:
            said.add(line)
            warn(line)


def _groups(lines: IO[str]) -> Iterator[list[str]]:
    from codeguard.api import LONGEST_QUERY

    group: list[str] = []
    # A longer line is refused, without being read to its end, once what stands before it is answered.
    for number, line in enumerate(iter(lambda: lines.readline(LONGEST_QUERY + 1), ""), 1):
        if len(line.removesuffix("\n")) > LONGEST_QUERY:
            yield group
            got, most = f"more than {LONGEST_QUERY} characters", f"at most {LONGEST_QUERY}"
            raise ConfigError(f"--batch, line {number}", got=got, expected=most)
        if line.strip():
            group.append(line.strip())
        if len(group) == QUERIES_AT_ONCE:
            yield group
            group = []
    if group:
        yield group
