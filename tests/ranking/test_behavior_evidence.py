"""The line that the behavior signal says of a report."""

from __future__ import annotations

import pytest

from codeguard.models import CheckReport, Coverage, Verdict
from codeguard.ranking.signals.behavior import describe


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (CheckReport(Verdict.FAIL, "wrong on 1 of 2", "L3"), "fail: wrong on 1 of 2"),
        (
            CheckReport(Verdict.FAIL, "wrong", "L3", origin="own.py:1"),
            "fail: wrong; expectation from own.py:1",
        ),
        (CheckReport(Verdict.NO_SIGNAL, "", "L3", claims="add"), "no_signal; reads like add"),
        (CheckReport(Verdict.PASS, "", "L3", claims="add", coverage=Coverage.FULL), "pass"),
        (
            CheckReport(Verdict.PASS, "", "L3", coverage=Coverage.PARTIAL),
            "pass; not every part was shown to matter: no bonus",
        ),
    ],
)
def test_one_line_says_the_verdict_and_why(report: CheckReport, line: str) -> None:
    assert describe(report) == line


def test_a_claim_that_a_call_refuted_is_not_said_to_read_like_it() -> None:
    report = CheckReport(Verdict.NO_SIGNAL, "", "L3", claims="add", refuted=True)
    assert "reads like" not in describe(report)
