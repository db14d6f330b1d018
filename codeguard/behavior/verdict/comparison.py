"""A candidate's calls compared with what was expected of each, outside the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeguard.behavior.inputs.objects import STOOD_IN
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.specs.examples import Example, Prints, Raises, Returns
from codeguard.behavior.verdict.profiles import Observed
from codeguard.behavior.verdict.values import (
    Comparison,
    agrees,
    changes_arguments,
    magnitude,
    meets,
    same_value,
    says_nothing,
)
from codeguard.sandbox.model import Call, CallResult, Outcome

MAX_SHOWN = 120
LEAST_AGREEMENT = 0.5
NOT_TAKEN = frozenset({"TypeError", "AttributeError"})


@dataclass(frozen=True, slots=True)
class Question:
    """A call to put to the candidate, with what decides whether the answer is right.

    Either an `example` says so, or the reference's own answer does. With
    `silence_free`, no example shows what comes out where there is nothing to
    give, so that None may stand for 0 or an empty list.
    """

    call: Call
    example: Example | None = None
    reference: CallResult | None = None
    silence_free: bool = False

    def judge(self, answer: CallResult) -> Comparison:
        """Compare the candidate's answer with what it should be."""
        scale = magnitude(self.call.args) if self.call.args is not None else 1.0
        if self.example is not None:
            return meets(self.example.expected, answer, scale)
        if self.reference is None or (self.stands_in and NOT_TAKEN.intersection(answer.exception[:1])):
            return Comparison.UNKNOWN
        comparison = agrees(self.reference, answer, self.call.args, scale)
        if comparison is Comparison.DIFFERENT and self.silence_free and _both_silent(self.reference, answer):
            return Comparison.UNKNOWN
        return comparison

    @property
    def stands_in(self) -> bool:
        """Whether something is given that stands in for objects nobody has shown: it may lack what others use."""
        return self.call.args is None and STOOD_IN in self.call.target

    @property
    def wanted(self) -> str:
        """What should come out, as text."""
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
        return _given(self.call, self.reference)


def _both_silent(reference: CallResult, answer: CallResult) -> bool:
    if not answer.outcome is Outcome.RETURNED is reference.outcome:
        return False
    left = [(one.files, one.stdout.split()) for one in (reference, answer)]
    return left[0] == left[1] and says_nothing(reference.value) and says_nothing(answer.value)


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with the candidate's answer and how it compares."""

    question: Question
    answer: CallResult
    comparison: Comparison

    @property
    def size(self) -> int:
        """How much there is to read about the call: smaller counterexamples are better ones."""
        call = self.question.call
        return (
            len(call.target) + len(call.setup) if call.args is None else len(repr((call.args, call.kwargs)))
        )

    @property
    def incomparable(self) -> bool:
        """Whether a value was expected that can be compared, and what came cannot be."""
        if self.comparison is not Comparison.UNKNOWN or self.answer.outcome is Outcome.NOT_RUN:
            return False
        reference = self.question.reference
        if reference is None:
            return self.question.example is not None
        if reference.outcome is not Outcome.RETURNED:
            return False
        if self.question.silence_free and _both_silent(reference, self.answer):
            return False
        return same_value(reference.value, reference.value) is Comparison.SAME

    @property
    def changes_arguments(self) -> bool:
        """Whether arguments are not the same afterwards that the reference leaves alone."""
        reference = self.question.reference
        return reference is not None and changes_arguments(reference, self.answer, self.question.call.args)

    @property
    def text(self) -> str:
        """The call with what was expected and what came, as one line."""
        got = f"{self.answer.exception[0] if self.answer.exception else 'an exception'} raised"
        if self.answer.outcome is Outcome.RETURNED:
            got = _given(self.question.call, self.answer)
        return f"{write_call(self.question.call)}: expected {self.question.wanted}, got {got}"


def compare(questions: Sequence[Question], answers: Sequence[CallResult]) -> list[Answered]:
    """Put questions and answers together."""
    pairs = zip(questions, answers, strict=False)
    return [Answered(question, answer, question.judge(answer)) for question, answer in pairs]


def of_example(example: Example, call: Call) -> Question:
    """Return the question that an example asks."""
    return Question(call, example=example)


def of_observed(observed: Observed, runnable: Runnable, silence_free: bool = False) -> Question | None:
    """Return the question whether a candidate does what the reference did; None where it cannot be asked."""
    call = observed.for_function(runnable)
    return None if call is None else Question(call, None, observed.answer, silence_free)


def different(answered: Sequence[Answered]) -> list[Answered]:
    """Return the wrong answers, the smallest call first."""
    return sorted(
        (item for item in answered if item.comparison is Comparison.DIFFERENT), key=lambda item: item.size
    )


def known(answered: Sequence[Answered]) -> list[Answered]:
    """Return the answers that could be compared."""
    return [item for item in answered if item.comparison is not Comparison.UNKNOWN]


def not_taken(answered: Sequence[Answered]) -> bool:
    """Return whether the candidate refuses every call as one not made for it."""
    return all(
        item.answer.outcome is Outcome.RAISED and NOT_TAKEN.intersection(item.answer.exception)
        for item in known(answered)
    )


def _given(call: Call, answer: CallResult) -> str:
    """Say what a call gave, and which files it left."""
    told = _changed(call, answer) or short(answer.value)
    return f"{told}, and files {short(dict(answer.files))}" if answer.files else told


def _changed(call: Call, answer: CallResult) -> str:
    """Say what a call that returns None did to its arguments, empty where it did nothing."""
    if answer.value is not None or answer.args_after is None or answer.args_after == call.args:
        return ""
    return f"arguments changed to {short(answer.args_after)}"


def write_call(call: Call) -> str:
    """Write a call as source text, shortened."""
    if call.args is None:
        return _cut(call.target)
    parts = [repr(value) for value in call.args]
    parts.extend(f"{name}={value!r}" for name, value in call.kwargs.items())
    return _cut(f"{call.target}({', '.join(parts)})")


def short(value: object) -> str:
    """Write a value, cut to a readable length."""
    try:
        return _cut(repr(value))
    except ValueError:
        return f"{type(value).__name__} with more digits than Python writes out"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
