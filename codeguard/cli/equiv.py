"""`codeguard equiv`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codeguard.cli.options import BUDGET, FORMAT
from codeguard.cli.output import EXIT_FINDINGS, EXIT_NOTHING, guarded, read_settings, say, say_json
from codeguard.errors import ConfigError

if TYPE_CHECKING:
    from codeguard.behavior.equivalence import Equivalence

SHOWN = 5  # unreached places per function


@click.command()
@click.argument("first", metavar="FILE::FUNCTION")
@click.argument("second", metavar="FILE::FUNCTION")
@click.option(
    "--learned",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A codeguard.learned.toml whose calls are tried as well. Repeatable.",
)
@FORMAT
@BUDGET
@click.pass_context
@guarded
def equiv(context: click.Context, first: str, second: str, learned: tuple[Path, ...], format_: str) -> None:
    """Compare two functions by running both on the same calls, in the sandbox.

    \b
    codeguard equiv old.py::parse new.py::parse

    Exit code 0: the same on everything tried, 1: they differ, 3: unknown.
    """
    from codeguard.audit.equivalence import compare_files
    from codeguard.behavior.equivalence import EquivalenceResult
    from codeguard.index.sandbox_budget import SandboxBudget

    one, other = _named(first), _named(second)
    settings = read_settings(context)
    budget = SandboxBudget.of(settings.defense)
    found = compare_files(one, other, specs=learned, settings=settings, budget=budget)
    if format_ == "json":
        say_json({**_fields(found, first, second), "budget": asdict(budget.report())})
    else:
        _say(found, first, second)
        say(f"  sandbox: {budget.report()}")
    codes = {
        EquivalenceResult.SAME: 0,
        EquivalenceResult.DIFFERS: EXIT_FINDINGS,
        EquivalenceResult.UNKNOWN: EXIT_NOTHING,
    }
    sys.exit(codes[found.result])


def _named(text: str) -> tuple[Path, str]:
    path, separator, symbol = text.partition("::")
    if not separator or not symbol:
        raise ConfigError("which function?", got=repr(text), expected="FILE::FUNCTION or FILE::Class.method")
    return Path(path), symbol


def _fields(found: Equivalence, first: str, second: str) -> dict[str, object]:
    return {
        "schema": "codeguard.equiv/1",
        "functions": [first, second],
        "result": found.result.value,
        "reason": found.reason,
        "calls": found.calls,
        "compared": found.compared,
        "counterexample": {"call": found.call, "results": [found.first, found.second]}
        if found.first or found.second
        else None,
        "lines_reached": found.reached,
        "lines": found.lines,
        "not_reached": [list(lines) for lines in found.not_reached],
        "sandbox_level": found.level,
    }


def _say(found: Equivalence, first: str, second: str) -> None:
    say(f"{found.result.value}: {found.reason}")
    if found.first or found.second:
        if found.call:
            say(f"  {found.call}")
        width = max(len(first), len(second))
        say(f"    {first:{width}}  {found.first}")
        say(f"    {second:{width}}  {found.second}")
    if found.calls:
        say(f"  {found.calls} calls tried; {found.reached} of {found.lines} lines of both reached")
    for name, lines in zip((first, second), found.not_reached, strict=True):
        for line in lines[:SHOWN]:
            say(f"  not reached in {name}: {line}")
        if len(lines) > SHOWN:
            say(f"  … and {len(lines) - SHOWN} more places in {name}")
