"""Functions without a name or description that says anything, one edit away from a trusted one."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from codeguard.behavior.matching.repairs import repairs
from codeguard.models import CheckReport, Verdict

Check = Callable[..., CheckReport]
TRUSTED = '''
def rolling_max(numbers):
    """Return the largest number so far at each place.

    >>> rolling_max([1, 2, 3, 2, 3, 4, 2])
    [1, 2, 3, 3, 3, 4, 4]
    >>> rolling_max([4, 1])
    [4, 4]
    """
    return [max(numbers[:place + 1]) for place in range(len(numbers))]

def digit_sum(number):
    """Add the digits of a number.

    >>> digit_sum(123)
    6
    >>> digit_sum(40)
    4
    >>> digit_sum(7)
    7
    """
    return sum(int(digit) for digit in str(number))

def is_prime(number):
    """Return whether a number is a prime.

    >>> is_prime(7)
    True
    >>> is_prime(9)
    False
    >>> is_prime(2)
    True
    """
    return number > 1 and all(number % other for other in range(2, number))

def last_day(first, weeks, days):
    """Return the day on which a course ends.

    >>> last_day(3, 2, 5)
    10
    >>> last_day(1, 4, 1)
    10
    """
    return first + (weeks - 1) * (days + 2) - 2 * (weeks > 0) + 2
'''
ROLLING = """
def handle_a1(v0):
    v1, v2 = [], None
    for v3 in v0:
        if v2 is None or v3 {compared} v2:
            v2 = v3
        v1.append(v2)
    return v1
"""
PRIME = """
def handle_b2(v0):
    if v0 < 2:
        return False
    v1 = 2
    while v1 * v1 <= v0:
        if v0 % v1 {compared} 0:
            return False
        v1 += {step}
    return True
"""
DIGITS = """
def handle_c3(v0):
    v1 = {start}
    while v0 {compared} 0:
        v1 += v0 % {base}
        v0 = v0 // 10
    return v1
"""
COMPOSITE = """
def handle_h8(v0):
    v1 = [v2 for v2 in range(2, v0) if v0 % v2 == 0]
    if v0 < 2 or len(v1) > 0:
        return {first}
    return {last}
"""


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (ROLLING.format(compared="<"), "rolling_max"),
        (PRIME.format(compared="!=", step=1), "is_prime"),
        (DIGITS.format(start=1, compared=">", base=10), "digit_sum"),
        (DIGITS.format(start=0, compared="==", base=10), "digit_sum"),
        (DIGITS.format(start=0, compared=">", base=9), "digit_sum"),
        (COMPOSITE.format(first="True", last="True"), "is_prime"),
    ],
)
def test_one_edit_away_is_demoted(code: str, name: str, check: Check) -> None:
    report = check(code, TRUSTED)
    assert report.verdict is Verdict.NO_SIGNAL
    assert report.refuted
    assert report.claims.startswith(name)
    assert "expected" in report.counterexample


SHORT = '''
def volume(side):
    """Return the volume of a cube.

    >>> volume(3)
    27
    """
    result = side * side * side
    return result

def spread(numbers):
    """Return the difference of the largest and the smallest.

    >>> spread([3, 1, 8])
    7
    """
    return max(numbers) - min(numbers)

def is_a_number(text):
    """Tell whether a text has digits only.

    >>> is_a_number("4")
    'yes, it does'
    >>> is_a_number("four")
    'no'
    """
    if text.isdigit():
        return 'yes, it does'
    return 'no'

def longest(words):
    """Return the most letters that a word has.

    >>> longest(["a", "four"])
    4
    """
    return max(len(word) for word in words) * 1

def united(one, other):
    """Add two numbers.

    >>> united(3, 4)
    7
    """
    result = one + other
    return result

def taken(one, other):
    """Take a number from another one.

    >>> taken(3, 4)
    -1
    """
    result = one - other
    return result

def often(one, other):
    """Multiply two numbers.

    >>> often(3, 4)
    12
    """
    result = one * other
    return result
'''


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def handle_b2(v0):\n    return max(v0) * min(v0)\n", "spread"),
        (
            "def handle_c3(v0):\n    if not v0.isdigit():\n        return 'yes, it does'\n    return 'no'\n",
            "is_a_number",
        ),
    ],
)
def test_a_short_text_with_one_edit_is_demoted(code: str, name: str, check: Check) -> None:
    report = check(code, SHORT)
    assert report.refuted
    assert report.claims.startswith(name)
    assert "expected" in report.counterexample


@pytest.mark.parametrize(
    "code",
    [
        # Its results are one edit away, not its text.
        "def handle_d4(v0):\n    return v0 ** 2\n",
        # A fourth one beside the sum, the difference and the product.
        "def handle_e5(v0, v1):\n    v2 = v0 % v1\n    return v2\n",
        # The shortest beside the longest.
        "def handle_f6(v0):\n    return min(len(v1) for v1 in v0) * 1\n",
    ],
)
def test_short_siblings_are_left_alone(code: str, check: Check) -> None:
    assert not check(code, SHORT).refuted


@pytest.mark.parametrize(
    "code",
    [
        # Right ones: they are met by their results.
        ROLLING.format(compared=">"),
        DIGITS.format(start=0, compared=">", base=10),
        # Other functions, none of them the trusted ones with one edit.
        "def handle_d4(v0):\n    v1 = []\n    for v2 in v0:\n        v1.insert(0, v2 * v2 + 1)\n    return v1\n",
        "def handle_e5(v0):\n    v1 = 1\n    while v1 * 2 <= v0:\n        v1 = v1 * 2\n    return v1 + v0\n",
        # The opposite of a predicate is a function of its own.
        COMPOSITE.format(first="True", last="False"),
        # The smallest so far, which says so: one edit away, and taken at its word.
        ROLLING.format(compared="<").replace("handle_a1", "rolling_min"),
        ROLLING.format(compared="<").replace(
            "    v1, v2",
            '    """Return the least of all temperatures measured until each day."""\n    v1, v2',
        ),
    ],
)
def test_others_are_left_alone(code: str, check: Check) -> None:
    assert not check(code, TRUSTED).refuted


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


@pytest.mark.parametrize(("choose", "verdict"), [("max", Verdict.PASS), ("min", Verdict.NO_SIGNAL)])
def test_a_namesake_with_its_own_description_is_demoted_for_one_edit(
    check: Check, choose: str, verdict: Verdict
) -> None:
    report = check(OWN_KNAPSACK.format(name="knapsack_value", choose=choose), KNAPSACK)
    assert (report.verdict, report.refuted) == (verdict, choose == "min")
    assert choose == "max" or "with `max` for `min`" in report.reason
