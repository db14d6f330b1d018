"""First inputs with related arguments: a sorted list and an item, lists of one length, a graph and
a node.

`discovery` combines values without regard to each other, and a binary search, a matrix product or a
shortest path rejects most of those. The groups are defined in `related.toml`.
"""

from __future__ import annotations

import ast
import itertools
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from codeguard.behavior.inputs.pools import Arguments
from codeguard.behavior.inputs.preconditions import excluded_by
from codeguard.behavior.source.definitions import Definition, Parameter

Row = tuple[object, ...]


def related_guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls to try, in every order of arguments that the type hints allow."""
    needed = [parameter for parameter in definition.parameters if parameter.required]
    if any(parameter.kind != "positional" for parameter in needed):
        return
    for order in itertools.permutations(range(len(needed))):
        for group in _groups().get(len(needed), ()):
            rows = [tuple(row[place] for place in order) for row in group]
            if all(_admitted(needed, row) for row in rows):
                yield [(row, {}) for row in rows]


def _admitted(parameters: list[Parameter], row: Row) -> bool:
    pairs = zip(parameters, row, strict=True)
    return not any(excluded_by(parameter.annotation, value) for parameter, value in pairs)


@cache
def _groups() -> dict[int, list[list[Row]]]:
    """Return the groups by the number of arguments."""
    found: dict[int, list[list[Row]]] = {}
    for group in tomllib.loads(Path(__file__).with_name("related.toml").read_text("utf-8"))["group"]:
        rows = [ast.literal_eval(f"({text})") for text in group["calls"]]
        found.setdefault(len(rows[0]), []).append(rows)
    return found
