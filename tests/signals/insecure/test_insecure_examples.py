"""What a rule makes of code by where its values come from."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
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


def test_rules_cover_many_weaknesses() -> None:
    assert len(SIGNAL.rules) >= 50
    assert len({number for rule in SIGNAL.rules for number in rule.cwe}) >= 45


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
