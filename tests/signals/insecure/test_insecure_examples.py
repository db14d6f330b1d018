"""Every rule fires on its own bad example and is silent on its good one."""

from __future__ import annotations

import ast

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext, Rule
from codeguard.analysis.rules.insecure import SIGNAL
from codeguard.models import Severity, SourceFile, text_digest


def found(text: str) -> dict[str, Severity]:
    """Return the rules that fire on a text, each with its highest severity."""
    file = SourceFile("sample", text, text_digest(text), "python", ())
    result: dict[str, Severity] = {}
    for match in SIGNAL.inspect(Reading(file), DetectorContext()):
        assert match.severity is not None
        result[match.rule] = max(match.severity, result.get(match.rule, Severity.INFO))
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


_ROUTE = 'from flask import request\n\n@app.route("/x")\ndef view():\n    '


@pytest.mark.parametrize(
    ("text", "rule", "severity"),
    [
        ("with open(path) as f:\n    exec(f.read())\n", "code-injection", Severity.MEDIUM),
        (_ROUTE + 'exec(compile(request.data, name, "exec"))\n', "code-injection", Severity.HIGH),
        ('def f(flags):\n    exec(compile(SOURCE, "x", "exec", flags))\n', "code-injection", None),
        # what does not hold the sink itself, but leads there
        (
            "def a(x):\n    b(x)\ndef b(y):\n    eval(y)\n" + _ROUTE + "a(request.data)\n",
            "code-injection",
            Severity.HIGH,
        ),
        (
            "class A:\n    def __init__(self, x):\n        self.x = x\n    def run(self):\n        eval(self.x)\n",
            "code-injection",
            Severity.MEDIUM,
        ),
    ],
)
def test_severities_by_origin(text: str, rule: str, severity: Severity | None) -> None:
    assert found(text).get(rule) == severity
