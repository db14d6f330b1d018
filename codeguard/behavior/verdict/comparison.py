"""Compare the results of a candidate's calls with the expected ones, outside of the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeguard.behavior.inputs.generation import magnitude
from codeguard.behavior.inputs.objects import STOOD_IN
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.specs.examples import Example, Prints, Raises, Returns
from codeguard.behavior.verdict.profiles import ObservedCall
from codeguard.behavior.verdict.values import (
    Comparison,
    changes_arguments,
    compare_with_example,
    compare_with_reference,
    is_empty_result,
    number_class,
    same_value,
)
from codeguard.sandbox.model import Call, CallResult, Outcome

MAX_SHOWN = 120
LEAST_AGREEMENT = 0.5
NOT_TAKEN = frozenset({"TypeError", "AttributeError"})


@dataclass(frozen=True, slots=True)
class Case:
    """A call of the candidate, and what decides whether its result is right.

    That is either an `example` or the reference's result. With `silence_free`, no example shows
    what the function returns if there is nothing to return, so None may stand for 0 or an empty
    list. With `same_number_class`, a float is no Decimal: a second implementation may compute in floats,
    but callers of the original go on with what it returns.
    """

    call: Call
    example: Example | None = None
    reference: CallResult | None = None
    silence_free: bool = False
    same_number_class: bool = False

    def judge(self, answer: CallResult) -> Comparison:
        """Compare the candidate's result with the expected one."""
        scale = magnitude(self.call.args) if self.call.args is not None else 1.0
        if self.example is not None:
            return compare_with_example(self.example.expected, answer, scale)
        if self.reference is None or (self.uses_stand_in and NOT_TAKEN.intersection(answer.exception[:1])):
            return Comparison.UNKNOWN
        comparison = compare_with_reference(self.reference, answer, self.call.args, scale)
        if comparison is Comparison.DIFFERENT and self.silence_free and _both_empty(self.reference, answer):
            return Comparison.UNKNOWN
        if self.same_number_class and comparison is Comparison.SAME:
            own, other = number_class(answer.value), number_class(self.reference.value)
            return comparison if None in (own, other) or own == other else Comparison.DIFFERENT
        return comparison

    @property
    def uses_stand_in(self) -> bool:
        """Whether an argument is a generic stand-in, which may lack attributes that the code needs."""
        return self.call.args is None and STOOD_IN in self.call.target

    @property
    def expected_text(self) -> str:
        """The expected result as text."""
        expected = self.example.expected if self.example is not None else None
        if isinstance(expected, Raises):
            return f"{expected.exception} to be raised"
        if isinstance(expected, Prints):
            return f"{short(expected.text)} printed"
        if isinstance(expected, Returns):
            return short(expected.value)
        if self.reference is None:
            return "nothing known"
        if self.reference.outcome is Outcome.RAISED:
            return f"{self.reference.exception[0]} to be raised"
        return _result_text(self.call, self.reference)


def _both_empty(reference: CallResult, answer: CallResult) -> bool:
    if not answer.outcome is Outcome.RETURNED is reference.outcome:
        return False
    left = [(one.files, one.stdout.split()) for one in (reference, answer)]
    return left[0] == left[1] and is_empty_result(reference.value) and is_empty_result(answer.value)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case with the candidate's result and the comparison."""

    case: Case
    answer: CallResult
    comparison: Comparison

    @property
    def size(self) -> int:
        """The length of the call as text; smaller counterexamples are better."""
        call = self.case.call
        return (
            len(call.target) + len(call.setup) if call.args is None else len(repr((call.args, call.kwargs)))
        )

    @property
    def incomparable(self) -> bool:
        """Whether the expected result can be compared but the candidate's cannot."""
        if self.comparison is not Comparison.UNKNOWN or self.answer.outcome is Outcome.NOT_RUN:
            return False
        reference = self.case.reference
        if reference is None:
            return self.case.example is not None
        if reference.outcome is not Outcome.RETURNED:
            return False
        if self.case.silence_free and _both_empty(reference, self.answer):
            return False
        return same_value(reference.value, reference.value) is Comparison.SAME

    @property
    def changes_arguments(self) -> bool:
        """Whether the candidate changed arguments that the reference leaves unchanged."""
        reference = self.case.reference
        return reference is not None and changes_arguments(reference, self.answer, self.case.call.args)

    @property
    def text(self) -> str:
        """The call with the expected and the actual result, on one line."""
        got = f"{self.answer.exception[0] if self.answer.exception else 'an exception'} raised"
        if self.answer.outcome is Outcome.RETURNED:
            got = _result_text(self.case.call, self.answer)
        return f"{write_call(self.case.call)}: expected {self.case.expected_text}, got {got}"


def compare_results(cases: Sequence[Case], answers: Sequence[CallResult]) -> list[CaseResult]:
    """Pair cases with results."""
    pairs = zip(cases, answers, strict=False)
    return [CaseResult(case, answer, case.judge(answer)) for case, answer in pairs]


def case_of_example(example: Example, call: Call) -> Case:
    """Return the case for an example."""
    return Case(call, example=example)


def case_of_observed(observed: ObservedCall, runnable: Runnable, silence_free: bool = False) -> Case | None:
    """Return the case that expects the reference's result; None if the call cannot be made."""
    call = observed.for_function(runnable)
    return None if call is None else Case(call, None, observed.answer, silence_free)


def wrong_results(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the wrong results, smallest call first."""
    return sorted(
        (item for item in results if item.comparison is Comparison.DIFFERENT), key=lambda item: item.size
    )


def comparable_results(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the results that could be compared."""
    return [item for item in results if item.comparison is not Comparison.UNKNOWN]


def rejects_arguments(results: Sequence[CaseResult]) -> bool:
    """Return whether the candidate rejects the arguments of every call."""
    return all(
        item.answer.outcome is Outcome.RAISED and NOT_TAKEN.intersection(item.answer.exception)
        for item in comparable_results(results)
    )


def _result_text(call: Call, answer: CallResult) -> str:
    """Return a call's result as text, with the files that it left."""
    text = _changed_arguments_text(call, answer) or short(answer.value)
    return f"{text}, and files {short(dict(answer.files))}" if answer.files else text


def _changed_arguments_text(call: Call, answer: CallResult) -> str:
    """Return the changes that a call returning None made to its arguments, as text; empty if none."""
    if answer.value is not None or answer.args_after is None or answer.args_after == call.args:
        return ""
    return f"arguments changed to {short(answer.args_after)}"


def write_call(call: Call) -> str:
    """Return a call as shortened source text."""
    if call.args is None:
        return _cut(call.target)
    parts = [repr(value) for value in call.args]
    parts.extend(f"{name}={value!r}" for name, value in call.kwargs.items())
    return _cut(f"{call.target}({', '.join(parts)})")


def short(value: object) -> str:
    """Return a value as text, cut to a readable length."""
    try:
        return _cut(repr(value))
    except ValueError:
        return f"{type(value).__name__} with more digits than Python writes out"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
