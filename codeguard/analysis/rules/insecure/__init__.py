"""Insecure code by CWE: every rule is a table in a TOML file of this folder, found by the engine."""

from __future__ import annotations

from collections.abc import Iterable

from codeguard.analysis import Reading
from codeguard.analysis.python.test_files import marked
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Match
from codeguard.analysis.rules.insecure.engine import RuleIndex, load_checks

_ENGINE = RuleIndex(load_checks(__path__))


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    """Return the matches in a Python file, in the order of the text."""
    return (marked(reading, match) for match in _ENGINE.inspect(reading))


SIGNAL = FileSignal(
    "insecure",
    "insecure code, by CWE, with data flow inside the file",
    tuple(check.rule for check in _ENGINE.checks),
    _inspect,
)
