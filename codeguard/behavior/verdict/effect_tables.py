"""Names in the standard library and in well-known packages that have effects, with their kinds.

The names are in `effect_tables.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NETWORK, PROCESS, FILES, ENVIRONMENT = "network", "process", "files", "environment"
CODE, NATIVE, ESCAPE = "dynamic code", "native code", "interpreter internals"
CLOCK, CHANCE, EVALUATION, THREADS, EXIT = "clock", "randomness", "eval", "threads", "exit"

CONVICTING = frozenset({NETWORK, PROCESS, FILES, ENVIRONMENT, CODE, NATIVE, ESCAPE})
"""Effects that convict if the trusted function lacks them; honest implementations differ in the others."""

OUTWARD = frozenset({NETWORK, PROCESS, FILES})
"""Effects that are the purpose of a function that has them: code without any cannot do what it does."""

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _kinds(rows: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Turn kinds with their names into a mapping from names to kinds."""
    return {prefix + name: kind for kind, names in rows.items() for name in names.split()}


MODULES: Mapping[str, str] = _kinds(_TABLES["modules"])
"""Modules whose import makes an effect possible."""

_MEMBERS = {**_TABLES["members"], "posix": _TABLES["members"]["os"]}  # `os` is made of it
MEMBERS: Mapping[str, str] = {
    name: kind
    for module, rows in _MEMBERS.items()
    for name, kind in _kinds(rows, "" if module == "dotted" else f"{module}.").items()
}
"""Dotted names whose use makes an effect possible."""

INTERNALS = frozenset(_TABLES["internals"].split())
"""Attributes that lead from any object to everything else."""

OBSERVED: Mapping[str, str] = _kinds(_TABLES["observed"])
"""The sandbox's own names for what it observed."""

LOOKING = frozenset({"environ", "env"})
"""Of these, reading the environment without changing it."""
