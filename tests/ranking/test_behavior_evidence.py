"""What the behavior signal says beside a verdict: what untested code reaches for, text around convicted code."""

from __future__ import annotations

import pytest

from codeguard.corpus.chunking import chunk_file
from codeguard.models import CheckReport, Chunk, Coverage, Evidence, SourceFile, Trust, Verdict
from codeguard.ranking.signals.base import SignalContext, SignalServices, Subject
from codeguard.ranking.signals.behavior import SIGNAL, describe
from codeguard.weights import Weights


def _said(text: str, symbol: str, reports: dict[str, CheckReport]) -> set[str]:
    """Return the ids of the evidence about a chunk, where the checker would say this of the functions."""
    return {item.id for item in _evidence(text, symbol, reports)}


def _evidence(text: str, symbol: str, reports: dict[str, CheckReport]) -> list[Evidence]:
    file = chunk_file("m.py", text.encode())

    def check(chunk: Chunk, _: SourceFile) -> CheckReport:
        return reports.get(chunk.symbol, CheckReport(Verdict.NO_SIGNAL, "nothing like it", "L3"))

    (chunk,) = [item for item in file.chunks if item.symbol == symbol]
    context = SignalContext(SignalServices(behavior=check), Weights())
    return list(SIGNAL.examine(Subject(chunk, file, Trust.UNLISTED, 0.0, 0.0), context))


CLASSES = """
'''Tools.'''
class One:
    '''The first.'''
    def wrong(self):
        return 1
class Two:
    '''The second.'''
    def right(self):
        return 2
"""


@pytest.mark.parametrize(("symbol", "demoted"), [("One", True), ("Two", False), ("", True)])
def test_a_class_speaks_for_its_own_methods(symbol: str, demoted: bool) -> None:
    convicted = CheckReport(Verdict.FAIL, "wrong", "L3")
    assert ("company" in _said(CLASSES, symbol, {"One.wrong": convicted})) is demoted


@pytest.mark.parametrize(("second", "demotes"), [(Verdict.DIVERGES, False), (Verdict.VIOLATION, True)])
def test_only_a_certain_conviction_demotes_the_text_around_it(second: Verdict, demotes: bool) -> None:
    reports = {
        "One.wrong": CheckReport(Verdict.DIVERGES, "wrong", "L3"),
        "Two.right": CheckReport(second, "wrong", "L3"),
    }
    (company,) = _evidence(CLASSES, "", reports)
    assert company.penalty > 0
    assert company.demotes is demotes


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
