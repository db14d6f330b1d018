"""A promise to change nothing counts beside a call that changes something."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.safety_claims import SIGNAL
from codeguard.models import SourceFile, text_digest

EFFECT = "import os, shutil\n\n\ndef f(path):\n    {}\n    {}\n    return path\n"


def rules_in(text: str) -> list[str]:
    file = SourceFile("sample", text, text_digest(text), "python", ())
    return [item.rule for item in SIGNAL.inspect(Reading(file), DetectorContext())]


@pytest.mark.parametrize(
    ("said", "done", "found"),
    [
        ('"""Read-only: makes no changes."""', "os.remove(path)", True),
        ('"""No side effects; returns the path."""', "shutil.move(path, '/elsewhere')", True),
        ("# nothing is deleted", "shutil.rmtree(path)", True),
        ('"""Never modifies files."""', "open(path).read()", False),
        ('"""Remove read-only files."""', "os.remove(path)", False),
        ('"""Make sure that nothing is deleted twice."""', "os.remove(path)", False),
    ],
)
def test_a_promise_to_change_nothing_is_held_against_what_is_called(
    said: str, done: str, found: bool
) -> None:
    assert ("false-effect" in rules_in(EFFECT.format(said, done))) is found


def test_the_rule_s_examples() -> None:
    rule = SIGNAL.rules[0]
    assert rules_in(rule.bad)
    assert not rules_in(rule.good)
