"""One candidate put on trial: its examples, its generated inputs, its effects, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.inputs.tailored import Tailored, tailored_inputs
from codeguard.behavior.matching.claims import Similarity, matches_summary, repeated_words
from codeguard.behavior.specs.examples import Returns, Spec
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    LEAST_AGREEMENT,
    Answered,
    Question,
    compare,
    different,
    known,
    not_taken,
    of_example,
    of_observed,
)
from codeguard.behavior.verdict.contracts import Contrast, contrast, refused_by_sandbox
from codeguard.behavior.verdict.edited_copies import (
    edits_shown,
    imported_elsewhere,
    refusals_added,
    same_text,
)
from codeguard.behavior.verdict.effect_tables import CONVICTING, ENVIRONMENT, LOOKING
from codeguard.behavior.verdict.effects import Capability, beyond, observed
from codeguard.behavior.verdict.profiles import Profile, random_for, result_kind
from codeguard.behavior.verdict.reports import Reporting
from codeguard.behavior.verdict.running import Steps, call_of
from codeguard.behavior.verdict.state import REPEATS, changed_by_repetition
from codeguard.behavior.verdict.values import Comparison
from codeguard.models import CheckReport, Verdict
from codeguard.sandbox.model import JobResult, Outcome, Status, Tier

LEAST_TWINS = 3
LEAST_CALLS = 5  # fewer that agree say nothing
LEAST_EXAMPLES = 4  # that say by themselves how much of a contract is in common
MAX_SUSPICIONS = 6
MAX_SHOWN = 12  # calls that stand in for examples where none is written
LEAST_CLAIMED_AGREEMENT = 0.25  # less of it is no common core, whatever a candidate claims to be
LEAST_SHOWN_AGREEMENT = 0.75  # from which on results alone say that a candidate means to be a function


@dataclass
class Examination(Reporting):
    """Everything that is asked of one candidate."""

    def against_spec(self, spec: Spec, alone: bool = False) -> Steps[CheckReport]:
        """Hold the candidate to a hand-written spec; `alone` says that no trusted function is like it."""
        pairs = [(case, call_of(case, self.candidate.runnable)) for case in spec.cases]
        questions = [of_example(case, call) for case, call in pairs if call is not None]
        (result,) = yield from self.ask(questions)
        answered = compare(questions, result.calls)
        if not known(answered) or not_taken(answered):
            return self.ended(result, spec.origin)
        wrong = different(answered)
        if wrong and spec.shipped:
            # Not the team's own word: it accuses nobody who may be another function, or keeps another contract.
            found = contrast(answered, f"{spec.name} {spec.summary}")
            if not found.wrong:
                reason = f"keeps a contract of its own: {' and '.join(found.conventions)}"
                return self.report(Verdict.DIFFERS, reason, result, origin=spec.origin)
            described = alone and matches_summary(self.candidate.features, spec.summary)
            other = found.agreement <= LEAST_AGREEMENT and not described
            another_kind = _gives_another_kind(answered)
            if other or another_kind:
                reason = f"bears the name of {spec.name}, and is not what is known by it: {wrong[0].text}"
                report = self.report(Verdict.NO_SIGNAL, reason, result, origin=spec.origin)
                # Two answers of different kinds agree by chance at most: both are nothing.
                agrees = found.agreement and not another_kind
                claimed = agrees or described or repeated_words(self.candidate.features, spec.summary)
                return replace(report, claims=f"{spec.name} ({spec.origin})" if claimed else "", refuted=True)
        if wrong:
            return self.wrong(Verdict.FAIL, wrong, len(known(answered)), spec.origin, result)
        if result.status is not Status.COMPLETED:
            return self.ended(result, spec.origin)
        extra = beyond(self._able(result.effects), ())
        worst = [capability for capability in extra if capability.kind in CONVICTING]
        if worst:
            # What a spec can say in plain values touches nothing but its arguments.
            return self._violation(worst, "its spec", result, spec.origin)
        incomparable = [item for item in answered if item.incomparable]
        if incomparable:
            return self.incomparable(incomparable, len(answered), result, spec.origin)
        report = self.report(Verdict.PASS, f"{len(known(answered))} cases agree", result, origin=spec.origin)
        literals = frozenset(repr(value) for case in spec.cases for value in case.args or ())
        agreed = [item.question for item in answered if item.comparison is Comparison.SAME]
        return (yield from self.exercised(report, questions, agreed, literals))

    def against_reference(
        self, profile: Profile, likeness: Similarity, best: bool = True
    ) -> Steps[CheckReport]:
        """Hold the candidate to a trusted function: its examples, and its results on generated inputs.

        `best` says that no other trusted function is more alike.
        """
        likeness = likeness if best else replace(likeness, closest=False)
        origin = profile.reference.origin
        extra = beyond(self.candidate.reach.certain, profile.capabilities)
        questions = self._questions(profile)
        if not questions:
            untested = self.untested(profile, likeness, extra)
            if untested.verdict is Verdict.VIOLATION:
                return untested
            edited = yield from self._edited(profile, likeness)
            return edited or self._called_otherwise(profile, likeness) or untested
        random_for(self.seed, "order", profile.reference.digest, self.candidate.runnable.source).shuffle(
            questions
        )
        ordinary, other = yield from self.ask(questions, twice=True)
        effects = (*ordinary.effects, *other.effects)
        extra = beyond(self._able(effects), profile.capabilities)
        answered = compare(questions, ordinary.calls)
        refused = bool(known(answered)) and (yield from self.refused(answered, likeness))
        if not known(answered) or (refused and not likeness.overlap.is_edited_copy):
            return self.violated(extra, likeness, ordinary, origin) or self.ended(ordinary, origin)
        found = self._contrast(profile, likeness, answered)
        if not found.compared and different(answered) and not likeness.overlap.is_edited_copy:
            reason = f"nothing that {profile.reference.name} is asked to take could be compared"
            violated = self.violated(extra, likeness, ordinary, origin)
            return violated or self.report(Verdict.NO_SIGNAL, reason, ordinary, origin=origin, extra=extra)
        mostly = found.agreement >= LEAST_AGREEMENT
        another = self._otherwise(profile, likeness, found, answered, ordinary)
        if another is not None and not likeness.overlap.is_near_copy:
            return another
        violated = self.violated(extra, likeness, ordinary, origin, mostly)
        if violated is not None:
            return violated
        if another is not None:
            return another
        refusals = [item for item in answered if refused_by_sandbox(item)]
        if refusals and not found.wrong:
            reason = f"on {len(refusals)} of {len(answered)} calls it wants what the sandbox refuses"
            return self.report(Verdict.NO_SIGNAL, reason, ordinary, origin=origin, extra=extra)
        if different(answered) and not (yield from self.holds_natively(different(answered))):
            # The restricted tier's own rules must not convict anybody.
            self.runner.tier = Tier.NATIVE
            ordinary, other = yield from self.ask(questions, twice=True)
            answered = compare(questions, ordinary.calls)
            found = self._contrast(profile, likeness, answered)
        verdict = yield from self._differs(profile, likeness, answered, found, ordinary)
        if verdict is not None:
            return verdict
        if ordinary.status is not Status.COMPLETED:
            return self.ended(ordinary, origin)
        moved = self._moved(questions, answered, other, origin)
        if moved is not None:
            return moved
        agreed = [item for item in answered if item.comparison is Comparison.SAME]
        changed = yield from changed_by_repetition(self.runner, agreed, self.seed)
        if changed:
            report = self.wrong(Verdict.DIVERGES, changed, REPEATS, origin, ordinary)
            return replace(report, reason=f"turns wrong when it is called again and again: {report.reason}")
        triggered, tailored = yield from self._triggers(profile, likeness, answered)
        if triggered is not None:
            return triggered
        edited = yield from self._edited(profile, likeness)
        if edited is not None and edited.verdict is not Verdict.PASS:
            return edited
        if found.conventions:
            return self._conventional(profile, answered, found, ordinary, extra)
        return (yield from self.passed(profile, answered, tailored, ordinary, extra))

    def _able(self, effects: Sequence[str]) -> list[Capability]:
        """Return what the candidate can do for sure, and what it was seen to do.

        Many modules look at the environment once, while they are imported; what the function does need not hang on it.
        """
        certain, possible = ({item.kind for item in found} for found in self.candidate.reach)
        once = ENVIRONMENT in possible - certain
        seen = observed(effect for effect in effects if not (once and effect.partition(":")[0] in LOOKING))
        return [*self.candidate.reach.certain, *seen]

    def identical(self, reference: Reference) -> CheckReport | None:
        """Report a text that is the trusted one with the same surroundings: running it could only meet a limit.

        None where it is not.
        """
        if not same_text(self.candidate, reference):
            return None
        idle = JobResult(Status.COMPLETED, self.level, self.runner.tier)
        reason = "the trusted text, in the same surroundings"
        report = self.report(Verdict.PASS, reason, idle, origin=reference.origin)
        return self.covered(report, imported_elsewhere(self.candidate.runnable.source))

    def _contrast(self, profile: Profile, likeness: Similarity, answered: Sequence[Answered]) -> Contrast:
        """Tell differences of substance from those of form; in an edited copy every difference is of substance."""
        definition = profile.reference.definition
        told = f"{definition.name} {definition.docstring}"
        found = contrast(answered, told, own_words=not likeness.has_same_description)
        if likeness.overlap.is_edited_copy:
            return replace(found, wrong=tuple(different(answered)), conventions=())
        return found

    def _core(
        self, profile: Profile, likeness: Similarity, found: Contrast, answered: Sequence[Answered]
    ) -> float:
        """Return the share of the trusted examples that a candidate agrees with, of all calls where there are few.

        Generated calls differ from installation to installation, and a verdict is not to hang on which were drawn.
        """
        examples = [item for item in answered if item.question.example is not None]
        if len(known(examples)) < LEAST_EXAMPLES:
            return found.agreement
        return self._contrast(profile, likeness, examples).agreement

    def _otherwise(
        self,
        profile: Profile,
        likeness: Similarity,
        found: Contrast,
        answered: Sequence[Answered],
        result: JobResult,
    ) -> CheckReport | None:
        """Report a candidate that may be another function than the reference, for nothing it claims or shows.

        A strong claim (name, description and signature) that agrees hardly
        anywhere is found false without a conviction, for nothing is left of
        a common core; the trusted description itself is no such claim.
        """
        if not found.wrong:
            return None
        name, agreement = profile.reference.name, found.agreement
        distinctive = found.distinctive
        shown = found.wrong[0].text
        if likeness.overlap.is_near_copy:
            other = likeness.is_other_function or not (
                likeness.overlap.is_edited_copy or likeness.name == 1.0
            )
            if not other or agreement >= LEAST_AGREEMENT:
                return None
            reason = f"has the text of {name}, and differs: {shown}"
            return self._another(reason, profile, result, claimed=not likeness.opposed)
        if likeness.has_same_description:
            return None
        if likeness.is_certain:
            if self._core(profile, likeness, found, answered) >= LEAST_CLAIMED_AGREEMENT:
                return None
            return self._another(f"claims to be {name}, and differs: {shown}", profile, result, claimed=True)
        if likeness.matches_by_name_only:
            reason = f"bears the name of {name} and differs: {shown}"
            return self._another(reason, profile, result, claimed=distinctive >= LEAST_SHOWN_AGREEMENT)
        if distinctive >= LEAST_SHOWN_AGREEMENT:
            return None
        if likeness.found_by_results and distinctive >= LEAST_AGREEMENT:
            reason = f"does mostly what {name} does, and differs: {shown}"
            return self._another(reason, profile, result, claimed=not likeness.is_other_function)
        reason = f"like {name} in words, not in what it does: {shown}"
        return self._another(reason, profile, result, claimed=likeness.describes_reference)

    def _conventional(
        self,
        profile: Profile,
        answered: Sequence[Answered],
        found: Contrast,
        result: JobResult,
        extra: Sequence[Capability],
    ) -> CheckReport:
        """Report a contract of its own: nothing that convicts, and nothing that earns a bonus."""
        shown = different(answered)
        count = len(known(answered))
        own = " and ".join(found.conventions)
        name = profile.reference.name
        reason = f"does what {name} does by a contract of its own: {own} ({len(shown)} of {count} calls)"
        report = self.report(Verdict.DIFFERS, reason, result, profile.reference.origin, extra)
        return replace(report, counterexample=shown[0].text if shown else "")

    def _another(self, reason: str, profile: Profile, result: JobResult, *, claimed: bool) -> CheckReport:
        """Report what is another function than the reference, though a reader may take it for that one."""
        report = self.report(Verdict.NO_SIGNAL, reason, result)
        if not claimed:
            return report
        return replace(report, claims=f"{profile.reference.name} ({profile.reference.origin})", refuted=True)

    def _questions(self, profile: Profile) -> list[Question]:
        runnable = self.candidate.runnable
        pairs = [(example, call_of(example, runnable)) for example in profile.examples]
        questions = [of_example(example, call) for example, call in pairs if call is not None]
        own = self.candidate.definition.parameters
        asked = [item for item in profile.generated if item.suits(own)]
        seen = [of_observed(item, runnable, profile.silence_free) for item in asked]
        questions += [question for question in seen if question is not None]
        return [question for question in questions if self.binds(question)]

    def _differs(
        self,
        profile: Profile,
        likeness: Similarity,
        answered: Sequence[Answered],
        found: Contrast,
        result: JobResult,
    ) -> Steps[CheckReport | None]:
        wrong = [item for item in found.wrong if not item.question.stands_in]
        if not wrong and found.wrong:
            return self._unlike(profile, found.wrong, result)
        if not wrong:
            return None
        origin = profile.reference.origin
        on_examples = [item for item in wrong if item.question.example is not None]
        if on_examples:
            examples = [item for item in known(answered) if item.question.example is not None]
            return self.wrong(Verdict.FAIL, on_examples, len(examples), origin, result)
        stricter = self._stricter(profile, answered)
        if all(stricter.intersection(item.answer.exception[:1]) for item in wrong):
            return self._refusing(profile, wrong, result)
        generated = [item for item in known(answered) if item.question.example is None]
        settled = yield from self.settled(profile, wrong)
        if not settled:
            return None
        smallest = yield from self.shrunk(profile, settled[0])
        if _another_authors(likeness):
            return self._beyond_examples(profile, smallest, result)
        return self.wrong(Verdict.DIVERGES, [smallest, *wrong[1:]], len(generated), origin, result)

    def _stricter(self, profile: Profile, answered: Sequence[Answered]) -> frozenset[str]:
        """Return the exceptions that a candidate which is wrong on no example raises in more places than the reference.

        Nothing where it agrees nowhere.
        """
        compared = known(answered)
        wrong = any(item.comparison is Comparison.DIFFERENT and item.question.example for item in compared)
        if wrong or len(different(compared)) == len(compared):
            return frozenset()
        return refusals_added(self.candidate, profile.reference)

    def _refusing(self, profile: Profile, wrong: Sequence[Answered], result: JobResult) -> CheckReport:
        """Report a candidate that refuses, in so many words, what no example shows: it gives nothing that is wrong."""
        reason = f"refuses more than {profile.reference.name} does: {wrong[0].text}"
        return self._another(reason, profile, result, claimed=True)

    def _beyond_examples(self, profile: Profile, wrong: Answered, result: JobResult) -> CheckReport:
        """Report a function of that name, told in words of its own, that differs where no example shows what is right.

        An honest one may mean something else there: a palindrome without its spaces, primes up to a number or below it.
        """
        reason = f"claims to be {profile.reference.name}, and differs where no example says how: {wrong.text}"
        return self._another(reason, profile, result, claimed=True)

    def _unlike(self, profile: Profile, wrong: Sequence[Answered], result: JobResult) -> CheckReport:
        """Report a candidate that differs on stand-ins alone: a real object might not show it."""
        reason = f"does something else with objects than {profile.reference.name}: {wrong[0].text}"
        return self._another(reason, profile, result, claimed=True)

    def _triggers(
        self, profile: Profile, likeness: Similarity, ordinary: Sequence[Answered]
    ) -> Steps[tuple[CheckReport | None, list[Question]]]:
        """Try what the candidate's own guards and literals ask for; return what was asked as well.

        A difference inside the domain convicts like any other, but for a mere
        namesake, which may be another function there. Outside of the domain
        one convicts only where the candidate's own constant switches it on:
        the reference has no such constant, and next to the input the two agree.
        """
        shown = tuple((item.call.args, item.call.kwargs) for item in profile.generated if item.call.args)
        domain, examples = profile.domain, profile.plain_calls or shown[:MAX_SHOWN]
        if domain is None or not examples or not self.budget.tailored:
            return None, []
        random = random_for(self.seed, "tailored", profile.reference.digest, self.candidate.runnable.source)
        made = tailored_inputs(
            self.candidate, profile.reference, examples, domain, random, self.budget.tailored
        )
        answered, result = yield from self.both(profile, [(item.args, item.kwargs) for item in made])
        if result is None:
            return None, []
        asked = [item.question for item in answered]
        wrong = different(answered)
        if not wrong:
            return None, asked
        by_key = {repr((item.args, dict(item.kwargs))): item for item in made}
        origins = [
            by_key[repr((item.question.call.args, dict(item.question.call.kwargs)))] for item in answered
        ]
        # What is of form on these inputs is so beside all the others.
        inner = [item for item, origin in zip(answered, origins, strict=True) if origin.inside]
        of_substance = {id(item) for item in self._contrast(profile, likeness, [*ordinary, *inner]).wrong}
        stricter = self._stricter(profile, ordinary)
        suspicions = 0
        for item in wrong:
            origin = origins[next(place for place, other in enumerate(answered) if other is item)]
            if origin.inside and not likeness.matches_by_name_only:
                if id(item) not in of_substance:
                    continue
                if not (yield from self.settled(profile, [item])):
                    continue
                if stricter.intersection(item.answer.exception[:1]):
                    return self._refusing(profile, [item], result), asked
                inside = [one for one in known(answered) if one.question.call.args is not None]
                smallest = yield from self.shrunk(profile, item)
                if _another_authors(likeness) and not (yield from self._switched(profile, origin)):
                    return self._beyond_examples(profile, smallest, result), asked
                report = self.wrong(
                    Verdict.DIVERGES, [smallest], len(inside), profile.reference.origin, result
                )
                return report, asked
            refuses = item.answer.outcome is Outcome.RAISED
            if not origin.magic or refuses or suspicions >= MAX_SUSPICIONS:
                continue
            suspicions += 1
            if (yield from self._switched(profile, origin)):
                report = self.wrong(Verdict.DIVERGES, [item], len(answered), profile.reference.origin, result)
                reason = f"wrong exactly where its own constant is met: {report.reason}"
                return replace(report, reason=reason), asked
        return None, asked

    def _switched(self, profile: Profile, made: Tailored) -> Steps[bool]:
        """Return whether the candidate's own constant switches the difference on.

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
        if not likeness.overlap.is_edited_copy or likeness.is_other_function:
            return None
        answered = yield from edits_shown(self, profile)
        if not answered:
            return None
        origin = profile.reference.origin
        idle = JobResult(Status.COMPLETED, self.level, self.runner.tier)
        shown = [item.question.reference for item in answered if item.question.reference is not None]
        returned = sum(answer.outcome is Outcome.RETURNED for answer in shown)
        wrong = different(answered)
        if not wrong or not (yield from self.holds_natively(wrong)):
            # What both refuse says nothing of what either is for.
            if returned < LEAST_CALLS:
                return None
            return self.report(Verdict.PASS, f"{len(answered)} calls agree", idle, origin=origin)
        wrong = [item for item in wrong if not item.question.stands_in] or wrong
        if wrong[0].question.stands_in:
            return self._unlike(profile, wrong, idle)
        name = profile.reference.name
        if likeness.has_own_description and all(map(_accepted, wrong)):
            # A check that a copy lacks may be one that it never had: both may come from a third text.
            return self._another(f"takes what {name} refuses: {wrong[0].text}", profile, idle, claimed=True)
        if shown and not returned:  # it was never asked for what it is there for
            reason = f"takes what {name} refuses, which refused all that was made for it: {wrong[0].text}"
            return self._another(reason, profile, idle, claimed=True)
        report = self.wrong(Verdict.DIVERGES, wrong, len(answered), origin, idle)
        return replace(report, reason=f"{name} with something changed in it: {report.reason}")

    def _called_otherwise(self, profile: Profile, likeness: Similarity) -> CheckReport | None:
        """Report a copy that none of the known calls can be made of; a longer function may hold a short one's text."""
        if not likeness.overlap.is_edited_copy or not (profile.examples or profile.generated):
            return None
        reason = f"has the text of {profile.reference.name}, and takes other arguments"
        idle = JobResult(Status.NO_SIGNAL, self.level, self.runner.tier)
        return self._another(
            reason, profile, idle, claimed=likeness.name == 1.0 or likeness.describes_reference
        )

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


def _accepted(item: Answered) -> bool:
    """Return whether an answer is one to a call that the trusted function refuses."""
    reference = item.question.reference
    refused = reference is not None and reference.outcome is Outcome.RAISED
    return refused and item.answer.outcome is Outcome.RETURNED


def _another_authors(likeness: Similarity) -> bool:
    """Return whether a claim is made by the name, not with the trusted text or description.

    What generated calls show is no proof then.
    """
    return likeness.is_claimed and likeness.has_own_description and not likeness.overlap.is_edited_copy


def _gives_another_kind(answered: Sequence[Answered]) -> bool:
    """Return whether no answer is of a kind that is expected: as lists where a truth value is asked for."""
    expected = {
        result_kind(item.question.example.expected.value)
        for item in answered
        if item.question.example is not None and isinstance(item.question.example.expected, Returns)
    }
    returned = [item.answer.value for item in answered if item.answer.outcome is Outcome.RETURNED]
    given = {result_kind(value) for value in returned if value is not None}
    return bool(expected) and bool(given) and not expected & given
