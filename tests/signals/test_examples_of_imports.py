"""Each rule's own examples: it fires on the bad one and not on the good one."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext, Rule
from codeguard.analysis.rules.imports import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file


def fired(text: str, rule: Rule) -> set[str]:
    return {
        item.rule for item in SIGNAL.inspect(Reading(chunk_file("x.py", text.encode())), DetectorContext())
    }


@pytest.mark.parametrize("rule", SIGNAL.rules, ids=lambda rule: rule.id)
def test_examples(rule: Rule) -> None:
    assert rule.explanation
    assert rule.cwe
    assert rule.id in fired(rule.bad, rule)
    assert rule.id not in fired(rule.good, rule)
