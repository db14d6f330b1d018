"""Which trusted function a candidate is taken for: by text, by words, and what bounds that."""

from __future__ import annotations

import pytest

from codeguard.behavior.matching.claims import function_features
from codeguard.behavior.source.definitions import definitions, read_module
from codeguard.behavior.specs.contract import written_contract
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import references_of
from codeguard.corpus.chunking import chunk_file
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
        ("ArrayStack", "item", Verdict.FAIL),
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


def test_an_example_of_it_voids_a_condition() -> None:
    assert not written_contract("Find an item in a sorted list.", [([3, 1], 3)]).conditions


CHUNKER = """
class {owner}:
    def __init__(self, size):
        self.size = size
        self.kept = []

    def decode(self, content: {kind}) -> object:
        self.kept.append(content)
        if sum(map(len, self.kept)) < self.size:
            return []
        found = content[:0].join(self.kept)
        self.kept = []
        return [found[:self.size], found[self.size:]]
"""


def test_among_equal_texts_the_class_of_the_same_name_comes_first() -> None:
    text = "".join(CHUNKER.format(owner=owner, kind="object") for owner in ("Bytes", "Text", "Rows"))
    library = SpecLibrary().with_trusted([chunk_file("trusted.py", text.encode())])
    for owner in ("Bytes", "Text", "Rows"):
        own = CHUNKER.format(owner=owner, kind="str")
        wanted = function_features(
            next(item for item in definitions(read_module(own).statements) if item.name == "decode")
        )
        assert library.references_for(wanted)[0][0].definition.qualified_name == f"{owner}.decode"


def test_words_of_a_long_body_do_not_crowd_out_the_function_of_that_name() -> None:
    crowd = "\n".join(
        f"def other_{place}(rows):\n    start, end = {place}, len(rows)\n"
        "    while start < end:\n        start += 1\n    return [row for row in rows[start:end] if row]\n"
        for place in range(60)
    )
    trusted = f"{crowd}\ndef clipped(items, wanted):\n    return filter(wanted, items)\n"
    library = SpecLibrary().with_trusted([chunk_file("trusted.py", trusted.encode())])
    text = (
        "def clipped(rows, pred):\n    start, end = 0, len(rows)\n    while start < end and pred(rows[start]):\n"
        "        start += 1\n    return [row for row in rows[start:end] if row]\n"
    )
    (own,) = references_of(chunk_file("own.py", text.encode()))
    found = [reference.name for reference, _ in library.references_for(own.features)]
    assert "clipped" in found
