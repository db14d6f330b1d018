"""One order of reasons in every report: harm, then wrong results, then suspicion; a chunk's own before its file's."""

from itertools import pairwise

import pytest

from codeguard.integrations.documents import verdict_of
from codeguard.models import Chunk, ChunkKind, Evidence, Severity, Span, Trust
from codeguard.ranking.reranking import Ranked, rank
from codeguard.ranking.scoring import urgency
from codeguard.ranking.signals import load_all
from codeguard.reports.html.page import environment
from codeguard.weights import NO_HARM, is_harm

HARM = Evidence("capabilities", "exfiltration", 4.0, "sends keys", demotes=True, severity=Severity.CRITICAL)
WRONG = Evidence("behavior", "fail", 3.0, "wrong on 2 of 3", convicts=True, severity=Severity.HIGH)
FALSE_CLAIM = Evidence("behavior", "lookalike", 4.0, "claims to be add", demotes=True, severity=Severity.HIGH)
BESIDE = Evidence(
    "audit", "company", 5.0, "stands in the same file as …", demotes=True, severity=Severity.MEDIUM
)
FLAW = Evidence("insecure", "sql", 1.0, "a query from a parameter", severity=Severity.MEDIUM)
ORIGIN = Evidence("provenance", "unlisted", 0.5, "unknown origin")


def test_the_order_of_reasons() -> None:
    for first, second in pairwise([HARM, WRONG, FALSE_CLAIM, BESIDE, FLAW, ORIGIN]):
        assert urgency(first) > urgency(second), (first.id, second.id)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (HARM, True),
        (Evidence("behavior", "violation", 3.0, "opened a socket", convicts=True), True),
        (WRONG, False),
        (FALSE_CLAIM, False),
        (FLAW, False),
        (Evidence("capabilities", "exfiltration", 0.0, "accepted", severity=Severity.CRITICAL), False),
    ],
)
def test_what_counts_as_harm(item: Evidence, expected: bool) -> None:
    assert is_harm(item) is expected


def test_what_a_signal_without_intent_finds_is_no_harm() -> None:
    assert {signal.name for signal in load_all() if not getattr(signal, "intent", False)} <= NO_HARM


def test_pages_and_drop_ins_give_reasons_in_this_order() -> None:
    chunk = Chunk("a.py", "f", ChunkKind.FUNCTION, Span(1, 1, 0, 1), "x", "0" * 64, "python")
    judged = Ranked("a", chunk, Trust.UNLISTED, 0.1, 0.0, (ORIGIN, BESIDE, WRONG, HARM))
    (item,), _, _ = rank([judged])
    expected = [part.reason for part in (HARM, WRONG, BESIDE, ORIGIN)]
    assert verdict_of(item)["reasons"] == expected
    shown = str(environment().get_template("parts.html").module.reasons(item))
    assert [shown.index(reason) for reason in expected] == sorted(shown.index(reason) for reason in expected)
