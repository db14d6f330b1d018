"""Detectors that analyse text, by family; each module with a `SIGNAL` is registered automatically.

In: files as `codeguard.analysis.Reading`. Out: matches, each with a rule and its position. May
import `codeguard.analysis` and the layers below it.

A module of this package registers a `FileSignal` or a `CorpusSignal` by defining `SIGNAL`. Other
packages register one with an entry point of the group `codeguard.signals`, or one that examines
chunks (see `codeguard.ranking.signals`).
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from typing import Any

from codeguard.analysis.rules.base import CorpusSignal, DetectorContext, FileSignal, Match, Rule
from codeguard.analysis.rules.installed import may_be_installed
from codeguard.errors import ConfigError

__all__ = [
    "ENTRY_POINT_GROUP",
    "CorpusSignal",
    "DetectorContext",
    "FileSignal",
    "Match",
    "Rule",
    "load_corpus_signals",
    "load_file_signals",
    "registered",
]

ENTRY_POINT_GROUP = "codeguard.signals"


def load_file_signals(*, third_party: bool = True) -> tuple[FileSignal, ...]:
    """Return the registered signals that inspect files; see `registered`."""
    found = registered([__name__], (FileSignal, CorpusSignal), third_party=third_party)
    return tuple(item for item in found if isinstance(item, FileSignal))


def load_corpus_signals() -> tuple[CorpusSignal, ...]:
    """Return the registered signals that inspect the whole corpus; see `registered`."""
    found = registered([__name__], (FileSignal, CorpusSignal))
    return tuple(item for item in found if isinstance(item, CorpusSignal))


def registered(packages: Sequence[str], shapes: tuple[type, ...], *, third_party: bool = True) -> list[Any]:
    """Return the `SIGNAL` of every module of some packages that has one of the shapes, then third-party ones.

    Built-in signals come first; both groups are sorted by name. Third-party signals that only
    examine chunks are left out unless that shape is requested.

    Raises:
        ConfigError: a third-party signal cannot be loaded or does not have a signal's shape, or two
            signals share a name.
    """
    found: list[Any] = [
        signal
        for package in packages
        for info in sorted(pkgutil.iter_modules(sys.modules[package].__path__), key=lambda info: info.name)
        if isinstance(
            signal := getattr(importlib.import_module(f"{package}.{info.name}"), "SIGNAL", None), shapes
        )
    ]
    found.sort(key=lambda signal: str(signal.name))
    if third_party:
        found += _third_party(shapes)
    names = [signal.name for signal in found]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ConfigError(f"two signals are named {doubled[0]!r}", hint="uninstall one of the packages")
    return found


def _third_party(shapes: tuple[type, ...]) -> list[Any]:
    if not may_be_installed(ENTRY_POINT_GROUP):
        return []
    from importlib.metadata import entry_points

    found: list[Any] = []
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        try:
            signal = point.load()
        except Exception as error:  # a third party's import may raise anything
            raise ConfigError(
                f"signal {point.name!r} ({point.value}) cannot be loaded: {error!r}",
                hint="uninstall its package or fix it",
            ) from error
        if isinstance(signal, shapes):
            found.append(signal)
        elif not hasattr(signal, "examine"):
            raise ConfigError(
                f"signal {point.name!r} ({point.value})",
                got=type(signal).__name__,
                expected="an object with name, summary, needs, rules, and examine, inspect or inspect_corpus",
            )
    return found
