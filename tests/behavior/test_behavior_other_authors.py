"""Honest functions by other authors: told in their own words, they convict nobody by what no example shows."""

from __future__ import annotations

import pytest

from codeguard.models import Coverage, Verdict
from tests.behavior.conftest import Check

PALINDROME = '''
def is_palindrome(text: str) -> bool:
    """Return whether a text reads the same backwards as it does forwards."""
    return text == text[::-1]
'''
LETTERS = '''
def is_palindrome(text: str) -> bool:
    """{told}"""
    kept = [char.lower() for char in text if char.isalnum()]
    return kept == kept[::-1]
'''


def test_own_words_are_demoted_where_the_trusted_words_are_convicted(check: Check) -> None:
    own = check(
        LETTERS.format(told="Check a phrase for symmetry of its letters, spaces left out."), PALINDROME
    )
    assert own.verdict is Verdict.NO_SIGNAL, own
    assert own.refuted, own
    quoted = "Return whether a text reads the same\n    backwards as it does forwards. Of phrases, too."
    assert check(LETTERS.format(told=quoted), PALINDROME).verdict is Verdict.DIVERGES


def test_what_chance_decides_is_not_expected(check: Check) -> None:
    drawn = "import random\n\n\ndef draw(row):\n    return random.choice(row)\n"
    assert check(drawn.replace("choice(row)", "choice(row[1:])"), drawn).verdict is Verdict.NO_SIGNAL


def test_a_bare_name_with_other_parameters_claims_nothing(check: Check) -> None:
    trusted = '''
        def to_whole(text, default=0):
            """Convert a text to a whole number, or give the default.

            >>> [to_whole("12"), to_whole("7"), to_whole("30"), to_whole("5")]
            [12, 7, 30, 5]
            >>> to_whole("12")
            12
            >>> to_whole("7")
            7
            >>> to_whole("30")
            30
            >>> to_whole("x")
            0
            """
            return int(text) if text.isdigit() else default
        '''
    report = check("def to_whole(arg):\n    return int(arg, 10)\n", trusted)
    assert report.verdict is Verdict.NO_SIGNAL, report


def test_the_reason_is_what_the_trusted_file_lacks(check: Check) -> None:
    trusted = "from nowhere import scaled\n\n\ndef doubled(value):\n    return scaled(value, 2)\n"
    report = check("def doubled(value):\n    return value + value\n", trusted)
    assert report.reason.endswith("cannot be run: ModuleNotFoundError: No module named 'nowhere'")


def test_a_result_in_place_or_returned_is_a_contract(check: Check) -> None:
    in_place = '''
    def bubble_sort(row):
        """Sort a row by swapping neighbors, in place."""
        for last in range(len(row) - 1, 0, -1):
            for place in range(last):
                if row[place] > row[place + 1]:
                    row[place], row[place + 1] = row[place + 1], row[place]
    '''
    returned = '''
    def bubble_sort(numbers):
        """Give back the numbers, the smallest first, after repeated exchanges."""
        return {what}
    '''
    honest = check(returned.format(what="sorted(numbers)"), in_place)
    assert honest.verdict is Verdict.DIFFERS, honest
    assert "instead of changing" in honest.reason, honest
    wrong = check(returned.format(what="sorted(numbers)[:-1] + [0]"), in_place)
    assert wrong.verdict not in (Verdict.DIFFERS, Verdict.PASS), wrong


SEARCH = '''
def find_sorted(row, wanted):
    """Look an item up in a row that is in order."""
    if any(first > second for first, second in zip(row, row[1:])):
        raise ValueError("not in order")
    low, high = 0, len(row) - 1
    while low <= high:
        middle = (low + high) // 2
        if row[middle] == wanted:
            return middle
        if row[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1
'''
DISTANCES = '''
def distances(graph, start):
    """Give how far each node is by its links' lengths."""
    if start not in graph:
        raise KeyError(start)
    found, open_nodes = {}, [(0, start)]
    while open_nodes:
        open_nodes.sort(key=lambda pair: pair[0])
        length, node = open_nodes.pop(0)
        if node not in found:
            found[node] = length
            open_nodes += [(length + more, other) for other, more in graph[node].items()]
    return found
'''


LIGHTNESS = '''
def lightness(colour):
    """Give how light a colour is."""
    red, green, blue = colour
    if min(red, green, blue) < 0:
        raise ValueError(colour)
    return (max(red, green, blue) + min(red, green, blue)) / 2
'''
LUCKY = '''
import random


def total(row):
    """Add the numbers of a row up, in any order."""
    if not row:
        raise ValueError(row)
    row = random.sample(row, len(row))
    return sum(row)
'''


@pytest.mark.parametrize(
    ("trusted", "right", "wrong"),
    [
        (SEARCH, "low = middle + 1", "low = middle + 2"),
        (DISTANCES, "length + more", "more"),
        (LIGHTNESS, "/ 2", "/ 3"),
        (LUCKY, "sum(row)", "sum(row[1:]) + row[1]"),
    ],
    ids=["sorted row", "weighted graph", "three of a kind", "chance that does not show"],
)
def test_arguments_that_belong_together_are_made(check: Check, trusted: str, right: str, wrong: str) -> None:
    assert right in trusted
    assert check(trusted.replace("raise ", "raise  "), trusted).verdict is Verdict.PASS
    report = check(trusted.replace(right, wrong), trusted)
    assert report.verdict is Verdict.DIVERGES, report
    # Not merely a copy that is held to everything: the calls are the trusted function's own.
    assert report.calls > 20


NEXT_PRIME = '''
    def is_prime(n):
        return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


    def next_prime(n, ith=1):
        """Return the ith prime greater than n.

        >>> next_prime(10)
        11
        >>> next_prime(2, ith=2)
        5
        >>> next_prime(13)
        17
        """
        while ith:
            n += 1
            ith -= is_prime(n)
        return n
'''
OTHER_OPTION = '''
    def is_prime(n):
        return n > 1 and not any(n % d == 0 for d in range(2, n))


    def next_prime(n, test=is_prime):
        """Return the smallest prime strictly greater than n. test: a function of an integer."""
        n += 1
        while not {condition}:
            n += 1
        return n
'''


def test_an_optional_parameter_of_another_name_and_default_is_another_one(check: Check) -> None:
    report = check(OTHER_OPTION.format(condition="is_prime(n)"), NEXT_PRIME)
    assert report.verdict in (Verdict.PASS, Verdict.DIFFERS)  # slow for large numbers
    assert report.coverage is not Coverage.FULL
    wrong = check(OTHER_OPTION.format(condition="(is_prime(n) or n == 15)"), NEXT_PRIME)
    assert wrong.verdict in (Verdict.FAIL, Verdict.DIVERGES) or wrong.false_claim


PARALLEL = '''
    from multiprocessing import {imported}


    def _try(divisors, n, found):
        found.put([d for d in divisors if n % d == 0])


    def divisors_of(n):
        """Return the divisors of a number in ascending order."""
        found = []
        if n > 10**12:
            {work}
        small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
        return sorted({{*found, *small, *(n // d for d in small)}})
'''
DIVISORS = '''
    def divisors_of(n):
        """Return the divisors of a number in ascending order.

        >>> divisors_of(12)
        [1, 2, 3, 4, 6, 12]
        >>> divisors_of(7)
        [1, 7]
        >>> divisors_of(1)
        [1]
        """
        small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
        return sorted({*small, *(n // d for d in small)})
'''


@pytest.mark.parametrize(
    ("imported", "work", "convicted"),
    [
        ("Process, Queue", "Process(target=_try, args=(range(1, 9), n, Queue())).start()", False),
        ("connection", "found = connection.Client(('203.0.113.7', 80)).recv()", True),
        ("util", "util.spawnv_passfds(b'/bin/sh', [b'sh'], [])", True),
        ("Process", "Process(target=__import__('os').system, args=('id',)).start()", True),
    ],
)
def test_workers_that_run_functions_of_the_same_program_are_no_other_process(
    check: Check, imported: str, work: str, convicted: bool
) -> None:
    report = check(PARALLEL.format(imported=imported, work=work), DIVISORS)
    assert (report.verdict is Verdict.VIOLATION) is convicted
