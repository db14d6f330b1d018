"""The results of the sandboxed behavior checker, as evidence."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from codeguard.analysis.rules.base import Rule, rules_of
from codeguard.models import (
    CONVICTING,
    NOT_FULLY_READ,
    NOT_YET,
    CheckReport,
    Chunk,
    ChunkKind,
    Coverage,
    Evidence,
    Severity,
    Trust,
    Verdict,
)
from codeguard.ranking.signals.base import Signal, SignalContext, Subject, evidence_of

_RULES = rules_of(__file__)

FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
UNSHOWN = frozenset({Verdict.NO_SIGNAL, Verdict.POLICY, Verdict.ERROR, Verdict.UNSUPPORTED, Verdict.BADTYPE})
COMPARED = frozenset({Verdict.PASS, Verdict.DIFFERS})
LEAST_DIVERGENCE = 2.0
UNANNOUNCED = "unannounced"
OPINION = "behavior.opinion"


def _examine(subject: Subject, context: SignalContext) -> Iterable[Evidence]:
    """Yield one piece of evidence for a function of unknown origin, by the expectations of the trusted code.

    Trusted text is not checked: it is the reference. A copy is, because the code around it is not trusted.
    """
    check = context.services.behavior
    if check is None or subject.trust is Trust.TRUSTED:
        return
    if subject.chunk.kind not in FUNCTIONS:  # what stands around functions is as unchecked as they are
        functions = (item for item in subject.file.chunks if item.kind in FUNCTIONS)
        reports = (check(item, subject.file) for item in functions)
        unchecked = (_unchecked(item, subject, context) for item in reports if item.not_yet or item.spent)
        yield from islice(unchecked, 1)
        return
    report = check(subject.chunk, subject.file)
    if report.not_yet or report.spent:
        yield _unchecked(report, subject, context)
        return
    rule, row = _rows_of(report)
    penalty, convicts = _penalty(report, subject.trust, context.weights[f"behavior.{row}"])
    yield evidence_of(
        "behavior",
        rule,
        penalty,
        describe(report),
        convicts=convicts,
        demotes=(report.refuted or row == UNANNOUNCED) and penalty > 0 and not convicts,
        span=subject.chunk.span,
        measurements={
            "verdict": report.verdict.value,
            "coverage": report.coverage.value,
            **{name: getattr(report, name) for name in ("level", "tier", "calls", "share")},
            **({"twin": report.origin} if report.verdict in COMPARED else {}),
        },
    )


def disputed(chunk: Chunk, rival: Chunk, call: str, own: str, other: str) -> Evidence:
    """Return the evidence that two candidates which claim the same contradict one another on a call."""
    place = f"{rival.path}:{rival.start_line}"
    reason = (
        f"disputed: called with {call} it returns {own}, and {rival.symbol} in {place}, which claims the same, {other};"
        " which of them is wrong is not known"
    )
    measured = {"disputed": place, "call": call, "own": own, "other": other}
    return evidence_of("behavior", _RULES["disputed"], 0.0, reason, span=chunk.span, measurements=measured)


def contradicted(chunk: Chunk, call: str, expected: str, own: str, share: str, weight: float) -> Evidence:
    """Return the evidence that a function contradicts the results on which the answers of the user's model agree."""
    said = f"called with {call} it returns {own}, the configured model expects {expected}"
    reason = f"{said}; it differs in {share} calls"
    return evidence_of("behavior", _RULES["opinion"], weight, reason, demotes=True, span=chunk.span)


def _rows_of(report: CheckReport) -> tuple[Rule, str]:
    """Return the rule of a report, and its row in the table of weights."""
    if report.unannounced:
        return _RULES[UNANNOUNCED], UNANNOUNCED
    if report.verdict in UNSHOWN and report.claims:
        row = "lookalike" if report.refuted else "unshown"
        # What another definition replaces in its own file is one way of not being what it seems.
        return _RULES["replaced" if report.replaced else row], row
    row = report.verdict.value if report.verdict.value in _RULES else "untested"
    return _RULES[row], row


def _penalty(report: CheckReport, trust: Trust, weight: float) -> tuple[float, bool]:
    """Return the penalty of a report at the weight of its row, and whether it convicts."""
    verdict = report.verdict
    if verdict in UNSHOWN:
        return (0.0 if trust is Trust.COPY else weight), False
    if verdict is Verdict.PASS:
        earns_bonus = report.coverage is Coverage.FULL and trust is Trust.UNLISTED
        return (weight if earns_bonus else 0.0), False
    if verdict is Verdict.DIVERGES:
        least = weight * LEAST_DIVERGENCE / 3.0
        return least + (weight - least) * min(1.0, max(0.0, report.share)), True
    return weight, verdict in CONVICTING


def _unchecked(report: CheckReport, subject: Subject, context: SignalContext) -> Evidence:
    """Return the evidence that a chunk is not checked, or not fully, which mode "drop" does not take for a pass.

    What spends its share of the budget is demoted: it would do so in the next run as well.
    """
    demotes = report.spent and subject.trust is not Trust.COPY
    return Evidence(
        signal="behavior",
        id=NOT_FULLY_READ if report.spent else NOT_YET,
        penalty=context.weights[f"audit.{NOT_FULLY_READ}"] if demotes else 0.0,
        demotes=demotes,
        reason=report.reason,
        severity=Severity.HIGH if report.spent else Severity.LOW,
        span=subject.chunk.span,
    )


def describe(report: CheckReport) -> str:
    """Return one line for the user: verdict, source of the expectation, difference."""
    parts = [f"{report.word}: {report.reason}" if report.reason else report.word]
    if report.counterexample:
        parts.append(report.counterexample)
    if report.claims and report.verdict in UNSHOWN and not report.false_claim:
        parts.append(f"reads like {report.claims}")
    if report.origin:
        parts.append(f"expectation from {report.origin}")
    if report.verdict is Verdict.PASS and report.coverage is Coverage.PARTIAL:
        parts.append("not every part was shown to matter: no bonus")
    return "; ".join(parts)


SIGNAL = Signal(
    "behavior",
    "sandboxed tests against specs and trusted references",
    tuple(_RULES.values()),
    _examine,
    needs=frozenset({"behavior"}),
    intent=True,
)
