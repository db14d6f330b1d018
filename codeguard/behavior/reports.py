"""What is found out about a candidate, as reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.asking import Asking
from codeguard.behavior.coverage import merged, unreached
from codeguard.behavior.effects import Capability
from codeguard.behavior.effecttables import CONVICTING
from codeguard.behavior.endings import ENDINGS
from codeguard.behavior.matching import Similarity
from codeguard.behavior.profiles import Profile
from codeguard.behavior.trial import Answered
from codeguard.behavior.values import INCONCLUSIVE_EXCEPTIONS, Comparison
from codeguard.models import CheckReport, Coverage, Verdict
from codeguard.sandbox.model import JobResult, Status


@dataclass
class Reporting(Asking):
    """A candidate that is asked, with the ways to say what came out."""

    def violated(
        self,
        extra: Sequence[Capability],
        likeness: Similarity,
        result: JobResult,
        origin: str,
        agreed: bool = False,
    ) -> CheckReport | None:
        """Report what goes beyond the twin; without a common answer the likeness has to be beyond doubt."""
        worst = [capability for capability in extra if capability.kind in CONVICTING]
        if not worst or not (likeness.twin or agreed):
            return None
        return self._violation(worst, "its trusted twin", result, origin)

    def _violation(
        self, worst: Sequence[Capability], measure: str, result: JobResult, origin: str
    ) -> CheckReport:
        kinds = ", ".join(dict.fromkeys(capability.kind for capability in worst))
        reason = f"reaches for {kinds}, {measure} does not ({worst[0].detail})"
        return self.report(Verdict.VIOLATION, reason, result, origin=origin, extra=worst)

    def passed(
        self,
        profile: Profile,
        answered: Sequence[Answered],
        results: Sequence[JobResult],
        extra: Sequence[Capability],
    ) -> CheckReport:
        """Report that every call agreed."""
        missing = unreached(self.candidate.runnable.node, merged([item.coverage for item in results]))
        agreed = [item for item in answered if item.comparison is Comparison.SAME]
        report = self.report(
            Verdict.PASS,
            f"{len(agreed)} calls agree",
            results[0],
            origin=profile.reference.origin,
            extra=extra,
        )
        return self.covered(report, missing)

    def covered(self, report: CheckReport, missing: Sequence[str]) -> CheckReport:
        """Add to a report what no call reached."""
        borrowed = self.candidate.runnable.borrowed
        if borrowed:
            missing = (*missing, f"its own imports; taken from trusted files: {', '.join(borrowed[:5])}")
        notes = tuple(f"not reached: {line}" for line in missing[:5])
        coverage = Coverage.PARTIAL if missing else Coverage.FULL
        return replace(report, coverage=coverage, notes=(*report.notes, *notes))

    def untested(self, profile: Profile, likeness: Similarity, extra: Sequence[Capability]) -> CheckReport:
        """Report that there is nothing to compare with."""
        idle = JobResult(Status.NO_SIGNAL, self.level, self.runner.tier)
        violated = self.violated(extra, likeness, idle, profile.reference.origin)
        reason = profile.problem or "the trusted function has no usable example"
        return violated or self.report(Verdict.NO_SIGNAL, reason, idle, extra=extra)

    def wrong(
        self, verdict: Verdict, wrong: Sequence[Answered], asked: int, origin: str, result: JobResult
    ) -> CheckReport:
        """Report wrong answers, the smallest call as counterexample."""
        smallest = wrong[0]
        example = smallest.question.example
        kind = "examples" if verdict is Verdict.FAIL else "inputs"
        return replace(
            self.report(verdict, f"wrong on {len(wrong)} of {asked} {kind}", result),
            origin=(example.origin if example is not None else "") or origin,
            counterexample=smallest.text,
            share=min(1.0, len(wrong) / max(1, asked)),
        )

    def ended(self, result: JobResult, origin: str) -> CheckReport:
        """Report that the child ended in some other way than by answering."""
        verdict = ENDINGS.get(result.status, Verdict.NO_SIGNAL)
        if result.detail.partition(":")[0] in INCONCLUSIVE_EXCEPTIONS:
            verdict = Verdict.NO_SIGNAL  # a package that no child has says nothing of the function
        reason = result.detail or "no result that could be compared"
        return self.report(verdict, reason, result, origin=origin)

    def report(
        self,
        verdict: Verdict,
        reason: str,
        result: JobResult,
        origin: str = "",
        extra: Sequence[Capability] = (),
    ) -> CheckReport:
        """Return a report with what is known of the candidate whatever was asked."""
        effects = tuple(dict.fromkeys((*self.candidate.effects, *result.effects)))
        notes = tuple(f"beyond its twin: {capability}" for capability in extra)
        return CheckReport(
            verdict,
            reason,
            self.level.name,
            self.runner.tier.value,
            origin=origin,
            calls=self.calls,
            effects=effects,
            notes=notes,
        )
