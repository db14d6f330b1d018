"""The table of evasions: trusted functions, honest texts of the same, and candidates that mean to be taken for them."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Function:
    """A trusted function's source, and an honest second text of it."""

    name: str
    trusted: str
    honest: str


@dataclass(frozen=True, slots=True)
class Case:
    """One evasion: the trusted function, the candidate's module, and the arguments of a call that is wrong.

    The call is wrong after `before` calls with the arguments `earlier`, in a process with `environment`.
    """

    family: str
    label: str
    function: Function
    candidate: str
    shown: tuple[object, ...]
    before: int = 0
    earlier: tuple[object, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """What a test report calls it."""
        return f"{self.family}: {self.label}"


def _case(row: Mapping[str, Any]) -> Case:
    arguments = {name: ast.literal_eval(row[name]) for name in ("shown", "earlier") if name in row}
    return Case(**{**row, **arguments, "function": FUNCTIONS[row["function"]]})


_TABLE = tomllib.loads((Path(__file__).parent / "evasions.toml").read_text("utf-8"))
FUNCTIONS = {name: Function(name, **row) for name, row in _TABLE["function"].items()}
CASES: tuple[Case, ...] = tuple(_case(row) for row in _TABLE["case"])
