"""Each rule's own examples: the good one is the trusted function, the bad one its copy."""

from __future__ import annotations

import pytest

from codeguard.chunking.chunker import chunk_file
from codeguard.reading import Reading
from codeguard.reading.twins import TrustedFunctions
from codeguard.signals.base import Context, Rule
from codeguard.signals.near_copy import SIGNAL


def fired(text: str, rule: Rule) -> set[str]:
    index = TrustedFunctions.from_files([chunk_file("t.py", rule.good.encode())])
    reading = Reading(chunk_file("x.py", text.encode()))
    return {item.rule for item in SIGNAL.inspect(reading, Context({"trusted_functions": index}))}


@pytest.mark.parametrize("rule", SIGNAL.rules, ids=lambda rule: rule.id)
def test_examples(rule: Rule) -> None:
    assert rule.explanation
    assert rule.cwe
    assert rule.id in fired(rule.bad, rule)
    assert rule.id not in fired(rule.good, rule)
