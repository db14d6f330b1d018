"""Every rule fires on its own bad example and is silent on its good one."""

from __future__ import annotations

import ast

import pytest

from codeguard.models import Severity, SourceFile, text_digest
from codeguard.reading import Reading
from codeguard.signals.base import Context, Rule
from codeguard.signals.insecure import SIGNAL


def found(text: str) -> dict[str, Severity]:
    """Return the rules that fire on a text, each with its highest severity."""
    file = SourceFile("sample", text, text_digest(text), "python", ())
    result: dict[str, Severity] = {}
    for sighting in SIGNAL.inspect(Reading(file), Context()):
        assert sighting.severity is not None
        result[sighting.rule] = max(sighting.severity, result.get(sighting.rule, Severity.INFO))
    return result


@pytest.mark.parametrize("rule", SIGNAL.rules, ids=lambda rule: rule.id)
def test_a_rule_fires_on_its_bad_example_and_not_on_its_good_one(rule: Rule) -> None:
    ast.parse(rule.bad)
    ast.parse(rule.good)
    assert rule.id in found(rule.bad)
    assert rule.id not in found(rule.good)


@pytest.mark.parametrize("rule", SIGNAL.rules, ids=lambda rule: rule.id)
def test_the_good_example_is_good_for_every_rule(rule: Rule) -> None:
    assert not {name for name, severity in found(rule.good).items() if severity >= Severity.MEDIUM}


def test_rules_are_documented_and_cover_many_weaknesses() -> None:
    assert len({rule.id for rule in SIGNAL.rules}) == len(SIGNAL.rules) >= 50
    assert len({number for rule in SIGNAL.rules for number in rule.cwe}) >= 45
    for rule in SIGNAL.rules:
        assert rule.summary
        assert rule.explanation
        assert rule.bad
        assert rule.good
        assert rule.cwe
