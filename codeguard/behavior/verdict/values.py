"""Compare the results of two functions: same, different, or unknown.

Values are compared as a caller would: numbers by value (True equals 1, 2.0 equals 2), floats with a
tolerance, lists and tuples by their items, iterators by what they yield. Independent
implementations often differ in such details, and none of them is wrong.
"""

from __future__ import annotations

import ast
import cmath
import marshal
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from codeguard.behavior.inputs.generation import MAX_DEPTH
from codeguard.behavior.specs.examples import Expected, Prints, Raises, Returns
from codeguard.sandbox.model import CallResult, Iteration, Opaque, Outcome

RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-9
MAX_WRITTEN = 20_000  # characters of a value's repr
# Exceptions that say more about the environment of a call than about the function.
INCONCLUSIVE_EXCEPTIONS = frozenset(
    {"ImportError", "ModuleNotFoundError", "NotImplementedError", "MemoryError"}
)
LOCAL = "<locals>"  # part of the name of an inner function, whose choice is arbitrary


class Comparison(Enum):
    """The relation of a result to the expected one."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


_EXACT = frozenset({type(None), bool, int, str, bytes})


def same_value(expected: object, got: object, scale: float = 1.0) -> Comparison:
    """Compare two decoded values.

    `scale` is the magnitude of the numbers in the arguments: rounding errors and the absolute
    tolerance grow with it.
    """
    if isinstance(expected, list | tuple | dict) and _is_written_alike(expected, got):
        return Comparison.SAME
    return _compare(expected, got, ABSOLUTE_TOLERANCE * max(1.0, scale), 0)


def _is_written_alike(expected: Any, got: Any) -> bool:
    """Return whether two values are plain and the same in every part and kind.

    That is known at once, where comparing part by part takes seconds for all subsets of a list. Nothing
    else than plain values can be written this way. Version 2 knows no references, which differ by chance.
    """
    try:
        return marshal.dumps(expected, 2) == marshal.dumps(got, 2)
    except ValueError:
        return False


def _compare(expected: object, got: object, tolerance: float, depth: int) -> Comparison:
    if depth > MAX_DEPTH:
        return Comparison.UNKNOWN
    if type(expected) is type(got) and type(expected) in _EXACT:
        return _comparison(expected == got)
    if isinstance(expected, Opaque) or isinstance(got, Opaque):
        return _compare_opaque(expected, got, tolerance, depth)
    if _is_number(expected) and _is_number(got):
        return _comparison(_close(expected, got, tolerance))
    expected_items, got_items = _items(expected), _items(got)
    if expected_items is not None and got_items is not None:
        if isinstance(expected, Iteration) and isinstance(got, Iteration):
            return _compare_iterations(expected, got, tolerance, depth)
        return _compare_items(expected_items, got_items, tolerance, depth)
    if isinstance(expected, dict) and isinstance(got, dict):
        return _compare_dicts(expected, got, tolerance, depth)
    if isinstance(expected, set | frozenset) and isinstance(got, set | frozenset):
        return _compare_sets(expected, got, tolerance, depth)
    if isinstance(expected, bytes | bytearray) and isinstance(got, bytes | bytearray):
        return _comparison(bytes(expected) == bytes(got))
    return _comparison(type(expected) is type(got) and expected == got)


def _comparison(same: bool) -> Comparison:
    return Comparison.SAME if same else Comparison.DIFFERENT


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float | complex)


def _close(expected: object, got: object, tolerance: float) -> bool:
    if isinstance(expected, int) and isinstance(got, int):
        return expected == got
    try:
        first, second = complex(expected), complex(got)  # type: ignore[call-overload]
    except OverflowError:
        return expected == got
    if cmath.isnan(first) or cmath.isnan(second):
        return cmath.isnan(first) and cmath.isnan(second)
    return first == second or cmath.isclose(first, second, rel_tol=RELATIVE_TOLERANCE, abs_tol=tolerance)


def _items(value: object) -> tuple[object, ...] | None:
    if isinstance(value, Iteration):
        return value.items
    if isinstance(value, list | tuple):
        return tuple(value)
    return None


def _compare_iterations(expected: Iteration, got: Iteration, tolerance: float, depth: int) -> Comparison:
    """Compare two iterators; if a limit cut one of them, only the common part counts."""
    if expected.exhausted and got.exhausted:
        return _compare_items(expected.items, got.items, tolerance, depth)
    common = min(len(expected.items), len(got.items))
    shorter_ended = (expected.exhausted and len(expected.items) == common) or (
        got.exhausted and len(got.items) == common
    )
    if shorter_ended and len(expected.items) != len(got.items):
        return Comparison.DIFFERENT
    return _compare_items(expected.items[:common], got.items[:common], tolerance, depth)


def _compare_items(
    expected: tuple[object, ...], got: tuple[object, ...], tolerance: float, depth: int
) -> Comparison:
    if len(expected) != len(got):
        return Comparison.DIFFERENT
    return _combined(_compare(*pair, tolerance, depth + 1) for pair in zip(expected, got, strict=True))


def _compare_dicts(
    expected: Mapping[object, object], got: Mapping[object, object], tolerance: float, depth: int
) -> Comparison:
    if len(expected) != len(got) or any(key not in got for key in expected):
        return Comparison.DIFFERENT
    return _combined(_compare(value, got[key], tolerance, depth + 1) for key, value in expected.items())


def _compare_sets(
    expected: set[object] | frozenset[object],
    got: set[object] | frozenset[object],
    tolerance: float,
    depth: int,
) -> Comparison:
    if expected == got:
        return Comparison.SAME
    if len(expected) != len(got):
        return Comparison.DIFFERENT
    if all(_is_number(value) and not isinstance(value, complex) for value in (*expected, *got)):
        pairs = zip(_sorted_numbers(expected), _sorted_numbers(got), strict=True)
        return _combined(_compare(*pair, tolerance, depth + 1) for pair in pairs)
    return Comparison.DIFFERENT


def _sorted_numbers(values: set[object] | frozenset[object]) -> list[object]:
    key: Callable[[object], float] = float  # type: ignore[assignment]
    return sorted(values, key=key)


def _compare_opaque(expected: object, got: object, tolerance: float, depth: int) -> Comparison:
    """Compare instances by the plain value that they wrap, or else by their public fields.

    Types of different names without a plain value, and inner functions, are not comparable.
    """
    alike = (
        isinstance(expected, Opaque)
        and isinstance(got, Opaque)
        and expected.type_name.rpartition(".")[2] == got.type_name.rpartition(".")[2]
    )
    if not alike:
        first, second = _plain_within(expected), _plain_within(got)
        if isinstance(first, Opaque) or isinstance(second, Opaque):
            nothing = first is None or second is None
            return Comparison.DIFFERENT if nothing else Comparison.UNKNOWN
        return _compare(first, second, tolerance, depth + 1)
    assert isinstance(expected, Opaque)
    assert isinstance(got, Opaque)
    if not expected.fields or not got.fields:
        return Comparison.UNKNOWN
    own, theirs = dict(expected.fields), dict(got.fields)
    if own.keys() != theirs.keys():
        return Comparison.UNKNOWN
    if expected.type_name == "function" and LOCAL in str(own) and own != theirs:
        return Comparison.UNKNOWN
    return _combined(_compare(value, theirs[name], tolerance, depth + 1) for name, value in own.items())


def _plain_within(value: object) -> object:
    """Return the plain value of an instance of a subclass or of a number or container type, or itself."""
    if not isinstance(value, Opaque) or not value.fields:
        return value
    name, content = value.fields[0]
    if name == "":
        return content
    if name == "repr" and isinstance(content, str) and len(content) <= MAX_WRITTEN:
        return _written_within(value.type_name, content, value)
    return value


def number_class(value: object) -> str | None:
    """Return the class of a number that does not mix with others, "" for a plain number, None if it is no number."""
    if isinstance(value, Opaque):
        name = value.type_name.rpartition(".")[2]
        return name if name in ("Decimal", "Fraction") else None
    return "" if _is_number(value) else None


def _written_within(kind: str, text: str, otherwise: object) -> object:
    inside = text.partition("(")[2].rpartition(")")[0]
    try:
        if kind == "Decimal":
            return float(inside.strip("'\""))
        if kind == "Fraction":
            numerator, _, denominator = inside.partition(",")
            whole, rest = divmod(int(numerator), int(denominator))
            return whole if not rest else int(numerator) / int(denominator)
        if kind in ("deque", "array") and "[" in inside:
            return ast.literal_eval(inside[inside.index("[") : inside.rindex("]") + 1])
        if kind == "array":
            return []
        if kind == "range":
            made = range(*(int(part) for part in inside.split(",")))
            return list(made) if len(made) <= MAX_WRITTEN else otherwise
    except (
        ValueError,
        SyntaxError,
        OverflowError,
        RecursionError,
        MemoryError,
        ZeroDivisionError,
        TypeError,
    ):
        return otherwise
    return otherwise


def _combined(parts: object) -> Comparison:
    verdict = Comparison.SAME
    for part in parts:  # type: ignore[attr-defined]
        if part is Comparison.DIFFERENT:
            return Comparison.DIFFERENT
        if part is Comparison.UNKNOWN:
            verdict = Comparison.UNKNOWN
    return verdict


def compare_with_example(expected: Expected, result: CallResult, scale: float = 1.0) -> Comparison:
    """Compare a call's result with the expectation of an example."""
    if result.outcome in (Outcome.NOT_RUN, Outcome.BADTYPE) or expected is None:
        return Comparison.UNKNOWN
    if isinstance(expected, Raises):
        if result.outcome is Outcome.RETURNED:
            return Comparison.DIFFERENT
        return _comparison(expected.exception.rpartition(".")[2] in result.exception)
    if result.outcome is Outcome.RAISED:
        return _raised(result)
    if isinstance(expected, Prints):
        return _comparison(expected.text.split() == result.stdout.split())
    assert isinstance(expected, Returns)
    return same_value(expected.value, result.value, scale)


def _raised(result: CallResult) -> Comparison:
    # NameError means that code around the function is missing; UnboundLocalError is the function's own.
    if result.exception[:1] == ("NameError",) or INCONCLUSIVE_EXCEPTIONS.intersection(result.exception):
        return Comparison.UNKNOWN
    return Comparison.DIFFERENT


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
        return Comparison.UNKNOWN if "RecursionError" in candidate.exception else _raised(candidate)
    if candidate.outcome is not Outcome.RETURNED:
        return Comparison.UNKNOWN
    returned = same_value(reference.value, candidate.value, scale)
    if returned is Comparison.SAME and changes_arguments(reference, candidate, args):
        return Comparison.UNKNOWN
    if returned is Comparison.SAME and reference.files != candidate.files:
        return Comparison.DIFFERENT
    if returned is not Comparison.SAME or reference.value is not None:
        return returned
    if reference.stdout.split() != candidate.stdout.split():
        return Comparison.DIFFERENT
    if args is None or reference.args_after is None or candidate.args_after is None:
        return returned
    if same_value(args, reference.args_after) is not Comparison.DIFFERENT:
        return returned
    return same_value(reference.args_after, candidate.args_after, scale)


def changes_arguments(reference: CallResult, candidate: CallResult, args: tuple[object, ...] | None) -> bool:
    """Return whether a candidate changed arguments in place that the reference left unchanged."""
    if args is None or candidate.args_after is None or _equal(args, candidate.args_after):
        return False
    left_alone = (
        reference.args_after is None or same_value(args, reference.args_after) is not Comparison.DIFFERENT
    )
    return left_alone and same_value(args, candidate.args_after) is Comparison.DIFFERENT


def _equal(first: object, second: object) -> bool:
    """Return whether two plain values are equal in Python, as a fast path."""
    try:
        return bool(first == second)
    except RecursionError:
        return False


def is_empty_result(value: object) -> bool:
    """Return whether a result means that there is none: None, 0, an empty text or container."""
    if isinstance(value, Iteration):
        return not value.items
    if value is None:
        return True
    is_plain = isinstance(value, int | float | str | bytes | list | tuple | dict | set | frozenset)
    return is_plain and not isinstance(value, bool) and not value


def result_kind(value: object) -> str:
    """Return a result's kind; all numbers are one kind, and so are lists, tuples, arrays and iterators."""
    if isinstance(value, Opaque) and value.fields and not value.fields[0][0]:
        value = value.fields[0][1]
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, list | tuple | Iteration):
        return "row"
    return "number" if isinstance(value, int | float | complex) else type(value).__name__
