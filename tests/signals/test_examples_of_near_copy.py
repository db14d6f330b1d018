"""Each rule's own examples: the good one is the trusted function, the bad one its copy."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import TrustedFunctions
from codeguard.analysis.rules.base import DetectorContext, Rule
from codeguard.analysis.rules.near_copy import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file


def fired(text: str, rule: Rule) -> set[str]:
    index = TrustedFunctions.from_files([chunk_file("t.py", rule.good.encode())])
    reading = Reading(chunk_file("x.py", text.encode()))
    return {item.rule for item in SIGNAL.inspect(reading, DetectorContext(index))}


@pytest.mark.parametrize("rule", SIGNAL.rules, ids=lambda rule: rule.id)
def test_examples(rule: Rule) -> None:
    assert rule.explanation
    assert rule.cwe
    assert rule.id in fired(rule.bad, rule)
    assert rule.id not in fired(rule.good, rule)
