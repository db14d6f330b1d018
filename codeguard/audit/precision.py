"""The confidence of a finding: how often findings of its rule are right.

The detectors' own certainty says how closely a text matches a rule; the ranking demotes by it. On existing code it
did not tell right findings from false ones. `precision.toml` holds what people who read findings in their files said,
for rules of intent together with what the rules find of attacks at a stated base rate, and how confidence follows from
that; `experiments/benchmarks/audit_precision.py` makes and checks it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from codeguard.analysis.rules.base import LESS_SURE, NEVER_SURE
from codeguard.audit.findings import OF_FACT, Finding
from codeguard.models import Confidence, Severity

TABLE = Path(__file__).with_suffix(".toml")

Counts = Mapping[str, tuple[float, float]]
"""Of each rule how many findings were judged or are expected in attacks, and how many of them are false."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a share of right findings follows from counts, and confidence from a share.

    `prior` is the number of findings that the share of the signal counts as when that of a rule is estimated, and
    the share of all findings when that of a signal is. A signal with fewer than `least` judged findings has no
    measured confidence.
    """

    high: float
    medium: float
    prior: float
    least: float

    def share(self, rule: str, judged: Counts) -> float | None:
        """Return the estimated share of right findings of a rule; None if too few of its signal were judged."""
        signal = rule.partition(".")[0]
        of_signal = [counts for name, counts in judged.items() if name.partition(".")[0] == signal]
        if sum(count for count, _ in of_signal) < self.least:
            return None
        share = 0.0
        for rows, prior in (
            (judged.values(), 0.0),
            (of_signal, self.prior),
            ([judged.get(rule, (0, 0))], self.prior),
        ):
            count, false = (sum(numbers) for numbers in zip(*rows, strict=True))
            share = (count - false + prior * share) / (count + prior)
        return share

    def confidence(self, share: float) -> Confidence:
        """Return the confidence for a share of right findings."""
        if share >= self.high:
            return Confidence.HIGH
        return Confidence.MEDIUM if share >= self.medium else Confidence.LOW


def precision_table(text: str) -> tuple[Scale, Counts]:
    """Return the scale and the counts of a table such as `precision.toml`."""
    rows = tomllib.loads(text)
    return Scale(**rows["scale"]), {rule: (count, false) for rule, (count, false) in rows["judged"].items()}


@cache
def _measured() -> tuple[Scale, Counts]:
    return precision_table(TABLE.read_text(encoding="utf-8"))


@cache
def measured_confidence(rule: str, severity: Severity) -> Confidence | None:
    """Return the confidence of a rule (`signal.rule`) as measured; None if its signal was not.

    It was for medium and high severity: less severe findings were not read, and no critical one was among them. What
    the audit says of its own reading is a fact.
    """
    if severity not in (Severity.MEDIUM, Severity.HIGH) or rule.partition(".")[0] in OF_FACT:
        return None
    scale, judged = _measured()  # parsing it for each rule took half of a small audit
    share = scale.share(rule, judged)
    return None if share is None else scale.confidence(share)


def with_confidence(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with measured confidence; those for which there is none keep their own.

    It is low where the detector says that its rule is mostly wrong at such a place, or that it is never sure.
    """
    result = []
    for item in findings:
        confidence = measured_confidence(item.rule, item.severity)
        if item.measurements.get(LESS_SURE) or item.measurements.get(NEVER_SURE):
            confidence = Confidence.LOW
        result.append(item if confidence is None else replace(item, confidence=confidence))
    return result
