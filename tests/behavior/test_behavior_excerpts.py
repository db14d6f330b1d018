"""A function that was cut out of a trusted file is run with what that file binds."""

from __future__ import annotations

import pytest

from codeguard.models import Coverage, Verdict
from tests.behavior.conftest import Check

TRUSTED = '''
import re

_INDENTED = re.compile(r"(?m)^( +)(?=\\S)")
_LEAST = 2


class EmptyText(ValueError):
    pass


def _margins(text):
    return [len(found) for found in _INDENTED.findall(text)]


def common_margin(text, least=_LEAST):
    """Return the common margin of the indented lines of a text, not below the least one."""
    if not text:
        raise EmptyText("no text")
    found = _margins(text)
    return max(min(found), least) if found else least
'''
EXCERPT = TRUSTED[TRUSTED.index("def common_margin") :]


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("", "", Verdict.PASS),
        ("max(min(found), least)", "min(min(found), least)", Verdict.DIVERGES),
        ("if found else least", "if found else least + 1", Verdict.DIVERGES),
        ("def common", "def _margins(text):\n    return []\n\n\ndef common", Verdict.DIVERGES),
        ("_margins(text)", "_unheard_of(text)", Verdict.NO_SIGNAL),
    ],
    ids=["unchanged", "bound", "default", "own_helper", "of_no_file"],
)
def test_an_excerpt_is_completed_from_the_trusted_file(
    check: Check, old: str, new: str, verdict: Verdict
) -> None:
    report = check(EXCERPT.replace(old, new), TRUSTED)
    assert report.verdict is verdict, (report.reason, report.counterexample)
    assert report.verdict is not Verdict.PASS or report.coverage is Coverage.PARTIAL
