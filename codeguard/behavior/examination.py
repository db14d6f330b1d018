"""One candidate put on trial: its examples, its generated inputs, its effects, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.coverage import unreached
from codeguard.behavior.edited import edits_shown
from codeguard.behavior.effects import beyond, observed
from codeguard.behavior.effecttables import CONVICTING
from codeguard.behavior.examples import Spec
from codeguard.behavior.matching import Similarity
from codeguard.behavior.profiles import Profile, random_for
from codeguard.behavior.reports import Reporting
from codeguard.behavior.running import Steps, call_of
from codeguard.behavior.tailored import Tailored, tailored_inputs
from codeguard.behavior.trial import (
    Answered,
    Question,
    agrees_mostly,
    compare,
    different,
    known,
    not_taken,
    of_example,
    of_observed,
)
from codeguard.behavior.values import Comparison
from codeguard.behavior.wear import REPEATS, worn
from codeguard.models import CheckReport, Verdict
from codeguard.sandbox.model import JobResult, Outcome, Status, Tier

LEAST_TWINS = 3
LEAST_CALLS = 5  # fewer that agree say nothing
MAX_SUSPICIONS = 6


@dataclass
class Examination(Reporting):
    """Everything that is asked of one candidate."""

    def against_spec(self, spec: Spec) -> Steps[CheckReport]:
        """Hold the candidate to a hand-written spec."""
        pairs = [(case, call_of(case, self.candidate.runnable)) for case in spec.cases]
        questions = [of_example(case, call) for case, call in pairs if call is not None]
        (result,) = yield from self.ask(questions)
        answered = compare(questions, result.calls)
        if not known(answered) or not_taken(answered):
            return self.ended(result, spec.origin)
        wrong = different(answered)
        if wrong:
            return self.wrong(Verdict.FAIL, wrong, len(known(answered)), spec.origin, result)
        if result.status is not Status.COMPLETED:
            return self.ended(result, spec.origin)
        extra = beyond((*self.candidate.capabilities, *observed(result.effects)), ())
        worst = [capability for capability in extra if capability.kind in CONVICTING]
        if worst:
            # What a spec can say in plain values touches nothing but its arguments.
            return self._violation(worst, "its spec", result, spec.origin)
        missing = unreached(self.candidate.runnable.node, result.coverage)
        report = self.report(Verdict.PASS, f"{len(known(answered))} cases agree", result, origin=spec.origin)
        return self.covered(report, missing)

    def against_reference(
        self, profile: Profile, likeness: Similarity, best: bool = True
    ) -> Steps[CheckReport]:
        """Hold the candidate to a trusted function: its examples, and its results on generated inputs.

        `best` says that no other trusted function is more alike.
        """
        likeness = likeness if best else replace(likeness, closest=False)
        origin = profile.reference.origin
        extra = beyond(self.candidate.capabilities, profile.capabilities)
        questions = self._questions(profile)
        if not questions:
            untested = self.untested(profile, likeness, extra)
            if untested.verdict is Verdict.VIOLATION:
                return untested
            edited = yield from self._edited(profile, likeness)
            usable = edited is not None and (edited.verdict is not Verdict.PASS or self.calls >= LEAST_CALLS)
            return edited if edited is not None and usable else untested
        random_for(self.seed, "order", profile.reference.digest, self.candidate.runnable.source).shuffle(
            questions
        )
        ordinary, other = yield from self.ask(questions, twice=True)
        effects = (*ordinary.effects, *other.effects)
        extra = beyond((*self.candidate.capabilities, *observed(effects)), profile.capabilities)
        answered = compare(questions, ordinary.calls)
        if not known(answered) or (yield from self.refused(answered, likeness)):
            return self.violated(extra, likeness, ordinary, origin) or self.ended(ordinary, origin)
        mostly = agrees_mostly(answered)
        if not mostly and not likeness.sure:
            reason = f"like {profile.reference.name} in words, not in what it does"
            return self._another(reason, profile, ordinary, claimed=likeness.described)
        if likeness.namesake and different(answered):
            reason = f"bears the name of {profile.reference.name} and differs: {different(answered)[0].text}"
            return self._another(reason, profile, ordinary, claimed=mostly)
        violated = self.violated(extra, likeness, ordinary, origin, mostly)
        if violated is not None:
            return violated
        if different(answered) and not (yield from self.holds_natively(different(answered))):
            # The restricted tier's own rules must not convict anybody.
            self.runner.tier = Tier.NATIVE
            ordinary, other = yield from self.ask(questions, twice=True)
            answered = compare(questions, ordinary.calls)
        verdict = yield from self._differs(profile, answered, ordinary)
        if verdict is not None:
            return verdict
        if ordinary.status is not Status.COMPLETED:
            return self.ended(ordinary, origin)
        moved = self._moved(questions, answered, other, origin)
        if moved is not None:
            return moved
        tired = yield from worn(
            self.runner, [item for item in answered if item.comparison is Comparison.SAME]
        )
        if tired:
            report = self.wrong(Verdict.DIVERGES, tired, REPEATS, origin, ordinary)
            return replace(report, reason=f"turns wrong when it is called again and again: {report.reason}")
        triggered, tried = yield from self._triggers(profile, likeness)
        if triggered is not None:
            return triggered
        edited = yield from self._edited(profile, likeness)
        if edited is not None and edited.verdict is not Verdict.PASS:
            return edited
        return self.passed(profile, answered, [ordinary, other, *tried], extra)

    def _another(self, reason: str, profile: Profile, result: JobResult, *, claimed: bool) -> CheckReport:
        """Report what is another function than the reference, though a reader may take it for that one."""
        report = self.report(Verdict.NO_SIGNAL, reason, result)
        return replace(
            report, claims=f"{profile.reference.name} ({profile.reference.origin})" if claimed else ""
        )

    def _questions(self, profile: Profile) -> list[Question]:
        runnable = self.candidate.runnable
        pairs = [(example, call_of(example, runnable)) for example in profile.examples]
        questions = [of_example(example, call) for example, call in pairs if call is not None]
        own = self.candidate.definition.parameters
        asked = [item for item in profile.generated if item.suits(own)]
        seen = [of_observed(item, runnable, profile.silence_free) for item in asked]
        return questions + [question for question in seen if question is not None]

    def _differs(
        self, profile: Profile, answered: Sequence[Answered], result: JobResult
    ) -> Steps[CheckReport | None]:
        wrong = different(answered)
        if not wrong:
            return None
        origin = profile.reference.origin
        on_examples = [item for item in wrong if item.question.example is not None]
        if on_examples:
            examples = [item for item in known(answered) if item.question.example is not None]
            return self.wrong(Verdict.FAIL, on_examples, len(examples), origin, result)
        generated = [item for item in known(answered) if item.question.example is None]
        settled = yield from self.settled(profile, wrong)
        if not settled:
            return None
        smallest = yield from self.shrunk(profile, settled[0])
        return self.wrong(Verdict.DIVERGES, [smallest, *wrong[1:]], len(generated), origin, result)

    def _triggers(
        self, profile: Profile, likeness: Similarity
    ) -> Steps[tuple[CheckReport | None, list[JobResult]]]:
        """Try what the candidate's own guards and literals ask for.

        A difference inside the domain convicts like any other, but for a mere
        namesake, which may be another function there. Outside of the domain
        one convicts only where the candidate's own constant switches it on:
        the reference has no such constant, and next to the input the two agree.
        """
        domain, examples = profile.domain, profile.plain_calls
        if domain is None or not examples or not self.budget.tailored:
            return None, []
        random = random_for(self.seed, "tailored", profile.reference.digest, self.candidate.runnable.source)
        made = tailored_inputs(
            self.candidate, profile.reference, examples, domain, random, self.budget.tailored
        )
        answered, result = yield from self.both(profile, [(item.args, item.kwargs) for item in made])
        results = [] if result is None else [result]
        wrong = different(answered)
        by_key = {repr((item.args, dict(item.kwargs))): item for item in made}
        suspicions = 0
        for item in wrong:
            origin = by_key[repr((item.question.call.args, dict(item.question.call.kwargs)))]
            if origin.inside and not likeness.namesake:
                if not (yield from self.settled(profile, [item])):
                    continue
                inside = [one for one in known(answered) if one.question.call.args is not None]
                smallest = yield from self.shrunk(profile, item)
                report = self.wrong(
                    Verdict.DIVERGES, [smallest], len(inside), profile.reference.origin, results[0]
                )
                return report, results
            refuses = item.answer.outcome is Outcome.RAISED
            if not origin.magic or refuses or suspicions >= MAX_SUSPICIONS:
                continue
            suspicions += 1
            if (yield from self._switched(profile, origin)):
                report = self.wrong(
                    Verdict.DIVERGES, [item], len(answered), profile.reference.origin, results[0]
                )
                reason = f"wrong exactly where its own constant is met: {report.reason}"
                return replace(report, reason=reason), results
        return None, results

    def _switched(self, profile: Profile, made: Tailored) -> Steps[bool]:
        """Say whether the candidate's own constant switches the difference on.

        The same input made with other constants has to agree; where the
        guard compares by size, that on one side of it has to.
        """
        answered, _ = yield from self.both(profile, made.twins())
        compared = known(answered)
        if len(compared) < LEAST_TWINS:
            return False
        wrong = different(compared)
        if made.ordered:
            return len(wrong) < len(compared) - 1
        # A twin of nested conditions may meet them by another way.
        return len(wrong) * 4 <= len(compared)

    def _edited(self, profile: Profile, likeness: Similarity) -> Steps[CheckReport | None]:
        """Hold a changed copy of the reference to whatever the reference takes; None where it is none."""
        if likeness.sibling:
            return None
        answered = yield from edits_shown(self, profile)
        if not answered:
            return None
        origin = profile.reference.origin
        idle = JobResult(Status.COMPLETED, self.level, self.runner.tier)
        wrong = different(answered)
        if not wrong or not (yield from self.holds_natively(wrong)):
            return self.report(Verdict.PASS, f"{len(answered)} calls agree", idle, origin=origin)
        report = self.wrong(Verdict.DIVERGES, wrong, len(answered), origin, idle)
        name = profile.reference.name
        return replace(report, reason=f"{name} with something changed in it: {report.reason}")

    def _moved(
        self, questions: Sequence[Question], answered: Sequence[Answered], other: JobResult, origin: str
    ) -> CheckReport | None:
        """Report results that are right in one world and wrong in another, as the reference's are not."""
        again = compare(questions, other.calls[::-1])
        moved = [
            second
            for first, second in zip(answered, again, strict=False)
            if first.comparison is Comparison.SAME and second.comparison is Comparison.DIFFERENT
        ]
        if not moved:
            return None
        report = self.wrong(
            Verdict.DIVERGES, sorted(moved, key=lambda item: item.size), len(again), origin, other
        )
        return replace(
            report, reason=f"depends on clock, environment, hash seed or order of calls: {report.reason}"
        )
