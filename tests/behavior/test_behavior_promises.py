"""Promises of a name: what any right implementation keeps, where nothing trusted does the same."""

from __future__ import annotations

import pytest

from codeguard.models import Verdict
from tests.behavior.conftest import Check

BROKEN = [
    ("def sort_list(values):\n    return sorted(values)[1:]", "in order"),
    ("def find_max(numbers):\n    return max(numbers) + 1", "one of the items"),
    ("def mean(values):\n    return sum(values) / (len(values) + 1)", "arithmetic mean"),
    ("def gcd(first, second):\n    return first * second", "greatest common divisor"),
    ("def label(name, size) -> str:\n    return len(name) + len(size)", "gives text"),
    ('def is_short(text):\n    """Check whether a text is short."""\n    return text + "!"', "True or False"),
    (
        'def widths(text):\n    """Compute the widths of all words."""\n    for _ in text:\n        pass',
        "something",
    ),
    (
        'def overlap(first, second, least=1):\n    """Return the items in both."""\n    return len(str(first))',
        "never reads second and least",
    ),
]
KEPT = [
    "def sort_list(values):\n    return sorted(values, reverse=True)",
    'def sort_by_ones(values):\n    """Sort numbers by the number of ones."""\n    return sorted(values, key=bin)',
    'def mean(values):\n    """Mean of at least one value."""\n    return sum(values) / max(1, len(values))',
    "def sort_list(values):\n    raise ValueError(values)",
    "def label(name, size) -> str:\n    return None",
    'def is_short(text):\n    """Check whether a text is short."""\n    return text and len(text) < 3',
    'def store(values):\n    """Sorts the values in place."""\n    values.sort()',
    'def heapify(values):\n    """Sorts them as a heap."""\n    values.sort()',
    'def median(connection):\n    """Ask a database for the median."""\n    return connection.median()',
    'def on_close(loop, error):\n    """A hook that reports the end of a loop."""\n    print(loop)',
    'def area(width, height):\n    """Return the area of a sheet."""\n    return sheet(**locals())',
]


@pytest.mark.parametrize(("code", "says"), BROKEN)
def test_what_breaks_its_promise_is_a_false_claim(check: Check, code: str, says: str) -> None:
    report = check(code)
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, True)
    assert says in report.reason
    assert report.decided_by in ("broken-promise", "ignores-arguments")


@pytest.mark.parametrize("code", KEPT)
def test_what_keeps_it_or_shows_nothing_earns_nothing(check: Check, code: str) -> None:
    report = check(code)
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, False)


def test_the_trusted_function_comes_first(check: Check) -> None:
    trusted = '''
        def mean(values):
            """Return the mean of the values and their number.

            >>> mean([2, 4])
            (3.0, 2)
            """
            return sum(values) / len(values), len(values)
    '''
    assert check(trusted.replace("values", "items"), trusted).verdict is Verdict.PASS


def test_a_result_that_no_child_takes_is_no_evidence(check: Check) -> None:
    code = "def sort_list(values):\n    class Odd(list):\n        pass\n    return [Odd(), object()]"
    assert not check(code).refuted
