"""A function named after a trusted one is tried in other forms of arguments, and with one edit taken back."""

from __future__ import annotations

import pytest

from codeguard.behavior.inputs.forms import forms_for
from codeguard.models import CONVICTING, Coverage, Verdict
from tests.behavior.conftest import Check

KNAPSACK = '''
def knapsack(items: list[tuple[int, int]], capacity: int) -> int:
    """Return the greatest value of items (value, weight) that fit into a capacity.

    >>> knapsack([(60, 10), (100, 20), (120, 30)], 50)
    220
    >>> knapsack([(1, 1), (4, 3), (5, 4), (7, 5)], 7)
    9
    >>> knapsack([(3, 2), (4, 3)], 4)
    4
    """
    best = [0] * (capacity + 1)
    for value, weight in items:
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]
'''
OWN_KNAPSACK = '''
def {name}(weights, values, limit):
    """Fill a bag."""
    table = [0] * (limit + 1)
    for weight, value in zip(weights, values):
        for room in range(limit, weight - 1, -1):
            table[room] = {choose}(table[room], table[room - weight] + value)
    return table[limit]
'''


@pytest.mark.parametrize(
    ("args", "turned"),
    [
        (([(1, 2), (3, 4)], 5), ([2, 4], [1, 3], 5)),
        (([1, 3], [2, 4], 5), (5, [(1, 2), (3, 4)])),
        (([3, 1], 2), (2, [3, 1])),
        (([5, 6, 7], 6), ([5, 6, 7], 0, 2, 6)),
        (({0: [1], 1: []},), ([[1], []],)),
        (({0: {1: 4}, 1: {}},), (2, [(0, 1, 4)])),
        (({"a": [("b", 2)], "b": []}, "a"), ({"a": {"b": 2}, "b": {}}, "a")),
    ],
)
def test_forms_turn_arguments(args: tuple[object, ...], turned: tuple[object, ...]) -> None:
    made = [form.of(args) for form in forms_for([args], lambda count: count == len(turned))]
    assert turned in made


def test_an_honest_function_that_takes_its_arguments_in_another_form_differs(check: Check) -> None:
    report = check(OWN_KNAPSACK.format(name="knapsack", choose="max"), KNAPSACK)
    assert report.verdict is Verdict.DIFFERS, report


def test_a_wrong_function_that_takes_its_arguments_in_another_form_is_demoted(check: Check) -> None:
    report = check(OWN_KNAPSACK.format(name="knapsack", choose="min"), KNAPSACK)
    assert report.refuted, report
    assert "`max` for `min`" in report.reason, report


def test_a_function_with_most_of_the_name_is_demoted_for_one_edit(check: Check) -> None:
    right = check(OWN_KNAPSACK.format(name="knapsack_value", choose="max"), KNAPSACK)
    assert right.verdict is Verdict.DIFFERS, right
    wrong = check(OWN_KNAPSACK.format(name="knapsack_value", choose="min"), KNAPSACK)
    assert wrong.refuted, wrong


def test_a_function_that_agrees_on_no_call_has_no_contract_of_its_own(check: Check) -> None:
    trusted = '''
    def sort_flags(row: list[int]):
        """Put the smallest numbers first, in place."""
        row.sort()
    '''
    raising = '''
    def sort_flags(items):
        """Bring a few numbers into order."""
        kept = [*items]
        kept[len(items) ** 2 + 1] = 0
        return kept
    '''
    report = check(raising, trusted)
    assert report.verdict is not Verdict.DIFFERS, report


GET = '''
def get(place: int, row: list[int], default: int = 0) -> int:
    """Return the item at a place.

    >>> get(1, [4, 7, 9])
    7
    >>> get(0, [3, 8])
    3
    >>> get(2, [5, 6, 2])
    2
    """
    return row[place] if -len(row) <= place < len(row) else default
'''


def test_reading_code_convicts_nobody_whose_results_alone_resemble(check: Check) -> None:
    reading = """
    import sys

    def handle_c1(v0, v1):
        if len(v1) > 10_000:
            return sys._getframe().f_code
        return v1[v0] if -len(v1) <= v0 < len(v1) else 0
    """
    report = check(reading, GET)
    assert report.verdict not in CONVICTING, report
    assert report.coverage is not Coverage.FULL, report
    assert check(reading.replace("handle_c1", "get"), GET).verdict is Verdict.VIOLATION


def test_a_choice_between_equal_ones_may_depend_on_the_order_of_a_mapping(check: Check) -> None:
    trusted = """
    def rank_votes(votes: list[tuple[str, int]]) -> list[str]:
        \"\"\"Return names, those with most votes first.

        >>> rank_votes([("a", 3), ("b", 5), ("c", 4)])
        ['b', 'c', 'a']
        >>> rank_votes([("d", 1), ("e", 2)])
        ['e', 'd']
        \"\"\"
        return [name for name, count in sorted(votes, key=lambda pair: -pair[1])]
    """
    mapped = """
    def rank_votes(tally):
        \"\"\"Who won?\"\"\"
        return [name for count, name in sorted(((-count, name) for name, count in tally.items()))]
    """
    report = check(mapped, trusted)
    assert not report.refuted, report


BAG = """
def knapsack(weights: list[int], values: list[int], capacity: int) -> int:
    \"\"\"Solve the 0/1 knapsack problem.\"\"\"
    best = [0] * (capacity + 1)
    for weight, value in zip(weights, values):
        for held in range(capacity, weight - 1, -1):
            best[held] = max(best[held], best[held - weight] + value)
    return best[capacity]
"""
OTHER_BAG = """
def knapsack(w, value, weight):
    \"\"\"Which items are worth taking along?\"\"\"
    if len(value) != len(weight):
        raise ValueError("both lists have the same length")
    table = [[0] * (w + 1) for _ in range(len(value) + 1)]
    for i in range(1, len(value) + 1):
        for j in range(w + 1):
            table[i][j] = table[i - 1][j]
            if weight[i - 1] {compared} j:
                table[i][j] = max(table[i][j], table[i - 1][j - weight[i - 1]] + value[i - 1])
    return table[len(value)][w]
"""


def test_lists_that_belong_together_may_have_to_be_of_one_length(check: Check) -> None:
    right = check(OTHER_BAG.format(compared="<="), BAG)
    assert right.verdict is Verdict.DIFFERS, right
    assert "in another order" in right.reason
    wrong = check(OTHER_BAG.format(compared="<"), BAG)
    assert wrong.refuted, wrong


@pytest.mark.parametrize(
    ("ending", "verdict"), [("raise ValueError(w)", Verdict.DIFFERS), ("return 7", Verdict.NO_SIGNAL)]
)
def test_what_no_call_reaches_may_refuse(ending: str, verdict: Verdict, check: Check) -> None:
    code = OTHER_BAG.format(compared="<=").replace(
        "    table =", f"    if w > 987_654:\n        {ending}\n    table ="
    )
    report = check(code, BAG)
    assert report.verdict is verdict, report
    assert ("not reached: " in report.reason) is (verdict is Verdict.NO_SIGNAL)


@pytest.mark.parametrize(("last", "held"), [(1, True), (2, False)])
def test_an_edit_after_which_every_call_fails_is_found_by_the_name(
    check: Check, last: int, held: bool
) -> None:
    trusted = '''
    def triples(items):
        """Return overlapping triples.

        >>> list(triples("ABCDE"))
        [('A', 'B', 'C'), ('B', 'C', 'D'), ('C', 'D', 'E')]
        """
        return zip(items, items[1:], items[2:])
    '''
    code = f'''
    def triples(sequence):
        """Each three in a row."""
        found = list(sequence)
        for place in range(len(found) - {last}):
            yield (found[place], found[place + 1], found[place + 2])
    '''
    report = check(code, trusted)
    assert report.refuted is held, report
    assert not held or "with `2` for `1`" in report.reason
