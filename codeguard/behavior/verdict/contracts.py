"""Differences of form between two functions that do the same: each keeps a contract of its own.

Two honest implementations of one function may refuse an empty list with other exceptions, answer None or -1 where
nothing is found, count from 1, give a set or a list. None of that makes one of them wrong. A difference is one of
form only where the candidate keeps to it: the same form in every answer, or one treatment of every input of a kind
at the edge (empty, zero, negative, one element, a type it does not take). To accept, to return or to go on where
the trusted function rejects is never one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from codeguard.behavior.inputs.preconditions import Holds, preconditions
from codeguard.behavior.inputs.variations import value_of
from codeguard.behavior.matching.claims import WORD
from codeguard.behavior.matching.fingerprints import result_text, returns_first_argument
from codeguard.behavior.source.definitions import parse, unparse
from codeguard.behavior.specs.examples import Prints, Raises, Returns
from codeguard.behavior.verdict.comparison import Answered, known
from codeguard.behavior.verdict.values import Comparison, same_value
from codeguard.sandbox.model import Call, CallResult, Iteration, Opaque, Outcome

LEAST_SHOWN = 3  # distinct answers that a form has to be kept to before it is believed
MOST_AT_EDGE = 0.5  # share of the calls that may be at an edge
MOST_DIGITS = 7
LEAST_REORDERED = 0.5  # share of the rows of some length whose order differs, where order is the difference
_ORDERED = """
ascending descending first last next order ordered path permutation previous rank reverse reversed rotate rotated
shift smallest sort sorted stable topological largest
"""
ORDERED_WORDS = frozenset(_ORDERED.split())
INDEX_WORDS = frozenset(
    {"index", "indexes", "indices", "location", "offset", "place", "position", "positions"}
)
PLACE_WORDS = INDEX_WORDS | {"nth", "th", "term"}  # of a row of numbers: its first may be at 0 or 1
# What a text says of a result that is a quantity: of those, one more is wrong and no way of counting places.
QUANTITY = re.compile(r"\b(how many|number of|counts?|counting|times|occurrences?|lengths?|sizes?)\b")
NUMBER_INPUT = "number input"
SENTINELS: tuple[object, ...] = (None, False, -1)
REFUSED_BY_SANDBOX = frozenset({"PermissionError", "BlockingIOError"})


@dataclass(frozen=True, slots=True)
class Contrast:
    """What differs in substance, and in which forms: `agreement` is the share of answers that agree but for form.

    Every answer of the trusted function counts alike for it, however many calls have it: who always says False is
    right half of the time at most. `distinctive` is the same over the answers that are more than the first argument
    handed back, as every function gives that leaves most inputs alone, without what a guess would have right: one of
    two answers is right half of the time. `compared` counts the calls that could be compared, and that the description
    does not exclude.
    """

    wrong: tuple[Answered, ...] = ()
    conventions: tuple[str, ...] = ()
    agreement: float = 1.0
    distinctive: float = 1.0
    compared: int = 0


@dataclass(frozen=True)
class _Pair:
    """A call with what the trusted function and the candidate gave, as plain results."""

    item: Answered
    expected: CallResult

    @property
    def got(self) -> CallResult:
        return self.item.answer

    @property
    def same(self) -> bool:
        return self.item.comparison is Comparison.SAME

    @cached_property
    def answer(self) -> str:
        """What was expected, as text."""
        expected = self.expected
        returned = expected.outcome is Outcome.RETURNED
        return result_text((expected.value, expected.files)) if returned else "raised"

    @property
    def same_files(self) -> bool:
        return self.expected.files == self.got.files or self.item.question.example is not None

    @property
    def call(self) -> Call:
        return self.item.question.call

    @property
    def returned(self) -> bool:
        return self.expected.outcome is Outcome.RETURNED is self.got.outcome


Fits = Callable[[_Pair], bool]


def contrast(answered: Sequence[Answered], told: str, *, own_words: bool = True) -> Contrast:
    """Tell differences of substance from those of form, over all calls together.

    `told` is the trusted function's name and description: what it says of an order is a promise.
    Who takes over that description (no `own_words`) takes over what it counts from as well.
    """
    asked = [item for item in known(answered) if not refused_by_sandbox(item)]
    shown = [item.question.call.args or () for item in asked if item.question.example is not None]
    conditions = preconditions(told, shown)
    pairs = [_Pair(item, _expected(item)) for item in asked if _meets(item.question.call, conditions)]
    if all(pair.same for pair in pairs):
        share = float(bool(pairs))
        return Contrast(agreement=share, distinctive=share, compared=len(pairs))
    best: tuple[list[_Pair], tuple[str, ...]] | None = None
    by_edge, silences = _by_edge(pairs), _silences(pairs)
    settled = {id(pair) for pair in pairs if pair.same and _says_none(pair.expected)}
    for name, fits in (("", _same), *_forms(pairs, told, own_words)):
        rest = [pair for pair in pairs if not (id(pair) in settled or (pair.same_files and fits(pair)))]
        kept, edges = _edges(rest, by_edge, silences)
        if best is None or len(kept) < len(best[0]):
            best = kept, ((name,) if name else ()) + edges
        if not kept:
            break
    assert best is not None
    wrong, conventions = best
    items = sorted((pair.item for pair in wrong), key=lambda item: item.size)
    distinctive = _beyond_chance(list(_distinctive(pairs)), list(_distinctive(wrong)))
    return Contrast(tuple(items), conventions, _agreement(pairs, wrong), distinctive, len(pairs))


def _meets(call: Call, conditions: Sequence[Holds]) -> bool:
    return all(holds(value) for value in call.args or () for holds in conditions)


def _agreement(pairs: Sequence[_Pair], wrong: Sequence[_Pair]) -> float:
    every = Counter(pair.answer for pair in pairs)
    bad = Counter(pair.answer for pair in wrong)
    return sum(1 - bad[answer] / count for answer, count in every.items()) / max(1, len(every))


def _beyond_chance(pairs: Sequence[_Pair], wrong: Sequence[_Pair]) -> float:
    """Return the agreement beyond that of a function which always gives the same answer."""
    answers = len({pair.answer for pair in pairs})
    if answers < 2:
        return 0.0  # a constant answer is met by every function that is constant
    return max(0.0, (_agreement(pairs, wrong) - 1 / answers) / (1 - 1 / answers))


def _distinctive(pairs: Sequence[_Pair]) -> Iterator[_Pair]:
    return (
        pair
        for pair in pairs
        if pair.expected.outcome is not Outcome.RETURNED
        or not returns_first_argument(pair.call.args or (), result_text(pair.expected.value))
    )


def _expected(item: Answered) -> CallResult:
    if item.question.reference is not None:
        return item.question.reference
    expected = item.question.example.expected if item.question.example is not None else None
    if isinstance(expected, Raises):
        return CallResult(Outcome.RAISED, exception=(expected.exception.rpartition(".")[2],))
    if isinstance(expected, Prints):
        return CallResult(Outcome.RETURNED, stdout=expected.text)
    return CallResult(Outcome.RETURNED, expected.value if isinstance(expected, Returns) else None)


def refused_by_sandbox(item: Answered) -> bool:
    """Return whether an answer is the sandbox's: what it refuses says nothing of a function's results."""
    raised = item.answer.outcome is Outcome.RAISED
    return raised and bool(REFUSED_BY_SANDBOX.intersection(item.answer.exception))


# Forms: each has to fit every call, but for those at an edge.


def _same(pair: _Pair) -> bool:
    return pair.same


def _forms(pairs: Sequence[_Pair], text: str, own_words: bool) -> Iterator[tuple[str, Fits]]:
    """Yield the forms that the answers may be kept to, with the check of one call."""
    shown = {result_text(_result(pair.expected)) for pair in pairs if pair.returned}
    if len(shown) < LEAST_SHOWN:
        return
    yield "prints its result", _printed
    yield "changes its argument instead of returning a new value", _in_place
    yield "returns a new value instead of changing its argument", _returned_instead
    yield "another kind of container", partial(_container, ordered=True)
    if not _promises_order(pairs, text) and _reorders(pairs):
        yield "another order of the items", partial(_container, ordered=False)
    yield "text in place of a number", _as_text
    yield "gives negative numbers another sign", _other_sign
    if not QUANTITY.search(text.lower()) and all(
        _is_index(pair) for pair in pairs if pair.returned and _number(pair.expected.value) not in (None, -1)
    ):
        yield "counts from 1 in place of 0", partial(_shifted, by=1)
        yield "counts from 0 in place of 1", partial(_shifted, by=-1)
    for digits in range(MOST_DIGITS):
        yield f"rounds to {digits} digits", partial(_rounded, digits=digits)
    for place in range(3):
        yield "returns more than the trusted function", partial(_part, place=place)
        yield "returns a part of what the trusted function does", partial(_part_of, place=place)
    by_number = _by_number(pairs)
    for by in (1, -1) if own_words and PLACE_WORDS & _words(text) else ():
        asked = [
            pair for pair in pairs if (number := _argument(pair)) is not None and number + by in by_number
        ]
        if len(asked) >= LEAST_SHOWN and all(_moved(pair, by_number, by) for pair in asked):
            yield "counts its argument from another number", partial(_moved, results=by_number, by=by)


def _result(result: CallResult) -> object:
    """Return what a call gave: where that is nothing, its arguments as they are afterwards."""
    return result.args_after if result.value is None else result.value


def _printed(pair: _Pair) -> bool:
    if not pair.returned or pair.got.value is not None:
        return False
    value = pair.expected.value
    try:
        texts = [str(value)]
        if isinstance(value, list | tuple):
            texts.append(" ".join(map(str, value)))
    except ValueError:  # an integer with more digits than Python writes out: nobody has printed it
        return False
    return any(text.split() == pair.got.stdout.split() for text in texts)


def _in_place(pair: _Pair) -> bool:
    if not pair.returned or pair.got.value is not None or not pair.got.args_after:
        return False
    return same_value(pair.expected.value, pair.got.args_after[0]) is Comparison.SAME


def _returned_instead(pair: _Pair) -> bool:
    if not pair.returned or pair.expected.value is not None or not pair.expected.args_after:
        return False
    return same_value(pair.expected.args_after[0], pair.got.value) is Comparison.SAME


def _container(pair: _Pair, ordered: bool) -> bool:
    if not pair.returned:
        return False
    first, second = _row(pair.expected.value), _row(pair.got.value)
    if first is None or second is None or len(first) != len(second):
        return False
    unordered = isinstance(pair.expected.value, set | frozenset) or isinstance(
        pair.got.value, set | frozenset
    )
    if ordered and not unordered:
        return same_value(first, second) is Comparison.SAME
    return Counter(map(result_text, first)) == Counter(map(result_text, second))


def _row(value: object) -> list[object] | None:
    if isinstance(value, Iteration):
        return list(value.items) if value.exhausted else None
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    # A text is a row of characters where the other side is a row of them.
    return list(value) if isinstance(value, str) else None


def _promises_order(pairs: Sequence[_Pair], text: str) -> bool:
    """Return whether the order of the results is part of what the trusted function is for."""
    if ORDERED_WORDS & _words(text):
        return True
    rows = [
        row
        for pair in pairs
        if (row := _row(pair.expected.value)) is not None and len(set(map(result_text, row))) > 2
    ]
    return bool(rows) and all(_is_sorted(row) for row in rows)


def _words(text: str) -> set[str]:
    return {word.lower() for word in WORD.findall(text[:4_000])}


def _is_sorted(row: Sequence[object]) -> bool:
    try:
        ordered = sorted(row)  # type: ignore[type-var]
    except TypeError:
        return False
    return list(row) in (ordered, ordered[::-1])


def _reorders(pairs: Sequence[_Pair]) -> bool:
    """Return whether another order is the candidate's habit, and not what it does on a few inputs."""
    long = [
        pair
        for pair in pairs
        if pair.returned and len(set(map(result_text, _row(pair.expected.value) or ()))) > 1
    ]
    moved = [pair for pair in long if not pair.same]
    return bool(long) and len(moved) >= LEAST_REORDERED * len(long)


def _as_text(pair: _Pair) -> bool:
    if not pair.returned:
        return False
    first, second = pair.expected.value, pair.got.value
    return isinstance(first, str) != isinstance(second, str) and str(first) == str(second)


def _other_sign(pair: _Pair) -> bool:
    """Return whether results differ in their sign alone, one of several numbers being negative.

    What a common divisor or a remainder of negative numbers is called is a convention; a distance is none, for it
    differs where nothing is negative, too.
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
    """Return whether a result may be a place in one of the arguments."""
    value = _number(pair.expected.value)
    sizes = [len(item) for item in pair.call.args or () if isinstance(item, list | tuple | str)]
    return value is not None and any(0 <= value <= size for size in sizes)


def _shifted(pair: _Pair, by: int) -> bool:
    first, second = _number(pair.expected.value), _number(pair.got.value)
    return pair.returned and first is not None and second is not None and second - first == by


def _rounded(pair: _Pair, digits: int) -> bool:
    first, second = pair.expected.value, pair.got.value
    if not pair.returned or not isinstance(first, float) or not isinstance(second, int | float):
        return False
    try:
        return round(first, digits) == second
    except (ValueError, OverflowError):
        return False


def _part(pair: _Pair, place: int) -> bool:
    got = pair.got.value
    if not pair.returned or not isinstance(got, tuple) or place >= len(got) or len(got) > 4:
        return False
    return same_value(pair.expected.value, got[place]) is Comparison.SAME


def _part_of(pair: _Pair, place: int) -> bool:
    whole = pair.expected.value
    if not pair.returned or not isinstance(whole, tuple) or place >= len(whole) or len(whole) > 4:
        return False
    return same_value(whole[place], pair.got.value) is Comparison.SAME


def _argument(pair: _Pair) -> int | None:
    args = pair.call.args
    return _number(args[0]) if args is not None and len(args) == 1 and not pair.call.kwargs else None


def _by_number(pairs: Sequence[_Pair]) -> dict[int, object]:
    """Return results by the number that went in; empty where numbers come out in steps of one and the same."""
    found: dict[int, object] = {}
    for pair in pairs:
        number = _argument(pair)
        if number is not None and pair.expected.outcome is Outcome.RETURNED:
            found[number] = pair.expected.value
    if not all(isinstance(value, int) for value in found.values()):
        return found
    steps = {
        other - value
        for number, value in found.items()
        if isinstance(value, int) and isinstance(other := found.get(number + 1), int)
    }
    return found if len(steps) > 1 else {}


def _moved(pair: _Pair, results: dict[int, object], by: int) -> bool:
    """Return whether a candidate answers for a number what the trusted function does for the next one."""
    number = _argument(pair)
    if number is None or not pair.returned:
        return False
    # Nobody asked the trusted function about the last one's neighbour.
    return number + by not in results or same_value(results[number + by], pair.got.value) is Comparison.SAME


# Edges: inputs of one kind that the candidate treats in one way of its own.


def _by_edge(pairs: Sequence[_Pair]) -> list[tuple[str, list[_Pair]]]:
    """Return the edges that few enough calls lie at to be one, each with its calls; the rarest first."""
    found: dict[str, list[_Pair]] = {}
    for pair in pairs:
        for label in edges_of(pair.call):
            found.setdefault(label, []).append(pair)
    rare = {label: members for label, members in found.items() if len(members) <= MOST_AT_EDGE * len(pairs)}
    return sorted(rare.items(), key=lambda item: (len(item[1]), item[0]))


def _edges(
    rest: Sequence[_Pair], by_edge: Sequence[tuple[str, list[_Pair]]], silences: set[int]
) -> tuple[list[_Pair], tuple[str, ...]]:
    """Return what of the rest is no treatment of an edge, and the conventions that explain what is."""
    told: list[str] = []
    left = [pair for pair in rest if not (pair.expected.outcome is Outcome.RAISED is pair.got.outcome)]
    if len(left) < len(rest):
        told.append("raises another exception")
    spoken = [pair for pair in left if id(pair) not in silences]
    if len(spoken) < len(left):
        told.append("says in another way that there is no result")
        left = spoken
    for label, members in by_edge:
        if not left:
            break
        within = {id(member) for member in members}
        odd = [pair for pair in left if id(pair) in within]
        if odd and _treats_as_edge(members, odd, refused=label.startswith(NUMBER_INPUT)):
            told.append(f"treats {label} in its own way")
            left = [pair for pair in left if id(pair) not in within]
    return left, tuple(told)


def _silences(pairs: Sequence[_Pair]) -> set[int]:
    """Return the calls on which both say that there is no result, each in its own way and always in that."""
    boolean = any(pair.expected.value is True for pair in pairs)
    by_word: dict[str, list[_Pair]] = {}
    for pair in pairs:
        if _says_none(pair.expected):
            by_word.setdefault(result_text(pair.expected.value), []).append(pair)
    explained: set[int] = set()
    for members in by_word.values():
        first = members[0]
        quiet = first.got.outcome is Outcome.RAISED or _says_none(first.got)
        if not quiet or (boolean and first.got.value == -1):
            continue
        if len({_treatment(pair.got) for pair in members}) == 1:
            explained.update(id(pair) for pair in members)
    return explained


def _says_none(result: CallResult) -> bool:
    """Return whether a call says that there is no result: 0 is a number like any other."""
    return _silent(result) and _number(result.value) != 0 and not isinstance(result.value, float)


def _silent(result: CallResult) -> bool:
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
    """Return how a call was treated: refused, or answered with this value."""
    return result_text(result.value) if result.outcome is Outcome.RETURNED else "refused"


def _treats_as_edge(members: Sequence[_Pair], odd: Sequence[_Pair], *, refused: bool) -> bool:
    """Return whether every input of this kind is treated in one way, and nothing is accepted that is rejected.

    `refused` says that no empty answer is such a way: 0 or None for every number is a result, and a wrong one.
    """
    if any(_accepts_rejected(pair) for pair in odd):
        return False
    way = _treatment(odd[0].got)
    if way != "refused" and (refused or not _silent(odd[0].got)):
        return False
    return all(_treatment(pair.got) == way for pair in members)


def _accepts_rejected(pair: _Pair) -> bool:
    """Return whether the candidate accepts, returns or goes on where the trusted function rejects."""
    if pair.got.outcome is not Outcome.RETURNED:
        return False
    if pair.expected.outcome is Outcome.RAISED:
        return True
    rejected = pair.expected.value is None or pair.expected.value is False
    return rejected and not isinstance(pair.got.value, Opaque) and bool(pair.got.value)


def edges_of(call: Call) -> frozenset[str]:
    """Return the edges that a call's arguments lie at, any of them and each by its place, and their kinds."""
    found: set[str] = set()
    given = _written_arguments(call.target) if call.args is None else (*call.args, *call.kwargs.values())
    for place, value in enumerate(given, 1):
        labels = set(_edges_of(value))
        found |= labels | {f"{label} (argument {place})" for label in labels}
    return frozenset(found)


def _written_arguments(expression: str) -> list[object]:
    """Return the plain arguments of a call that is written as an expression; `NO_VALUE` for any other."""
    tree = parse(expression)
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
    """Return a number as an integer, None where it is infinite or none."""
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None
