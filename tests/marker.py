"""A detector for tests that sees the word MARK."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from codeguard.analysis import Reading
from codeguard.analysis.rules import DetectorContext, FileSignal, Match, Rule
from codeguard.models import Confidence, Severity


class Marker(FileSignal):
    """Yields a match at every MARK, with the severity and the confidence that it is given."""

    NAME: ClassVar[str] = "marker"
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("mark", "MARK", Severity.MEDIUM, Confidence.LOW),)

    def __init__(self, severity: Severity | None = None, confidence: Confidence | None = None) -> None:
        super().__init__(self.NAME, "sees MARK", self.RULES, self.marks)
        self.grades = severity, confidence

    def marks(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        start = reading.text.find("MARK")
        while start >= 0:
            yield Match("mark", start, start + 4, "seen", *self.grades)
            start = reading.text.find("MARK", start + 1)
