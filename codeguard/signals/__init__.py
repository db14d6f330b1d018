"""One file a signal, found by looking: the modules of this package, then third parties' entry points.

A module of this package takes part by defining `SIGNAL`: a `Signal`, a
`FileSignal` or a `CorpusSignal`. Another package takes part with an entry
point of the group `codeguard.signals` that names such an object.
"""

from __future__ import annotations

import importlib
import pkgutil

from codeguard.errors import ConfigError
from codeguard.signals.base import (
    Context,
    CorpusSignal,
    FileSignal,
    Moment,
    Rule,
    Sighting,
    Signal,
    Subject,
)
from codeguard.signals.installed import may_be_installed

__all__ = [
    "ENTRY_POINT_GROUP",
    "AnySignal",
    "Context",
    "CorpusSignal",
    "FileSignal",
    "Moment",
    "Rule",
    "Sighting",
    "Signal",
    "Subject",
    "load_all",
    "load_corpus_signals",
    "load_file_signals",
    "load_signals",
]

ENTRY_POINT_GROUP = "codeguard.signals"
AnySignal = Signal | FileSignal | CorpusSignal


def load_signals(*, third_party: bool = True) -> tuple[Signal, ...]:
    """Return the registered signals that examine chunks; see `load_all`."""
    return tuple(item for item in load_all(third_party=third_party) if isinstance(item, Signal))


def load_file_signals(*, third_party: bool = True) -> tuple[FileSignal, ...]:
    """Return the registered signals that inspect files; see `load_all`."""
    return tuple(item for item in load_all(third_party=third_party) if isinstance(item, FileSignal))


def load_corpus_signals(*, third_party: bool = True) -> tuple[CorpusSignal, ...]:
    """Return the registered signals that inspect the whole corpus; see `load_all`."""
    return tuple(item for item in load_all(third_party=third_party) if isinstance(item, CorpusSignal))


def load_all(*, third_party: bool = True) -> tuple[AnySignal, ...]:
    """Return every registered signal, ours first, sorted by name.

    Raises:
        ConfigError: a third party's signal cannot be loaded or does not have a signal's shape,
            or two signals share a name.
    """
    found: list[AnySignal] = [
        signal
        for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name)
        if isinstance(
            signal := getattr(importlib.import_module(f"{__name__}.{info.name}"), "SIGNAL", None), AnySignal
        )
    ]
    if third_party:
        found += _third_party()
    names = [signal.name for signal in found]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ConfigError(f"two signals are named {doubled[0]!r}", hint="uninstall one of the packages")
    return tuple(found)


def _third_party() -> list[AnySignal]:
    if not may_be_installed(ENTRY_POINT_GROUP):
        return []
    from importlib.metadata import entry_points

    found: list[AnySignal] = []
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        try:
            signal = point.load()
        except Exception as error:  # a third party's import may raise anything
            raise ConfigError(
                f"signal {point.name!r} ({point.value}) cannot be loaded: {error!r}",
                hint="uninstall its package or mend it",
            ) from error
        if not isinstance(signal, AnySignal):
            raise ConfigError(
                f"signal {point.name!r} ({point.value})",
                got=type(signal).__name__,
                expected="an object with name, summary, needs, rules, and examine, inspect or inspect_corpus",
            )
        found.append(signal)
    return found
