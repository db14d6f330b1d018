"""Compare a function with the trusted one that it is named after, in another form of arguments or one edit away.

A candidate of the trusted function's name that takes none of its calls, or hardly agrees on them, may be an honest
one that takes its arguments in another form, or a wrong one. If it gives the trusted results in another form, it is
the same function with another signature. If it does so after a single edit, in its own form or in another, it is
wrong: what it is meant to do is known by its name, and the edit shows what it does instead.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from codeguard.behavior.inputs.forms import Form, Row, forms_for
from codeguard.behavior.matching.claims import Similarity
from codeguard.behavior.matching.fingerprints import is_short, result_text, returns_first_argument
from codeguard.behavior.matching.repairs import Repair, repairs
from codeguard.behavior.specs.examples import Returns
from codeguard.behavior.verdict.comparison import Case, CaseResult, compare_results, wrong_results
from codeguard.behavior.verdict.contracts import Contrast, contrast
from codeguard.behavior.verdict.differential import MAX_SETTLED, CandidateSession, has_arbitrary_order
from codeguard.behavior.verdict.profiles import ObservedCall, Profile
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps
from codeguard.behavior.verdict.values import Comparison
from codeguard.sandbox.model import Call, CallResult, Outcome

MOST_FORMS, MOST_SAMPLED = 60, 6  # forms that are tried, and calls of each
MOST_EDITED = 3  # forms that are tried on all calls, without an edit and with single ones
LEAST_CALLS = 5
MOST_TEXT = 1_000  # characters of a result; comparing longer ones for every edit would take too long
LEAST_RIGHT = 3  # different results that have to be right in a form
LEAST_TAKEN = 0.5  # share of the calls of a form that return a result
LEAST_SHOWN = 0.75  # agreement beyond chance that shows what a function is meant to be
LEAST_FIRST, LEAST_SHARE = 0.75, 0.9  # share of the results that agree after an edit: of a few calls, of all
LEAST_RARE = 4  # results other than the most common one


@dataclass(frozen=True, slots=True)
class OtherForm:
    """What a candidate is in a form of the trusted function's arguments.

    `wrong` is the smallest call on which it differs, None if it agrees on all. `edit` is the edit after which it
    agrees, None where it mostly agrees without one.
    """

    form: Form
    agreed: tuple[Case, ...]
    wrong: CaseResult | None = None
    edit: Repair | None = None

    def reason(self, name: str) -> str:
        """Return what is to be said of it, after the trusted function's name."""
        taken = "" if self.form.is_own else f" that takes {self.form.name}"
        if self.wrong is None:
            return f"behaves like {name} but takes {self.form.name} ({len(self.agreed)} calls agree)"
        if self.edit is None:
            return f"claims to be {name}{taken} but differs: {self.wrong.text}"
        return (
            f"behaves like {name}{taken} with {self.edit.shown} ({len(self.agreed)} calls agree) "
            "and differs without it"
        )


def in_other_form(
    session: CandidateSession, profile: Profile, similarity: Similarity
) -> Steps[OtherForm | None]:
    """Return in which form a candidate is the trusted function that it is named after, or one edit away; or None."""
    seen = known_calls(profile)
    parallel = [item for item in seen if has_parallel_rows(_args(item))]
    # A candidate may insist on lists of one length where the trusted function takes any.
    for asked in (seen, parallel) if len(parallel) < len(seen) else (seen,):
        found = yield from _in_form(session, profile, similarity, asked)
        if found is not None:
            return found
    return None


def has_parallel_rows(args: Row) -> bool:
    """Return whether a call has several lists, all of one length."""
    lengths = [len(value) for value in args if isinstance(value, list)]
    return len(lengths) > 1 and len(set(lengths)) == 1


def _in_form(
    session: CandidateSession, profile: Profile, similarity: Similarity, seen: Sequence[ObservedCall]
) -> Steps[OtherForm | None]:
    """Return in which form a candidate does on some calls what the trusted function does there; or None."""
    if len(seen) < LEAST_CALLS:
        return None
    sample = sample_of(seen, MOST_SAMPLED)
    ranked = yield from _ranked_forms(session, sample)
    if not ranked:
        return None
    claimed = similarity.name == 1.0 or similarity.describes_reference
    least = min(LEAST_RIGHT, len({_text(item) for item in sample}))
    differs: OtherForm | None = None
    for right, form in ranked[:MOST_EDITED]:
        if form.is_own or not right >= least > 1:
            break  # its own form comes first only where no other one is right more often
        found = yield from _as_it_is(session, profile, form, seen)
        if found is not None and found.wrong is None:
            return found
        if claimed and not form.loses_order:
            differs = differs or found
    if differs is not None:
        return differs
    # Few nodes are one edit away from many functions, so that nothing but the whole name shows which is meant.
    small = is_short(session.candidate.features)
    if small and similarity.name < 1.0:
        return None
    made = repairs(session.candidate.runnable.node)
    forms = [form for place, (_, form) in enumerate(ranked) if place < MOST_EDITED or form.is_own]
    for form in forms if made else ():
        found = yield from _after_an_edit(session, profile, form, seen, made)
        if found is not None:
            return found
    return None


def known_calls(profile: Profile) -> list[ObservedCall]:
    """Return the plain calls of a trusted function and its results, where it returns one."""
    shown = [
        ObservedCall(Call("", item.args), CallResult(Outcome.RETURNED, item.expected.value))
        for item in profile.examples
        if item.args and not item.kwargs and isinstance(item.expected, Returns)
    ]
    plain = [
        replace(item, answer=_with_result(item))
        for item in profile.generated
        if item.example is None and item.call.args and not item.call.kwargs
    ]
    return [
        item
        for item in (*shown, *plain)
        if item.answer.outcome is Outcome.RETURNED
        and item.answer.value is not None
        and len(_text(item)) <= MOST_TEXT
    ]


def _with_result(item: ObservedCall) -> CallResult:
    """Return a call's result, for a function that changes its argument instead the argument afterwards."""
    answer = item.answer
    if answer.value is not None or not answer.args_after or answer.args_after == item.call.args:
        return answer
    return CallResult(answer.outcome, answer.args_after[0])


def sample_of(seen: Sequence[ObservedCall], count: int) -> list[ObservedCall]:
    """Return some calls, those of different results and, among these, of different arguments first."""
    by_result: dict[str, list[ObservedCall]] = {}
    for item in sorted(seen, key=_repeats_arguments):
        by_result.setdefault(_text(item), []).append(item)
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*by_result.values()))
    return list(itertools.islice((item for item in in_turn if item is not None), count))


def _repeats_arguments(item: ObservedCall) -> bool:
    """Return whether a call has an argument twice, so that it does not show in which order they are meant."""
    return len({repr(value) for value in _args(item)}) < len(_args(item))


def _text(item: ObservedCall) -> str:
    return result_text(item.answer.value)


def _args(item: ObservedCall) -> Row:
    return item.call.args or ()


def _ranked_forms(session: CandidateSession, sample: Sequence[ObservedCall]) -> Steps[list[tuple[int, Form]]]:
    """Return the forms that the candidate takes, with the number of different right results, most first."""
    rows = [_args(item) for item in sample]
    forms: dict[str, Form] = {}
    accepts = session.candidate.features.accepts
    for form in itertools.islice(forms_for(rows, lambda count: accepts(count, [])), MOST_FORMS):
        forms.setdefault(repr([form.of(row) for row in rows]), form)
    asked = [_cases(session, form, sample) for form in forms.values()]
    (result,) = yield from session.ask([case for cases in asked for case in cases])
    answers = iter(result.calls)
    ranked: list[tuple[int, float, Form]] = []
    for form, cases in zip(forms.values(), asked, strict=True):
        results = compare_results(cases, list(itertools.islice(answers, len(cases))))
        returned = sum(item.answer.outcome is Outcome.RETURNED for item in results)
        right = {
            result_text(item.case.reference.value)
            for item in results
            if item.comparison is Comparison.SAME and item.case.reference is not None
        }
        # What fails on every call in its own form may do so because of an edit.
        if cases and (form.is_own or returned >= LEAST_TAKEN * len(cases)):
            ranked.append((len(right), returned / len(cases), form))
    ranked.sort(key=lambda item: (-item[0], -item[1], not item[2].is_own))
    return [(right, form) for right, _, form in ranked]


def _cases(
    session: CandidateSession, form: Form, seen: Sequence[ObservedCall], target: str = ""
) -> list[Case]:
    """Return the trusted function's calls in another form."""
    turned = [(item, form.of(_args(item))) for item in seen]
    name = target or session.candidate.runnable.target
    return [Case(Call(name, args), None, item.answer) for item, args in turned if args is not None]


def _as_it_is(
    session: CandidateSession, profile: Profile, form: Form, seen: Sequence[ObservedCall]
) -> Steps[OtherForm | None]:
    """Return what the candidate is in this form without an edit; what it refuses there says nothing."""
    asked = [item for item in seen if form.of(_args(item)) is not None]
    cases = _cases(session, form, asked)
    (result,) = yield from session.ask(cases)
    results = compare_results(cases, result.calls)
    pairs = [
        (item, one)
        for item, one in zip(asked, results, strict=False)
        if one.answer.outcome is Outcome.RETURNED
    ]
    wrong = [item for item, one in pairs if one.comparison is Comparison.DIFFERENT][:MAX_SETTLED]
    runner = CallRunner(profile.reference.runnable, session.level, session.budget)
    ties = yield from has_arbitrary_order(profile, runner, [(_args(item), {}) for item in wrong])
    arbitrary = {id(item) for item, tie in zip(wrong, ties, strict=True) if tie}
    found = _contrast(profile, [one for item, one in pairs if id(item) not in arbitrary])
    agreed = tuple(one.case for _, one in pairs if one.comparison is Comparison.SAME)
    if len(agreed) < LEAST_CALLS or found.distinctive < LEAST_SHOWN:
        return None
    return OtherForm(form, agreed, found.wrong[0] if found.wrong else None)


def _contrast(profile: Profile, results: Sequence[CaseResult]) -> Contrast:
    definition = profile.reference.definition
    return contrast(results, f"{definition.name} {definition.docstring}")


def _after_an_edit(
    session: CandidateSession,
    profile: Profile,
    form: Form,
    seen: Sequence[ObservedCall],
    made: Sequence[Repair],
) -> Steps[OtherForm | None]:
    """Return the edit after which the candidate is the trusted function in this form, or None."""
    candidate = session.candidate
    source = "\n".join((candidate.runnable.source, *(item.text for item in made)))
    runner = CallRunner(
        replace(candidate.runnable, source=source), session.level, session.budget, session.runner.tier
    )
    known = [item for item in seen if form.of(_args(item)) is not None]
    sample = sample_of(known, MOST_SAMPLED)
    tried = [_cases(session, form, sample, item.name) for item in made]
    session.calls += sum(map(len, tried))
    (result,) = yield from runner.run(Batch(tuple(case.call for cases in tried for case in cases)))
    answers = iter(result.calls)
    shares: list[tuple[float, int]] = []
    for place, cases in enumerate(tried):
        results = compare_results(cases, list(itertools.islice(answers, len(cases))))
        same = sum(item.comparison is Comparison.SAME for item in results)
        if same >= LEAST_FIRST * len(sample):
            shares.append((-same, place))
    for _, place in sorted(shares)[:MOST_EDITED]:
        cases = _cases(session, form, known, made[place].name)
        own = _cases(session, form, known)
        edited, plain = yield from runner.run(
            Batch(tuple(case.call for case in cases)), Batch(tuple(case.call for case in own))
        )
        results = compare_results(cases, edited.calls)
        agreed = tuple(item.case for item in results if item.comparison is Comparison.SAME)
        if len(agreed) < max(LEAST_CALLS, LEAST_SHARE * len(results)) or not _is_distinctive(agreed):
            continue
        same_calls = {repr(case.call.args) for case in agreed}
        wrong = [
            item
            for item in wrong_results(compare_results(own, plain.calls))
            if repr(item.case.call.args) in same_calls
        ]
        if wrong:
            return OtherForm(form, agreed, wrong[0], made[place])
    return None


def _is_distinctive(agreed: Sequence[Case]) -> bool:
    """Return whether results distinguish a function from those that always return the same, or an argument."""
    texts = Counter(
        text
        for case in agreed
        if case.reference is not None
        and not returns_first_argument(case.call.args or (), text := result_text(case.reference.value))
    )
    return texts.total() - max(texts.values(), default=0) >= LEAST_RARE
