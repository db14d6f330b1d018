"""Insecure code by CWE: every rule is a table in a TOML file of this folder, found by the engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from codeguard.analysis import Reading
from codeguard.analysis.python.test_files import marked
from codeguard.analysis.rules.base import DetectorContext, Match, Rule
from codeguard.analysis.rules.insecure.engine import RuleIndex, load_checks

_ENGINE = RuleIndex(load_checks(__path__))


class InsecureSignal:
    """Dangerous calls and constructions, and untrusted values that reach them."""

    name: ClassVar[str] = "insecure"
    summary: ClassVar[str] = "insecure code, by CWE, with data flow inside the file"
    rules: ClassVar[tuple[Rule, ...]] = tuple(check.rule for check in _ENGINE.checks)
    needs: ClassVar[frozenset[str]] = frozenset()

    def inspect(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        """Yield the matches in a Python file, in the order of the text."""
        known = reading.shared.get(self.name)
        if isinstance(known, list):
            yield from known
            return
        found: list[Match] = []
        reading.shared[self.name] = found
        for match in _ENGINE.inspect(reading):
            found.append(marked(reading, match))
            yield found[-1]


SIGNAL = InsecureSignal()
