"""Insecure code by CWE: one file a family of rules, found by looking.

A module of this package takes part by defining `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from codeguard.reading import Reading
from codeguard.signals.base import Context, Rule, Sighting
from codeguard.signals.insecure.engine import Engine, load_checks

_ENGINE = Engine(load_checks(__name__, __path__))


class InsecureSignal:
    """Calls and constructions that make code attackable, and strangers' values that reach them."""

    name: ClassVar[str] = "insecure"
    summary: ClassVar[str] = "insecure code, by CWE, with data flow inside the file"
    rules: ClassVar[tuple[Rule, ...]] = tuple(check.rule for check in _ENGINE.checks)
    needs: ClassVar[frozenset[str]] = frozenset()

    def inspect(self, reading: Reading, context: Context) -> Iterable[Sighting]:
        """Yield what the rules find in a Python file, in the order of the text."""
        known = reading.shared.get(self.name)
        if not isinstance(known, tuple):
            known = reading.shared[self.name] = tuple(_ENGINE.inspect(reading))
        return known


SIGNAL = InsecureSignal()
