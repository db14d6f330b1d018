"""Candidates that are one edit away from doing what a trusted function does.

Nothing in the name, the description or the text of such a candidate need be like the trusted one, and it may agree
with it on no input at all. Each text that is one edit away (see `codeguard.behavior.matching.repairs`) is run on a few
probes that tell functions apart; where one agrees with a trusted function on these, it is run on all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.matching.candidate import Candidate
from codeguard.behavior.matching.claims import LEAST_DOC_WORDS
from codeguard.behavior.matching.fingerprints import (
    Calls,
    FingerprintIndex,
    Kinds,
    answer_of,
    returns_first_argument,
    weight_of,
    worth_probing,
)
from codeguard.behavior.matching.repairs import Repair, repairs
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    Answered,
    compare,
    different,
    known,
    of_example,
    of_observed,
)
from codeguard.behavior.verdict.differential import Asking
from codeguard.behavior.verdict.profiles import Profile
from codeguard.behavior.verdict.running import Batch, Runner, Steps, call_of
from codeguard.behavior.verdict.values import Comparison
from codeguard.sandbox.model import Call, CallResult, Outcome

MOST_KINDS = 4
SHARP = 5  # probes of each kind that a repaired text is first run on
MOST_TRIED = 8  # repaired texts that are run on all probes
LEAST_FIRST = 0.75  # of these that have to agree at first, and
LEAST_SHARE = 0.9  # of all: at its edges an honest function may keep another contract
LEAST_TOLD = 3  # answers
LEAST_AGREED = 10
LEAST_RARE = 4  # answers that are not the most common one
LEAST_SIZE = 12  # nodes of a body; less is one edit away from many another function
Fingerprint = Mapping[Kinds, Sequence[str | None]]


@dataclass(frozen=True, slots=True)
class Repaired:
    """The trusted function that a candidate does the work of after one edit, and where it does not without it."""

    reference: Reference
    repair: Repair
    agreed: int
    wrong: Answered


def may_be_repaired(candidate: Candidate) -> bool:
    """Return whether a candidate's results alone can say what it is for: it does not say so itself."""
    wanted = candidate.features
    undescribed = len(wanted.doc) < LEAST_DOC_WORDS
    return undescribed and worth_probing(wanted) and wanted.body.total() >= LEAST_SIZE and not wanted.owner


def repaired(
    asking: Asking, index: FingerprintIndex, answered: Fingerprint, observed: Callable[[int], Steps[Profile]]
) -> Steps[Repaired | None]:
    """Return the trusted function that a candidate is one edit away from; None where there is none.

    `observed` gives what is known of a trusted function by its place.
    """
    candidate = asking.candidate
    made = repairs(candidate.runnable.node)
    kinds = _kinds(candidate, index, answered)
    probes = [(own, place) for own in kinds for place in index.most_distinguishing(own, SHARP)]
    if not made or not probes:
        return None
    source = "\n".join((candidate.runnable.source, *(item.text for item in made)))
    runner = Runner(
        replace(candidate.runnable, source=source),
        asking.level,
        asking.budget,
        asking.runner.tier,
    )
    calls = tuple(index.calls(own)[place] for own, place in probes)
    rows = yield from _answers(runner, [item.name for item in made], calls)
    for _, number, place in _agreeing(index, probes, rows)[:MOST_TRIED]:
        if (yield from _agrees(runner, index, made[number], place)):
            profile = yield from observed(place)
            found = yield from _confirmed(runner, profile, made[number])
            if found is not None:
                return found
    return None


def _kinds(candidate: Candidate, index: FingerprintIndex, answered: Fingerprint) -> list[Kinds]:
    """Return the kinds of arguments to try: those that the candidate takes, then those that most functions take."""
    shown = index.common_kinds(candidate.features)
    return sorted(shown, key=lambda kinds: kinds not in answered)[:MOST_KINDS]


def _answers(runner: Runner, targets: Sequence[str], calls: Calls) -> Steps[list[list[str | None]]]:
    """Return what each function answers to the calls."""
    asked = tuple(Call(target, args) for target in targets for args in calls)
    (result,) = yield from runner.run(Batch(asked))
    given = iter((*result.calls, *[CallResult(Outcome.NOT_RUN)] * (len(asked) - len(result.calls))))
    return [[answer_of(next(given), args) for args in calls] for _ in targets]


def _agreeing(
    index: FingerprintIndex, probes: Sequence[tuple[Kinds, int]], rows: Sequence[Sequence[str | None]]
) -> list[tuple[float, int, int]]:
    """Return which texts answer nearly all as which trusted functions do, by place, what tells most first."""
    asked: Counter[int] = Counter()
    for kinds, number in probes:
        for places in index.functions_by_result(kinds, number).values():
            asked.update(places)
    found: list[tuple[float, int, int]] = []
    for text, row in enumerate(rows):
        told: dict[int, list[float]] = {}
        for (kinds, number), answer in zip(probes, row, strict=True):
            places = index.functions_by_result(kinds, number).get(answer or "", set())
            returned = not places or returns_first_argument(index.calls(kinds)[number], answer or "")
            weight = 0.0 if returned else weight_of(answer or "", places)
            for place in places:
                told.setdefault(place, []).append(weight)
        found += [
            (-sum(weights), text, place)
            for place, weights in told.items()
            if len(weights) >= max(LEAST_TOLD, LEAST_FIRST * asked[place]) and any(weights)
        ]
    return sorted(found)


def _agrees(runner: Runner, index: FingerprintIndex, repair: Repair, place: int) -> Steps[bool]:
    """Return whether a text answers nearly all probes as a trusted function does, and these tell enough."""
    known = list(index.results_of(place))
    (row,) = yield from _answers(runner, [repair.name], tuple(call for call, _ in known))
    same = [(call, theirs) for (call, theirs), answer in zip(known, row, strict=True) if answer == theirs]
    told = [theirs for call, theirs in same if not returns_first_argument(call, theirs)]
    return len(same) >= max(LEAST_AGREED, LEAST_SHARE * len(known)) and _tells(told)


def _tells(answers: Sequence[str]) -> bool:
    """Return whether answers tell a function apart: who always says the same is met by many."""
    count = Counter(answers)
    return count.total() - max(count.values(), default=0) >= LEAST_RARE


def _confirmed(runner: Runner, profile: Profile, repair: Repair) -> Steps[Repaired | None]:
    """Return what the candidate does otherwise than a trusted function, where its text with one edit does the same."""
    asked = [of_observed(item, runner.runnable, profile.silence_free) for item in profile.generated]
    asked += [
        of_example(item, call)
        for item in profile.examples
        if (call := call_of(item, runner.runnable)) is not None
    ]
    questions = [item for item in asked if item is not None and item.call.args is not None]
    edited = [replace(item.call, target=repair.name) for item in questions]
    own, other = yield from runner.run(Batch(tuple(item.call for item in questions)), Batch(tuple(edited)))
    compared = known(compare(questions, other.calls))
    agreed = [item for item in compared if item.comparison is Comparison.SAME]
    if len(agreed) < max(LEAST_AGREED, LEAST_SHARE * len(compared)):
        return None
    wrong = different(compare(questions, own.calls))
    same = {id(item.question) for item in agreed}
    shown = next((item for item in wrong if id(item.question) in same), None)
    return Repaired(profile.reference, repair, len(agreed), shown) if shown is not None else None
