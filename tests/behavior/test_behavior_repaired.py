"""Functions that are one edit away from the trusted one that they are named after."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from codeguard.behavior.matching.repairs import repairs
from codeguard.models import Verdict
from tests.behavior.conftest import Check


def test_every_text_parses_and_differs_in_one_place() -> None:
    source = "def f(n):\n    while n > 1 and not n % 2:\n        n -= 1\n    return f(n - 1) or 'x'[:n]"
    made = repairs(ast.parse(source).body[0])  # type: ignore[arg-type]
    assert len({item.text for item in made}) == len(made) > 20
    for item in made:
        ast.parse(item.text)
    assert "`n >= 1` for `n > 1`" in [item.shown for item in made]


@pytest.mark.parametrize(
    ("source", "right"),
    [
        ("def f(a, n, d):\n    return a / (n - 1) * d", "return a + (n - 1) * d"),
        ("def f(a, n, d):\n    return a - n * d", "return a / n * d"),
        ("def f(rows):\n    return rows[1]", "return rows[(-1)]"),
        ("def f(rows):\n    return rows[-1]", "return rows[(0)]"),
        ("def f(n):\n    return (+n, ~n)", "return (+n, (-n))"),
        ("def f(n):\n    return (+n, ~n)", "return ((-n), ~n)"),
    ],
)
def test_operators_and_signs_are_exchanged_in_place(source: str, right: str) -> None:
    made = repairs(ast.parse(source).body[0])  # type: ignore[arg-type]
    assert right in [item.text.splitlines()[-1].strip() for item in made]
    assert len({item.text.replace(item.name, "") for item in made}) == len(made)


def test_an_edit_that_turns_for_ever_ends_by_itself() -> None:
    (function,) = ast.parse("def f(n):\n    while n > 1:\n        n -= 1\n    return n").body
    (made,) = [item for item in repairs(function) if item.shown == "`n += 1` for `n -= 1`"]  # type: ignore[arg-type]
    scope: dict[str, Callable[[int], int]] = {}
    exec(made.text, scope)
    with pytest.raises(StopIteration):
        scope[made.name](2)


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
def {name}(pairs, limit):
    """Fill a bag."""
    table = {{0: 0}}
    for value, weight in pairs:
        for held, worth in sorted(table.items(), reverse=True):
            if held + weight <= limit:
                table[held + weight] = {choose}(table.get(held + weight, 0), worth + value)
    return max(table.values())
'''


@pytest.mark.parametrize("choose", ["max", "min"])
def test_a_namesake_with_its_own_description_is_demoted_for_one_edit(check: Check, choose: str) -> None:
    report = check(OWN_KNAPSACK.format(name="knapsack_value", choose=choose), KNAPSACK)
    assert (report.verdict, report.refuted) == (Verdict.NO_SIGNAL, choose == "min")
    assert choose == "max" or "with `max` for `min`" in report.reason


@pytest.mark.parametrize(("last", "refuted"), [(1, True), (2, False)])
def test_an_edit_after_which_every_call_fails_is_found_by_the_name(
    check: Check, last: int, refuted: bool
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
    assert report.refuted is refuted, report
    assert not refuted or "with `2` for `1`" in report.reason
