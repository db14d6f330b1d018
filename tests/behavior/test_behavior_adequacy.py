"""A pass is earned on calls that tell the trusted function from its edits, with all kinds of characters and sizes."""

from __future__ import annotations

import pytest

from codeguard.models import Verdict
from tests.behavior.conftest import Check

WORDS = '''
def words(text):
    """Return the words of a text.

    >>> words("a fine day")
    ['a', 'fine', 'day']
    >>> words("")
    []
    >>> words("one")
    ['one']
    """
    return text.split()
'''
LATEST = '''
def unseen(items):
    """Return each item once, in the order in which they come.

    >>> unseen([3, 1, 3])
    [3, 1]
    >>> unseen([])
    []
    >>> unseen([5, 5, 2])
    [5, 2]
    """
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return seen
'''


SPLIT = "def words(s):\n    '''Words of a text.'''\n    return [part for part in s.split({}) if part]\n"
FOUND = (
    "import re\n\n\ndef words(s):\n    '''Words of a text.'''\n    return re.findall(r\"[\\w'\\\"]+\", s)\n"
)
ONCE = "def unseen(values):\n    '''Every value once.'''\n    return list(dict.fromkeys(values))\n"
CASES = {
    "characters": (WORDS, FOUND, Verdict.DIFFERS),
    "white space": (WORDS, SPLIT.format("' '"), Verdict.DIFFERS),
    "a window of thirty": (LATEST, LATEST.replace("not in seen:", "not in seen[-30:]:"), Verdict.DIFFERS),
    "a window of a thousand": (
        LATEST,
        LATEST.replace("not in seen:", "not in seen[-1000:]:"),
        Verdict.DIFFERS,
    ),
    "a split in other words": (WORDS, SPLIT.format(""), Verdict.PASS),
    "a dict in place of a list": (LATEST, ONCE, Verdict.PASS),
}


@pytest.mark.parametrize(("trusted", "code", "verdict"), CASES.values(), ids=CASES)
def test_characters_and_sizes_that_no_example_has_cost_the_pass(
    check: Check, trusted: str, code: str, verdict: Verdict
) -> None:
    assert check(code, trusted).verdict is verdict
