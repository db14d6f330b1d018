"""Separate differences of convention from wrong results.

Two honest implementations may reject an empty list with different exceptions, return None or -1 if
nothing is found, count from 0 or from 1, return a set or a list. None of these is wrong. A
difference is one of convention only if the candidate is consistent: every result has the same form,
or every input of one edge case (empty, zero, negative, one element, an unsupported type) is treated
alike. Accepting what the trusted function rejects is never a convention.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from codeguard.behavior.inputs.preconditions import Holds, preconditions
from codeguard.behavior.matching.claims import WORD
from codeguard.behavior.matching.fingerprints import result_text, returns_first_argument
from codeguard.behavior.source.definitions import parse_or_none, unparse
from codeguard.behavior.specs.calls import value_of
from codeguard.behavior.specs.examples import Prints, Raises, Returns
from codeguard.behavior.verdict.comparison import CaseResult, comparable_results
from codeguard.behavior.verdict.values import Comparison, same_value
from codeguard.sandbox.model import Call, CallResult, Iteration, Opaque, Outcome

LEAST_SHOWN = 3  # distinct results that have to agree on a form before it counts as a convention
MOST_AT_EDGE = 0.5  # maximum share of the calls that may be edge cases
MOST_DIGITS = 7
LEAST_REORDERED = 0.5  # minimum share of the longer results whose order differs, if order is the convention
_ORDERED = """
ascending descending first last next order ordered path permutation previous rank reverse reversed rotate rotated
shift smallest sort sorted stable topological largest
"""
ORDERED_WORDS = frozenset(_ORDERED.split())
# Words for quantities: being off by one is an error there, not a convention.
QUANTITY = re.compile(r"\b(how many|number of|counts?|counting|times|occurrences?|lengths?|sizes?)\b")
NUMBER_INPUT = "number input"
SENTINELS: tuple[object, ...] = (None, False, -1)
# What the sandbox raises where it refuses something, and where it lacks a module.
HIDING = frozenset({"PermissionError", "BlockingIOError", "ImportError", "ModuleNotFoundError"})


@dataclass(frozen=True, slots=True)
class Contrast:
    """The wrong results, and the conventions in which the candidate differs.

    `agreement` is the share of results that agree except for conventions. Every distinct result of
    the trusted function has the same weight in it, so a function that always returns False scores
    at most one half. `distinctive` is the agreement beyond chance, over the results that are not
    simply the first argument. `compared` counts the comparable calls that the description does not
    exclude. With `has_form`, one of the conventions is a form of all results, not the treatment of some inputs.
    """

    wrong: tuple[CaseResult, ...] = ()
    conventions: tuple[str, ...] = ()
    agreement: float = 1.0
    distinctive: float = 1.0
    compared: int = 0
    has_form: bool = False


@dataclass(frozen=True)
class _Pair:
    """A call with the plain results of the trusted function and of the candidate."""

    item: CaseResult
    expected: CallResult

    @property
    def got(self) -> CallResult:
        return self.item.answer

    @property
    def same(self) -> bool:
        return self.item.comparison is Comparison.SAME

    @cached_property
    def value_text(self) -> str:
        """The expected value as text; kept, because many forms ask for it and it may be long."""
        return result_text(self.expected.value)

    @property
    def answer(self) -> str:
        """The expected result as text."""
        if self.expected.outcome is not Outcome.RETURNED:
            return "raised"
        files = self.expected.files
        return f"{self.value_text}, {result_text(files)}" if files else self.value_text

    @property
    def same_files(self) -> bool:
        return self.expected.files == self.got.files or self.item.case.example is not None

    @property
    def call(self) -> Call:
        return self.item.case.call

    @property
    def returned(self) -> bool:
        return self.expected.outcome is Outcome.RETURNED is self.got.outcome


Fits = Callable[[_Pair], bool]


def contrast(results: Sequence[CaseResult], description: str) -> Contrast:
    """Separate wrong results from differences of convention, over all calls together.

    `description` is the trusted function's name and description; an order that it promises is no convention.
    """
    compared = [item for item in comparable_results(results) if not is_hidden(item)]
    shown = [item.case.call.args or () for item in compared if item.case.example is not None]
    conditions = preconditions(description, shown)
    pairs = [_Pair(item, _expected(item)) for item in compared if _meets(item.case.call, conditions)]
    if all(pair.same for pair in pairs):
        share = float(bool(pairs))
        return Contrast(agreement=share, distinctive=share, compared=len(pairs))
    best: tuple[list[_Pair], tuple[str, ...], bool] | None = None
    by_edge, silences = _by_edge(pairs), _empty_results(pairs)
    settled = {id(pair) for pair in pairs if pair.same and _means_nothing_found(pair.expected)}
    for name, fits in (("", _is_same), *_forms(pairs, description)):
        rest = [pair for pair in pairs if not (id(pair) in settled or (pair.same_files and fits(pair)))]
        kept, edges = _edges(rest, by_edge, silences)
        if best is None or len(kept) < len(best[0]):
            best = kept, ((name,) if name else ()) + edges, bool(name)
        if not kept:
            break
    assert best is not None
    wrong, conventions, has_form = best
    items = sorted((pair.item for pair in wrong), key=lambda item: item.size)
    distinctive = _beyond_chance(list(_distinctive(pairs)), list(_distinctive(wrong)))
    return Contrast(tuple(items), conventions, _agreement(pairs, wrong), distinctive, len(pairs), has_form)


def _meets(call: Call, conditions: Sequence[Holds]) -> bool:
    return all(holds(value) for value in call.args or () for holds in conditions)


def _agreement(pairs: Sequence[_Pair], wrong: Sequence[_Pair]) -> float:
    every = Counter(pair.answer for pair in pairs)
    bad = Counter(pair.answer for pair in wrong)
    return sum(1 - bad[answer] / count for answer, count in every.items()) / max(1, len(every))


def _beyond_chance(pairs: Sequence[_Pair], wrong: Sequence[_Pair]) -> float:
    """Return the agreement beyond that of a function which always returns the same."""
    answers = len({pair.answer for pair in pairs})
    if answers < 2:
        return 0.0  # a constant result agrees with every constant function
    return max(0.0, (_agreement(pairs, wrong) - 1 / answers) / (1 - 1 / answers))


def _distinctive(pairs: Sequence[_Pair]) -> Iterator[_Pair]:
    return (
        pair
        for pair in pairs
        if pair.expected.outcome is not Outcome.RETURNED
        or not returns_first_argument(pair.call.args or (), pair.value_text)
    )


def _expected(item: CaseResult) -> CallResult:
    if item.case.reference is not None:
        return item.case.reference
    expected = item.case.example.expected if item.case.example is not None else None
    if isinstance(expected, Raises):
        return CallResult(Outcome.RAISED, exception=(expected.exception.rpartition(".")[2],))
    if isinstance(expected, Prints):
        return CallResult(Outcome.RETURNED, stdout=expected.text)
    return CallResult(Outcome.RETURNED, expected.value if isinstance(expected, Returns) else None)


def is_hidden(item: CaseResult) -> bool:
    """Return whether what the sandbox refuses or lacks hides a result, which does not count then."""
    if item.answer.outcome is not Outcome.RAISED or not HIDING.intersection(item.answer.exception):
        return False
    # An exception of this kind may be what an example shows or the trusted function raises.
    return item.comparison is not Comparison.SAME or not HIDING.intersection(_expected(item).exception)


def accepts_more(item: CaseResult) -> bool:
    """Return whether a wrong result is only that a call returns which should have raised."""
    return _expected(item).outcome is Outcome.RAISED and item.answer.outcome is Outcome.RETURNED


# Forms: each has to fit every call except edge cases.


def _is_same(pair: _Pair) -> bool:
    return pair.same


def _forms(pairs: Sequence[_Pair], text: str) -> Iterator[tuple[str, Fits]]:
    """Yield the forms that differ by convention, each with a test for one call."""
    shown = {
        result_text(pair.expected.args_after) if pair.expected.value is None else pair.value_text
        for pair in pairs
        if pair.returned
    }
    if len(shown) < LEAST_SHOWN:
        return
    yield "prints its result", _is_printed
    # Where no call changes anything, one that returns nothing does not work in place.
    if any(is_changed(pair.got, pair.call) for pair in pairs):
        yield "changes its argument instead of returning a new value", _is_in_place
    if any(is_changed(pair.expected, pair.call) for pair in pairs):
        yield "returns a new value instead of changing its argument", _is_returned_instead
    yield "another kind of container", partial(_is_other_container, ordered=True)
    if not _promises_order(pairs, text) and _reorders(pairs):
        yield "another order of the items", partial(_is_other_container, ordered=False)
    yield "text in place of a number", _is_text_form
    yield "gives negative numbers another sign", _other_sign
    if not QUANTITY.search(text.lower()) and all(
        _is_index(pair) for pair in pairs if pair.returned and _number(pair.expected.value) not in (None, -1)
    ):
        yield "counts from 1 in place of 0", partial(_is_shifted, by=1)
        yield "counts from 0 in place of 1", partial(_is_shifted, by=-1)
    for digits in range(MOST_DIGITS):
        yield f"rounds to {digits} digits", partial(_is_rounded, digits=digits)
    for place in range(3):
        yield "returns more than the trusted function", partial(_is_part, place=place)
        yield "returns a part of what the trusted function does", partial(_is_contained, place=place)


def _is_printed(pair: _Pair) -> bool:
    if not pair.returned or pair.got.value is not None:
        return False
    value = pair.expected.value
    try:
        texts = [str(value)]
        if isinstance(value, list | tuple):
            texts.append(" ".join(map(str, value)))
    except ValueError:  # an integer with more digits than Python converts to text
        return False
    return any(text.split() == pair.got.stdout.split() for text in texts)


def _is_in_place(pair: _Pair) -> bool:
    if not pair.returned or pair.got.value is not None or not pair.got.args_after:
        return False
    return same_value(pair.expected.value, pair.got.args_after[0]) is Comparison.SAME


def _is_returned_instead(pair: _Pair) -> bool:
    if not pair.returned or pair.expected.value is not None or not pair.expected.args_after:
        return False
    return same_value(pair.expected.args_after[0], pair.got.value) is Comparison.SAME


def _is_other_container(pair: _Pair, ordered: bool) -> bool:
    if not pair.returned:
        return False
    first, second = _as_list(pair.expected.value), _as_list(pair.got.value)
    if first is None or second is None or len(first) != len(second):
        return False
    unordered = isinstance(pair.expected.value, set | frozenset) or isinstance(
        pair.got.value, set | frozenset
    )
    if ordered and not unordered:
        return same_value(first, second) is Comparison.SAME
    return Counter(map(result_text, first)) == Counter(map(result_text, second))


def _as_list(value: object) -> list[object] | None:
    if isinstance(value, Iteration):
        return list(value.items) if value.exhausted else None
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    # A text is compared as a list of characters with a list of characters.
    return list(value) if isinstance(value, str) else None


def _promises_order(pairs: Sequence[_Pair], text: str) -> bool:
    """Return whether the order of the results is part of the trusted function's contract."""
    if ORDERED_WORDS & _lower_words(text):
        return True
    rows = [row for pair in pairs if (row := _as_list(pair.expected.value)) is not None and _differ(row, 3)]
    return bool(rows) and all(_is_sorted(row) for row in rows)


def _differ(row: Sequence[object], count: int) -> bool:
    """Return whether a row has at least `count` different items."""
    seen: set[str] = set()
    for item in row:
        seen.add(result_text(item))
        if len(seen) >= count:
            return True
    return False


def _lower_words(text: str) -> set[str]:
    return {word.lower() for word in WORD.findall(text[:4_000])}


def _is_sorted(row: Sequence[object]) -> bool:
    try:
        ordered = sorted(row)  # type: ignore[type-var]
    except TypeError:
        return False
    return list(row) in (ordered, ordered[::-1])


def _reorders(pairs: Sequence[_Pair]) -> bool:
    """Return whether the candidate uses another order consistently, not on a few inputs only."""
    long = [pair for pair in pairs if pair.returned and _differ(_as_list(pair.expected.value) or (), 2)]
    moved = [pair for pair in long if not pair.same]
    return bool(long) and len(moved) >= LEAST_REORDERED * len(long)


def _is_text_form(pair: _Pair) -> bool:
    if not pair.returned:
        return False
    first, second = pair.expected.value, pair.got.value
    return isinstance(first, str) != isinstance(second, str) and str(first) == str(second)


def _other_sign(pair: _Pair) -> bool:
    """Return whether the results differ only in sign while one of several numbers is negative.

    The sign of a common divisor or a remainder of negative numbers is a convention. The sign of a
    distance is not: it also differs if no number is negative.
    """
    if pair.same:
        return True
    first, second = _number(pair.expected.value), _number(pair.got.value)
    numbers = [number for value in pair.call.args or () if (number := _number(value)) is not None]
    negative = len(numbers) > 1 and min(numbers) < 0
    return pair.returned and negative and first is not None and second is not None and first == -second


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_index(pair: _Pair) -> bool:
    """Return whether a result may be an index into one of the arguments."""
    value = _number(pair.expected.value)
    sizes = [len(item) for item in pair.call.args or () if isinstance(item, list | tuple | str)]
    return value is not None and any(0 <= value <= size for size in sizes)


def _is_shifted(pair: _Pair, by: int) -> bool:
    first, second = _number(pair.expected.value), _number(pair.got.value)
    return pair.returned and first is not None and second is not None and second - first == by


def _is_rounded(pair: _Pair, digits: int) -> bool:
    first, second = pair.expected.value, pair.got.value
    if not pair.returned or not isinstance(first, float) or not isinstance(second, int | float):
        return False
    try:
        return round(first, digits) == second
    except (ValueError, OverflowError):
        return False


def _is_part(pair: _Pair, place: int) -> bool:
    got = pair.got.value
    if not pair.returned or not isinstance(got, tuple) or place >= len(got) or len(got) > 4:
        return False
    return same_value(pair.expected.value, got[place]) is Comparison.SAME


def _is_contained(pair: _Pair, place: int) -> bool:
    whole = pair.expected.value
    if not pair.returned or not isinstance(whole, tuple) or place >= len(whole) or len(whole) > 4:
        return False
    return same_value(whole[place], pair.got.value) is Comparison.SAME


# Edge cases: inputs of one kind that the candidate treats consistently, but in another way.


def _by_edge(pairs: Sequence[_Pair]) -> list[tuple[str, list[_Pair]]]:
    """Return the calls of each edge case that few enough calls belong to, rarest first."""
    found: dict[str, list[_Pair]] = {}
    for pair in pairs:
        for label in edges_of(pair.call):
            found.setdefault(label, []).append(pair)
    rare = {label: members for label, members in found.items() if len(members) <= MOST_AT_EDGE * len(pairs)}
    return sorted(rare.items(), key=lambda item: (len(item[1]), item[0]))


def _edges(
    rest: Sequence[_Pair], by_edge: Sequence[tuple[str, list[_Pair]]], silences: set[int]
) -> tuple[list[_Pair], tuple[str, ...]]:
    """Return the remaining differences, and the conventions that explain the others."""
    description: list[str] = []
    left = [pair for pair in rest if not (pair.expected.outcome is Outcome.RAISED is pair.got.outcome)]
    if len(left) < len(rest):
        description.append("raises another exception")
    spoken = [pair for pair in left if id(pair) not in silences]
    if len(spoken) < len(left):
        description.append("reports a missing result in another way")
        left = spoken
    for label, members in by_edge:
        if not left:
            break
        within = {id(member) for member in members}
        differing = [pair for pair in left if id(pair) in within]
        if differing and _is_consistent_edge(members, differing, refused=label.startswith(NUMBER_INPUT)):
            description.append(f"treats {label} differently")
            left = [pair for pair in left if id(pair) not in within]
    return left, tuple(description)


def _empty_results(pairs: Sequence[_Pair]) -> set[int]:
    """Return the calls for which both sides say that there is no result, each in one consistent way."""
    boolean = any(pair.expected.value is True for pair in pairs)
    by_word: dict[str, list[_Pair]] = {}
    for pair in pairs:
        if _means_nothing_found(pair.expected) and not is_changed(pair.expected, pair.call):
            by_word.setdefault(result_text(pair.expected.value), []).append(pair)
    explained: set[int] = set()
    for members in by_word.values():
        first = members[0]
        quiet = first.got.outcome is Outcome.RAISED or _means_nothing_found(first.got)
        if not quiet or (boolean and first.got.value == -1):
            continue
        if len({_treatment(pair.got) for pair in members}) == 1:
            explained.update(id(pair) for pair in members)
    return explained


def is_changed(result: CallResult, call: Call) -> bool:
    """Return whether a call that returns nothing has its result in the arguments."""
    changed = result.value is None and result.args_after is not None
    return changed and result_text(result.args_after) != result_text(call.args)


def _means_nothing_found(result: CallResult) -> bool:
    """Return whether a result means "nothing found"; 0 is an ordinary number here."""
    return _is_empty_result(result) and _number(result.value) != 0 and not isinstance(result.value, float)


def _is_empty_result(result: CallResult) -> bool:
    if result.outcome is not Outcome.RETURNED or result.files:
        return False
    value = result.value
    if isinstance(value, Iteration):
        return not value.items
    if any(value is item or (item == -1 and type(value) is int and value == -1) for item in SENTINELS):
        return not result.stdout.strip()
    plain = isinstance(value, int | float | str | bytes | list | tuple | dict | set | frozenset)
    return plain and not isinstance(value, bool) and not value


def _treatment(result: CallResult) -> str:
    """Return how a call was treated: refused, or the returned value as text."""
    return result_text(result.value) if result.outcome is Outcome.RETURNED else "refused"


def _is_consistent_edge(members: Sequence[_Pair], differing: Sequence[_Pair], *, refused: bool) -> bool:
    """Return whether every input of this kind is treated in one way, and no rejected input is accepted.

    With `refused`, returning an empty value for each of them does not count as such a way.
    """
    if any(_accepts_rejected(pair) for pair in differing):
        return False
    way = _treatment(differing[0].got)
    if way != "refused" and (refused or not _is_empty_result(differing[0].got)):
        return False
    return all(_treatment(pair.got) == way for pair in members)


def _accepts_rejected(pair: _Pair) -> bool:
    """Return whether the candidate returns a result where the trusted function raises."""
    if pair.got.outcome is not Outcome.RETURNED:
        return False
    if pair.expected.outcome is Outcome.RAISED:
        return True
    rejected = pair.expected.value is None or pair.expected.value is False
    return rejected and not isinstance(pair.got.value, Opaque) and bool(pair.got.value)


def edges_of(call: Call) -> frozenset[str]:
    """Return the edge cases among a call's arguments, for any argument and by position."""
    found: set[str] = set()
    given = _written_arguments(call.target) if call.args is None else (*call.args, *call.kwargs.values())
    for place, value in enumerate(given, 1):
        labels = set(_edges_of(value))
        found |= labels | {f"{label} (argument {place})" for label in labels}
    return frozenset(found)


def _written_arguments(expression: str) -> list[object]:
    """Return the plain arguments of a call in an expression; `NO_VALUE` for others."""
    tree = parse_or_none(expression)
    statement = tree.body[0] if tree is not None and tree.body else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return []
    return [value_of(unparse(node)) for node in (*call.args, *(keyword.value for keyword in call.keywords))]


def _edges_of(value: object) -> Iterator[str]:
    if value is None:
        yield "None"
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float):
        yield NUMBER_INPUT if value else "zero"
        if value < 0:
            yield "negative numbers"
        if isinstance(value, float) and value != int_or_none(value):
            yield "fractions"
    elif isinstance(value, str | bytes | list | tuple | dict | set | frozenset):
        if not value:
            yield "empty input"
        elif len(value) == 1:
            yield "a single item"
        yield f"{type(value).__name__} input"
        if isinstance(value, list | tuple | set | frozenset):
            yield from _edges_of_items(list(value))


def _edges_of_items(items: Sequence[object]) -> Iterator[str]:
    if any(isinstance(item, int | float) and item < 0 for item in items):
        yield "negative items"
    if any(isinstance(item, str | list | tuple) and not item for item in items):
        yield "empty items"
    if any(isinstance(item, float) for item in items):
        yield "items with fractions"
    if len(set(map(result_text, items))) < len(items):
        yield "repeated items"


def int_or_none(value: float) -> int | None:
    """Return a number as an integer; None if it is infinite or NaN."""
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None
