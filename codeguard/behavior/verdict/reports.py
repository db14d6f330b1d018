"""Reports on a candidate under test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.matching.claims import Similarity
from codeguard.behavior.matching.stubs import uses_plain_values_only
from codeguard.behavior.source.definitions import Definition
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import Case, CaseResult
from codeguard.behavior.verdict.coverage import merged_coverage, unreached
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.effect_tables import CONVICTING, ESCAPE, OUTWARD
from codeguard.behavior.verdict.effects import Capability, capabilities_beyond, observed_effects
from codeguard.behavior.verdict.profiles import Profile
from codeguard.behavior.verdict.running import Batch, Steps
from codeguard.behavior.verdict.state import is_self_contained
from codeguard.behavior.verdict.values import INCONCLUSIVE_EXCEPTIONS, Comparison
from codeguard.models import CheckReport, Coverage, Verdict
from codeguard.sandbox.model import Iteration, JobResult, LineCoverage, Status

WATCHED_FIRST = 24  # calls
ENDINGS = {
    Status.ERROR: Verdict.ERROR,
    Status.TIMEOUT: Verdict.TIMEOUT,
    Status.MEMORY: Verdict.MEMORY,
    Status.VIOLATION: Verdict.VIOLATION,
    Status.POLICY: Verdict.POLICY,
    Status.CRASH: Verdict.CRASH,
    Status.MALFORMED: Verdict.MALFORMED,
    Status.NO_SIGNAL: Verdict.NO_SIGNAL,
    Status.UNSUPPORTED: Verdict.UNSUPPORTED,
}


@dataclass
class CandidateReports(CandidateSession):
    """A candidate under test, with methods that make its reports."""

    def violation_report(
        self,
        extra: Sequence[Capability],
        similarity: Similarity,
        result: JobResult,
        origin: str,
        agreed: bool = False,
    ) -> CheckReport | None:
        """Report capabilities beyond the trusted function's; None if there are none or the match is uncertain.

        Without `agreed` results, name and text have to leave no doubt that both are one function. Functions that
        hand their work to another repeat its description, and so do the methods of one interface: what was not
        observed counts only with the trusted text. Where results or a name alone show the counterpart, what was not
        observed counts only if the function itself does it or calls what does by its name, and reading code or frames
        not at all. What other files import is not the function's own doing unless a run shows it.
        """
        seen = {capability.kind for capability in observed_effects(result.effects)}
        own = frozenset(self.candidate.effects_of_file)
        convicting = CONVICTING
        if not similarity.is_claimed or similarity.matches_by_name_only:
            convicting = CONVICTING - {ESCAPE}
            own &= {str(capability) for capability in self.candidate.surroundings.reached_by_calls}
        worst = [
            capability
            for capability in extra
            if capability.kind in seen & CONVICTING
            or (capability.kind in convicting and str(capability) in own)
        ]
        shown = similarity.overlap.has_its_text or any(capability.kind in seen for capability in worst)
        if not worst or not (agreed or (similarity.is_same_function and shown)):
            return None
        return self._violation(worst, "the trusted function", result, origin)

    def _violation(
        self, worst: Sequence[Capability], measure: str, result: JobResult, origin: str
    ) -> CheckReport:
        kinds = ", ".join(dict.fromkeys(capability.kind for capability in worst))
        reason = f"has effects that {measure} does not have: {kinds} ({worst[0].detail})"
        return self.report(Verdict.VIOLATION, reason, result, origin=origin, extra=worst)

    def pass_report(
        self,
        profile: Profile,
        results: Sequence[CaseResult],
        tailored: Sequence[Case],
        result: JobResult,
        extra: Sequence[Capability],
    ) -> Steps[CheckReport]:
        """Report that all comparable calls agreed; no pass if some could not be compared."""
        origin = profile.reference.origin
        incomparable = [item for item in results if item.incomparable]
        changing = [item for item in incomparable if item.changes_arguments]
        always = bool(changing) and 2 * len(changing) >= len(results) and len(changing) == len(incomparable)
        if incomparable and not always:
            return self.incomparable(incomparable, len(results), result, origin)
        agreed = [item for item in results if item.comparison is Comparison.SAME]
        if always:  # no reason to convict: honest code may sort in place
            reason = (
                f"behaves like {profile.reference.name} with other conventions: it changes its arguments, "
                f"which the trusted function does not ({len(changing)} of {len(results)} calls)"
            )
            report = self.report(Verdict.DIFFERS, reason, result, origin=origin, extra=extra)
            return replace(report, counterexample=changing[0].text)
        able = self.candidate.reach.possible | self.candidate.beside
        possible = capabilities_beyond(able, profile.capabilities)
        if any(capability.kind in CONVICTING for capability in possible):
            reason = (
                f"{len(agreed)} calls agree, but the code that it uses may have an effect that the trusted function's "
                f"does not have: {possible[0].kind} ({possible[0].detail})"
            )
            report = self.report(Verdict.NO_SIGNAL, reason, result, extra=possible)
            return replace(report, claims=f"{profile.reference.name} ({origin})")
        report = self.report(Verdict.PASS, f"{len(agreed)} calls agree", result, origin=origin, extra=extra)
        other = _other_use(self.candidate.definition, profile.reference.definition, agreed)
        if other:
            return self.with_missing_coverage(report, other, "not shown")
        cases = [*(item.case for item in results), *tailored]
        return (yield from self.with_coverage(report, cases))

    def incomparable(
        self, items: Sequence[CaseResult], count: int, result: JobResult, origin: str
    ) -> CheckReport:
        """Report results that cannot be judged."""
        first = min(items, key=lambda item: item.size)
        reason = f"{len(items)} of {count} answers cannot be compared"
        if first.changes_arguments:
            reason = (
                f"changes its arguments in {len(items)} of {count} calls, which the trusted function does not"
            )
        report = self.report(Verdict.BADTYPE, reason, result, origin=origin)
        return replace(report, counterexample=first.text)

    def with_coverage(self, report: CheckReport, cases: Sequence[Case]) -> Steps[CheckReport]:
        """Add to a pass whether the calls reached every part of code that can read nothing but its arguments.

        The child reports its coverage itself, so that it counts only for code that cannot forge it.
        """
        missing = yield from self._unreached(cases)
        if missing or is_self_contained(self.candidate.runnable.source):
            return self.with_missing_coverage(report, missing)
        return self.with_missing_coverage(report, ["that it depends on its arguments alone"], "not shown")

    def _unreached(self, cases: Sequence[Case]) -> Steps[list[str]]:
        """Return the parts that no call reaches.

        Tracing takes several times as long as the calls, so it is done only for a pass, first with
        the examples and a few more calls, which usually reach everything.
        """
        calls = [case.call for case in sorted(cases, key=lambda item: item.example is None)]
        coverage: LineCoverage | None = None
        missing = unreached(self.candidate.runnable.node, coverage)
        for part in (calls[:WATCHED_FIRST], calls[WATCHED_FIRST:]):
            if part and missing:
                (result,) = yield from self.runner.run(Batch(tuple(part), other=True, trace=True))
                coverage = merged_coverage([coverage, result.coverage])
                missing = unreached(self.candidate.runnable.node, coverage)
        return missing

    def with_missing_coverage(
        self, report: CheckReport, missing: Sequence[str], lacking: str = "not reached"
    ) -> CheckReport:
        """Add to a pass the reasons why it earns no bonus; unchanged if `missing` is empty."""
        runnable = self.candidate.runnable
        taken = (*runnable.borrowed, *runnable.completed)
        if taken:
            missing = (*missing, f"its own imports; taken from other files: {', '.join(taken[:5])}")
        notes = tuple(f"{lacking}: {line}" for line in missing[:5])
        coverage = Coverage.PARTIAL if missing else Coverage.FULL
        return replace(report, coverage=coverage, notes=(*report.notes, *notes))

    def not_tested_report(
        self, profile: Profile, similarity: Similarity, extra: Sequence[Capability]
    ) -> CheckReport:
        """Report that there is nothing to compare with."""
        idle = JobResult(Status.NO_SIGNAL, self.level, self.runner.tier)
        violated = self.violation_report(extra, similarity, idle, profile.reference.origin)
        if violated is not None:
            return violated
        outside = self._missing_effects(profile.reference) if similarity.is_lookalike else ""
        if outside:
            name, origin = profile.reference.name, profile.reference.origin
            reason = f"works only on plain values, while {name} has effects: {outside}"
            report = self.report(Verdict.NO_SIGNAL, reason, idle, extra=extra)
            return replace(report, claims=f"{name} ({origin})", refuted=True)
        reason = profile.problem or "the trusted function has no usable example"
        return self.report(Verdict.NO_SIGNAL, reason, idle, extra=extra)

    def _missing_effects(self, reference: Reference) -> str:
        """Return the certain effects of the trusted function that the candidate cannot have, as text.

        Empty for methods and decorated functions, which may be there to be overridden.
        """
        definition = self.candidate.definition
        if (
            definition.owner is not None
            or definition.node.decorator_list
            or not uses_plain_values_only(definition.node)
        ):
            return ""
        return ", ".join(sorted({item.kind for item in reference.surroundings.reach.certain} & OUTWARD))

    def wrong(
        self, verdict: Verdict, wrong: Sequence[CaseResult], count: int, origin: str, result: JobResult
    ) -> CheckReport:
        """Report wrong results, with the smallest call as counterexample."""
        smallest = wrong[0]
        example = smallest.case.example
        kind = "examples" if verdict is Verdict.FAIL else "inputs"
        return replace(
            self.report(verdict, f"wrong on {len(wrong)} of {count} {kind}", result),
            origin=(example.origin if example is not None else "") or origin,
            counterexample=smallest.text,
            share=min(1.0, len(wrong) / max(1, count)),
        )

    def ended_report(self, result: JobResult, origin: str) -> CheckReport:
        """Report that the child ended without results."""
        verdict = ENDINGS.get(result.status, Verdict.NO_SIGNAL)
        if result.detail.partition(":")[0] in INCONCLUSIVE_EXCEPTIONS:
            verdict = Verdict.NO_SIGNAL  # a package missing in the sandbox is not the function's fault
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
        """Return a report with the facts that do not depend on the check."""
        effects = tuple(dict.fromkeys((*self.candidate.effects, *result.effects)))
        notes = tuple(f"not in the trusted function: {capability}" for capability in extra)
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


def _other_use(own: Definition, trusted: Definition, agreed: Sequence[CaseResult]) -> list[str]:
    """Return what a caller would notice although every call agreed: parameters exchanged, an iterator for a row."""
    places, found = (
        [
            {item.name: place for place, item in enumerate(one.parameters) if item.kind == "positional"}
            for one in (own, trusted)
        ],
        [],
    )
    moved = [name for name, place in places[0].items() if places[1].get(name, place) != place]
    if moved:
        found.append(f"the parameter {moved[0]} at its place")
    if any(
        isinstance(item.answer.value, Iteration)
        and item.case.reference is not None
        and not isinstance(item.case.reference.value, Iteration)
        for item in agreed
    ):
        found.append("a result that can be read more than once")
    return found
