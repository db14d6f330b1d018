"""Each rule's own examples: it fires on the bad one and not on the good one."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import TrustedFunctions
from codeguard.analysis.rules.base import DetectorContext, Rule
from codeguard.analysis.rules.capabilities import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file


def fired(text: str, rule: Rule) -> set[str]:
    trusted = TrustedFunctions.from_files(
        [chunk_file("t.py", rule.good.encode())] if rule.id == "beyond-twin" else []
    )
    reading = Reading(chunk_file("x.py", text.encode()))
    return {item.rule for item in SIGNAL.inspect(reading, DetectorContext(trusted))}


@pytest.mark.parametrize("rule", [rule for rule in SIGNAL.rules if rule.bad], ids=lambda rule: rule.id)
def test_examples(rule: Rule) -> None:
    assert rule.id in fired(rule.bad, rule)
    assert rule.id not in fired(rule.good, rule)


def test_every_rule_is_explained() -> None:
    for rule in SIGNAL.rules:
        assert rule.explanation
        assert all((rule.bad, rule.good, rule.cwe))
