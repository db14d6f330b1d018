"""Which trusted function a candidate is taken for: by text, by words, by results, and what bounds that."""

from __future__ import annotations

import pytest

from codeguard.behavior.inputs.preconditions import preconditions
from codeguard.models import CheckReport, Verdict
from tests.behavior.conftest import Check

TRUSTED = '''
def digit_groups(number, size=3):
    """Return the groups of digits that a number is written in.

    >>> digit_groups(1234567)
    ['1', '234', '567']
    >>> digit_groups(98, 1)
    ['9', '8']
    >>> digit_groups(100000, 4)
    ['10', '0000']
    """
    text = str(number)
    first = len(text) % size
    groups = [text[:first]] if first else []
    for start in range(first, len(text), size):
        groups.append(text[start : start + size])
    return groups
'''
RENAMED = '''
def pieces(amount, width=3):
    """Work on what is handed over."""
    written = str(amount)
    head = len(written) % width
    found = [written[:head]] if head else []
    for place in range(head, len(written), width):
        found.append(written[place : place + width])
    return found
'''


@pytest.mark.parametrize(
    ("old", "new", "held"),
    [
        ("pieces", "pieces", False),
        ("if head else", "if head > 1 else", True),
        ("place + width]", "place + width + 1]", True),
        ("found.append(", "found.insert(0, ", True),
    ],
    ids=["clean", "bound", "slice", "call"],
)
def test_a_copy_is_known_by_its_text_under_any_names(check: Check, old: str, new: str, held: bool) -> None:
    report = check(RENAMED.replace(old, new), TRUSTED)
    assert _held(report) is held, report
    assert held or report.verdict is Verdict.PASS


OTHER = """
def cut_up(n, k=3):
    s = f"{{n}}"
    out = []
    while s:
        out.insert(0, s[-k:])
        s = s[:-k]
    return {result}
"""


@pytest.mark.parametrize(
    ("result", "held"),
    [("out", False), ("out if n % 5 else out[::-1]", True), ("tuple(out)", False)],
    ids=["same", "wrong on a fifth", "another form"],
)
def test_another_implementation_is_known_by_its_results(check: Check, result: str, held: bool) -> None:
    report = check(OTHER.format(result=result), TRUSTED)
    assert report.origin.startswith("trusted.py") or report.claims, report
    assert _held(report) is held, report


def test_what_does_something_else_is_taken_for_nothing(check: Check) -> None:
    report = check("def cut_up(n, k=3):\n    return [c * k for c in str(n)]\n", TRUSTED)
    assert report.verdict is Verdict.NO_SIGNAL
    assert not report.claims


UNCHANGED = '''
def plain_text(value):
    """Return what was given as text.

    >>> plain_text("first and second")
    'first and second'
    >>> plain_text("x_1")
    'x_1'
    """
    if isinstance(value, bytes):
        return value.decode()
    return str(value)
'''


@pytest.mark.parametrize(
    "body",
    ["word.replace('_', '-')", "re.sub('^( +)', '', word)", "word.encode('ascii', 'ignore').decode()"],
)
def test_to_leave_most_inputs_alone_is_no_likeness(check: Check, body: str) -> None:
    report = check(f"import re\ndef another(word):\n    word = word + ''\n    return {body}\n", UNCHANGED)
    assert report.verdict is Verdict.NO_SIGNAL
    assert not report.claims


def _held(report: CheckReport) -> bool:
    return report.refuted or report.verdict in (Verdict.FAIL, Verdict.DIVERGES)


STACK = '''
class Stack:
    """A pile of items."""

    def __init__(self):
        self.items = []

    def push(self, item):
        """Put an item on top and return how many there are.

        >>> Stack().push(4)
        1
        """
        self.items.append(item)
        return len(self.items)

    def peek(self, default=None):
        """Return the item on top.

        >>> Stack().peek(7)
        7
        """
        return self.items[-1] if self.items else default
'''
PUSH = '''
class {name}:
    def __init__(self):
        self.rows = {{}}

    def push(self, item):
        """Put an item on top and return how many there are."""
        self.rows[item] = item
        return {result}
'''


@pytest.mark.parametrize(
    ("name", "result", "verdict"),
    [
        ("Stack", "len(self.rows)", Verdict.PASS),
        ("ArrayStack", "item", Verdict.DIVERGES),
        ("Repository", "item", Verdict.NO_SIGNAL),
    ],
)
def test_methods_are_compared_within_akin_classes(
    check: Check, name: str, result: str, verdict: Verdict
) -> None:
    report = check(PUSH.format(name=name, result=result), STACK)
    assert report.verdict is verdict, report
    assert not report.claims


MEAN = '''
def mean(values):
    """Return the mean, the larger of two neighbours where it lies between.

    >>> mean([1, 2])
    2
    """
    return -(-sum(values) // len(values))
'''


def test_the_teams_own_code_comes_before_shipped_specs(check: Check) -> None:
    assert check(MEAN, shipped=True).verdict is Verdict.FAIL
    assert check(MEAN, MEAN, shipped=True).verdict is Verdict.PASS
    other = (
        "def mean(rows):\n    total = sum(rows)\n    return total // len(rows) + (total % len(rows) > 0)\n"
    )
    assert check(other, MEAN, shipped=True).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "meets", "fails"),
    [
        ("Find an item in a sorted list.", [1, 2, 2], [2, 1]),
        ("The rows must be sorted.", [1, 2], [3, 1]),
        ("Return the largest of a non-empty list.", [4], []),
        ("Permute a list of distinct numbers.", [1, 2], [1, 1]),
        ("Return the divisors of a positive integer.", 4, 0),
        ("Return the root of a non-negative number.", 0, -1),
    ],
)
def test_words_bound_what_counts(text: str, meets: object, fails: object) -> None:
    conditions = preconditions(text, [])
    assert all(holds(meets) for holds in conditions)
    assert not all(holds(fails) for holds in conditions)


@pytest.mark.parametrize(
    "text",
    [
        "Return a sorted list.",
        "Sort a list into a new sorted list.",
        "Return the distinct items.",
        "Whatever.",
    ],
)
def test_what_is_given_back_is_no_condition(text: str) -> None:
    assert not preconditions(text, [])


def test_an_example_of_it_voids_a_condition() -> None:
    assert not preconditions("Find an item in a sorted list.", [([3, 1], 3)])
