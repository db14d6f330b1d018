"""Well-known packages, which lookalikes are compared with.

The list has the most downloaded names on PyPI and npm, and their import names if these differ.
Being listed proves nothing; it prevents honest similar names (`toml`, `tomli`; `mock`, `nock`) from
being reported as imitations of each other.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def normalised(name: str) -> str:
    """Return a package's name as PyPI compares it: lower case, `-`, `_` and `.` equal (PEP 503)."""
    return name.lower().replace("_", "-").replace(".", "-")


STANDARD_LIBRARY = frozenset(sys.stdlib_module_names) | frozenset(_TABLES["legacy"].split())
"""Top-level modules of Python's standard library, those of older versions among them."""

PYTHON_PACKAGES = frozenset(
    normalised(name) for name in (*_TABLES["pypi"].split(), *_TABLES["imports"].split())
)
"""Well-known distributions of PyPI and the names they are imported by, normalised."""

NPM_PACKAGES = frozenset(_TABLES["npm"].split())
"""Well-known packages of npm."""

NODE_MODULES = frozenset(_TABLES["node"].split())
"""Modules that come with Node.js, and the names of other runtimes' own."""

ORDINARY_NAMES = frozenset(_TABLES["ordinary"].split())
"""Ordinary names one letter away from a well-known one."""

AFFIXES = frozenset(_TABLES["affixes"].split())
"""What imitations add to a well-known name."""
