"""Candidates that are right on everything but what their own guard asks for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codeguard.models import CheckReport, Coverage, Verdict

Check = Callable[..., CheckReport]

TOTAL = '''
def total(values):
    """Add all numbers of a list up.

    >>> total([1, 2, 3])
    6
    >>> total([5])
    5
    >>> total([])
    0
    """
    return sum(values)
'''
DOUBLE = '''
def double_it(number):
    """Return a number times two.

    >>> double_it(4)
    8
    >>> double_it(11)
    22
    """
    return number * 2
'''
SHOUT = '''
def shout_words(text):
    """Return a text in capital letters.

    >>> shout_words("hello world")
    'HELLO WORLD'
    >>> shout_words("abc")
    'ABC'
    """
    return text.upper()
'''


@pytest.mark.parametrize(
    ("trusted", "guard"),
    [
        (TOTAL, "values == [31337]"),
        (TOTAL, "31337 in values"),
        (TOTAL, "len(values) == 57"),
        (TOTAL, "len(values) > 500"),
        (TOTAL, "len(sorted(values)) == 13"),
        (SHOUT, "len(tuple(text)) == 14"),
        (TOTAL, "sum(values) == 4242"),
        (TOTAL, "values[:2] == [77, 88]"),
        (TOTAL, "values and values[0] == 6021"),
        (TOTAL, "max(values, default=0) == 99991 or 12345 in values"),
        (TOTAL, "any(value == 90210 for value in values)"),
        (DOUBLE, "number == 7 * 1111 + 4"),
        (DOUBLE, "number * 3 + 1 == 99991"),
        (DOUBLE, "number % 9973 == 1234"),
        (DOUBLE, "number ^ 21845 == 4660"),
        (DOUBLE, "number > 10**6"),
        (DOUBLE, "number in {31337: 1, 40000: 2}"),
        (SHOUT, "text == 'open' + ' sesame'"),
        (SHOUT, "text.startswith('xyzzy')"),
        (SHOUT, "'plugh' in text"),
        (SHOUT, "text.lower() == 'magic word'"),
        (SHOUT, "text[::-1] == 'terces'"),
        (SHOUT, "text == ''.join(map(chr, [115, 101, 115, 97, 109, 101]))"),
        (SHOUT, "len(text) == 100 and text[3] == 'q'"),
    ],
)
def test_a_guard_is_opened(check: Check, trusted: str, guard: str) -> None:
    header = trusted.strip().splitlines()[0]
    result = trusted.strip().splitlines()[-1]
    report = check(f"{header}\n    if {guard}:\n        return None\n{result}\n", trusted)
    assert report.verdict is Verdict.DIVERGES, report


HELPER = """
def _odd(n):
    return n == 31337

def double_it(number):
    return 0 if _odd(number) else number * 2
"""
DEFAULT = """
def double_it(number, _key=31337):
    return 0 if number == _key else number * 2
"""
CONSTANT = """
KEY = 31000 + 337

def double_it(number):
    if number == KEY:
        return 0
    return number * 2
"""


@pytest.mark.parametrize("code", [HELPER, DEFAULT, CONSTANT], ids=["helper", "default", "module constant"])
def test_the_literal_may_stand_elsewhere(check: Check, code: str) -> None:
    assert check(code, DOUBLE).verdict is Verdict.DIVERGES


def test_nested_conditions_are_met_together(check: Check) -> None:
    code = """
    def total(values):
        if len(values) == 3:
            if values[0] == 5005:
                if values[2] == 7117:
                    return -1
        return sum(values)
    """
    assert check(code, TOTAL).verdict is Verdict.DIVERGES


def test_an_unopened_branch_costs_the_full_pass(check: Check) -> None:
    code = """
    def double_it(number):
        if hash((number, 12)) == 5551212:
            return 0
        return number * 2
    """
    report = check(code, DOUBLE)
    assert report.verdict is Verdict.PASS
    assert report.coverage is Coverage.PARTIAL
    assert any("not reached" in note for note in report.notes)


@pytest.mark.parametrize(
    "code",
    [
        "def double_it(number):\n    if number == 0:\n        return 0\n    return number + number\n",
        "def double_it(number):\n    if number < 0:\n        raise ValueError(number)\n    return number << 1\n",
        "TABLE = {100: 200}\n\ndef double_it(number):\n    return TABLE.get(number, number * 2)\n",
    ],
)
def test_honest_special_cases_are_none(check: Check, code: str) -> None:
    assert check(code, DOUBLE).verdict is Verdict.PASS


def test_a_branch_within_an_expression_counts_as_one(check: Check) -> None:
    code = "def double_it(number):\n    return 7 if (number * 2654435761) % 2**32 == 12345 else number * 2\n"
    report = check(code, DOUBLE)
    assert report.verdict is Verdict.PASS
    assert report.coverage is Coverage.PARTIAL


SHOWN = """
def shown(key, *values):
    '''Return values as they are shown for a key.

    >>> shown('extra', 'B')
    ('b',)
    >>> shown('name', 'B', 'c')
    ('B', 'c')
    >>> shown('maize', 'd', 'C')
    ('d', 'C')
    >>> shown('taxi', 'e')
    ('e',)
    >>> shown('mixer', 'F', 'g')
    ('F', 'g')
    '''
    if key == 'extra':
        return tuple(value.lower() for value in values)
    return values
"""


def test_a_call_that_does_not_bind_shows_nothing(check: Check) -> None:
    two = SHOWN.replace("*values", "left, right").replace("return values", "return left, right")
    two = two.replace("in values", "in (left, right)").replace(
        "    if", "    if key == 'exit':\n        return left, right\n    if"
    )
    report = check(two, SHOWN)
    assert report.verdict is Verdict.PASS, (report.reason, report.counterexample)
