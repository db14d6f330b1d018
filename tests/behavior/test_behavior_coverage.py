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
        ("discounted(percent, price)", "return percent - percent * price / 100", Coverage.PARTIAL),
        ("largest_first(values)", "return sorted(values)[::-1]", Coverage.FULL),
        ("largest_first(values)", "return reversed(sorted(values))", Coverage.PARTIAL),
        ("largest_first(values)", "return (item for item in sorted(values)[::-1])", Coverage.PARTIAL),
    ],
)
def test_a_pass_is_full_where_every_part_is_reached(
    check: Check, head: str, body: str, coverage: Coverage
) -> None:
    summary = TRUSTED.split(f"def {head[:8]}")[1].split('"""')[1].partition("\n")[0]
    report = check(f'def {head}:\n    """{summary}"""\n    {body}\n', TRUSTED)
    assert (report.verdict, report.coverage) == (Verdict.PASS, coverage), report


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
