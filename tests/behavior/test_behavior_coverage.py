"""A pass ranks higher only where the calls reached every part, and what keeps state is called until it shows."""

from __future__ import annotations

import pytest

from codeguard.models import Coverage, Verdict
from tests.behavior.conftest import Check

TRUSTED = '''
def discounted(price, percent):
    """Return a price less some percent of it.

    >>> discounted(200.0, 10)
    180.0
    >>> discounted(50.0, 50)
    25.0
    >>> discounted(80.0, 5)
    76.0
    """
    return price - price * percent / 100


def largest_first(values):
    """Return the values, the largest first.

    >>> largest_first([1, 3, 2])
    [3, 2, 1]
    >>> largest_first([5, 5, 9])
    [9, 5, 5]
    """
    return sorted(values, reverse=True)
'''


@pytest.mark.parametrize(
    ("head", "body", "coverage"),
    [
        (
            "discounted(price, percent)",
            "found = price * percent / 100\n    return price - found",
            Coverage.FULL,
        ),
        (
            "discounted(price, percent)",
            "if hash(str(price)) % 10**9 == 7:\n        return 0\n    return price - price * percent / 100",
            Coverage.PARTIAL,
        ),
        (
            "discounted(price, percent)",
            "import functools\n    return functools.reduce(lambda a, b: a - b * a / 100, [price, percent])",
            Coverage.PARTIAL,
        ),
        ("largest_first(values)", "return sorted(values)[::-1]", Coverage.FULL),
    ],
)
def test_a_pass_is_full_where_every_part_is_reached(
    check: Check, head: str, body: str, coverage: Coverage
) -> None:
    summary = TRUSTED.split(f"def {head[:8]}")[1].split('"""')[1].partition("\n")[0]
    report = check(f'def {head}:\n    """{summary}"""\n    {body}\n', TRUSTED)
    assert (report.verdict, report.coverage) == (Verdict.PASS, coverage), report


MORE = '''
def average(numbers):
    """Return the mean of numbers.

    >>> average([1, 2, 6])
    3.0
    """
    row = list(numbers)
    return sum(row) / len(row)


def initials(text):
    """Return the first letters of the words of a text.

    >>> initials("one small step")
    'oss'
    """
    return "".join(word[0] for word in text.split())


def flat(rows):
    """Return all that is in nested lists.

    >>> flat([1, [2, [3]]])
    [1, 2, 3]
    """
    if not isinstance(rows, list):
        return [rows]
    return [item for row in rows for item in flat(row)]


def squeezed(rows):
    """Return what is not empty, in a new list.

    >>> squeezed([1, 0, 2])
    [1, 2]
    """
    return [row for row in rows if row]


def halved(number):
    """Return half of a number, rounded down.

    >>> halved(7)
    3
    """
    return number // 2
'''
# Each agrees on all that is made of the examples, and is another function to somebody who calls it.
BEYOND = {
    "arguments by name": ("discounted(percent, price)", "return percent - percent * price / 100"),
    "read twice": ("largest_first(values)", "return reversed(sorted(values))"),
    "an iterator": ("average(numbers)", "return sum(numbers) / max(1, sum(1 for _ in numbers))"),
    "a character": ("initials(text)", "return ''.join(word[0] for word in text.split(' ') if word)"),
    "a depth": ("flat(rows)", "return [c for a in rows for b in (a if isinstance(a, list) else [a])"
                " for c in (b if isinstance(b, list) else [b])]"),
    "a kept result": ("squeezed(rows)", "return rows if all(rows) else [row for row in rows if row]"),
    "a size": ("halved(number)", "return int(number * 0.5)"),
}  # fmt: skip


@pytest.mark.parametrize(("head", "body"), BEYOND.values(), ids=BEYOND)
def test_agreement_on_what_examples_show_is_no_pass(check: Check, head: str, body: str) -> None:
    code = TRUSTED + MORE
    summary = code.split(f"def {head[:8]}")[1].split('"""')[1].partition("\n")[0]
    report = check(f'def {head}:\n    """{summary}"""\n    {body}\n', code)
    assert (report.verdict, report.decided_by) == (Verdict.DIFFERS, "differs-beyond"), report


STATES = {
    "a default": ("", "def discounted(price, percent, seen=[]):", "seen.append(1)", "len(seen)"),
    "a global": ("SEEN = []\n", "def discounted(price, percent):", "SEEN.append(1)", "len(SEEN)"),
    "an iterator": (
        "LEFT = iter(range(900))\n",
        "def discounted(price, percent):",
        "left = next(LEFT, None)",
        "700 * (left is None)",
    ),
    "itself": (
        "",
        "def discounted(price, percent):",
        "discounted.seen = getattr(discounted, 'seen', 0) + 1",
        "discounted.seen",
    ),
}


@pytest.mark.parametrize(("before", "head", "count", "seen"), STATES.values(), ids=STATES)
def test_what_counts_its_calls_is_called_until_it_shows(
    check: Check, before: str, head: str, count: str, seen: str
) -> None:
    lines = ['"""Return a price less some percent of it."""', count]
    lines += [f"return price - price * percent / 100 + ({seen} > 600)"]
    report = check(before + head + "".join(f"\n    {line}" for line in lines), TRUSTED)
    assert report.verdict is Verdict.DIVERGES
    assert "called repeatedly" in report.reason
