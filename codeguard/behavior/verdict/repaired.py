"""Find candidates that behave like a trusted function after a single edit.

Such a candidate need not resemble the trusted function in name, description or text, and may agree
with it on no input. Each variant with one edit (see `codeguard.behavior.matching.repairs`) is run
on a few probes that distinguish functions well. If its results agree with a trusted function's, it
is run on all probes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.claims import LEAST_DOC_WORDS
from codeguard.behavior.matching.fingerprints import (
    FingerprintIndex,
    Kinds,
    is_short,
    result_text,
    returns_first_argument,
    weight_of,
    worth_probing,
)
from codeguard.behavior.matching.repairs import Repair, repairs
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.specs.examples import Returns
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    Case,
    CaseResult,
    Comparison,
    case_of_observed,
    comparable_results,
    compare_results,
    wrong_results,
)
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.probing import Fingerprint, Probes
from codeguard.behavior.verdict.profiles import Profile
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of

MOST_KINDS = 4
SHARP = 5  # probes of each kind for the first run of a variant
MOST_TRIED = 12  # variants that are run on all probes
MOST_CONFIRMED = 3  # variants of a namesake that are run on all its calls
LEAST_FIRST = 0.75  # share of results that has to agree in the first run
LEAST_SHARE = 0.9  # share of all results: edge cases may follow other conventions
LEAST_TOLD = 3  # answers
LEAST_AGREED = 10
LEAST_RARE = 4  # results other than the most common one
# Of a body: where a much smaller trusted one does the same after an edit, the edit made the rest idle.
LEAST_LEFT = 1 / 3
MOST_RELATIVES = 2  # trusted functions that a short one is one edit away from


@dataclass(frozen=True, slots=True)
class Repaired:
    """A trusted function that a candidate matches after one edit, and a call on which it is wrong without."""

    reference: Reference
    repair: Repair
    agreed: int
    wrong: CaseResult


def may_be_repaired(candidate: CandidateFunction) -> bool:
    """Return whether a candidate makes no claim itself, so that only results can show what it is for."""
    wanted = candidate.features
    undescribed = len(wanted.doc) < LEAST_DOC_WORDS
    return undescribed and worth_probing(wanted) and not wanted.owner


def repaired(
    session: CandidateSession,
    references: Sequence[Reference],
    index: FingerprintIndex,
    answered: Fingerprint,
    observed: Callable[[Reference], Steps[Profile]],
) -> Steps[Repaired | None]:
    """Return the trusted function that a candidate matches after one edit, or None.

    `observed` returns the profile of a trusted function.
    """
    candidate = session.candidate
    kinds = _kinds(candidate, index, answered)
    probes = [(own, place) for own in kinds for place in index.most_distinguishing(own, SHARP)]
    made = repairs(candidate.runnable.node) if probes else []
    if not made:
        return None
    runner = CallRunner(
        candidate.runnable.extended(item.text for item in made),
        session.level,
        session.budget,
        session.runner.tier,
    )
    calls = tuple(index.calls(own)[place] for own, place in probes)
    rows = yield from session.probes.rows(runner, [item.name for item in made], calls)
    least = LEAST_LEFT * candidate.features.body.total()
    pairs = [
        (number, place)
        for _, number, place in agreeing_pairs(index, probes, rows)
        if references[place].features.body.total() >= least
    ]
    for number, place in pairs[:MOST_TRIED]:
        if (yield from _agrees(session.probes, runner, index, made[number], place)):
            profile = yield from observed(references[place])
            found = yield from _confirmed(runner, profile, made[number])
            if found is not None:
                return found
    return None


def repaired_namesake(
    session: CandidateSession, profile: Profile, whole_name: bool
) -> Steps[Repaired | None]:
    """Return the edit after which a candidate is the trusted function that it is named after, or None.

    What it is meant to do is known by its name, and so it may describe itself. Few nodes are one edit away from many
    functions, so that only the whole name shows which is meant.
    """
    candidate = session.candidate
    made = repairs(candidate.runnable.node) if whole_name or not is_short(candidate.features) else []
    cases = _plain_cases(profile, candidate.runnable)
    sample = list({_expected_text(item): item for item in cases}.values())[:SHARP]
    if not made or not _is_distinctive(list(map(_expected_text, cases))):
        return None
    runnable = candidate.runnable.extended(item.text for item in made)
    runner = CallRunner(runnable, session.level, session.budget, session.runner.tier)
    tried = [replace(case.call, target=item.name) for item in made for case in sample]
    session.calls += len(tried)
    (result,) = yield from runner.run(Batch(tuple(tried)))
    rows = [result.calls[place : place + len(sample)] for place in range(0, len(tried), len(sample))]
    right = [
        (-sum(item.comparison is Comparison.SAME for item in compare_results(sample, row)), place)
        for place, row in enumerate(rows)
    ]
    for negative, place in sorted(right)[:MOST_CONFIRMED]:
        if -negative < LEAST_FIRST * len(sample):
            break
        found = yield from _confirmed(runner, profile, made[place])
        if found is not None:
            return found
    return None


def _expected_text(case: Case) -> str:
    """Return the trusted function's result of a call as text."""
    if case.reference is not None:
        return result_text(case.reference.value)
    expected = case.example.expected if case.example is not None else None
    return result_text(expected.value) if isinstance(expected, Returns) else ""


def repaired_text(
    session: CandidateSession,
    short_texts: Mapping[tuple[str, ...], Reference],
    observed: Callable[[Reference], Steps[Profile]],
) -> Steps[Repaired | None]:
    """Return the trusted function that a short candidate is but for one edit, names of locals aside, or None.

    The results of a short body are one edit away from those of many functions, its text hardly ever from that of one.
    Where it is one edit away from several texts, such as the sum, the difference and the product of two numbers, it may
    be one more. So may be the largest beside the smallest: an edit that exchanges opposites shows nothing.
    """
    candidate = session.candidate
    made = repairs(candidate.runnable.node)
    found = {text: item for item in made if (text := item.numbered()) in short_texts}
    if len(found) > MOST_RELATIVES:
        return None
    found = {text: item for text, item in found.items() if not item.opposite}
    runnable = candidate.runnable.extended(item.text for item in found.values())
    runner = CallRunner(runnable, session.level, session.budget, session.runner.tier)
    for text, repair in found.items():
        profile = yield from observed(short_texts[text])
        confirmed = yield from _confirmed(runner, profile, repair)
        if confirmed is not None:
            return confirmed
    return None


def _kinds(candidate: CandidateFunction, index: FingerprintIndex, answered: Fingerprint) -> list[Kinds]:
    """Return the kinds of arguments to try: those that the candidate accepts, then the most common ones."""
    shown = index.common_kinds(candidate.features)
    return sorted(shown, key=lambda kinds: kinds not in answered)[:MOST_KINDS]


def agreeing_pairs(
    index: FingerprintIndex, probes: Sequence[tuple[Kinds, int]], rows: Sequence[Sequence[str | None]]
) -> list[tuple[float, int, int]]:
    """Return pairs of a variant and a trusted function with nearly equal results, strongest match first."""
    totals: Counter[int] = Counter()
    for kinds, number in probes:
        for places in index.functions_by_result(kinds, number).values():
            totals.update(places)
    found: list[tuple[float, int, int]] = []
    for text, row in enumerate(rows):
        distinctive: dict[int, list[float]] = {}
        for (kinds, number), answer in zip(probes, row, strict=True):
            places = index.functions_by_result(kinds, number).get(answer or "", set())
            returned = not places or returns_first_argument(index.calls(kinds)[number], answer or "")
            weight = 0.0 if returned else weight_of(answer or "", places)
            for place in places:
                distinctive.setdefault(place, []).append(weight)
        found += [
            (-sum(weights), text, place)
            for place, weights in distinctive.items()
            if len(weights) >= max(LEAST_TOLD, LEAST_FIRST * totals[place]) and any(weights)
        ]
    # Edits with the same answers and the same trusted function are mostly right or wrong together, so
    # that others have their turn before the second of them.
    seen: Counter[tuple[int, tuple[str | None, ...]]] = Counter()
    turns: list[tuple[float, int, int]] = []
    for weight, text, place in sorted(found):
        alike = (place, tuple(rows[text]))
        turns.append((weight / 2 ** seen[alike], text, place))
        seen[alike] += 1
    return sorted(turns)


def _agrees(
    probes: Probes, runner: CallRunner, index: FingerprintIndex, repair: Repair, place: int
) -> Steps[bool]:
    """Return whether a variant agrees with a trusted function on nearly all probes, with enough evidence."""
    known = list(index.results_of(place))
    (row,) = yield from probes.rows(runner, [repair.name], tuple(call for call, _ in known))
    same = [(call, theirs) for (call, theirs), answer in zip(known, row, strict=True) if answer == theirs]
    distinctive = [theirs for call, theirs in same if not returns_first_argument(call, theirs)]
    return len(same) >= max(LEAST_AGREED, LEAST_SHARE * len(known)) and _is_distinctive(distinctive)


def _is_distinctive(answers: Sequence[str]) -> bool:
    """Return whether results distinguish a function from those that always return the same."""
    count = Counter(answers)
    return count.total() - max(count.values(), default=0) >= LEAST_RARE


def _confirmed(runner: CallRunner, profile: Profile, repair: Repair) -> Steps[Repaired | None]:
    """Return the call on which the candidate is wrong, if the variant matches the trusted function."""
    if profile.contradicts_itself:
        return None
    cases = _plain_cases(profile, runner.runnable)
    edited = [replace(item.call, target=repair.name) for item in cases]
    own, other = yield from runner.run(Batch(tuple(item.call for item in cases)), Batch(tuple(edited)))
    compared = comparable_results(compare_results(cases, other.calls))
    agreed = [item for item in compared if item.comparison is Comparison.SAME]
    if len(agreed) < max(LEAST_AGREED, LEAST_SHARE * len(compared)):
        return None
    plain = compare_results(cases, own.calls)
    if all(map(_is_opposite, comparable_results(plain))):
        return None
    wrong = wrong_results(plain)
    same = {id(item.case) for item in agreed}
    shown = next((item for item in wrong if id(item.case) in same), None)
    return Repaired(profile.reference, repair, len(agreed), shown) if shown is not None else None


def _plain_cases(profile: Profile, runnable: Runnable) -> list[Case]:
    """Return the trusted function's calls with plain arguments, as calls of another function."""
    found = [case_of_observed(item, runnable, profile.silence_free) for item in profile.generated]
    found += [Case(call, item) for item in profile.examples if (call := call_of(item, runnable)) is not None]
    return [item for item in found if item is not None and item.call.args is not None]


def _is_opposite(item: CaseResult) -> bool:
    """Return whether a call has True for False, or the other way round.

    Odd and even are two functions: where all results are opposite, nothing shows which of them is meant.
    """
    example, reference = item.case.example, item.case.reference
    expected = example.expected if example is not None else None
    value = (
        expected.value
        if isinstance(expected, Returns)
        else reference.value
        if reference is not None
        else None
    )
    got = item.answer.value
    return isinstance(value, bool) and isinstance(got, bool) and got is not value
