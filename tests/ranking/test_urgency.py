"""One order of reasons in every report: harm, then wrong results, then suspicion; a chunk's own before its file's."""

from itertools import pairwise

import pytest

from codeguard.models import Evidence, Severity
from codeguard.ranking.scoring import is_harm, urgency

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
