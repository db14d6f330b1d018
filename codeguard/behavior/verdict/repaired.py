"""Find candidates that are a trusted function but for a single edit.

Such a candidate need not resemble the trusted function in name, description or text, and may agree
with it on no input. Variants with one edit (see `codeguard.behavior.matching.repairs`) are run on a few calls, and
those that agree with a trusted function on these, on all of its calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.matching.fingerprints import (
    FingerprintIndex,
    Kinds,
    is_short,
    result_text,
    returns_first_argument,
    weight_of,
)
from codeguard.behavior.matching.repairs import Repair, repairs
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    Case,
    CaseResult,
    comparable_results,
    compare_results,
    wrong_results,
)
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.profiles import Profile
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, answers_of, fingerprint, rows_of

MOST_KINDS = 4
SHARP = 5  # calls, of each kind, for the first run of a variant
MOST_TRIED = 12  # variants that are run on all calls of a trusted function
MOST_CONFIRMED = 3  # the same for a namesake
LEAST_FIRST = 0.75  # share of results that has to agree in the first run
LEAST_SHARE = 0.9  # share of all results: edge cases may follow other conventions
LEAST_AGREED_FIRST = 3
LEAST_AGREED = 10
LEAST_RARE = 4  # results other than the most common one
MOST_RELATIVES = 2  # trusted functions that a short one is one edit away from
Observed = Callable[[Reference], Steps[Profile]]


@dataclass(frozen=True, slots=True)
class Repaired:
    """A trusted function that a candidate matches after one edit, and a call on which it is wrong without."""

    reference: Reference
    repair: Repair
    agreed: int
    wrong: CaseResult


def one_edit_away(
    session: CandidateSession, library: SpecLibrary, observed: Observed, claims_nothing: bool
) -> Steps[Repaired | None]:
    """Return the trusted function that a candidate is but for one edit, or None.

    That is one that it is named after, or if it claims nothing itself, one whose short text or whose results it has.
    `observed` returns the profile of a trusted function.
    """
    features = session.candidate.features
    namesakes = library.namesakes_of(features)
    made = repairs(session.candidate.runnable.node) if namesakes or claims_nothing else []
    if not made:
        return None
    runnable = session.candidate.runnable.extended(item.text for item in made)
    runner = CallRunner(runnable, session.level, session.budget, session.runner.tier)
    for reference, similarity in namesakes:
        # Few nodes are one edit away from many functions: only the whole name shows which of them is meant.
        if similarity.name == 1.0 or not is_short(features):
            profile = yield from observed(reference)
            found = yield from _like_namesake(session, runner, made, profile)
            if found is not None:
                return found
    if not claims_nothing:
        return None
    if is_short(features):
        found = yield from _like_text(session, runner, made, library.short_texts, observed)
    else:
        found = yield from _like_results(session, runner, made, library, observed)
    opposed = found is not None and library.similarity(features, found.reference).opposed
    return None if opposed else found


def _like_namesake(
    session: CandidateSession, runner: CallRunner, made: Sequence[Repair], profile: Profile
) -> Steps[Repaired | None]:
    cases = _plain_cases(session, profile)
    if not _is_distinctive(cases):
        return None
    sample = list({result_text(item.expected.value): item for item in cases}.values())[:SHARP]
    tried = [replace(case.call, target=item.name) for item in made for case in sample]
    session.calls += len(tried)
    (result,) = yield from runner.run(Batch(tuple(tried)))
    right = [
        (-sum(item.is_same for item in compare_results(sample, row)), place)
        for place, row in enumerate(rows_of(result, len(sample)))
    ]
    for negative, place in sorted(right)[:MOST_CONFIRMED]:
        if -negative < LEAST_FIRST * len(sample):
            break
        found = yield from _confirmed(session, runner, profile, made[place])
        if found is not None:
            return found
    return None


def _like_text(
    session: CandidateSession,
    runner: CallRunner,
    made: Sequence[Repair],
    short_texts: Mapping[tuple[str, ...], Reference],
    observed: Observed,
) -> Steps[Repaired | None]:
    """Find the trusted function whose text a short candidate has after an edit, names of locals aside.

    The results of a short body are one edit away from those of many functions, its text hardly ever from that of one.
    Where it is one edit away from several texts, such as the sum, the difference and the product of two numbers, it may
    be one more. So may be the largest beside the smallest: an edit that exchanges opposites shows nothing.
    """
    found = {text: item for item in made if (text := item.numbered()) in short_texts}
    if len(found) > MOST_RELATIVES:
        return None
    for text, repair in found.items():
        if not repair.opposite:
            profile = yield from observed(short_texts[text])
            confirmed = yield from _confirmed(session, runner, profile, repair)
            if confirmed is not None:
                return confirmed
    return None


def _like_results(
    session: CandidateSession,
    runner: CallRunner,
    made: Sequence[Repair],
    library: SpecLibrary,
    observed: Observed,
) -> Steps[Repaired | None]:
    """Find the trusted function whose results on probes a candidate has after an edit."""
    index, features = library.fingerprints, session.candidate.features
    answered = yield from fingerprint(session.run_probes, index, index.trials(features))
    # The kinds of arguments that the candidate accepts, then the most common ones.
    kinds = sorted(index.common_kinds(features), key=lambda kinds: kinds not in answered)[:MOST_KINDS]
    probes = [(own, place) for own in kinds for place in index.most_distinguishing(own, SHARP)]
    if not probes:
        return None
    calls = tuple(index.calls(own)[place] for own, place in probes)
    rows = yield from answers_of(runner, [item.name for item in made], calls)
    for _, number, place in _agreeing_pairs(index, probes, rows)[:MOST_TRIED]:
        profile = yield from observed(library.references[place])
        found = yield from _confirmed(session, runner, profile, made[number], distinctive=True)
        if found is not None:
            return found
    return None


def _agreeing_pairs(
    index: FingerprintIndex, probes: Sequence[tuple[Kinds, int]], rows: Sequence[Sequence[str | None]]
) -> list[tuple[float, int, int]]:
    """Return pairs of a variant and a trusted function with nearly equal results, strongest match first."""
    known = [index.functions_by_result(kinds, number) for kinds, number in probes]
    totals = Counter(place for answers in known for places in answers.values() for place in places)
    found: list[tuple[float, int, int]] = []
    for variant, row in enumerate(rows):
        weights: dict[int, list[float]] = {}
        for (kinds, number), answers, answer in zip(probes, known, row, strict=True):
            places = answers.get(answer or "", set())
            returned = returns_first_argument(index.calls(kinds)[number], answer or "")
            for place in places:
                weights.setdefault(place, []).append(0.0 if returned else weight_of(answer or "", places))
        found += [
            (-sum(own), variant, place)
            for place, own in weights.items()
            if len(own) >= max(LEAST_AGREED_FIRST, LEAST_FIRST * totals[place]) and any(own)
        ]
    return sorted(found)


def _is_distinctive(cases: Sequence[Case]) -> bool:
    """Return whether results distinguish a function from those that always return the same."""
    count = Counter(result_text(item.expected.value) for item in cases)
    return count.total() - max(count.values(), default=0) >= LEAST_RARE


def _confirmed(
    session: CandidateSession,
    runner: CallRunner,
    profile: Profile,
    repair: Repair,
    *,
    distinctive: bool = False,
) -> Steps[Repaired | None]:
    """Return the call on which the candidate is wrong, if the variant matches the trusted function.

    With `distinctive`, it has to match in results that are neither all the same nor the argument as it is.
    """
    cases = [] if profile.contradicts_itself else _plain_cases(session, profile)
    edited = [replace(item.call, target=repair.name) for item in cases]
    (other,) = yield from runner.run(Batch(tuple(edited)))
    compared = comparable_results(compare_results(cases, other.calls))
    agreed = [item.case for item in compared if item.is_same]
    telling = [
        item
        for item in agreed
        if not returns_first_argument(item.call.args or (), result_text(item.expected.value))
    ]
    if len(agreed) < max(LEAST_AGREED, LEAST_SHARE * len(compared)):
        return None
    if distinctive and not _is_distinctive(telling):
        return None
    (own,) = yield from runner.run(Batch(tuple(item.call for item in cases)))
    plain = compare_results(cases, own.calls)
    if all(map(_is_opposite, comparable_results(plain))):
        return None
    same = set(map(id, agreed))
    shown = next((item for item in wrong_results(plain) if id(item.case) in same), None)
    return Repaired(profile.reference, repair, len(agreed), shown) if shown is not None else None


def _plain_cases(session: CandidateSession, profile: Profile) -> list[Case]:
    return [item for item in session.cases(profile) if item.call.args is not None]


def _is_opposite(item: CaseResult) -> bool:
    """Return whether a call has True for False, or the other way round.

    Odd and even are two functions: where all results are opposite, nothing shows which of them is meant.
    """
    value, got = item.case.expected.value, item.answer.value
    return isinstance(value, bool) and isinstance(got, bool) and got is not value
