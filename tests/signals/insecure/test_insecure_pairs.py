"""Insecure texts are found at medium severity or above, and their fixed counterparts are not."""

from __future__ import annotations

import pairs_files
import pairs_injection
import pytest
from pairs_rules import RULES

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.insecure import SIGNAL
from codeguard.analysis.rules.secrets import SIGNAL as SECRETS
from codeguard.models import Severity, SourceFile, text_digest

PAIRS = [*pairs_injection.PAIRS, *pairs_files.PAIRS]


def serious(text: str) -> list[str]:
    file = SourceFile("sample", text, text_digest(text), "python", ())
    reading = Reading(file)
    found = SIGNAL.inspect(reading, DetectorContext())
    rules = [item.rule for item in found if item.severity is not None and item.severity >= Severity.MEDIUM]
    # What looks generated is told by the signal about secrets alone.
    return [*rules, *(item.rule for item in SECRETS.inspect(reading, DetectorContext()))]


@pytest.mark.parametrize(("name", "bad", "good"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_the_insecure_text_is_found_by_its_rule_and_its_twin_is_not(name: str, bad: str, good: str) -> None:
    assert set(RULES[name]) <= set(serious(bad))
    assert not serious(good)


def test_each_pair_has_a_name_and_rules() -> None:
    assert len({name for name, _, _ in PAIRS}) == len(PAIRS)
    assert all(RULES[name] for name, _, _ in PAIRS)
