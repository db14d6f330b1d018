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


# What is trusted, one example, and a function that agrees on all that is made of it but is another one to its callers.
BEYOND = {
    "arguments by name": ("less(price, part)", "9, 2", "price - part", "less(part, price)", "part - price"),
    "read twice": ("down(row)", "[1, 3, 2]", "sorted(row)[::-1]", "down(row)", "reversed(sorted(row))"),
    "an iterator": ("total(row)", "[1, 3, 2]", "sum(row)", "total(row)", "2 * sum(row) - sum(row)"),
    "a character": ("cut(text)", "'an ox'", "text.split()", "cut(text)", "[word for word in text.split(' ') if word]"),
    "a depth": ("wide(row)", "[[1], [2, 3]]", "str(row).count(',') + 1", "wide(row)", "sum(map(len, row)) or 1"),
    "a kept result": ("full(r)", "[1, 0, 2]", "[x for x in r if x]", "full(r)", "r if all(r) else [x for x in r if x]"),
    "a size": ("half(number)", "7", "number // 2", "half(number)", "int(number * 0.5)"),
}  # fmt: skip


@pytest.mark.parametrize(("head", "shown", "body", "own_head", "own"), BEYOND.values(), ids=BEYOND)
def test_agreement_on_what_an_example_shows_is_no_pass(
    check: Check, head: str, shown: str, body: str, own_head: str, own: str
) -> None:
    name = head.partition("(")[0]
    form = 'def {}:\n    """Return what the example of it shows.\n\n    >>> {}({})\n    """\n    return {}\n'
    report = check(form.format(own_head, name, shown, own), form.format(head, name, shown, body))
    assert (report.verdict, report.decided_by) == (Verdict.DIFFERS, "differs-beyond"), report


PLAIN = "def discounted(price, percent):"
STATES = {
    "a default": ("", "def discounted(price, percent, seen=[]):", "seen.append(1)", "len(seen)"),
    "a global": ("SEEN = []\n", PLAIN, "SEEN.append(1)", "len(SEEN)"),
    "an iterator": ("LEFT = iter(range(900))\n", PLAIN, "left = next(LEFT, None)", "700 * (left is None)"),
    "itself": ("", PLAIN, "discounted.seen = getattr(discounted, 'seen', 0) + 1", "discounted.seen"),
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
