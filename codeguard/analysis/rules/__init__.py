"""Detectors that analyse text, by family; each module with a `SIGNAL` is registered automatically.

In: files as `codeguard.analysis.Reading`. Out: matches, each with a rule and its position. May
import `codeguard.analysis` and the layers below it.

A module of this package registers a `FileSignal` by defining `SIGNAL`.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from typing import Any

from codeguard.analysis.rules.base import DetectorContext as DetectorContext
from codeguard.analysis.rules.base import FileSignal as FileSignal
from codeguard.analysis.rules.base import Match as Match
from codeguard.analysis.rules.base import Rule as Rule


def load_file_signals() -> tuple[FileSignal, ...]:
    """Return the registered signals that inspect files."""
    return tuple(registered([__name__], FileSignal))


def registered(packages: Sequence[str], *shapes: type) -> list[Any]:
    """Return the `SIGNAL` of every module of some packages that has one of the shapes, sorted by name."""
    found = [
        getattr(importlib.import_module(f"{package}.{info.name}"), "SIGNAL", None)
        for package in packages
        for info in pkgutil.iter_modules(sys.modules[package].__path__)
    ]
    return sorted((item for item in found if isinstance(item, shapes)), key=lambda signal: str(signal.name))
