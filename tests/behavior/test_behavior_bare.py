"""Functions that need no argument: changed copies of them are called as they are, and with a command line."""

from __future__ import annotations

import ast

import pytest

from codeguard.behavior.inputs.bare import bare_calls
from codeguard.behavior.source.definitions import definitions
from codeguard.models import Verdict
from tests.behavior.conftest import Check

LIMITS = '''
def limits():
    """Return the limits of an account."""
    found = {}
    for name, share in (("daily", 1), ("monthly", 10)):
        found[name] = share * 100
    if found["daily"] > found["monthly"]:
        raise ValueError(found)
    return found
'''
MAIN = '''
import sys

def main():
    """Print the arguments in lower case, or loud."""
    loud = False
    for word in sys.argv[1:]:
        if word == "--loud":
            loud = True
            continue
        print(word.upper() if loud else word.lower())
'''


@pytest.mark.parametrize(
    ("trusted", "old", "new"),
    [
        (LIMITS, "* 100", "* 900"),
        (MAIN, "word.upper() if", "word.title() if"),
        (MAIN, "sys.argv[1:]", "sys.argv[2:]"),
    ],
)
def test_changed_copy_is_held_to_what_it_does_without_an_argument(
    trusted: str, old: str, new: str, check: Check
) -> None:
    assert check(trusted.replace(old, new), trusted).verdict is Verdict.DIVERGES


def test_namesake_is_not_asked(check: Check) -> None:
    other = '''
    def limits():
        """Limits that the tests of this package use."""
        return {"yearly": 7}
    '''
    report = check(other, LIMITS)
    assert report.verdict is Verdict.NO_SIGNAL
    assert not report.refuted


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("import sys\ndef f():\n    return sys.argv == '--deep'\n", "--deep"),
        ("import getopt, sys\ndef f():\n    return getopt.getopt(sys.argv[1:], 'hvo:')\n", "-v"),
        ("def f(x):\n    return x\n", None),
    ],
)
def test_options_that_the_text_names_are_given(source: str, shown: str | None) -> None:
    (definition,) = definitions(ast.parse(source).body)
    setups = [call.setup for call in bare_calls(definition, source)]
    assert any(repr(shown) in setup for setup in setups) if shown else not setups
