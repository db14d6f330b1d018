"""Insecure code by CWE, one module per family of rules; modules are registered automatically.

A module of this package registers its rules by defining `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from codeguard.analysis import Reading
from codeguard.analysis.python.test_files import is_test_file
from codeguard.analysis.rules.base import IN_TEST, DetectorContext, Match, Rule
from codeguard.analysis.rules.insecure.engine import RuleIndex, load_checks

_ENGINE = RuleIndex(load_checks(__name__, __path__))


class InsecureSignal:
    """Dangerous calls and constructions, and untrusted values that reach them."""

    name: ClassVar[str] = "insecure"
    summary: ClassVar[str] = "insecure code, by CWE, with data flow inside the file"
    rules: ClassVar[tuple[Rule, ...]] = tuple(check.rule for check in _ENGINE.checks)
    needs: ClassVar[frozenset[str]] = frozenset()

    def inspect(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        """Yield the matches in a Python file, in the order of the text."""
        known = reading.shared.get(self.name)
        if not isinstance(known, tuple):
            known = reading.shared[self.name] = tuple(_inspected(reading))
        return known


def _inspected(reading: Reading) -> Iterator[Match]:
    """Yield the matches; in test files each is marked as such and keeps its severity for the ranking."""
    found = list(_ENGINE.inspect(reading))
    in_test = bool(found) and is_test_file(reading)
    for match in found:
        yield replace(match, measurements={**match.measurements, IN_TEST: True}) if in_test else match


SIGNAL = InsecureSignal()
