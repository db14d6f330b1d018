"""Each rule's own examples: it fires on the bad one and not on the good one."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import TrustedFunctions
from codeguard.analysis.rules import agent, capabilities, imports, near_copy, obfuscation
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Rule
from codeguard.corpus.chunking import chunk_file

SIGNALS = [module.SIGNAL for module in (agent, capabilities, imports, near_copy, obfuscation)]


def fired(signal: FileSignal, rule: Rule, text: str) -> set[str]:
    """Return the rules that fire; where a copy is compared, the good example is the trusted function."""
    compares = signal.name == "near_copy"
    trusted = [chunk_file("t.py", rule.good.encode())] if compares else []
    context = DetectorContext(TrustedFunctions.from_files(trusted))
    name = "x.md" if signal.name == "agent" else "x.yml" if rule.language == "yaml" else "x.py"
    return {item.rule for item in signal.inspect(Reading(chunk_file(name, text.encode())), context)}


@pytest.mark.parametrize(
    ("signal", "rule"),
    [(signal, rule) for signal in SIGNALS for rule in signal.rules],
    ids=lambda item: item.name if isinstance(item, FileSignal) else item.id,
)
def test_examples(signal: FileSignal, rule: Rule) -> None:
    assert all((rule.explanation, rule.cwe, rule.bad, rule.good))
    assert rule.id in fired(signal, rule, rule.bad)
    assert rule.id not in fired(signal, rule, rule.good)
