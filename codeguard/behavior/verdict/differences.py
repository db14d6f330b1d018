"""Separate what is wrong inside a trusted function's contract from what the contract leaves open.

Two honest implementations may reject an empty list with different exceptions, return None or -1 if nothing is found,
return a set or a list. Such a difference is none of substance only if the candidate is
consistent: every result has the same form, or every input of one edge case (empty, zero, negative, an unsupported
type) is treated alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from codeguard.behavior.matching.fingerprints import result_text, returns_first_argument
from codeguard.behavior.specs.contract import ORDER, REFUSALS, Contract, as_list, is_real
from codeguard.behavior.verdict.comparison import (
    CaseResult,
    Comparison,
    comparable_results,
    is_empty_result,
    same_value,
)
from codeguard.behavior.verdict.table import observation
from codeguard.sandbox.model import Call, CallResult, Opaque, Outcome

LEAST_SHOWN = 3  # distinct results that have to agree on a form before it counts
MOST_AT_EDGE = 0.5  # maximum share of the calls that may be edge cases, or refused
MOST_DIGITS = 7
LEAST_REORDERED = 0.5  # minimum share of the longer results whose order differs, if order is the form
NUMBER_INPUT = "number input"
REFUSES, TAKES = "refuses more inputs", "takes more inputs"
# What the sandbox raises where it refuses something, and where it lacks a module.
HIDING = frozenset({"PermissionError", "BlockingIOError", "ImportError", "ModuleNotFoundError"})


@dataclass(frozen=True, slots=True)
class Differences:
    """The results that are wrong inside the contract, and the respects in which the candidate differs otherwise.

    `agreement` is the share of results that agree except for those respects. Every distinct result of the trusted
    function has the same weight in it, so a function that always returns False scores at most one half. `distinctive`
    is the agreement beyond chance, over the results that are not simply the first argument. `compared` counts the
    comparable calls inside the contract.
    """

    wrong: tuple[CaseResult, ...] = observation("a call is wrong inside the contract.")
    respects: tuple[str, ...] = observation(
        "it differs from the trusted function in what the contract leaves open, or outside of it."
    )
    agreement: float = 1.0
    distinctive: float = 1.0
    compared: int = 0


Fits = Callable[[CaseResult], bool]


def differences(
    results: Sequence[CaseResult], contract: Contract, raised: Collection[str] = (), *, is_copy: bool = False
) -> Differences:
    """Return what differs inside the contract and otherwise, over all calls together.

    `raised` are the exceptions that the candidate raises on purpose in more places than the trusted function. A text
    that is the trusted one with something changed (`is_copy`) has no choices of its own but to refuse more.
    """
    pairs = [
        item
        for item in comparable_results(results)
        if not is_hidden(item) and contract.includes(item.case.call.args or ())
    ]
    if all(pair.is_same for pair in pairs):
        share = float(bool(pairs))
        return Differences(agreement=share, distinctive=share, compared=len(pairs))
    outside = {id(pair): name for pair in pairs if (name := _refusal(pair, contract, raised, is_copy))}
    if sum(name == REFUSES for name in outside.values()) > MOST_AT_EDGE * len(pairs):
        outside = {}
    by_edge, silences = _by_edge(pairs), _empty_results(pairs)
    settled = {id(pair) for pair in pairs if pair.is_same and _means_nothing_found(pair.expected)} | set(
        outside
    )
    best: tuple[list[CaseResult], tuple[str, ...]] | None = None
    for name, fits in (("", attrgetter("is_same")), *(() if is_copy else _forms(pairs, contract))):
        rest = [pair for pair in pairs if id(pair) not in settled and not fits(pair)]
        left, edges = (rest, ()) if is_copy else _edges(rest, by_edge, silences)
        if best is None or len(left) < len(best[0]):
            best = left, ((name,) if name else ()) + edges
        if not left:
            break
    assert best is not None
    items = tuple(sorted(best[0], key=lambda item: item.size))
    respects = (*best[1], *dict.fromkeys(outside.values()))
    distinctive = _beyond_chance(_distinctive(pairs), _distinctive(items))
    return Differences(items, respects, _agreement(pairs, items), distinctive, len(pairs))


def _refusal(pair: CaseResult, contract: Contract, raised: Collection[str], is_copy: bool) -> str:
    """Return in which respect one side refuses what the other takes, "" if neither does or that is wrong."""
    expected, got = pair.expected, pair.answer
    if got.outcome is Outcome.RAISED and expected.outcome is Outcome.RETURNED:
        # An example that is no plain call may make several, of which one is refused.
        shown = pair.case.example is not None and pair.case.call.args is not None
        return REFUSES if not shown and set(raised).intersection(got.exception[:1]) else ""
    accepts = expected.outcome is Outcome.RAISED and got.outcome is Outcome.RETURNED
    refusal = frozenset(expected.exception[:1])
    is_choice = not is_copy or refusal <= REFUSALS
    return TAKES if accepts and is_choice and refusal.isdisjoint(contract.protecting) else ""


def _agreement(pairs: Sequence[CaseResult], wrong: Sequence[CaseResult]) -> float:
    every = Counter(pair.expected_text for pair in pairs)
    bad = Counter(pair.expected_text for pair in wrong)
    return sum(1 - bad[answer] / count for answer, count in every.items()) / max(1, len(every))


def _beyond_chance(pairs: Sequence[CaseResult], wrong: Sequence[CaseResult]) -> float:
    """Return the agreement beyond that of a function which always returns the same."""
    answers = len({pair.expected_text for pair in pairs})
    if answers < 2:
        return 0.0  # a constant result agrees with every constant function
    return max(0.0, (_agreement(pairs, wrong) - 1 / answers) / (1 - 1 / answers))


def _distinctive(pairs: Sequence[CaseResult]) -> list[CaseResult]:
    return [
        pair
        for pair in pairs
        if pair.expected.outcome is not Outcome.RETURNED
        or not returns_first_argument(pair.case.call.args or (), pair.value_text)
    ]


def is_hidden(item: CaseResult) -> bool:
    """Return whether what the sandbox refuses or lacks hides a result, which does not count then."""
    if item.answer.outcome is not Outcome.RAISED or not HIDING.intersection(item.answer.exception):
        return False
    # An exception of this kind may be what an example shows or the trusted function raises.
    return item.comparison is not Comparison.SAME or not HIDING.intersection(item.case.expected.exception)


# Forms: each has to fit every call except edge cases.


def _forms(pairs: Sequence[CaseResult], contract: Contract) -> Iterator[tuple[str, Fits]]:
    """Yield the forms that a contract leaves open, each with a test for one call."""
    shown = {
        result_text(pair.expected.args_after) if pair.expected.value is None else pair.value_text
        for pair in pairs
        if pair.returned
    }
    if len(shown) < LEAST_SHOWN:
        return
    yield "prints its result", _is_printed
    # Where no call changes anything, one that returns nothing does not work in place.
    if any(is_changed(pair.answer, pair.case.call) for pair in pairs):
        yield "changes its argument instead of returning a new value", _is_in_place
    if any(is_changed(pair.expected, pair.case.call) for pair in pairs):
        yield "returns a new value instead of changing its argument", _is_returned_instead
    yield "another kind of container", partial(_is_other_container, ordered=True)
    if ORDER in contract.leaves_open and _reorders(pairs):
        yield "another order of the items", partial(_is_other_container, ordered=False)
    for digits in range(MOST_DIGITS):
        yield f"rounds to {digits} digits", partial(_is_rounded, digits=digits)


def _is_printed(pair: CaseResult) -> bool:
    if not pair.returned or pair.answer.value is not None:
        return False
    value = pair.expected.value
    try:
        texts = [str(value), " ".join(map(str, value)) if isinstance(value, list | tuple) else ""]
    except ValueError:  # an integer with more digits than Python converts to text
        return False
    return any(text and text.split() == pair.answer.stdout.split() for text in texts)


def _is_rounded(pair: CaseResult, digits: int) -> bool:
    first = pair.expected.value
    finite = pair.returned and isinstance(first, float) and math.isfinite(first)
    return finite and round(first, digits) == pair.answer.value  # type: ignore[call-overload]


def _is_in_place(pair: CaseResult) -> bool:
    quiet = pair.returned and pair.answer.value is None
    if pair.case.call.args is None:  # what such a call changes is not seen
        return quiet
    return quiet and _is_first(pair.expected.value, pair.answer.args_after)


def _is_returned_instead(pair: CaseResult) -> bool:
    return (
        pair.returned
        and pair.expected.value is None
        and _is_first(pair.answer.value, pair.expected.args_after)
    )


def _is_first(value: object, arguments: tuple[object, ...] | None) -> bool:
    return bool(arguments) and same_value(value, (arguments or ())[0]) is Comparison.SAME


def _is_other_container(pair: CaseResult, ordered: bool) -> bool:
    first, second = as_list(pair.expected.value), as_list(pair.answer.value)
    if not pair.returned or first is None or second is None or len(first) != len(second):
        return False
    values = pair.expected.value, pair.answer.value
    if ordered and not any(isinstance(value, set | frozenset) for value in values):
        return same_value(first, second) is Comparison.SAME
    return Counter(map(result_text, first)) == Counter(map(result_text, second))


def _reorders(pairs: Sequence[CaseResult]) -> bool:
    """Return whether the candidate uses another order consistently, not on a few inputs only."""
    long = [
        pair
        for pair in pairs
        if (row := as_list(pair.expected.value) if pair.returned else None)
        and any(result_text(item) != result_text(row[0]) for item in row)
    ]
    return bool(long) and sum(not pair.is_same for pair in long) >= LEAST_REORDERED * len(long)


# Edge cases: inputs of one kind that the candidate treats consistently, but in another way.


def _by_edge(pairs: Sequence[CaseResult]) -> list[tuple[str, list[CaseResult]]]:
    """Return the calls of each edge case that few enough calls belong to, rarest first."""
    found: dict[str, list[CaseResult]] = {}
    for pair in pairs:
        for label in edges_of(pair.case.call):
            found.setdefault(label, []).append(pair)
    rare = {label: members for label, members in found.items() if len(members) <= MOST_AT_EDGE * len(pairs)}
    return sorted(rare.items(), key=lambda item: (len(item[1]), item[0]))


def _edges(
    rest: Sequence[CaseResult], by_edge: Sequence[tuple[str, list[CaseResult]]], silences: set[int]
) -> tuple[list[CaseResult], tuple[str, ...]]:
    """Return the remaining differences, and the respects that explain the others."""
    description: list[str] = []
    left = [pair for pair in rest if not (pair.expected.outcome is Outcome.RAISED is pair.answer.outcome)]
    if len(left) < len(rest):
        description.append("raises another exception")
    spoken = [pair for pair in left if id(pair) not in silences]
    if len(spoken) < len(left):
        description.append("reports a missing result in another way")
        left = spoken
    for label, members in by_edge:
        within = {id(member) for member in members}
        differing = [pair for pair in left if id(pair) in within]
        if differing and _is_consistent_edge(members, differing, refused=label.startswith(NUMBER_INPUT)):
            description.append(f"treats {label} differently")
            left = [pair for pair in left if id(pair) not in within]
    return left, tuple(description)


def _empty_results(pairs: Sequence[CaseResult]) -> set[int]:
    """Return the calls for which both sides say that there is no result, each in one consistent way."""
    boolean = any(pair.expected.value is True for pair in pairs)
    by_word: dict[str, list[CaseResult]] = {}
    for pair in pairs:
        if _means_nothing_found(pair.expected) and not is_changed(pair.expected, pair.case.call):
            by_word.setdefault(pair.value_text, []).append(pair)
    explained: set[int] = set()
    for members in by_word.values():
        first = members[0].answer
        quiet = first.outcome is Outcome.RAISED or _means_nothing_found(first)
        if quiet and not (boolean and first.value == -1) and _is_one_way(members, _treatment(first)):
            explained.update(id(pair) for pair in members)
    return explained


def is_changed(result: CallResult, call: Call) -> bool:
    """Return whether a call that returns nothing has its result in the arguments."""
    changed = result.value is None and result.args_after is not None
    return changed and result_text(result.args_after) != result_text(call.args)


def _means_nothing_found(result: CallResult) -> bool:
    """Return whether a result means "nothing found"; 0 is an ordinary number here."""
    return _is_empty_result(result) and (not is_real(result.value) or result.value == -1)


def _is_empty_result(result: CallResult) -> bool:
    if result.outcome is not Outcome.RETURNED or result.files:
        return False
    value = result.value
    if value is None or value is False or (type(value) is int and value == -1):
        return not result.stdout.strip()
    return is_empty_result(value)


def _treatment(result: CallResult) -> str:
    """Return how a call was treated: refused, or the returned value as text."""
    return result_text(result.value) if result.outcome is Outcome.RETURNED else "refused"


def _is_one_way(members: Sequence[CaseResult], way: str) -> bool:
    return all(_treatment(pair.answer) == way for pair in members)


def _is_consistent_edge(
    members: Sequence[CaseResult], differing: Sequence[CaseResult], *, refused: bool
) -> bool:
    """Return whether every input of this kind is treated in one way, and no rejected input is accepted.

    With `refused`, returning an empty value for each of them does not count as such a way.
    """
    way = _treatment(differing[0].answer)
    empty = not refused and _is_empty_result(differing[0].answer)
    return (
        (way == "refused" or empty)
        and not any(map(_accepts_rejected, differing))
        and _is_one_way(members, way)
    )


def _accepts_rejected(pair: CaseResult) -> bool:
    """Return whether the candidate returns a result where the trusted function raises or says no."""
    if pair.answer.outcome is not Outcome.RETURNED:
        return False
    if pair.expected.outcome is Outcome.RAISED:
        return True
    rejected = pair.expected.value is None or pair.expected.value is False
    return rejected and not isinstance(pair.answer.value, Opaque) and bool(pair.answer.value)


def edges_of(call: Call) -> frozenset[str]:
    """Return the edge cases among a call's arguments, for any argument and by position."""
    found: set[str] = set()
    for place, value in enumerate((*(call.args or ()), *call.kwargs.values()), 1):
        labels = {name.format(type(value).__name__) for name, holds in _EDGES if holds(value)}
        found |= labels | {f"{label} (argument {place})" for label in labels}
    return frozenset(found)


def _sized(value: object) -> bool:
    return isinstance(value, str | bytes | list | tuple | dict | set | frozenset)


def _holding(test: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list | tuple | set | frozenset) and any(map(test, value))


def _is_negative(value: object) -> bool:
    return isinstance(value, int | float) and value < 0


_EDGES: tuple[tuple[str, Callable[[object], bool]], ...] = (
    ("None", lambda value: value is None),
    ("zero", lambda value: is_real(value) and not value),
    (NUMBER_INPUT, lambda value: is_real(value) and bool(value)),
    ("negative numbers", _is_negative),
    ("fractions", lambda value: isinstance(value, float) and not value.is_integer()),
    ("empty input", lambda value: _sized(value) and not value),
    ("a single item", lambda value: _sized(value) and len(value) == 1),  # type: ignore[arg-type]
    ("{} input", _sized),
    ("negative items", _holding(_is_negative)),
    ("empty items", _holding(lambda item: isinstance(item, str | list | tuple) and not item)),
    ("items with fractions", _holding(lambda item: isinstance(item, float))),
    (
        "repeated items",
        lambda value: isinstance(value, list | tuple) and len(set(map(result_text, value))) < len(value),
    ),
)
