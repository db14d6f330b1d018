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

from codeguard.analysis.rules.base import LESS_SURE
from codeguard.audit.findings import Finding, is_fact
from codeguard.models import Confidence, Severity

TABLE = Path(__file__).with_suffix(".toml")

Counts = Mapping[str, tuple[float, float]]
"""Of each rule how many findings were judged or are expected in attacks, and how many of them are false."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a share of right findings follows from counts, and confidence from a share.

    `prior` is the number of findings that the share of the signal counts as when that of a rule is estimated, and
    the share of all findings when that of a signal is. A rule without counts has low confidence, and so has one of
    flaws with fewer than `least` judged findings. `intent` are the signals whose rules tell of intent, or single rules,
    `judging_prose` those whose rules need the share `prose` for medium confidence. Rules of `never` have low
    confidence, whatever was counted.
    """

    high: float
    medium: float
    prose: float
    prior: float
    least: float
    intent: frozenset[str] = frozenset()
    judging_prose: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()

    def share(self, rule: str, judged: Counts) -> float:
        """Return the estimated share of right findings of a rule."""
        signal = rule.partition(".")[0]
        of_signal = [counts for name, counts in judged.items() if name.partition(".")[0] == signal]
        share = 0.0
        for rows, prior in (
            (judged.values(), 0.0),
            (of_signal, self.prior),
            ([judged.get(rule, (0, 0))], self.prior),
        ):
            count, false = (sum(numbers) for numbers in zip((0, 0), *rows, strict=True))
            share = (count - false + prior * share) / (count + prior)
        return share

    def confidence(self, rule: str, judged: Counts) -> Confidence:
        """Return the confidence of a rule by what was judged."""
        signal, (count, _) = rule.partition(".")[0], judged.get(rule, (0, 0))
        if not count or rule in self.never or (count < self.least and not self.intent & {rule, signal}):
            return Confidence.LOW
        share = self.share(rule, judged)
        if share >= self.high:
            return Confidence.HIGH
        enough = self.prose if signal in self.judging_prose else self.medium
        return Confidence.MEDIUM if share >= enough else Confidence.LOW


def precision_table(text: str) -> tuple[Scale, Counts]:
    """Return the scale and the counts of a table such as `precision.toml`."""
    rows = tomllib.loads(text)
    intent, prose = frozenset(rows["attacks"]["signals"]), frozenset(rows["judges_prose"]["signals"])
    never = frozenset(rows["judges_prose"]["never_sure"])
    scale = Scale(**rows["scale"], intent=intent, judging_prose=prose, never=never)
    return scale, {rule: (count, false) for rule, (count, false) in rows["judged"].items()}


@cache
def _measured() -> tuple[Scale, Counts]:
    return precision_table(TABLE.read_text(encoding="utf-8"))


@cache
def measured_confidence(rule: str, severity: Severity) -> Confidence | None:
    """Return the confidence of a rule (`signal.rule`) as measured; None if it states its own.

    Less severe findings state their own, and facts: what the audit says of its own reading, of a manifest, or of lines
    that a change removed.
    """
    if severity < Severity.MEDIUM or is_fact(rule):
        return None
    scale, judged = _measured()  # parsing it for each rule took half of a small audit
    return scale.confidence(rule, judged)


def with_confidence(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with measured confidence; those that state their own keep it.

    It is low where the detector says that its rule is mostly wrong at such a place.
    """
    result = []
    for item in findings:
        confidence = measured_confidence(item.rule, item.severity)
        if item.measurements.get(LESS_SURE):
            confidence = Confidence.LOW
        result.append(item if confidence is None else replace(item, confidence=confidence))
    return result
