"""A pass is earned on calls that tell the trusted function from its edits, with all kinds of characters and sizes."""

from __future__ import annotations

import pytest

from codeguard.models import CONVICTING, Verdict
from tests.behavior.conftest import Check
from tests.behavior.test_verdict_rows import SEALED

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


@pytest.mark.parametrize(
    ("code", "trusted"),
    [
        (
            "import re\n\n\ndef words(s):\n    '''Words of a text.'''\n    return re.findall(r\"[\\w'\\\"]+\", s)\n",
            WORDS,
        ),
        (
            "def words(s):\n    '''Words of a text.'''\n    return [part for part in s.split(' ') if part]\n",
            WORDS,
        ),
        (LATEST.replace("not in seen:", "not in seen[-30:]:"), LATEST),
        (LATEST.replace("not in seen:", "not in seen[-1000:]:"), LATEST),
    ],
    ids=["characters", "white space", "a window of thirty", "a window of a thousand"],
)
def test_characters_and_sizes_that_no_example_has_cost_the_pass(
    check: Check, code: str, trusted: str
) -> None:
    report = check(code, trusted)
    assert report.verdict is not Verdict.PASS
    assert report.verdict not in CONVICTING


def test_the_same_in_other_words_passes(check: Check) -> None:
    for code, trusted in (
        (
            "def words(s):\n    '''Words of a text.'''\n    return [part for part in s.split() if part]\n",
            WORDS,
        ),
        (
            "def unseen(values):\n    '''Every value once.'''\n    return list(dict.fromkeys(values))\n",
            LATEST,
        ),
    ):
        assert check(code, trusted).verdict is Verdict.PASS


def test_calls_that_notice_few_edits_of_the_trusted_function_are_too_weak(check: Check) -> None:
    pretender = (
        "def role(token):\n    '''The role of a token.'''\n    return 'user' if token else str('user')\n"
    )
    report = check(pretender, SEALED)
    assert (report.verdict, report.decided_by) == (Verdict.NO_SIGNAL, "too-weak")
    assert not report.claims
    assert "too weak to tell" in report.reason
