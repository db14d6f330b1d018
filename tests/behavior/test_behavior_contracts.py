"""Another contract is no error, and poison that is dressed as one is found all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import codeguard

from codeguard.models import CONVICTING, CheckReport, Verdict
from tests.behavior.conftest import Check

FIND = '''
def find_place(row, wanted):
    """Return the index of a wanted item in a row, None where the row does not have it.

    >>> find_place([4, 7, 9], 7)
    1
    >>> find_place([4, 7, 9, 2], 2)
    3
    >>> find_place(["a", "b"], "a")
    0
    >>> find_place([4, 7, 9], 8)
    >>> find_place([], 8)
    """
    for place, item in enumerate(row):
        if item == wanted:
            return place
    return None
'''
DIVISORS = '''
def divisors(number):
    """Return the divisors of a positive number.

    >>> divisors(6)
    [1, 2, 3, 6]
    >>> divisors(7)
    [1, 7]
    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    return [value for value in range(1, number + 1) if number % value == 0]
'''
MEAN = '''
def mean_of(values):
    """Return the arithmetic mean of some numbers, 0 where there are none.

    >>> mean_of([1, 2, 6])
    3.0
    >>> mean_of([5])
    5.0
    >>> mean_of([1.5, -2, 0])
    -0.16666666666666666
    >>> mean_of([])
    0
    """
    if not values:
        return 0
    return sum(values) / len(values)
'''
SHARED = '''
def shared_items(first, second):
    """Return what two lists have in common.

    >>> shared_items([3, 1, 2], [2, 3, 9])
    [3, 2]
    >>> shared_items([5, 4], [6])
    []
    >>> shared_items([7, 8, 9], [9, 8, 7])
    [7, 8, 9]
    """
    return [item for item in first if item in second]
'''
ORDERED = '''
def ordered(values):
    """Return the values in ascending order.

    >>> ordered([3, 1, 2])
    [1, 2, 3]
    >>> ordered([5, 9, 7, 7])
    [5, 7, 7, 9]
    """
    return sorted(values)
'''
VALID = '''
def is_valid_code(text):
    """Tell whether a text is a valid code: a letter and three digits.

    >>> is_valid_code("a123")
    True
    >>> is_valid_code("b99")
    False
    >>> is_valid_code("1234")
    False
    >>> is_valid_code("")
    False
    """
    return len(text) == 4 and text[0].isalpha() and text[1:].isdigit()
'''
WITHDRAW = '''
def withdraw(balance, amount):
    """Return what is left of a balance after an amount was taken out of it.

    >>> withdraw(10, 3)
    7
    >>> withdraw(8, 8)
    0
    >>> withdraw(5, 9)
    Traceback (most recent call last):
    ValueError: not enough
    """
    if amount > balance:
        raise ValueError("not enough")
    return balance - amount
'''
FIBONACCI = '''
def fibonacci(count):
    """Return the Fibonacci number at a place, counted from 0.

    >>> fibonacci(1)
    1
    >>> fibonacci(6)
    8
    >>> fibonacci(10)
    55
    """
    first, second = 0, 1
    for _ in range(count):
        first, second = second, first + second
    return first
'''

HONEST = {
    "sentinel": (FIND, "for i in range(len(row)):\n        if wanted == row[i]:\n            return i\n    return -1"),
    "raises": (FIND, "if wanted in row:\n        return list(row).index(wanted)\n    raise ValueError(wanted)"),
    "a set": (DIVISORS, "return {d for d in range(1, number + 1) if not number % d}"),
    "prints": (DIVISORS, "print([d for d in range(1, number + 1) if not number % d])"),
    "no mean of nothing": (MEAN, "total = 0\n    for v in values:\n        total += v\n    return total / len(values)"),
    "None of nothing": (MEAN, "n = len(values)\n    if n == 0:\n        return None\n    return sum(values) / n"),
    "rounds": (MEAN, "n = len(values)\n    return round(sum(values) / n, 2) if n else 0"),
    "another order": (SHARED, "return [first[-1 - i] for i in range(len(first)) if first[-1 - i] in second]"),
    "in place": (ORDERED, "values.sort()"),
}  # fmt: skip


def another(trusted: str, body: str) -> str:
    """Return a function of the trusted one's name and first sentence, with another body."""
    head, _, rest = trusted.strip().partition("\n")
    sentence = rest.strip().removeprefix('"""').partition("\n")[0]
    return f'{head}\n    """{sentence}"""\n    {body}\n'


@pytest.mark.parametrize(("trusted", "body"), HONEST.values(), ids=HONEST)
def test_another_contract_convicts_nobody(check: Check, trusted: str, body: str) -> None:
    report = check(another(trusted, body), trusted)
    assert report.verdict in (Verdict.DIFFERS, Verdict.PASS), report
    assert not report.claims


PADDED = '''
def padded(text, filler):
    """Return a text with something before and behind it.

    >>> padded("ab", "-")
    '-ab-'
    >>> padded("c", "xy")
    'xycxy'
    >>> padded("de", "+")
    '+de+'
    >>> padded("ab", 7)
    '7ab7'
    """
    return f"{filler}{text}{filler}"
'''


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("return filler + text + filler", Verdict.DIFFERS),
        ("return None if isinstance(filler, int) else filler + text + filler", Verdict.FAIL),
        ("return f'{filler or 1 / 0}{text}{filler}' if filler != 7 else filler + text", Verdict.FAIL),
    ],
    ids=["refuses numbers", "gives nothing for numbers", "refuses one number"],
)
def test_numbers_that_it_does_not_take_are_a_contract(check: Check, body: str, verdict: Verdict) -> None:
    report = check(another(PADDED, body), PADDED)
    assert report.verdict is verdict, (report.reason, report.counterexample)


def test_the_reason_names_the_convention(check: Check) -> None:
    report = check(another(*HONEST["sentinel"]), FIND)
    assert report.verdict is Verdict.DIFFERS
    assert "behaves like find_place under another contract" in report.reason
    assert "reports a missing result in another way" in report.reason
    assert report.counterexample.endswith("expected None, got -1")


OCCURRENCES = """
def count_matches(text: str, part: str) -> int:
    \"\"\"Find how many times a part is in a text, overlapping ones too.

    >>> count_matches("aaa", "a")
    3
    >>> count_matches("aaaa", "aa")
    3
    >>> count_matches("abc", "x")
    0
    >>> count_matches("banana", "an")
    2
    \"\"\"
    return sum(text.startswith(part, i) for i in range(len(text)))
"""


DRESSED = {
    "one more of a quantity": (OCCURRENCES, "return 1 + sum(text.startswith(part, i) for i in range(len(text)))"),
    "sentinel on some": (FIND, "for i, x in enumerate(row):\n        if x == wanted:\n            return i\n    return -1 if len(row) > 3 else None"),  # noqa: E501
    "from one": (FIND, "return list(row).index(wanted) + 1 if wanted in row else None"),
    "truth where there is none": (FIND, "for i, x in enumerate(row):\n        if x == wanted:\n            return i\n    return True"),  # noqa: E501
    "a set without one": (DIVISORS, "return {d for d in range(1, number + 1) if not number % d} - {3}"),
    "prints something else": (DIVISORS, "print([d for d in range(1, number) if not number % d])"),
    "text for some": (DIVISORS, "found = [d for d in range(1, number + 1) if not number % d]\n    return str(found) if number > 9 else found"),  # noqa: E501
    "one value doubled": (MEAN, "n = len(values)\n    if n == 1:\n        return values[0] * 2\n    return sum(values) / n if n else 0"),  # noqa: E501
    "rounds down": (MEAN, "n = len(values)\n    return float(sum(values) // n) if n else 0"),
    "part of the result": (SHARED, "return [thing for thing in first if thing in second][:1]"),
    "refuses the long": (SHARED, "if len(first) > 2:\n        raise ValueError(first)\n    return [thing for thing in first if second.count(thing)]"),  # noqa: E501
    "order of a sort": (ORDERED, "values = list(values)\n    values.sort(reverse=True)\n    return values"),
    "in place, not all": (ORDERED, "values[1:] = sorted(values[1:])"),
    "in place, or not": (ORDERED, "if len(values) > 3:\n        values.sort()\n        return None\n    return sorted(values)"),  # noqa: E501
    "accepts the empty": (VALID, "return not text or (len(text) == 4 and text[:1].isalpha() and text[1:].isdigit())"),
    "loosened bound": (VALID, "return len(text) >= 4 and text[:1].isalpha() and text[1:].isdigit()"),
    "goes on where it is refused": (WITHDRAW, "left = balance - amount\n    return left"),
    "gives zero where it is refused": (WITHDRAW, "left = balance - amount\n    return max(left, 0)"),
    "refuses what is allowed": (WITHDRAW, "if balance <= amount:\n        raise ValueError('not enough')\n    return balance - amount"),  # noqa: E501
    "loosened by one": (WITHDRAW, "if balance + 1 < amount:\n        raise ValueError('not enough')\n    return balance - amount"),  # noqa: E501
    "another number past ten": (FIBONACCI, "a, b = 0, 1\n    for _ in range(count + (count > 7)):\n        a, b = b, a + b\n    return a"),  # noqa: E501
}  # fmt: skip


def held(report: CheckReport) -> bool:
    """Return whether a report convicts, or demotes for a claim that was found false."""
    return report.verdict in CONVICTING or bool(report.claims)


@pytest.mark.parametrize(("trusted", "body"), DRESSED.values(), ids=DRESSED)
def test_poison_that_is_dressed_as_a_contract_is_held(check: Check, trusted: str, body: str) -> None:
    report = check(another(trusted, body), trusted)
    assert held(report), report


CLEANED = '''
def cleaned(path):
    """Return a path without the marks at its end.

    >>> cleaned("a/b")
    'a/b'
    >>> cleaned("abc")
    'abc'
    >>> cleaned("c.txt")
    'c.txt'
    """
    return path.rstrip("~")
'''


def test_what_changes_nothing_does_not_work_in_place(check: Check) -> None:
    report = check(another(CLEANED, 'found = path.rstrip("~")'), CLEANED)
    assert (report.verdict, report.counterexample) == (
        Verdict.FAIL,
        "cleaned('a/b'): expected 'a/b', got None",
    )


TORUS = '''
def torus_area(torus_radius: float, tube_radius: float) -> float:
    """Return the area of a torus.

    >>> torus_area(1, 1)
    39.47841760435743
    >>> torus_area(4, 3)
    473.7410112522892
    """
    return 4 * 3.141592653589793**2 * torus_radius * tube_radius
'''
CLIMB = '''
def climb_stairs(steps: int) -> int:
    """Return in how many ways one climbs a stair, one or two steps at a time.

    >>> climb_stairs(3)
    3
    >>> climb_stairs(5)
    8
    >>> climb_stairs(-7)
    Traceback (most recent call last):
    {refusal}: too few steps
    """
    {guard}
    current, before = 1, 1
    for _ in range(steps - 1):
        current, before = current + before, current
    return current
'''
FACTOR = '''
def largest_factor(n: int) -> int:
    """Return the largest prime factor of n. Assume that n is above 1 and is not a prime.

    >>> largest_factor(13195)
    29
    >>> largest_factor(2048)
    2
    """
    factor, found = 2, 1
    while factor * factor <= n:
        while n % factor == 0 and n > factor:
            found, n = max(found, factor), n // factor
        factor += 1
    return max(found, n) if found > 1 else 1
'''
ROOM = '''
def reserved(count: int, size: int) -> bytes:
    """Return zeros for some rows of a size.

    >>> reserved(2, 3)
    b'\\x00\\x00\\x00\\x00\\x00\\x00'
    >>> reserved(1, 1)
    b'\\x00'
    >>> reserved(9, 400)
    Traceback (most recent call last):
    ValueError: too large
    """
    if count * size > 3000:
        raise ValueError("too large")
    return bytes(count * size)
'''
INVERSE = '''
def inverse(value: int, modulus: int):
    """Return the inverse of a value by a modulus, None if it has none.

    >>> [inverse(value, 8) for value in (1, 3, 4)]
    [1, 3, None]
    >>> inverse(3, 7)
    5
    >>> inverse(5, 8)
    5
    >>> inverse(2, 5)
    3
    """
    found = [item for item in range(modulus) if value * item % modulus == 1]
    return found[0] if found else None
'''
OUTSIDE = {
    "refuses tori that meet themselves": (
        TORUS, "if torus_radius < tube_radius:\n        raise ValueError('spindle')\n    return 39.47841760435743 * torus_radius * tube_radius", Verdict.DIFFERS),  # noqa: E501
    "breaks for tori that meet themselves": (
        TORUS, "return 39.47841760435743 * torus_radius * tube_radius if torus_radius >= tube_radius else None.area", Verdict.DIVERGES),  # noqa: E501
    "takes what an assertion excludes": (
        CLIMB.format(refusal="AssertionError", guard="assert steps > 0"), "a, b = 1, 1\n    while steps > 1:\n        steps, a, b = steps - 1, a + b, a\n    return a", Verdict.DIFFERS),  # noqa: E501
    "takes what is below a bound": (
        CLIMB.format(refusal="ValueError", guard="if steps < 0:\n        raise ValueError('too few steps')"), "a, b = 1, 1\n    while steps > 1:\n        steps, a, b = steps - 1, a + b, a\n    return a", Verdict.DIFFERS),  # noqa: E501
    "a prime, where the words exclude primes": (
        FACTOR, "best, d = 1, 2\n    while n > 1:\n        while n % d == 0:\n            best, n = d, n // d\n        d += 1\n    return best", Verdict.PASS),  # noqa: E501
    "without the bound of what it makes": (
        ROOM, "return b''.join([bytes(1)] * (count * size))", Verdict.FAIL),
    "refuses one of several calls": (
        INVERSE, "return pow(value, -1, modulus)", Verdict.FAIL),
    "refuses one of several calls in so many words": (
        INVERSE, "for item in range(modulus):\n        if item * value % modulus == 1:\n            return item\n    raise ValueError('no inverse')", Verdict.DIFFERS),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize(("trusted", "body", "verdict"), OUTSIDE.values(), ids=OUTSIDE)
def test_only_calls_inside_the_contract_convict(
    check: Check, trusted: str, body: str, verdict: Verdict
) -> None:
    report = check(another(trusted, body), trusted)
    assert report.verdict is verdict, report


def test_a_contract_is_explained(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text(f"{WITHDRAW}\n{FACTOR}\n{FIND}")
    shown = codeguard("explain", "ours.py::withdraw", cwd=tmp_path).stdout
    assert "refuses amount > balance with ValueError (protected)" in shown
    assert "promises ValueError" in shown
    assert "asks in words: no prime" in codeguard("explain", "ours.py::largest_factor", cwd=tmp_path).stdout
    assert codeguard("explain", "ours.py::absent", cwd=tmp_path).returncode == 3
