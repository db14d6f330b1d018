"""Each rule's own examples: it fires on the bad one, and its signal finds nothing of weight in the good one."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import TrustedFunctions
from codeguard.analysis.rules import load_file_signals
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Rule
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Severity

# A file may be a secret by its name alone: see `tests/secrets`.
SIGNALS = [signal for signal in load_file_signals() if signal.name != "secrets"]
SUFFIXES = {"python": "py", "markdown": "md", "javascript": "js", "bash": "sh", "yaml": "yml"}


def found(signal: FileSignal, rule: Rule, text: str) -> dict[str, Severity]:
    """Return the rules that fire with their severities; where a copy is compared, the good example is trusted."""
    trusted = [chunk_file("t.py", rule.good.encode())] if signal.compares else []
    context = DetectorContext(TrustedFunctions.from_files(trusted))
    file = chunk_file(f"x.{SUFFIXES.get(rule.language, rule.language)}", text.encode())
    usual = {item.id: item.severity for item in signal.rules}
    matches = signal.inspect(Reading(file), context)
    return {item.rule: usual[item.rule] if item.severity is None else item.severity for item in matches}


@pytest.mark.parametrize(
    ("signal", "rule"),
    [(signal, rule) for signal in SIGNALS for rule in signal.rules],
    ids=lambda item: item.name if isinstance(item, FileSignal) else item.id,
)
def test_examples(signal: FileSignal, rule: Rule) -> None:
    assert all((rule.summary, rule.explanation, rule.cwe, rule.bad, rule.good))
    assert rule.id in found(signal, rule, rule.bad)
    good = found(signal, rule, rule.good)
    assert rule.id not in good
    assert max(good.values(), default=Severity.INFO) < Severity.MEDIUM


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_rules_have_names_of_their_own(signal: FileSignal) -> None:
    assert len({rule.id for rule in signal.rules}) == len(signal.rules)
