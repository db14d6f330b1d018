"""The labels of the experiments: which function of which file is poison, and what it claims to be.

Only the experiments read them: the evaluator gets them as an argument, no
signal ever does.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LABELS = Path(__file__).with_name("labels.json")
BY_HAND: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("functions.toml").read_text("utf-8")
)
SCHEMA = "codeguard.labels/1"


@dataclass(frozen=True, slots=True)
class FunctionLabel:
    """One function of one file.

    `path` is relative to the corpus root, with `/`. `origin` is trusted,
    clean or poison: the kind of file it stands in. `poisoned` says whether
    this very function is. `target` is the trusted function that it
    implements or claims to be, empty for none. For poison: `attack` and
    `variant` name what made it; `shown` says what shows it (example, input,
    trigger, effect; unverified where nothing could be run) and `share` on
    which part of the known calls; `call`, `expected` and `got` are one
    witness.
    """

    path: str
    symbol: str
    start_line: int
    end_line: int
    origin: str
    poisoned: bool
    target: str = ""
    attack: str = ""
    variant: str = ""
    shown: str = ""
    share: float = 0.0
    call: str = ""
    expected: str = ""
    got: str = ""
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a set of files."""

    functions: tuple[FunctionLabel, ...]


def write_labels(path: Path, functions: Iterable[FunctionLabel]) -> None:
    """Write labels as JSON, sorted, one function a line; values at their default are left out."""
    rows = sorted(functions, key=lambda label: (label.path, label.start_line, label.symbol))
    lines = ",\n".join(f"  {json.dumps(_compact(row), ensure_ascii=False)}" for row in rows)
    path.write_text(f'{{"schema": "{SCHEMA}", "functions": [\n{lines}\n]}}\n', encoding="utf-8")


def read_labels(path: Path = LABELS) -> Labels:
    """Read labels; ValueError where the file is of another schema."""
    value = json.loads(path.read_text(encoding="utf-8"))
    if value.get("schema") != SCHEMA:
        raise ValueError(f"labels of schema {value.get('schema')!r}, expected {SCHEMA!r}")
    return Labels(tuple(FunctionLabel(**row) for row in value["functions"]))


def _compact(label: FunctionLabel) -> dict[str, Any]:
    kept = ("path", "symbol", "start_line", "end_line", "origin", "poisoned")
    default = FunctionLabel("", "", 0, 0, "", False)
    return {
        key: value for key, value in asdict(label).items() if key in kept or value != getattr(default, key)
    }
