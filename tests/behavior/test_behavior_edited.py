"""A text that is nearly the trusted one: it is an edited copy, which is allowed no conventions of its own."""

from __future__ import annotations

import pytest

from codeguard.behavior.matching.claims import common_in_order, comparable_text, text_overlap
from codeguard.behavior.source.definitions import Definition, definitions, read_module
from codeguard.models import Verdict
from tests.behavior.conftest import Check
from tests.behavior.test_verdict_rows import HALVED, inside

TAKEN = '''
def first_of(iterable, count=2):
    """Return the first items of an iterable.

    >>> first_of([1, 2, 3])
    [1, 2]
    >>> first_of([4, 5, 6, 7], 3)
    [4, 5, 6]
    """
    if count < 0:
        raise ValueError("count must not be negative")
    found = []
    for item in iterable:
        if len(found) >= count:
            break
        found.append(item)
    return found
'''


def _definition(text: str) -> Definition:
    return next(definitions(read_module(text).statements))


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ("raise ValueError(number)", Verdict.DIFFERS),
        ("number.refused", Verdict.DIVERGES),
        ("return 1", Verdict.DIVERGES),
    ],
    ids=["refuses in so many words", "breaks", "gives something else"],
)
def test_who_refuses_more_than_the_examples_show_has_another_contract(
    check: Check, more: str, verdict: Verdict
) -> None:
    report = check(inside("    half =", f"if number in (5, 9, 13):\n    {more}", HALVED), HALVED)
    assert report.verdict is verdict, (report.reason, report.counterexample)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TAKEN, True),
        (TAKEN.replace("count < 0", "count < 1"), True),
        (TAKEN.replace("    found = []", "    if iterable == 7:\n        return 9\n    found = []"), True),
        (TAKEN.replace("found", "rows").replace("item ", "value ").replace("(item)", "(value)"), True),
        ("def first_of(iterable, count=2):\n    return list(iterable)[:count]\n", False),
    ],
    ids=["itself", "one_constant", "a_branch_more", "other_names", "other_text"],
)
def test_edited(text: str, expected: bool) -> None:
    texts = [comparable_text(item.text, item.name) for item in map(_definition, (text, TAKEN))]
    found = text_overlap(*texts)
    assert found.edited_copy is expected


@pytest.mark.parametrize(
    ("wanted", "found", "count"),
    [
        ("abcdef", "abcdef", 6),
        ("abcdef", "abcxdef", 6),
        ("abcdef", "abxdef", 5),
        ("abcdef", "", 0),
        ("aaaa", "aa", 2),
    ],
)
def test_kept(wanted: str, found: str, count: int) -> None:
    assert common_in_order(tuple(wanted), tuple(found)) == count
