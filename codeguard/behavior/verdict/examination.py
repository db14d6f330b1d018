"""The check of one candidate: examples, generated inputs, effects, and the resulting verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.inputs.tailored import Tailored, tailored_inputs
from codeguard.behavior.matching.claims import Similarity, matches_summary, repeated_words
from codeguard.behavior.matching.fingerprints import result_text, returns_first_argument
from codeguard.behavior.specs.examples import Returns, Spec
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    LEAST_AGREEMENT,
    Case,
    CaseResult,
    case_of_example,
    case_of_observed,
    comparable_results,
    compare_results,
    rejects_arguments,
    wrong_results,
)
from codeguard.behavior.verdict.contracts import Contrast, contrast, is_changed, is_hidden
from codeguard.behavior.verdict.edited_copies import (
    added_refusals,
    compare_edited_copy,
    is_copied_class,
    is_same_source,
    is_unlike_recorded,
    third_party_imports,
)
from codeguard.behavior.verdict.effect_tables import CONVICTING, ENVIRONMENT, LOOKING
from codeguard.behavior.verdict.effects import Capability, capabilities_beyond, observed_effects
from codeguard.behavior.verdict.profiles import Profile, random_for
from codeguard.behavior.verdict.reports import CandidateReports
from codeguard.behavior.verdict.running import Steps, call_of
from codeguard.behavior.verdict.state import REPEATS, changed_by_repetition
from codeguard.behavior.verdict.values import (
    Comparison,
    is_empty_result,
    result_kind,
)
from codeguard.models import CheckReport, Verdict
from codeguard.sandbox.model import JobResult, Outcome, Status, Tier

LEAST_TWINS = 3
LEAST_ANSWERS = 2  # distinct ones; agreement on a single one shows little
LEAST_CALLS = 5  # fewer agreeing calls prove nothing
LEAST_EXAMPLES = 4  # examples that suffice to measure agreement
MAX_SUSPICIONS = 6
MAX_SHOWN = 12  # observed calls used if there are no examples
LEAST_CLAIMED_AGREEMENT = 0.25  # below this there is no common core, whatever the claim
LEAST_SHOWN_AGREEMENT = 0.75  # above this, results alone show what a candidate is meant to be


@dataclass
class Examination(CandidateReports):
    """Runs all checks of one candidate."""

    def against_spec(self, spec: Spec, alone: bool = False) -> Steps[CheckReport]:
        """Check the candidate against a hand-written spec; `alone` if no trusted function is similar to it."""
        pairs = [(example, call_of(example, self.candidate.runnable)) for example in spec.cases]
        cases = [case_of_example(example, call) for example, call in pairs if call is not None]
        (result,) = yield from self.ask(cases)
        results = compare_results(cases, result.calls)
        if not comparable_results(results) or rejects_arguments(results):
            return self.ended_report(result, spec.origin)
        wrong = wrong_results(results)
        if wrong and spec.shipped:
            # Shipped specs are not the user's own, so other functions of that name and other conventions are allowed.
            found = contrast(results, f"{spec.name} {spec.summary}")
            if not found.wrong and found.conventions:
                reason = f"differs only in convention: {' and '.join(found.conventions)}"
                return self.report(Verdict.DIFFERS, reason, result, origin=spec.origin)
            if not found.wrong:
                return self.report(Verdict.NO_SIGNAL, _hidden_reason(results), result, origin=spec.origin)
            described = alone and matches_summary(self.candidate.features, spec.summary)
            other = found.agreement <= LEAST_AGREEMENT and not described
            another_kind = _returns_other_kind(results)
            if other or another_kind:
                reason = f"has the name of {spec.name} but is another function: {wrong[0].text}"
                report = self.report(Verdict.NO_SIGNAL, reason, result, origin=spec.origin)
                # Results of different kinds agree by chance only, when both are empty.
                agrees = found.agreement and not another_kind
                claimed = agrees or described or repeated_words(self.candidate.features, spec.summary)
                return replace(report, claims=f"{spec.name} ({spec.origin})" if claimed else "", refuted=True)
        if wrong:
            return self.wrong(Verdict.FAIL, wrong, len(comparable_results(results)), spec.origin, result)
        if result.status is not Status.COMPLETED:
            return self.ended_report(result, spec.origin)
        extra = capabilities_beyond(self._all_capabilities(result.effects, self.candidate.reach.certain), ())
        worst = [capability for capability in extra if capability.kind in CONVICTING]
        if worst:
            # A function that a spec of plain values describes has no effects.
            return self._violation(worst, "its spec", result, spec.origin)
        incomparable = [item for item in results if item.incomparable]
        if incomparable:
            return self.incomparable(incomparable, len(results), result, spec.origin)
        report = self.report(
            Verdict.PASS, f"{len(comparable_results(results))} cases agree", result, origin=spec.origin
        )
        return (yield from self.with_coverage(report, cases))

    def against_reference(
        self, profile: Profile, similarity: Similarity, best: bool = True
    ) -> Steps[CheckReport]:
        """Check the candidate against a trusted function: its examples, and results on generated inputs.

        `best` means that no other trusted function is more similar.
        """
        # The steps are in order of cost, and each may decide: what the source shows, the examples in two worlds,
        # repetition, and only then inputs made for this candidate.
        similarity = similarity if best else replace(similarity, closest=False)
        origin = profile.reference.origin
        certain = self._certain(profile.reference)
        extra = capabilities_beyond(certain, profile.capabilities)
        cases = self._cases(profile)
        if not cases:
            untested = self.not_tested_report(profile, similarity, extra)
            if untested.verdict is Verdict.VIOLATION:
                return untested
            edited = yield from self._check_edited_copy(profile, similarity)
            return edited or self._other_signature_report(profile, similarity) or untested
        random_for(self.seed, "order", profile.reference.digest, self.candidate.runnable.source).shuffle(
            cases
        )
        ordinary, other = yield from self.ask(cases, twice=True)
        effects = (*ordinary.effects, *other.effects)
        extra = capabilities_beyond(self._all_capabilities(effects, certain), profile.capabilities)
        results = compare_results(cases, ordinary.calls)
        refused = bool(comparable_results(results)) and (yield from self.rejects_inputs(results, similarity))
        if not comparable_results(results) or (refused and not similarity.overlap.is_edited_copy):
            violated = self.violation_report(extra, similarity, ordinary, origin)
            told = violated or (self._refusing_report(profile, similarity, results) if refused else None)
            told = told or self._hidden_report(profile, similarity, results, ordinary)
            return told or self.ended_report(ordinary, origin)
        found = self._contrast(profile, similarity, results)
        if not found.compared and wrong_results(results) and not similarity.overlap.is_edited_copy:
            reason = f"no call that the description of {profile.reference.name} allows could be compared"
            told = self.violation_report(extra, similarity, ordinary, origin)
            told = told or self._hidden_report(profile, similarity, results, ordinary)
            return told or self.report(Verdict.NO_SIGNAL, reason, ordinary, origin=origin, extra=extra)
        mostly = found.agreement >= LEAST_AGREEMENT
        if not similarity.has_same_description and not similarity.overlap.is_near_copy:
            # Many functions of one name return nothing.
            answers = {(repr(item.answer.value), item.answer.stdout) for item in results}
            mostly = mostly and len(answers) >= LEAST_ANSWERS
        other_function = self._other_function(profile, similarity, found, results, ordinary)
        if other_function is not None and not similarity.overlap.is_near_copy:
            return other_function
        violated = self.violation_report(extra, similarity, ordinary, origin, mostly)
        if violated is not None:
            return violated
        if other_function is not None:
            return other_function
        hidden = None if found.wrong else self._hidden_report(profile, similarity, results, ordinary)
        if hidden is not None:
            return hidden
        if wrong_results(results) and not (yield from self.is_wrong_natively(wrong_results(results))):
            # The policy of the restricted tier must not convict a candidate.
            self.runner.tier = Tier.NATIVE
            ordinary, other = yield from self.ask(cases, twice=True)
            results = compare_results(cases, ordinary.calls)
            found = self._contrast(profile, similarity, results)
        verdict = yield from self._differs(profile, similarity, results, found, ordinary)
        if verdict is not None:
            return verdict
        if ordinary.status is not Status.COMPLETED:
            return self.ended_report(ordinary, origin)
        changed_in_world = self._world_dependence(cases, results, other, origin)
        if changed_in_world is not None:
            return changed_in_world
        agreed = [item for item in results if item.comparison is Comparison.SAME]
        changed = yield from changed_by_repetition(self.runner, agreed, self.seed)
        if changed:
            report = self.wrong(Verdict.DIVERGES, changed, REPEATS, origin, ordinary)
            return replace(report, reason=f"becomes wrong when it is called repeatedly: {report.reason}")
        triggered, tailored = yield from self._check_triggers(profile, similarity, results)
        if triggered is not None:
            return triggered
        edited = yield from self._check_edited_copy(profile, similarity)
        if edited is not None and edited.verdict is not Verdict.PASS:
            return edited
        if found.conventions and not agreed and not found.has_form:
            # Both only say in their own way that there is no result, which may be for different reasons.
            reason = f"agrees with {profile.reference.name} on no call that could be compared"
            return self.report(Verdict.NO_SIGNAL, reason, ordinary, origin=origin, extra=extra)
        if found.conventions:
            return self._own_contract_report(profile, results, found, ordinary, extra)
        if similarity.overlap.is_edited_copy and not any(map(_shows_something, agreed)):
            # What an edit changes may show elsewhere: in an object of the module, in a log.
            reason = f"agrees with {profile.reference.name} on calls that return and leave nothing"
            return self.report(Verdict.NO_SIGNAL, reason, ordinary, origin=origin, extra=extra)
        claimed = similarity.has_same_description or similarity.overlap.has_its_text
        if agreed and not claimed and all(map(_returns_its_argument, agreed)):
            reason = f"agrees with {profile.reference.name} only where both return the argument as it is"
            return self.report(Verdict.NO_SIGNAL, reason, ordinary, origin=origin, extra=extra)
        return (yield from self.pass_report(profile, results, tailored, ordinary, extra))

    def _certain(self, reference: Reference) -> frozenset[Capability]:
        """Return the certain capabilities to compare with those of a trusted function.

        A method is compared by itself, unless its class is a copy of the trusted one: the object that it is
        called on, which other classes make otherwise, is not what it claims to be.
        """
        own, other = self.candidate.definition.owner, reference.definition.owner
        if own is None or (other is not None and is_copied_class(own, other)):
            return self.candidate.reach.certain
        return self.candidate.surroundings.reached_by_method

    def _all_capabilities(self, effects: Sequence[str], sure: frozenset[Capability]) -> list[Capability]:
        """Return the capabilities that are certain from the source, and those that runs showed.

        Many modules read the environment once on import, and the function does not necessarily use
        that. So an observed read does not count if it may come from the import.
        """
        certain, possible = ({item.kind for item in found} for found in self.candidate.reach)
        once = ENVIRONMENT in possible - certain
        seen = observed_effects(
            effect for effect in effects if not (once and effect.partition(":")[0] in LOOKING)
        )
        return [*sure, *seen]

    def identical(self, reference: Reference) -> CheckReport | None:
        """Report a candidate whose source and helpers are those of the trusted function; None if not.

        It is not run, because its run could only hit a limit.
        """
        if not is_same_source(self.candidate, reference):
            return None
        idle = JobResult(Status.COMPLETED, self.level, self.runner.tier)
        reason = "identical to the trusted function, with the code that it uses"
        report = self.report(Verdict.PASS, reason, idle, origin=reference.origin)
        return self.with_missing_coverage(report, third_party_imports(self.candidate.runnable.source))

    def _contrast(self, profile: Profile, similarity: Similarity, results: Sequence[CaseResult]) -> Contrast:
        """Separate wrong results from differences of convention; edited copies are allowed no conventions."""
        definition = profile.reference.definition
        description = f"{definition.name} {definition.docstring}"
        found = contrast(results, description, own_words=not similarity.has_same_description)
        if similarity.overlap.is_edited_copy:
            wrong = tuple(item for item in wrong_results(results) if not is_hidden(item))
            return replace(found, wrong=wrong, conventions=())
        return found

    def _core_agreement(
        self, profile: Profile, similarity: Similarity, found: Contrast, results: Sequence[CaseResult]
    ) -> float:
        """Return the candidate's agreement on the trusted examples, or on all calls if there are few examples.

        Generated calls differ between installations, and a verdict should not depend on them.
        """
        examples = [item for item in results if item.case.example is not None]
        if len(comparable_results(examples)) < LEAST_EXAMPLES:
            return found.agreement
        return self._contrast(profile, similarity, examples).agreement

    def _other_function(
        self,
        profile: Profile,
        similarity: Similarity,
        found: Contrast,
        results: Sequence[CaseResult],
        result: JobResult,
    ) -> CheckReport | None:
        """Report a candidate that may be another function than the reference; None if it is meant to be it.

        A certain claim (by name, description and signature) with hardly any agreement is refuted
        but not convicted, because no common core is left. The trusted description itself, however,
        is always taken at its word.
        """
        if not found.wrong:
            return None
        name, agreement = profile.reference.name, found.agreement
        distinctive = found.distinctive
        shown = found.wrong[0].text
        if similarity.overlap.is_near_copy:
            other = similarity.claims_nothing_in_words or not (
                similarity.overlap.is_edited_copy or similarity.name == 1.0
            )
            if not other or agreement >= LEAST_AGREEMENT:
                return None
            reason = f"has nearly the source of {name} but differs: {shown}"
            return self._other_function_report(reason, profile, result, claimed=not similarity.opposed)
        if similarity.has_same_description:
            return None
        if not similarity.describes_reference and _never_returns_its_kind(results):
            reason = f"has the name of {name} but returns other kinds of results: {shown}"
            return self._other_function_report(reason, profile, result, claimed=similarity.is_claimed)
        if similarity.is_certain:
            if self._core_agreement(profile, similarity, found, results) >= LEAST_CLAIMED_AGREEMENT:
                return None
            return self._other_function_report(
                f"claims to be {name} but differs: {shown}", profile, result, claimed=True
            )
        if similarity.matches_by_name_only:
            reason = f"has the name of {name} but differs: {shown}"
            return self._other_function_report(
                reason, profile, result, claimed=distinctive >= LEAST_SHOWN_AGREEMENT
            )
        if distinctive >= LEAST_SHOWN_AGREEMENT:
            return None
        if similarity.found_by_results and distinctive >= LEAST_AGREEMENT:
            reason = f"behaves mostly like {name} but differs: {shown}"
            return self._other_function_report(
                reason, profile, result, claimed=not similarity.is_other_function
            )
        reason = f"described like {name} but behaves differently: {shown}"
        claimed = (
            similarity.describes_reference
            or similarity.repeats_reference
            or self._reads_like(profile.reference, similarity)
        )
        return self._other_function_report(reason, profile, result, claimed=claimed)

    def _own_contract_report(
        self,
        profile: Profile,
        results: Sequence[CaseResult],
        found: Contrast,
        result: JobResult,
        extra: Sequence[Capability],
    ) -> CheckReport:
        """Report a candidate with conventions of its own, which neither convicts nor earns a bonus."""
        shown = wrong_results(results)
        count = len(comparable_results(results))
        own = " and ".join(found.conventions)
        name = profile.reference.name
        reason = f"behaves like {name} with other conventions: {own} ({len(shown)} of {count} calls)"
        report = self.report(Verdict.DIFFERS, reason, result, profile.reference.origin, extra)
        return replace(report, counterexample=shown[0].text if shown else "")

    def _other_function_report(
        self, reason: str, profile: Profile, result: JobResult, *, claimed: bool
    ) -> CheckReport:
        """Report a candidate that is another function; `claimed` if a reader may take it for the reference."""
        report = self.report(Verdict.NO_SIGNAL, reason, result)
        if not claimed:
            return report
        return replace(report, claims=f"{profile.reference.name} ({profile.reference.origin})", refuted=True)

    def _cases(self, profile: Profile) -> list[Case]:
        runnable = self.candidate.runnable
        pairs = [(example, call_of(example, runnable)) for example in profile.examples]
        cases = [case_of_example(example, call) for example, call in pairs if call is not None]
        own = self.candidate.definition.parameters
        asked_cases = [item for item in profile.generated if item.has_options(own)]
        seen = [case_of_observed(item, runnable, profile.silence_free) for item in asked_cases]
        cases += [case for case in seen if case is not None]
        known = [case for case in cases if self.has_options_of(profile.reference, case)]
        return [case for case in known if self.accepts_call(case)]

    def _differs(
        self,
        profile: Profile,
        similarity: Similarity,
        results: Sequence[CaseResult],
        found: Contrast,
        result: JobResult,
    ) -> Steps[CheckReport | None]:
        wrong = [item for item in found.wrong if not item.case.uses_stand_in]
        if not wrong and found.wrong:
            return self._stand_in_report(profile, found.wrong, result)
        if not wrong:
            return None
        origin = profile.reference.origin
        on_examples = [item for item in wrong if item.case.example is not None]
        if on_examples:
            examples = [item for item in comparable_results(results) if item.case.example is not None]
            return self.wrong(Verdict.FAIL, on_examples, len(examples), origin, result)
        stricter = self._added_exceptions(profile, results)
        if all(stricter.intersection(item.answer.exception[:1]) for item in wrong):
            return self._refusal_report(profile, wrong, result)
        generated = [item for item in comparable_results(results) if item.case.example is None]
        settled = yield from self.without_arbitrary(profile, wrong)
        if not settled:
            return None
        smallest = yield from self.shrink(profile, settled[0])
        if _is_independent(similarity):
            return self._undocumented_difference(profile, smallest, result)
        return self.wrong(Verdict.DIVERGES, [smallest, *wrong[1:]], len(generated), origin, result)

    def _added_exceptions(self, profile: Profile, results: Sequence[CaseResult]) -> frozenset[str]:
        """Return the exceptions that a candidate raises in more places than the reference.

        Empty if the candidate is wrong on an example or agrees on no call.
        """
        compared = comparable_results(results)
        wrong = any(item.comparison is Comparison.DIFFERENT and item.case.example for item in compared)
        if wrong or len(wrong_results(compared)) == len(compared):
            return frozenset()
        return added_refusals(self.candidate, profile.reference)

    def _refusal_report(
        self, profile: Profile, wrong: Sequence[CaseResult], result: JobResult
    ) -> CheckReport:
        """Report a candidate that explicitly rejects inputs which no example shows; its results are not wrong."""
        reason = f"rejects more inputs than {profile.reference.name}: {wrong[0].text}"
        return self._other_function_report(reason, profile, result, claimed=True)

    def _refusing_report(
        self, profile: Profile, similarity: Similarity, results: Sequence[CaseResult]
    ) -> CheckReport | None:
        """Report a function that reads like the trusted one and takes none of its calls.

        None if it does not claim so much, takes arguments of other kinds, or gives what cannot be compared.
        """
        wrong = wrong_results(results)
        if (
            not wrong
            or not self._reads_like(profile.reference, similarity)
            or self.expects_other_kinds(results)
        ):
            return None
        idle = JobResult(Status.COMPLETED, self.level, self.runner.tier)
        reason = f"claims to be {profile.reference.name} but refuses every call: {wrong[0].text}"
        return self._other_function_report(reason, profile, idle, claimed=True)

    def _hidden_report(
        self, profile: Profile, similarity: Similarity, results: Sequence[CaseResult], result: JobResult
    ) -> CheckReport | None:
        """Report that the sandbox hides results of the candidate and shows those of the trusted function; None if not.

        Any wrong result could be hidden by a call to the system that does nothing. So a function that
        reads like the trusted one, or has its name and agrees on other calls, ranks below what could be shown.
        """
        hidden = sorted((item for item in results if is_hidden(item)), key=lambda item: item.size)
        if not hidden:
            return None
        reason = _hidden_reason(results)
        agrees = any(item.comparison is Comparison.SAME for item in results)
        if not similarity.is_lookalike and not (agrees and similarity.is_claimed):
            return self.report(Verdict.NO_SIGNAL, reason, result, origin=profile.reference.origin)
        name, origin = profile.reference.name, profile.reference.origin
        reason = f"claims to be {name}, but {reason}, and that does not: {hidden[0].text}"
        # Final: the examples of a shipped spec may well go past what is hidden.
        report = self.report(Verdict.BADTYPE, reason, result)
        return replace(report, claims=f"{name} ({origin})", refuted=True)

    def _reads_like(self, reference: Reference, similarity: Similarity) -> bool:
        """Return whether name, text and parameters are those of a trusted function, in the same order."""
        own, other = (
            [item.name for item in one.parameters if item.kind == "positional"]
            for one in (self.candidate.definition, reference.definition)
        )
        return similarity.is_lookalike and similarity.same_parameters and own == other

    def _undocumented_difference(self, profile: Profile, wrong: CaseResult, result: JobResult) -> CheckReport:
        """Report an independent function of that name that differs where no example shows what is right.

        An honest function may have another definition there: palindromes with or without spaces,
        primes up to a number or below it.
        """
        reason = f"claims to be {profile.reference.name} but differs where no example defines the result: {wrong.text}"
        return self._other_function_report(reason, profile, result, claimed=True)

    def _stand_in_report(
        self, profile: Profile, wrong: Sequence[CaseResult], result: JobResult
    ) -> CheckReport:
        """Report a candidate that differs on stand-ins only, which a real object might not show."""
        reason = f"treats objects differently than {profile.reference.name}: {wrong[0].text}"
        return self._other_function_report(reason, profile, result, claimed=True)

    def _check_triggers(
        self, profile: Profile, similarity: Similarity, ordinary: Sequence[CaseResult]
    ) -> Steps[tuple[CheckReport | None, list[Case]]]:
        """Test inputs derived from the candidate's guards and literals; return the cases as well.

        A difference inside the domain convicts, unless only the name matches, since that may be
        another function. Outside of the domain, a difference convicts only if a constant of the
        candidate triggers it: the reference does not contain the constant, and both agree on nearby
        inputs.
        """
        shown = tuple((item.call.args, item.call.kwargs) for item in profile.generated if item.call.args)
        domain, examples = profile.domain, profile.plain_calls or shown[:MAX_SHOWN]
        if domain is None or not examples or not self.budget.tailored:
            return None, []
        random = random_for(self.seed, "tailored", profile.reference.digest, self.candidate.runnable.source)
        made = tailored_inputs(
            self.candidate, profile.reference, examples, domain, random, self.budget.tailored
        )
        results, result = yield from self.both(profile, [(item.args, item.kwargs) for item in made])
        if result is None:
            return None, []
        asked_cases = [item.case for item in results]
        hidden = self._hidden_report(profile, similarity, results, result)
        wrong = wrong_results(results)
        if not wrong:
            return hidden, asked_cases
        by_key = {repr((item.args, dict(item.kwargs))): item for item in made}
        origins = [by_key[repr((item.case.call.args, dict(item.case.call.kwargs)))] for item in results]
        # Conventions are judged on these inputs together with all others.
        inner = [item for item, origin in zip(results, origins, strict=True) if origin.inside]
        of_substance = {id(item) for item in self._contrast(profile, similarity, [*ordinary, *inner]).wrong}
        stricter = self._added_exceptions(profile, ordinary)
        suspicions = 0
        for item in wrong:
            origin = origins[next(place for place, other in enumerate(results) if other is item)]
            if origin.inside and not similarity.matches_by_name_only:
                if id(item) not in of_substance:
                    continue
                if not (yield from self.without_arbitrary(profile, [item])):
                    continue
                if stricter.intersection(item.answer.exception[:1]):
                    return self._refusal_report(profile, [item], result), asked_cases
                inside = [one for one in comparable_results(results) if one.case.call.args is not None]
                smallest = yield from self.shrink(profile, item)
                if _is_independent(similarity) and not (
                    yield from self._is_triggered_by_constant(profile, origin)
                ):
                    return self._undocumented_difference(profile, smallest, result), asked_cases
                report = self.wrong(
                    Verdict.DIVERGES, [smallest], len(inside), profile.reference.origin, result
                )
                return report, asked_cases
            refuses = item.answer.outcome is Outcome.RAISED
            if not origin.magic or refuses or suspicions >= MAX_SUSPICIONS:
                continue
            suspicions += 1
            if (yield from self._is_triggered_by_constant(profile, origin)):
                report = self.wrong(Verdict.DIVERGES, [item], len(results), profile.reference.origin, result)
                reason = f"wrong only for inputs made from a constant of its own: {report.reason}"
                return replace(report, reason=reason), asked_cases
        return hidden, asked_cases

    def _is_triggered_by_constant(self, profile: Profile, made: Tailored) -> Steps[bool]:
        """Return whether a constant of the candidate triggers the difference.

        Then both agree on the same input made with other constants; for a comparison by size, on
        one side.
        """
        results, _ = yield from self.both(profile, made.variants())
        compared = comparable_results(results)
        if len(compared) < LEAST_TWINS:
            return False
        wrong = wrong_results(compared)
        if made.ordered:
            return len(wrong) < len(compared) - 1
        # With nested conditions, a variant may satisfy them in another way.
        return len(wrong) * 4 <= len(compared)

    def _check_edited_copy(self, profile: Profile, similarity: Similarity) -> Steps[CheckReport | None]:
        """Check an edited copy of the reference on everything that the reference accepts; None if it is none."""
        if not similarity.overlap.is_edited_copy or similarity.is_other_function:
            return None
        results = yield from compare_edited_copy(self, profile)
        if not results:
            return None
        origin = profile.reference.origin
        idle = JobResult(Status.COMPLETED, self.level, self.runner.tier)
        shown = [item.case.reference for item in results if item.case.reference is not None]
        returned = sum(answer.outcome is Outcome.RETURNED for answer in shown)
        wrong = [item for item in wrong_results(results) if not is_hidden(item)]
        if not wrong and any(map(is_hidden, results)):
            return self._hidden_report(profile, similarity, results, idle)
        if not wrong or not (yield from self.is_wrong_natively(wrong, results)):
            # Calls that both reject show nothing, and neither do those that return and leave nothing.
            if sum(map(_shows_something, results)) < LEAST_CALLS:
                return None
            report = self.report(Verdict.PASS, f"{len(results)} calls agree", idle, origin=origin)
            missing = yield from self._unreached([item.case for item in results])
            return self.with_missing_coverage(report, missing) if missing else report
        wrong = [item for item in wrong if not item.case.uses_stand_in] or wrong
        if wrong[0].case.uses_stand_in:
            return self._stand_in_report(profile, wrong, idle)
        name = profile.reference.name
        if similarity.claims_nothing_in_words and len(wrong) > LEAST_AGREEMENT * len(results):
            # A sibling; or a function that hands its many parameters on, as a method does.
            reason = f"has nearly the source of {name} but differs: {wrong[0].text}"
            return self._other_function_report(reason, profile, idle, claimed=similarity.comparable)
        if similarity.has_own_description and all(map(_accepts_refused, wrong)):
            # Both may be copies of a third source that never had this check.
            return self._other_function_report(
                f"accepts what {name} rejects: {wrong[0].text}", profile, idle, claimed=True
            )
        if shown and not returned:  # no call was in the domain of the function
            reason = f"accepts what {name} rejects, which rejected every generated call: {wrong[0].text}"
            return self._other_function_report(reason, profile, idle, claimed=True)
        if all(is_unlike_recorded(item, profile) for item in wrong):
            # Releases of one author differ there as well, where none of their tests looks.
            reason = f"differs from {name} on inputs unlike all that its tests use: {wrong[0].text}"
            return self._other_function_report(reason, profile, idle, claimed=True)
        report = self.wrong(Verdict.DIVERGES, wrong, len(results), origin, idle)
        return replace(report, reason=f"an edited copy of {name}: {report.reason}")

    def _other_signature_report(self, profile: Profile, similarity: Similarity) -> CheckReport | None:
        """Report a copy that accepts none of the known calls, such as a longer function around a short text."""
        if not similarity.overlap.is_edited_copy or not (profile.examples or profile.generated):
            return None
        reason = f"has nearly the source of {profile.reference.name} but takes other arguments"
        idle = JobResult(Status.NO_SIGNAL, self.level, self.runner.tier)
        return self._other_function_report(
            reason, profile, idle, claimed=similarity.name == 1.0 or similarity.describes_reference
        )

    def _world_dependence(
        self, cases: Sequence[Case], results: Sequence[CaseResult], other: JobResult, origin: str
    ) -> CheckReport | None:
        """Report results that are right in one world and wrong in another, unlike the reference's."""
        again = compare_results(cases, other.calls[::-1])
        changed_in_world = [
            second
            for first, second in zip(results, again, strict=False)
            if first.comparison is Comparison.SAME and second.comparison is Comparison.DIFFERENT
        ]
        if not changed_in_world:
            return None
        report = self.wrong(
            Verdict.DIVERGES, sorted(changed_in_world, key=lambda item: item.size), len(again), origin, other
        )
        return replace(
            report, reason=f"depends on clock, environment, hash seed or order of calls: {report.reason}"
        )


def _hidden_reason(results: Sequence[CaseResult]) -> str:
    count = sum(map(is_hidden, results))
    return f"needs what the sandbox refuses or lacks on {count} of {len(results)} calls"


def _shows_something(item: CaseResult) -> bool:
    """Return whether a call of the trusted function has a result, an output, a file or a change to compare."""
    expected = item.case.example.expected if item.case.example is not None else None
    if expected is not None and not (isinstance(expected, Returns) and expected.value is None):
        return True
    answer = item.case.reference
    if answer is None or answer.outcome is not Outcome.RETURNED:
        return False
    left = bool(answer.stdout or answer.files) or is_changed(answer, item.case.call)
    return answer.value is not None or left


def _returns_its_argument(item: CaseResult) -> bool:
    """Return whether a call returns its first argument as it is, as many functions do with most of their inputs."""
    arguments, answer = item.case.call.args, item.answer
    returned = bool(arguments) and answer.outcome is Outcome.RETURNED
    return returned and returns_first_argument(arguments or (), result_text(answer.value))


def _accepts_refused(item: CaseResult) -> bool:
    """Return whether the candidate returned a result for a call that the trusted function rejects."""
    reference = item.case.reference
    refused = reference is not None and reference.outcome is Outcome.RAISED
    return refused and item.answer.outcome is Outcome.RETURNED


def _is_independent(similarity: Similarity) -> bool:
    """Return whether the candidate is an independent implementation: neither a copy nor quoted docs.

    Differences on generated calls are no proof then.
    """
    return similarity.is_claimed and similarity.has_own_description and not similarity.overlap.is_edited_copy


def _never_returns_its_kind(results: Sequence[CaseResult]) -> bool:
    """Return whether all results are of kinds that the trusted function never returns, such as bytes for texts.

    None and empty results are of any kind.
    """
    pairs = [(_expected_value(item), item.answer) for item in comparable_results(results)]
    expected = {result_kind(value) for value, _ in pairs if not is_empty_result(value)}
    given = {
        result_kind(answer.value)
        for _, answer in pairs
        if answer.outcome is Outcome.RETURNED and not is_empty_result(answer.value)
    }
    return bool(expected) and bool(given) and not expected & given


def _expected_value(item: CaseResult) -> object:
    """Return what the trusted function returns on a call, None if it returns nothing."""
    if item.case.reference is not None:
        return item.case.reference.value
    expected = item.case.example.expected if item.case.example is not None else None
    return expected.value if isinstance(expected, Returns) else None


def _returns_other_kind(results: Sequence[CaseResult]) -> bool:
    """Return whether no result is of an expected kind, such as lists instead of truth values."""
    expected = {
        result_kind(item.case.example.expected.value)
        for item in results
        if item.case.example is not None and isinstance(item.case.example.expected, Returns)
    }
    returned = [item.answer.value for item in results if item.answer.outcome is Outcome.RETURNED]
    given = {result_kind(value) for value in returned if value is not None}
    return bool(expected) and bool(given) and not expected & given
