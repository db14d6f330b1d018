"""Compare results of calls: same, different, or unknown; and cases, which say what a candidate's calls should give.

Values are compared as a caller would: numbers by value (True equals 1, 2.0 equals 2), floats with a
tolerance, lists and tuples by their items, iterators by what they yield. Independent
implementations often differ in such details, and none of them is wrong. A strict comparison tells types apart as well.
"""

from __future__ import annotations

import cmath
import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from codeguard.behavior.inputs.generation import MAX_DEPTH, magnitude
from codeguard.behavior.matching.fingerprints import result_text
from codeguard.behavior.specs.examples import Example, Expected, Prints, Raises, Returns
from codeguard.sandbox.model import Call, CallResult, Iteration, Opaque, Outcome

RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-9
MAX_SHOWN = 120
LEAST_AGREEMENT = 0.5
NOT_TAKEN = frozenset({"TypeError", "AttributeError"})
# Exceptions that say more about the environment of a call than about the function.
INCONCLUSIVE_EXCEPTIONS = frozenset(
    {"ImportError", "ModuleNotFoundError", "NotImplementedError", "MemoryError"}
)
LOCAL = "<locals>"  # part of the name of an inner function, whose choice is arbitrary
_EXACT = frozenset({type(None), bool, int, str, bytes})
_PLAIN = (int, float, str, bytes, list, tuple, dict, set, frozenset)


class Comparison(Enum):
    """The relation of a result to the expected one."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


def same_value(expected: object, got: object, scale: float = 1.0, *, strict: bool = False) -> Comparison:
    """Compare two decoded values.

    `scale` is the magnitude of the numbers in the arguments: rounding errors and the absolute
    tolerance grow with it. With `strict`, values of different types are different.
    """
    if isinstance(expected, list | tuple | dict) and _is_written_alike(expected, got):
        return Comparison.SAME
    tolerance = 0.0 if strict else ABSOLUTE_TOLERANCE * max(1.0, scale)
    return _Values(tolerance, strict).compare(expected, got, 0)


def _is_written_alike(expected: Any, got: Any) -> bool:
    """Return whether two values are plain and the same in every part and kind.

    That is known at once, where comparing part by part takes seconds for all subsets of a list. Nothing
    else than plain values can be written this way. Version 2 knows no references, which differ by chance.
    """
    try:
        return marshal.dumps(expected, 2) == marshal.dumps(got, 2)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class _Values:
    """Compares values part by part."""

    tolerance: float
    strict: bool

    def compare(self, expected: object, got: object, depth: int) -> Comparison:
        alike = type(expected) is type(got)
        if depth > MAX_DEPTH:
            return Comparison.UNKNOWN
        if alike and type(expected) in _EXACT:
            return _comparison(expected == got)
        if self.strict and not alike:
            return Comparison.DIFFERENT
        if isinstance(expected, Opaque) or isinstance(got, Opaque):
            return self._instances(expected, got, depth)
        if isinstance(expected, int | float | complex) and isinstance(got, int | float | complex):
            return _comparison(self._close(expected, got))
        if isinstance(expected, Iteration) and isinstance(got, Iteration):
            return self._iterations(expected, got, depth)
        rows = [value.items if isinstance(value, Iteration) else value for value in (expected, got)]
        first, second = rows
        if isinstance(first, list | tuple) and isinstance(second, list | tuple):
            return self._parts(first, second, depth)
        if isinstance(expected, dict) and isinstance(got, dict):
            if expected.keys() != got.keys():
                return Comparison.DIFFERENT
            return self._parts(list(expected.values()), [got[key] for key in expected], depth)
        alike = alike or isinstance(expected, bytes | bytearray | set | frozenset)
        return _comparison(alike and expected == got)

    def _close(self, expected: complex, got: complex) -> bool:
        if isinstance(expected, int) and isinstance(got, int):
            return expected == got
        try:
            first, second = complex(expected), complex(got)
        except OverflowError:
            return expected == got
        if cmath.isnan(first) or cmath.isnan(second):
            return cmath.isnan(first) and cmath.isnan(second)
        close = cmath.isclose(first, second, rel_tol=RELATIVE_TOLERANCE, abs_tol=self.tolerance)
        return first == second or close

    def _parts(self, expected: Sequence[object], got: Sequence[object], depth: int) -> Comparison:
        if len(expected) != len(got):
            return Comparison.DIFFERENT
        verdict = Comparison.SAME
        for first, second in zip(expected, got, strict=True):
            part = self.compare(first, second, depth + 1)
            if part is Comparison.DIFFERENT:
                return part
            verdict = part if part is Comparison.UNKNOWN else verdict
        return verdict

    def _iterations(self, expected: Iteration, got: Iteration, depth: int) -> Comparison:
        """Compare two iterators; if a limit cut one of them, only the common part counts."""
        if self.strict and expected.exhausted is not got.exhausted:
            return Comparison.DIFFERENT
        shorter, longer = sorted((expected, got), key=lambda one: len(one.items))
        common = len(shorter.items)
        if shorter.exhausted and len(longer.items) > common:
            return Comparison.DIFFERENT
        return self._parts(expected.items[:common], got.items[:common], depth)

    def _instances(self, expected: object, got: object, depth: int) -> Comparison:
        """Compare instances by the plain value that they wrap, or else by their public fields.

        Types of different names without a plain value, and inner functions, are not comparable.
        """
        unlike = Comparison.DIFFERENT if self.strict else Comparison.UNKNOWN
        if not (isinstance(expected, Opaque) and isinstance(got, Opaque)) or not self._same_type(
            expected, got
        ):
            first, second = _plain_within(expected), _plain_within(got)
            if self.strict or isinstance(first, Opaque) or isinstance(second, Opaque):
                return Comparison.DIFFERENT if first is None or second is None else unlike
            return self.compare(first, second, depth + 1)
        own, theirs = dict(expected.fields), dict(got.fields)
        if own.keys() != theirs.keys():
            return unlike
        is_inner = expected.type_name == "function" and (self.strict or (LOCAL in str(own) and own != theirs))
        if not own or is_inner:
            return Comparison.UNKNOWN
        return self._parts(list(own.values()), [theirs[name] for name in own], depth)

    def _same_type(self, expected: Opaque, got: Opaque) -> bool:
        first, second = expected.type_name, got.type_name
        return first == second or (not self.strict and first.rpartition(".")[2] == second.rpartition(".")[2])


def _comparison(same: bool) -> Comparison:
    return Comparison.SAME if same else Comparison.DIFFERENT


def _plain_within(value: object) -> object:
    """Return the plain value of an instance of a subclass of a plain type, or itself."""
    wraps = isinstance(value, Opaque) and value.fields and value.fields[0][0] == ""
    return value.fields[0][1] if wraps and isinstance(value, Opaque) else value


def compare_with_example(expected: Expected, result: CallResult, scale: float = 1.0) -> Comparison:
    """Compare a call's result with the expectation of an example."""
    if result.outcome in (Outcome.NOT_RUN, Outcome.BADTYPE) or expected is None:
        return Comparison.UNKNOWN
    if isinstance(expected, Raises):
        if result.outcome is Outcome.RETURNED:
            return Comparison.DIFFERENT
        return _comparison(expected.exception.rpartition(".")[2] in result.exception)
    if result.outcome is Outcome.RAISED:
        return Comparison.UNKNOWN if is_inconclusive(result) else Comparison.DIFFERENT
    if isinstance(expected, Prints):
        return _comparison(expected.text.split() == result.stdout.split())
    return same_value(expected.value, result.value, scale)


def is_inconclusive(result: CallResult) -> bool:
    """Return whether an exception comes from where a function is run."""
    # NameError means that code around the function is missing; UnboundLocalError is the function's own.
    lacking = result.exception[:1] == ("NameError",)
    return lacking or bool(INCONCLUSIVE_EXCEPTIONS.intersection(result.exception))


def compare_with_reference(
    reference: CallResult,
    candidate: CallResult,
    args: tuple[object, ...] | None = None,
    scale: float = 1.0,
) -> Comparison:
    """Compare the candidate's result with the reference's for the same call.

    If the reference raises, any exception agrees; callers only ask this if an example shows an
    exception. Arguments changed in place count if the reference changes `args` and returns None, as
    `list.sort` does. If only the candidate changes them, equal results are UNKNOWN. Files that a
    call leaves are part of its result. Too deep recursion is UNKNOWN as well, because the limit is
    the sandbox's.
    """
    if reference.outcome is Outcome.RAISED and candidate.outcome in (Outcome.RAISED, Outcome.RETURNED):
        return _comparison(candidate.outcome is Outcome.RAISED)
    if reference.outcome is not Outcome.RETURNED:
        return Comparison.UNKNOWN
    if candidate.outcome is Outcome.RAISED:
        unknown = "RecursionError" in candidate.exception or is_inconclusive(candidate)
        return Comparison.UNKNOWN if unknown else Comparison.DIFFERENT
    if candidate.outcome is not Outcome.RETURNED:
        return Comparison.UNKNOWN
    returned = same_value(reference.value, candidate.value, scale)
    if returned is not Comparison.SAME:
        return returned
    if changes_arguments(reference, candidate, args):
        return Comparison.UNKNOWN
    if reference.files != candidate.files:
        return Comparison.DIFFERENT
    if reference.value is None and reference.stdout.split() != candidate.stdout.split():
        return Comparison.DIFFERENT
    if reference.value is not None or candidate.args_after is None or not _changed(reference, args):
        return returned
    return same_value(reference.args_after, candidate.args_after, scale)


def _changed(result: CallResult, args: tuple[object, ...] | None) -> bool:
    """Return whether a call changed its arguments."""
    after = result.args_after
    return None not in (args, after) and same_value(args, after) is Comparison.DIFFERENT


def changes_arguments(reference: CallResult, candidate: CallResult, args: tuple[object, ...] | None) -> bool:
    """Return whether a candidate changed arguments in place that the reference left unchanged."""
    return _changed(candidate, args) and not _changed(reference, args)


def is_empty_result(value: object) -> bool:
    """Return whether a result means that there is none: None, 0, an empty text or container."""
    if isinstance(value, Iteration):
        return not value.items
    return value is None or (isinstance(value, _PLAIN) and not isinstance(value, bool) and not value)


def result_kind(value: object) -> str:
    """Return a result's kind; all numbers are one kind, and so are lists, tuples, arrays and iterators."""
    if isinstance(value, Opaque) and value.fields and not value.fields[0][0]:
        value = value.fields[0][1]
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, list | tuple | Iteration):
        return "row"
    return "number" if isinstance(value, int | float | complex) else type(value).__name__


@dataclass(frozen=True, slots=True)
class Case:
    """A call of the candidate, and what decides whether its result is right.

    That is either an `example` or the reference's result.
    """

    call: Call
    example: Example | None = None
    reference: CallResult | None = None

    @property
    def expected(self) -> CallResult:
        """The trusted function's result, or what an example shows of it."""
        if self.reference is not None:
            return self.reference
        shown = self.example.expected if self.example is not None else None
        if isinstance(shown, Raises):
            return CallResult(Outcome.RAISED, exception=(shown.exception.rpartition(".")[2],))
        if isinstance(shown, Prints):
            return CallResult(Outcome.RETURNED, stdout=shown.text)
        return CallResult(Outcome.RETURNED, shown.value if isinstance(shown, Returns) else None)

    def judge(self, answer: CallResult) -> Comparison:
        """Compare the candidate's result with the expected one."""
        scale = magnitude(self.call.args) if self.call.args is not None else 1.0
        if self.example is not None:
            return compare_with_example(self.example.expected, answer, scale)
        if self.reference is None:
            return Comparison.UNKNOWN
        return compare_with_reference(self.reference, answer, self.call.args, scale)


@dataclass(frozen=True)
class CaseResult:
    """A case with the candidate's result and the comparison."""

    case: Case
    answer: CallResult
    comparison: Comparison

    @property
    def is_same(self) -> bool:
        """Whether the result agrees."""
        return self.comparison is Comparison.SAME

    @cached_property
    def expected(self) -> CallResult:
        """What the call should give."""
        return self.case.expected

    @cached_property
    def value_text(self) -> str:
        """The expected value as text; cached, because many forms ask for it and it may be long."""
        return result_text(self.expected.value)

    @property
    def expected_text(self) -> str:
        """The expected result as text."""
        if self.expected.outcome is not Outcome.RETURNED:
            return "raised"
        files = self.expected.files
        return f"{self.value_text}, {result_text(files)}" if files else self.value_text

    @property
    def returned(self) -> bool:
        """Whether both sides return, and leave the same files."""
        same_files = self.expected.files == self.answer.files or self.case.example is not None
        return self.expected.outcome is Outcome.RETURNED is self.answer.outcome and same_files

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
        return same_value(reference.value, reference.value) is Comparison.SAME

    @property
    def changes_arguments(self) -> bool:
        """Whether the candidate changed arguments that the reference leaves unchanged."""
        reference = self.case.reference
        return reference is not None and changes_arguments(reference, self.answer, self.case.call.args)

    @property
    def text(self) -> str:
        """The call with the expected and the actual result, on one line."""
        shown = self.case.example.expected if self.case.example is not None else None
        call, expected = self.case.call, write_result(self.case.call, self.case.expected, "to be raised")
        if isinstance(shown, Raises):
            expected = f"{shown.exception} to be raised"
        elif isinstance(shown, Prints):
            expected = f"{short(shown.text)} printed"
        return f"{write_call(call)}: expected {expected}, got {write_result(call, self.answer)}"


def compare_results(cases: Sequence[Case], answers: Sequence[CallResult]) -> list[CaseResult]:
    """Pair cases with results."""
    pairs = zip(cases, answers, strict=False)
    return [CaseResult(case, answer, case.judge(answer)) for case, answer in pairs]


def wrong_results(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the wrong results, smallest call first."""
    return sorted(
        (item for item in results if item.comparison is Comparison.DIFFERENT), key=lambda item: item.size
    )


def comparable_results(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the results that could be compared."""
    return [item for item in results if item.comparison is not Comparison.UNKNOWN]


def write_result(call: Call, answer: CallResult, raised: str = "raised") -> str:
    """Return a call's result as text, with the files that it left and the changes of arguments if it returns None."""
    if answer.outcome is not Outcome.RETURNED:
        return f"{answer.exception[0] if answer.exception else 'an exception'} {raised}"
    changed = answer.value is None and answer.args_after not in (None, call.args)
    text = f"arguments changed to {short(answer.args_after)}" if changed else short(answer.value)
    return f"{text}, and files {short(dict(answer.files))}" if answer.files else text


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
