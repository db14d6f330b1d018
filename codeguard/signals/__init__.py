"""One file a signal, found by looking: the modules of this package, then third parties' entry points.

A module of this package takes part by defining `SIGNAL`. Another package
takes part with an entry point of the group `codeguard.signals` that names
such an object.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points

from codeguard.errors import ConfigError
from codeguard.signals.base import Context, Moment, Rule, Signal, Subject

__all__ = ["ENTRY_POINT_GROUP", "Context", "Moment", "Rule", "Signal", "Subject", "load_signals"]

ENTRY_POINT_GROUP = "codeguard.signals"


def load_signals(*, third_party: bool = True) -> tuple[Signal, ...]:
    """Return every registered signal, ours first, sorted by name.

    Raises:
        ConfigError: a third party's signal cannot be loaded or does not have a signal's shape,
            or two signals share a name.
    """
    found = [
        signal
        for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name)
        if isinstance(
            signal := getattr(importlib.import_module(f"{__name__}.{info.name}"), "SIGNAL", None), Signal
        )
    ]
    if third_party:
        found += _third_party()
    names = [signal.name for signal in found]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ConfigError(f"two signals are named {doubled[0]!r}", hint="uninstall one of the packages")
    return tuple(found)


def _third_party() -> list[Signal]:
    found: list[Signal] = []
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        try:
            signal = point.load()
        except Exception as error:  # a third party's import may raise anything
            raise ConfigError(
                f"signal {point.name!r} ({point.value}) cannot be loaded: {error!r}",
                hint="uninstall its package or mend it",
            ) from error
        if not isinstance(signal, Signal):
            raise ConfigError(
                f"signal {point.name!r} ({point.value})",
                got=type(signal).__name__,
                expected="an object with name, summary, moment, needs, rules and examine",
            )
        found.append(signal)
    return found
