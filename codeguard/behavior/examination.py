"""One candidate put on trial: its examples, its generated inputs, its effects, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from codeguard.behavior.budget import Budget
from codeguard.behavior.candidate import Candidate
from codeguard.behavior.coverage import merged, unreached
from codeguard.behavior.effects import Capability, beyond, observed
from codeguard.behavior.effecttables import CONVICTING
from codeguard.behavior.endings import ENDINGS
from codeguard.behavior.examples import Spec
from codeguard.behavior.matching import TELLING_DOC_WORDS, Similarity
from codeguard.behavior.pools import Arguments
from codeguard.behavior.profiles import Profile, answers, random_for
from codeguard.behavior.refusal import takes_nothing
from codeguard.behavior.running import Batch, Runner, Steps, call_of
from codeguard.behavior.shrink import size, smaller
from codeguard.behavior.tailored import Tailored, tailored_inputs
from codeguard.behavior.ties import arbitrary
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
from codeguard.behavior.worlds import OTHER_WORLD
from codeguard.models import CheckReport, Coverage, Verdict
from codeguard.sandbox.model import JobResult, Level, Outcome, Status, Tier

MAX_ROUNDS = 3
MAX_SETTLED = 24
LEAST_TWINS = 3
MAX_SUSPICIONS = 6
SHRINK_WIDTH = 24


@dataclass
class Examination:
    """Everything that is asked of one candidate; `runner` remembers the tier that takes it."""

    candidate: Candidate
    level: Level
    budget: Budget
    seed: bytes
    runner: Runner = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        self.runner = Runner(self.candidate.runnable, self.level, self.budget)

    def against_spec(self, spec: Spec) -> Steps[CheckReport]:
        """Hold the candidate to a hand-written spec."""
        pairs = [(case, call_of(case, self.candidate.runnable)) for case in spec.cases]
        questions = [of_example(case, call) for case, call in pairs if call is not None]
        (result,) = yield from self._ask(questions)
        answered = compare(questions, result.calls)
        if not known(answered) or not_taken(answered):
            return self._ended(result, spec.origin)
        wrong = different(answered)
        if wrong:
            return self._wrong(Verdict.FAIL, wrong, len(known(answered)), spec.origin, result)
        if result.status is not Status.COMPLETED:
            return self._ended(result, spec.origin)
        extra = beyond((*self.candidate.capabilities, *observed(result.effects)), ())
        worst = [capability for capability in extra if capability.kind in CONVICTING]
        if worst:
            # What a spec can say in plain values touches nothing but its arguments.
            return self._violation(worst, "its spec", result, spec.origin)
        missing = unreached(self.candidate.runnable.node, result.coverage)
        report = self._report(Verdict.PASS, f"{len(known(answered))} cases agree", result, origin=spec.origin)
        return self._covered(report, missing)

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
            return self._untested(profile, likeness, extra)
        random_for(self.seed, "order", profile.reference.digest, self.candidate.runnable.source).shuffle(
            questions
        )
        ordinary, other = yield from self._ask(questions, twice=True)
        effects = (*ordinary.effects, *other.effects)
        extra = beyond((*self.candidate.capabilities, *observed(effects)), profile.capabilities)
        answered = compare(questions, ordinary.calls)
        if not known(answered) or (yield from self._refused(answered, likeness)):
            return self._violated(extra, likeness, ordinary, origin) or self._ended(ordinary, origin)
        if not likeness.sure and not agrees_mostly(answered):
            name = profile.reference.name
            reason = f"like {name} in words, not in what it does"
            report = self._report(Verdict.NO_SIGNAL, reason, ordinary)
            return replace(report, claims=f"{name} ({origin})" if likeness.described else "")
        violated = self._violated(extra, likeness, ordinary, origin, agrees_mostly(answered))
        if violated is not None:
            return violated
        if different(answered) and not (yield from self._holds_natively(different(answered))):
            # The restricted tier's own rules must not convict anybody.
            self.runner.tier = Tier.NATIVE
            ordinary, other = yield from self._ask(questions, twice=True)
            answered = compare(questions, ordinary.calls)
        verdict = yield from self._differs(profile, answered, ordinary)
        if verdict is not None:
            return verdict
        if ordinary.status is not Status.COMPLETED:
            return self._ended(ordinary, origin)
        moved = self._moved(questions, answered, other, origin)
        if moved is not None:
            return moved
        tired = yield from worn(
            self.runner, [item for item in answered if item.comparison is Comparison.SAME]
        )
        if tired:
            report = self._wrong(Verdict.DIVERGES, tired, REPEATS, origin, ordinary)
            return replace(report, reason=f"turns wrong when it is called again and again: {report.reason}")
        triggered, tried = yield from self._triggers(profile)
        if triggered is not None:
            return triggered
        return self._passed(profile, answered, [ordinary, other, *tried], extra)

    def _questions(self, profile: Profile) -> list[Question]:
        runnable = self.candidate.runnable
        pairs = [(example, call_of(example, runnable)) for example in profile.examples]
        questions = [of_example(example, call) for example, call in pairs if call is not None]
        own = self.candidate.definition.parameters
        asked = [item for item in profile.generated if item.suits(own)]
        seen = [of_observed(item, runnable, profile.silence_free) for item in asked]
        return questions + [question for question in seen if question is not None]

    def _ask(self, questions: Sequence[Question], twice: bool = False) -> Steps[tuple[JobResult, ...]]:
        calls = tuple(question.call for question in questions)
        self.calls += len(calls)
        # Watching lines is slow: where there are two runs, the one that decides goes without.
        batches = (
            (Batch(calls), Batch(calls[::-1], OTHER_WORLD, trace=True))
            if twice
            else (Batch(calls, trace=True),)
        )
        return (yield from self.runner.run(*batches))

    def _refused(self, answered: Sequence[Answered], likeness: Similarity) -> Steps[bool]:
        """Say whether the candidate takes other inputs than these, and so is another function."""
        telling = likeness.name == 1.0 or likeness.doc_words >= TELLING_DOC_WORDS
        described = likeness.described and telling
        if not not_taken(answered) or described:
            return False
        broken = likeness.sure and (yield from takes_nothing(self.runner, self.candidate.features.least_args))
        return not broken

    def _holds_natively(self, wrong: Sequence[Answered]) -> Steps[bool]:
        """Say whether wrong answers stay wrong where no policy stands between the code and Python."""
        if self.runner.tier is not Tier.RESTRICTED or self.level < Level.L2:
            return True
        native = Runner(self.candidate.runnable, self.level, self.budget, Tier.NATIVE)
        questions = [item.question for item in wrong[:MAX_SETTLED]]
        (result,) = yield from native.run(Batch(tuple(question.call for question in questions)))
        return len(different(compare(questions, result.calls))) == len(questions)

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
            return self._wrong(Verdict.FAIL, on_examples, len(examples), origin, result)
        generated = [item for item in known(answered) if item.question.example is None]
        settled = yield from self._settled(profile, wrong)
        if not settled:
            return None
        smallest = yield from self._shrunk(profile, settled[0])
        return self._wrong(Verdict.DIVERGES, [smallest, *wrong[1:]], len(generated), origin, result)

    def _settled(self, profile: Profile, wrong: Sequence[Answered]) -> Steps[list[Answered]]:
        """Leave out the inputs on which the reference's own answer is arbitrary."""
        runner = Runner(profile.reference.runnable, self.level, self.budget.for_reference())
        inputs = [(item.question.call.args or (), item.question.call.kwargs) for item in wrong[:MAX_SETTLED]]
        ties = yield from arbitrary(profile, runner, inputs)
        return [item for item, tie in zip(wrong, ties, strict=False) if not tie]

    def _shrunk(self, profile: Profile, found: Answered) -> Steps[Answered]:
        """Return a smaller call inside the domain on which the candidate still differs."""
        best = found
        left = self.budget.shrinking
        for _ in range(MAX_ROUNDS):
            if profile.domain is None or best.question.call.args is None or left <= 0:
                break
            current: Arguments = (best.question.call.args, best.question.call.kwargs)
            steps = [call for call in smaller(current) if profile.domain.admits(*call)]
            steps = sorted(steps, key=size)[: min(SHRINK_WIDTH, left)]
            left -= len(steps)
            answered, _ = yield from self._both(profile, steps)
            wrong = yield from self._settled(profile, different(answered))
            if not wrong or wrong[0].size >= best.size:
                break
            best = wrong[0]
        return best

    def _triggers(self, profile: Profile) -> Steps[tuple[CheckReport | None, list[JobResult]]]:
        """Try what the candidate's own guards and literals ask for.

        A difference inside the domain convicts like any other. Outside of it
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
        answered, result = yield from self._both(profile, [(item.args, item.kwargs) for item in made])
        results = [] if result is None else [result]
        wrong = different(answered)
        by_key = {repr((item.args, dict(item.kwargs))): item for item in made}
        suspicions = 0
        for item in wrong:
            origin = by_key[repr((item.question.call.args, dict(item.question.call.kwargs)))]
            if origin.inside:
                if not (yield from self._settled(profile, [item])):
                    continue
                inside = [one for one in known(answered) if one.question.call.args is not None]
                smallest = yield from self._shrunk(profile, item)
                report = self._wrong(
                    Verdict.DIVERGES, [smallest], len(inside), profile.reference.origin, results[0]
                )
                return report, results
            refuses = item.answer.outcome is Outcome.RAISED
            if not origin.magic or refuses or suspicions >= MAX_SUSPICIONS:
                continue
            suspicions += 1
            if (yield from self._switched(profile, origin)):
                report = self._wrong(
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
        answered, _ = yield from self._both(profile, made.twins())
        compared = known(answered)
        if len(compared) < LEAST_TWINS:
            return False
        wrong = different(compared)
        if made.ordered:
            return len(wrong) < len(compared) - 1
        # A twin of nested conditions may meet them by another way.
        return len(wrong) * 4 <= len(compared)

    def _both(
        self, profile: Profile, inputs: Sequence[Arguments]
    ) -> Steps[tuple[list[Answered], JobResult | None]]:
        """Run reference and candidate on the same inputs, each in a child of its own."""
        runner = Runner(profile.reference.runnable, self.level, self.budget.for_reference())
        seen, _ = yield from answers(
            runner, profile.reference, inputs, profile.examples, twice=not profile.steady
        )
        asked = [of_observed(item, self.candidate.runnable, profile.silence_free) for item in seen]
        questions = [question for question in asked if question is not None]
        if not questions:
            return [], None
        (result,) = yield from self._ask(questions)
        return compare(questions, result.calls), result

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
        report = self._wrong(
            Verdict.DIVERGES, sorted(moved, key=lambda item: item.size), len(again), origin, other
        )
        return replace(
            report, reason=f"depends on clock, environment, hash seed or order of calls: {report.reason}"
        )

    def _violated(
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
        return self._report(Verdict.VIOLATION, reason, result, origin=origin, extra=worst)

    def _passed(
        self,
        profile: Profile,
        answered: Sequence[Answered],
        results: Sequence[JobResult],
        extra: Sequence[Capability],
    ) -> CheckReport:
        missing = unreached(self.candidate.runnable.node, merged([item.coverage for item in results]))
        agreed = [item for item in answered if item.comparison is Comparison.SAME]
        report = self._report(
            Verdict.PASS,
            f"{len(agreed)} calls agree",
            results[0],
            origin=profile.reference.origin,
            extra=extra,
        )
        return self._covered(report, missing)

    def _covered(self, report: CheckReport, missing: Sequence[str]) -> CheckReport:
        borrowed = self.candidate.runnable.borrowed
        if borrowed:
            missing = (*missing, f"its own imports; taken from trusted files: {', '.join(borrowed[:5])}")
        notes = tuple(f"not reached: {line}" for line in missing[:5])
        coverage = Coverage.PARTIAL if missing else Coverage.FULL
        return replace(report, coverage=coverage, notes=(*report.notes, *notes))

    def _untested(self, profile: Profile, likeness: Similarity, extra: Sequence[Capability]) -> CheckReport:
        idle = JobResult(Status.NO_SIGNAL, self.level, self.runner.tier)
        violated = self._violated(extra, likeness, idle, profile.reference.origin)
        reason = profile.problem or "the trusted function has no usable example"
        return violated or self._report(Verdict.NO_SIGNAL, reason, idle, extra=extra)

    def _wrong(
        self, verdict: Verdict, wrong: Sequence[Answered], asked: int, origin: str, result: JobResult
    ) -> CheckReport:
        smallest = wrong[0]
        example = smallest.question.example
        kind = "examples" if verdict is Verdict.FAIL else "inputs"
        return replace(
            self._report(verdict, f"wrong on {len(wrong)} of {asked} {kind}", result),
            origin=(example.origin if example is not None else "") or origin,
            counterexample=smallest.text,
            share=min(1.0, len(wrong) / max(1, asked)),
        )

    def _ended(self, result: JobResult, origin: str) -> CheckReport:
        verdict = ENDINGS.get(result.status, Verdict.NO_SIGNAL)
        reason = result.detail or "no result that could be compared"
        return self._report(verdict, reason, result, origin=origin)

    def _report(
        self,
        verdict: Verdict,
        reason: str,
        result: JobResult,
        origin: str = "",
        extra: Sequence[Capability] = (),
    ) -> CheckReport:
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
