"""Which standard modules the code can import, and attributes it may use, from `allowed.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_COMPUTING: list[str] = _LISTS["computing"].split()
_SYSTEM = [name for names in _LISTS["system"].values() for name in names.split()]

OPEN_DUNDERS = frozenset(f"__{name}__" for name in _LISTS["open_dunders"].split())
# of what a facade shows nothing but some names: them
CHOSEN: dict[str, list[str]] = {module: names.split() for module, names in _LISTS["chosen"].items()}
NUMERIC: tuple[str, ...] = tuple(_LISTS["numeric"].split())
CORE: tuple[str, ...] = tuple(_LISTS["core"].split())
given: set[str] = set()  # top-level names of what the user lets the native tier import as well
COMPUTING: frozenset[str] = frozenset(_COMPUTING)
SYSTEM: frozenset[str] = frozenset(_SYSTEM) - COMPUTING - frozenset(CHOSEN)
ALL: tuple[str, ...] = (
    *_COMPUTING, *_SYSTEM, *(f"encodings.{encoding}" for encoding in _LISTS["encodings"].split()),
)  # fmt: skip


def withheld(name: str) -> bool:
    """Return whether a module is there for the native tier alone."""
    return name in SYSTEM or name.partition(".")[0] in SYSTEM | given | {NUMERIC[0]}
