"""What the sandboxed behavior checker found, as evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from codeguard.models import (
    CheckReport,
    Chunk,
    ChunkKind,
    Confidence,
    Coverage,
    Evidence,
    Severity,
    SourceFile,
    Trust,
    Verdict,
)
from codeguard.signals.base import Context, Moment, Rule, Subject

CONVICTING = frozenset({Verdict.FAIL, Verdict.DIVERGES, Verdict.VIOLATION})
EXHAUSTING = frozenset({Verdict.TIMEOUT, Verdict.MEMORY, Verdict.CRASH})
FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
UNSHOWN = frozenset({Verdict.NO_SIGNAL, Verdict.POLICY, Verdict.ERROR, Verdict.UNSUPPORTED, Verdict.BADTYPE})
LEAST_DIVERGENCE = 2.0
SENDING = frozenset({"network", "process"})
TAKING = frozenset({"environment", "files", "dynamic code", "native code"})


class BehaviorSignal:
    """Runs a function against what the trusted code says it should do.

    Trusted text is not checked: it is what the others are checked against.
    A copy is, for its surroundings are not trusted.
    """

    name: ClassVar[str] = "behavior"
    summary: ClassVar[str] = "sandboxed tests against specs and trusted references"
    moment: ClassVar[Moment] = Moment.INDEX
    needs: ClassVar[frozenset[str]] = frozenset({"behavior"})
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("pass", "does what the trusted code does", Severity.INFO, Confidence.MEDIUM),
        Rule("fail", "differs on an example or a spec's case", Severity.HIGH, Confidence.HIGH),
        Rule(
            "diverges",
            "differs on a generated input inside the learned domain",
            Severity.HIGH,
            Confidence.MEDIUM,
        ),
        Rule("violation", "tried what the trusted twin does not", Severity.CRITICAL, Confidence.HIGH),
        Rule(
            "lookalike",
            "reads like a trusted function and was not shown to behave like it",
            Severity.MEDIUM,
            Confidence.MEDIUM,
        ),
        Rule(
            "reach",
            "untested, and can both take something from its surroundings and send it away",
            Severity.MEDIUM,
            Confidence.LOW,
        ),
        Rule(
            "company",
            "text around a function of the same file that is convicted",
            Severity.MEDIUM,
            Confidence.MEDIUM,
        ),
        Rule("timeout", "does not finish where the reference does", Severity.MEDIUM, Confidence.LOW),
        Rule("memory", "exhausts its memory where the reference does not", Severity.MEDIUM, Confidence.LOW),
        Rule("crash", "dies where the reference does not", Severity.MEDIUM, Confidence.MEDIUM),
        Rule("untested", "could not be tested: neither a pass nor a fail", Severity.INFO, Confidence.HIGH),
    )

    def examine(self, subject: Subject, context: Context) -> Iterable[Evidence]:
        """Yield one piece of evidence for a function of unknown origin."""
        check: Callable[[Chunk, SourceFile], CheckReport] | None = context.services.get("behavior")
        if check is None or subject.trust is Trust.TRUSTED:
            return
        if subject.chunk.kind not in FUNCTIONS:
            yield from self._company(subject, check, context)
            return
        report = check(subject.chunk, subject.file)
        penalty, convicts = self._penalty(report, subject.trust, context)
        rule = self._rule(report)
        yield from self._reach(report, subject, context)
        yield Evidence(
            signal=self.name,
            id=rule.id,
            penalty=penalty,
            convicts=convicts,
            reason=describe(report),
            severity=rule.severity,
            confidence=rule.confidence,
            span=subject.chunk.span,
            measurements={
                "verdict": report.verdict.value,
                "coverage": report.coverage.value,
                "level": report.level,
                "tier": report.tier,
                "calls": report.calls,
                "share": report.share,
            },
        )

    def _company(
        self, subject: Subject, check: Callable[[Chunk, SourceFile], CheckReport], context: Context
    ) -> Iterable[Evidence]:
        """Yield evidence about text that is no function: it speaks for the functions it stands around."""
        accepted = context.services.get("acceptances")
        for sibling in subject.file.chunks:
            if sibling.kind not in FUNCTIONS or check(sibling, subject.file).verdict not in CONVICTING:
                continue
            if accepted is not None and accepted.of(sibling.sha256) is not None:
                continue
            yield Evidence(
                signal=self.name,
                id="company",
                penalty=0.0 if subject.trust is Trust.COPY else context.weights["behavior.company"],
                reason=f"stands in the same file as {sibling.symbol}, which is convicted",
                severity=Severity.MEDIUM,
                span=subject.chunk.span,
            )
            return

    def _reach(self, report: CheckReport, subject: Subject, context: Context) -> Iterable[Evidence]:
        """Yield evidence where nothing is known but what the syntax can do: it needs both ends of a leak."""
        kinds = {effect.partition(":")[0] for effect in report.effects}
        if report.verdict not in UNSHOWN or not (kinds & SENDING and kinds & TAKING):
            return
        yield Evidence(
            signal=self.name,
            id="reach",
            penalty=context.weights["behavior.reach"],
            reason=f"untested, and can {'; '.join(report.effects[:4])}",
            severity=Severity.MEDIUM,
            confidence=Confidence.LOW,
            span=subject.chunk.span,
        )

    def _rule(self, report: CheckReport) -> Rule:
        by_id = {rule.id: rule for rule in self.rules}
        if report.verdict in UNSHOWN and report.claims:
            return by_id["lookalike"]
        return by_id.get(report.verdict.value, by_id["untested"])

    def _penalty(self, report: CheckReport, trust: Trust, context: Context) -> tuple[float, bool]:
        verdict = report.verdict
        if verdict in UNSHOWN and report.claims:
            return (0.0 if trust is Trust.COPY else context.weights["behavior.lookalike"]), False
        weight = context.weights[f"behavior.{verdict.value}"]
        if verdict is Verdict.PASS:
            earns_bonus = report.coverage is Coverage.FULL and trust is Trust.UNLISTED
            return (weight if earns_bonus else 0.0), False
        if verdict is Verdict.DIVERGES:
            least = weight * LEAST_DIVERGENCE / 3.0
            return least + (weight - least) * min(1.0, max(0.0, report.share)), True
        if verdict in CONVICTING:
            return weight, True
        return (weight if verdict in EXHAUSTING else 0.0), False


def describe(report: CheckReport) -> str:
    """Return one line for a person: verdict, where the expectation is from, what differs."""
    parts = [f"{report.verdict.value}: {report.reason}" if report.reason else report.verdict.value]
    if report.counterexample:
        parts.append(report.counterexample)
    if report.claims and report.verdict in UNSHOWN:
        parts.append(f"reads like {report.claims}")
    if report.origin:
        parts.append(f"expectation from {report.origin}")
    if report.verdict is Verdict.PASS and report.coverage is Coverage.PARTIAL:
        parts.append("partial coverage, no bonus")
    return "; ".join(parts)


SIGNAL = BehaviorSignal()
