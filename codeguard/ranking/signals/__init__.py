"""Signals that examine a retrieved chunk: its origin, distance, behavior and text.

Chunks come in with their file, trust and distance, evidence goes out. Each module that defines `SIGNAL` is one.
"""

from __future__ import annotations

import difflib

from codeguard.analysis import rules
from codeguard.analysis.rules import FileSignal, registered
from codeguard.config import DefenseConfig
from codeguard.errors import ConfigError
from codeguard.ranking.signals.base import Moment, Signal, Subject
from codeguard.weights import DEFAULTS

__all__ = ["AnySignal", "Moment", "Signal", "Subject", "load_all", "load_signals", "refuse_unknown"]

AnySignal = Signal | FileSignal


def load_signals() -> tuple[Signal, ...]:
    """Return the registered signals that examine chunks; see `codeguard.analysis.rules.registered`."""
    return tuple(item for item in load_all() if isinstance(item, Signal))


def load_all() -> tuple[AnySignal, ...]:
    """Return every registered signal; see `codeguard.analysis.rules.registered`."""
    return tuple(registered([rules.__name__, __name__], Signal, FileSignal))


def refuse_unknown(config: DefenseConfig) -> None:
    """Raise ConfigError if a configuration names an unknown signal or rule, which would have no effect."""
    if not config.disabled_signals and not config.weights.overrides:
        return
    signals = load_all()
    rules_there = {f"{signal.name}.{rule.id}" for signal in signals for rule in signal.rules}
    for what, names, known in (
        ("disabled_signals", config.disabled_signals, {signal.name for signal in signals}),
        ("weights", config.weights.overrides, rules_there | set(DEFAULTS)),
    ):
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=3)
                raise ConfigError(
                    f"{what} of the configuration",
                    got=repr(name),
                    expected=" or ".join(near) or "the name of a signal or of its rule",
                    hint="docs/reference.md lists them",
                )
