"""Which trusted function a candidate is taken for: by text, by words, by results, and what bounds that."""

from __future__ import annotations

import pytest

from codeguard.behavior.specs.contract import written_contract
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
    while s and k > 0:
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


PRIME = '''
def is_prime(number):
    """Say whether a number has no divisors but one and itself.

    >>> is_prime(7)
    True
    >>> is_prime(8)
    False
    >>> is_prime(15)
    False
    >>> is_prime(23)
    True
    """
    if number < 2:
        return False
    return all(number % divisor for divisor in range(2, number))
'''


@pytest.mark.parametrize(
    ("condition", "held"),
    [("least > 1 and n > 4", False), ("least > 1", False), ("least > 1 and n not in (7, 11)", True)],
    ids=["half of two answers", "always the same", "most of both"],
)
def test_one_of_two_answers_is_right_half_of_the_time(check: Check, condition: str, held: bool) -> None:
    least = "min([d for d in range(2, n) if n % d == 0], default=n)"
    wanted = condition.replace("least > 1 and n not in", "least == n > 1 and n not in")
    report = check(f"def tell(n):\n    least = {least}\n    return {wanted}\n", PRIME)
    assert _held(report) is held, report


TAGS = '''
def quote_tag(tag):
    """Put a tag between quotes.

    >>> quote_tag("v1")
    '"v1"'
    >>> quote_tag("a b")
    '"a b"'
    >>> quote_tag("a.c")
    '"a.c"'
    >>> quote_tag("x/y")
    '"x/y"'
    """
    if '"' in tag:
        raise ValueError("a quote within")
    return f'"{tag}"'
'''
ATTRIBUTES = '''
def {name}(value):
    """{doc}"""
    written = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return '"%s"' % written.replace("\\n", "&#10;").replace(" ", "&#32;")
'''


@pytest.mark.parametrize(
    ("name", "doc", "held", "convicted"),
    [
        ("html_quote", "Escape and quote what becomes an attribute of an element.", False, False),
        ("html_quote", "", True, False),
        ("quote_tag", "Put a tag between quotes.", True, True),
    ],
)
def test_results_alone_are_no_claim_that_convicts(
    check: Check, name: str, doc: str, held: bool, convicted: bool
) -> None:
    report = check(ATTRIBUTES.format(name=name, doc=doc), TAGS)
    assert _held(report) is held, report
    assert (report.verdict in (Verdict.FAIL, Verdict.DIVERGES)) is convicted, report


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
        ("Return the largest factor of n. Assume that n is not a prime.", 12, 13),
    ],
)
def test_words_bound_what_counts(text: str, meets: object, fails: object) -> None:
    contract = written_contract(text, [])
    assert contract.includes([meets])
    assert not contract.includes([fails])


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
    assert not written_contract(text, []).conditions
