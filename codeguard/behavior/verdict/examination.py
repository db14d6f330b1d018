"""The check of one candidate: observations in stages, and after each the table of verdicts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from codeguard.behavior.inputs.tailored import Tailored, tailored_inputs
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.claims import NO_FEATURES, Similarity
from codeguard.behavior.source.definitions import PARSE_ERRORS, Function
from codeguard.behavior.specs.contract import contract_of_spec
from codeguard.behavior.specs.examples import Spec
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.adequacy import strength_of
from codeguard.behavior.verdict.comparison import (
    CaseResult,
    comparable_results,
    compare_results,
    wrong_results,
)
from codeguard.behavior.verdict.differences import is_hidden
from codeguard.behavior.verdict.differential import MAX_SETTLED, CandidateSession, exchange
from codeguard.behavior.verdict.observations import Observations
from codeguard.behavior.verdict.profiles import Profile, random_for
from codeguard.behavior.verdict.reports import row_report, with_coverage, with_missing_coverage
from codeguard.behavior.verdict.running import Batch, Steps, shared_runs
from codeguard.behavior.verdict.state import REPEATS, changed_by_repetition
from codeguard.behavior.verdict.table import ALWAYS, NOT, Row, decide, named
from codeguard.corpus import syntax
from codeguard.models import CONVICTING, CheckReport, Verdict
from codeguard.sandbox.model import Level, Outcome, Status, Tier
from codeguard.syntax.capabilities import Capability

LEAST_TWINS = 3
MAX_SUSPICIONS = 6
NO_ANSWER = "no result that could be compared"


def against_reference(
    session: CandidateSession, profile: Profile, similarity: Similarity
) -> Steps[CheckReport]:
    """Check the candidate against a trusted function: its examples, and results on generated inputs.

    Another function of its name may be the same with its arguments in another order.
    """
    report, seen = yield from _compared(session, profile, similarity)
    if similarity.name < 1.0 or not report.different or not seen.few_agree:
        return report
    session.exchanged = True
    try:
        other, seen = yield from _compared(session, profile, similarity)
    finally:
        session.exchanged = False
    return report if seen.few_agree or not seen.agreed else other


def _compared(
    session: CandidateSession, profile: Profile, similarity: Similarity
) -> Steps[tuple[CheckReport, Observations]]:
    cases = session.cases(profile)
    purpose = ("order", profile.reference.digest, session.candidate.runnable.source)
    random_for(session.seed, *purpose).shuffle(cases)
    seen = Observations(session, profile, profile.contract, similarity, session.idle, cases)
    row: Row | None = None
    for stage, collect in STAGES:
        yield from collect(seen)
        row = decide(stage, seen.holds)
        if row is not None:
            break
    assert row is not None, "the last row of the last stage has no conditions"
    report = _report(row, seen)
    if report.verdict in CONVICTING:
        report = yield from _unless_spared(report, seen)
    elif report.verdict is Verdict.PASS:
        report = yield from with_coverage(session, report, [*cases, *(item.case for item in seen.probed)])
    return report, seen


# The stages


def _run_calls(seen: Observations) -> Steps[None]:
    """Run examples and generated calls, in two worlds."""
    session, runner = seen.session, seen.session.runner
    while seen.cases:
        seen.judge(*(yield from session.ask(seen.cases, twice=True)))
        if not seen.any_wrong or runner.tier is not Tier.RESTRICTED or session.level < Level.L2:
            return
        runner.tier = Tier.NATIVE  # the policy of the restricted tier must not convict a candidate


def _settle_differences(seen: Observations) -> Steps[None]:
    """Take what is wrong, without what is arbitrary."""
    seen.wrong_calls = list(seen.found.wrong)
    if seen.wrong_examples or not seen.wrong_calls:
        return
    generated = [item for item in comparable_results(seen.results) if item.case.example is None]
    settled = yield from seen.session.without_arbitrary(seen.profile, seen.wrong_calls)
    seen.wrong_calls = [*settled, *seen.wrong_calls[MAX_SETTLED:]] if settled else []
    seen.among = len(generated)


def _repeat(seen: Observations) -> Steps[None]:
    session = seen.session
    seen.repeated = yield from changed_by_repetition(session.runner, seen.agreed, session.seed)


def _probe(seen: Observations) -> Steps[None]:
    """Run inputs made from the candidate's guards and literals.

    A difference inside the domain counts, unless only the name matches, since that may be another function.
    Outside of the domain, a difference counts only if a constant of the candidate triggers it.
    """
    profile, session = seen.profile, seen.session
    domain, examples = profile.domain, profile.shown_calls
    if domain is None or not examples or not session.budget.tailored:
        return
    source = session.candidate.runnable.source
    random = random_for(session.seed, "tailored", profile.reference.digest, source)
    made = tailored_inputs(
        session.candidate, profile.reference, examples, domain, random, session.budget.tailored
    )
    seen.probed, result = yield from session.both(profile, [(item.args, item.kwargs) for item in made])
    if result is None:
        return
    seen.result = result
    order = exchange if session.exchanged else tuple
    by_key = {repr((order(item.args), dict(item.kwargs))): item for item in made}
    origins = {
        id(item): by_key[repr((item.case.call.args, dict(item.case.call.kwargs)))] for item in seen.probed
    }
    inner = [item for item in seen.probed if origins[id(item)].inside]
    # What differs consistently is judged on these inputs together with all others.
    of_substance = {id(item) for item in seen.differences_of([*seen.results, *inner]).wrong}
    suspicions = 0
    for item in wrong_results(seen.probed):
        origin = origins[id(item)]
        if origin.inside and not seen.similarity.name_only:
            settled = id(item) in of_substance and (yield from session.without_arbitrary(profile, [item]))
            if not settled:
                continue
            seen.among = len(comparable_results(seen.probed))
            seen.wrong_calls = [item]
            seen.constant_decides = seen.independent and (
                yield from _is_triggered_by_constant(session, profile, origin)
            )
            return
        refuses = item.answer.outcome is Outcome.RAISED
        if not origin.magic or refuses or suspicions >= MAX_SUSPICIONS:
            continue
        suspicions += 1
        if (yield from _is_triggered_by_constant(session, profile, origin)):
            seen.own_constant, seen.among = [item], len(seen.probed)
            return


def _is_triggered_by_constant(session: CandidateSession, profile: Profile, made: Tailored) -> Steps[bool]:
    """Return whether a constant of the candidate triggers the difference.

    Then both agree on the same input made with other constants; for a comparison by size, on
    one side.
    """
    results, _ = yield from session.both(profile, made.variants())
    compared = comparable_results(results)
    if len(compared) < LEAST_TWINS:
        return False
    wrong = wrong_results(compared)
    if made.ordered:
        return len(wrong) < len(compared) - 1
    # With nested conditions, a variant may satisfy them in another way.
    return len(wrong) * 4 <= len(compared)


def _meets_description(session: CandidateSession, profile: Profile) -> Steps[bool]:
    """Return whether a candidate meets the trusted description where that contradicts the trusted function."""
    cases = session.shown(profile.contract.contradicted)
    if not profile.contradicts_itself or not cases:
        return False
    (result,) = yield from session.ask(cases)
    return all(item.is_same for item in compare_results(cases, result.calls))


def _measure_calls(seen: Observations) -> Steps[None]:
    """Ask what agreement on the calls shows, where everything agrees so far."""
    session, digest = seen.session, seen.reference.digest
    if not seen.agreed or seen.any_wrong or seen.incomparable:
        return
    if digest not in session.strengths:
        session.strengths[digest] = yield from shared_runs(
            strength_of(seen.profile, session.level, session.budget)
        )
    strength = session.strengths[digest]
    seen.noticed = strength.noticed
    made = (item.case(session.candidate.runnable) for item in strength.beyond)
    cases = session.known(seen.reference, filter(None, made))
    if not cases:
        return
    (result,) = yield from session.runner.run(Batch(tuple(case.call for case in cases)), patient=False)
    compared = compare_results(cases, result.calls)
    # What nobody has shown may be refused, apart from a use of arguments and results that are shown.
    uses = {id(case) for case in cases if case.call.args is None and "iter(" not in case.call.target}
    counted = [item for item in compared if item.answer.outcome is Outcome.RETURNED or id(item.case) in uses]
    wrong = wrong_results(counted)
    found = seen.differences_of([*seen.results, *counted]).wrong if wrong else ()
    seen.wrong_beyond = [item for item in wrong if id(item) in set(map(id, found))]


# The reports


def _report(row: Row, seen: Observations) -> CheckReport:
    compared = comparable_results(seen.results)
    wrong: Sequence[CaseResult] = seen.of(row.weighs) if row.weighs else ()
    among = {
        "": len(seen.agreed),
        "wrong-examples": sum(item.case.example is not None for item in compared),
        "depends-on-world": len(seen.results),
        "repeated": REPEATS,
        "any-wrong": len(compared),
        "wrong-cases": len(compared),
        "incomparable": len(seen.probed or seen.results),
    }
    smallest = seen.wrong_calls or seen.found.wrong or seen.any_wrong
    problem = seen.standard.problem if isinstance(seen.standard, Profile) else ""
    texts = {
        "name": _name(seen),
        "shown": smallest[0].text if smallest else "",
        "beyond": seen.wrong_beyond[0].text if seen.wrong_beyond else "",
        "agreed": len(seen.agreed),
        "respects": " and ".join(seen.found.respects),
        "noticed": "an unknown share" if seen.noticed is None else f"only {seen.noticed:.0%}",
        "effects": _effects(seen.effects_beyond),
        "unlike": _unlike(seen.incomparable, among["incomparable"]),
        "problem": problem or "the trusted function has no usable example",
        "ended": seen.result.detail or NO_ANSWER,
        **({"count": len(compared)} if seen.session.exchanged else {}),
    }
    return row_report(
        row,
        seen.session,
        seen.result,
        texts,
        origin=seen.expected_by.origin,
        claims=_claimed(row, seen),
        weighed=wrong,
        among=among.get(row.weighs, seen.among),
        extra=() if row.weighs in ("wrong-calls", "wrong-examples", "own-constant") else seen.extra,
    )


def _unless_spared(report: CheckReport, seen: Observations) -> Steps[CheckReport]:
    """Return the report of a candidate that was convicted, or that of the row which saves it."""
    seen.verdict = report.verdict
    seen.meets_description = yield from _meets_description(seen.session, seen.profile)
    row = decide("conviction", seen.holds)
    if row is None:
        return report
    owner, claims = seen.reference.definition.owner, _claimed(row, seen)
    origin = "" if owner is None else owner.name
    return replace(
        report,
        verdict=Verdict.NO_SIGNAL,
        reason=row.reason.format(name=_name(seen), reason=report.reason, origin=origin),
        claims=claims,
        refuted=bool(claims),
        decided_by=row.id,
    )


def identical(session: CandidateSession, reference: Reference) -> CheckReport | None:
    """Report a candidate whose source and helpers are those of the trusted function; None if not.

    It is not run, because its run could only hit a limit.
    """
    if not _is_same_source(session.candidate, reference):
        return None
    idle = replace(session.idle, status=Status.COMPLETED)
    report = row_report(named("identical"), session, idle, {}, origin=reference.origin)
    return with_missing_coverage(session, report, ())


def against_spec(session: CandidateSession, spec: Spec) -> Steps[CheckReport]:
    """Check the candidate against a hand-written spec."""
    cases = session.shown(spec.cases)
    unlike = Similarity(session.candidate.features, NO_FEATURES)
    seen = Observations(session, spec, contract_of_spec(spec), unlike, session.idle, cases)
    yield from _run_calls(seen)
    row = decide("spec", seen.holds)
    assert row is not None, "the last row of the stage has no conditions"
    report = _report(row, seen)
    passed = report.verdict is Verdict.PASS
    return (yield from with_coverage(session, report, cases)) if passed else report


STAGES: tuple[tuple[str, Callable[[Observations], Steps[None]]], ...] = (
    ("calls", _run_calls),
    ("differences", _settle_differences),
    ("repetition", _repeat),
    ("probes", _probe),
    ("agreement", _measure_calls),
)


def _name(seen: Observations) -> str:
    """Return the name of what it is compared with, with whose it is if that is not the team's own."""
    name, whose = seen.expected_by.name, seen.everyones
    return f"{name} of {whose}" if whose else name


def _claimed(row: Row, seen: Observations) -> str:
    """Return what a reader would take it for, "" where the claim of the row does not hold.

    Beside what is everyone's, only what would convict beside the team's own shows that a claim is false.
    """
    if seen.everyones and "conviction" not in row.stages:
        return ""
    name = row.claims.removeprefix(NOT)
    holds = name == ALWAYS or (name != "" and seen.holds(name) is not row.claims.startswith(NOT))
    return f"{seen.expected_by.name} ({seen.expected_by.origin})" if holds else ""


def _effects(found: Sequence[Capability]) -> str:
    kinds = ", ".join(dict.fromkeys(capability.kind for capability in found))
    return f"{kinds} ({found[0].detail})" if found else ""


def _unlike(found: Sequence[CaseResult], count: int) -> str:
    if found and is_hidden(found[0]):
        return f"needs what the sandbox refuses or lacks on {len(found)} of {count} calls"
    if found and found[0].changes_arguments:
        return f"changes its arguments in {len(found)} of {count} calls, which the trusted function does not"
    return f"{len(found)} of {count} answers cannot be compared"


def _is_same_source(candidate: CandidateFunction, reference: Reference) -> bool:
    """Return whether candidate and trusted function, with all they need, are equal except for docstrings."""
    own, trusted = candidate.runnable, reference.runnable
    if own.target != trusted.target or _without_docstrings(own.source) != _without_docstrings(trusted.source):
        return False
    return not own.borrowed or (
        own.home is not None and trusted.home is not None and own.home.has_modules_of(trusted.home)
    )


def _without_docstrings(source: str) -> str:
    """Return a source without docstrings and comments."""
    try:
        tree = syntax.parse(source)
    except PARSE_ERRORS:
        return source
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
