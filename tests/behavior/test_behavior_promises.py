"""A described result depends on what a function takes, where nothing trusted does the same."""

from __future__ import annotations

import pytest

from codeguard.models import Verdict
from tests.behavior.conftest import Check

DOC = '"""Return the items in both."""'
IGNORING = [
    (f"def shared(first, second, least=1):\n    {DOC}\n    return len(str(first))", "second and least"),
    (f"def shared(first, *, second):\n    {DOC}\n    print(first)", "second"),
]
READING = [
    f"def shared(first, second):\n    {DOC}\n    return [item for item in first if item in second]",
    f"def shared(first, second, least=1):\n    {DOC}\n    return first and second",  # one of three
    f"def shared(first, second):\n    {DOC}\n    second += 1\n    return first",
    f"def shared(first, second):\n    {DOC}\n    return both(**locals())",
    f"def shared(first, _second):\n    {DOC}\n    return first",
    f"def shared(first, second):\n    {DOC}\n    return lambda: (first, second)",
    'def on_close(loop, error):\n    """A hook that reports the end of a loop."""\n    print(loop)',
    "def shared(first, second):\n    return first",  # describes nothing
    f"@register\ndef shared(first, second):\n    {DOC}\n    return first",
    f"class Both:\n    def shared(self, first, second):\n        {DOC}\n        return first",
]


@pytest.mark.parametrize(("code", "ignored"), IGNORING)
def test_what_ignores_half_of_what_it_takes_is_a_false_claim(check: Check, code: str, ignored: str) -> None:
    report = check(code)
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, True)
    assert report.reason == f"never reads {ignored}, although it describes a result"


@pytest.mark.parametrize("code", READING)
def test_what_reads_more_or_describes_no_result_is_left_alone(check: Check, code: str) -> None:
    report = check(code)
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, False)


def test_the_trusted_function_comes_first(check: Check) -> None:
    trusted = '''
        def clipped(text, width):
            """Return the beginning of a text.

            >>> clipped("abc", 2)
            'a'
            >>> clipped("xyz", 9)
            'x'
            """
            return text[:1]
    '''
    assert check(trusted.replace("text", "line"), trusted).verdict is Verdict.PASS
