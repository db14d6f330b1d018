"""Each rule's own examples, each in as many files as it takes."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext, Rule
from codeguard.analysis.rules.flooding import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file


def fired(text: str) -> set[str]:
    """Return the rules that fire on six copies of a text, each in a file of its own."""
    readings = [Reading(chunk_file(f"f{number}.py", text.encode())) for number in range(6)]
    return {found.rule for _, found in SIGNAL.inspect_corpus(readings, DetectorContext())}


@pytest.mark.parametrize("rule", SIGNAL.rules, ids=lambda rule: rule.id)
def test_examples(rule: Rule) -> None:
    assert rule.explanation
    assert rule.cwe
    assert rule.id in fired(rule.bad)
    assert rule.id not in fired(rule.good)
