"""Deceptive names in code whose language has no lexer here, and prose in other scripts, which is none."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.deceptive import SIGNAL
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Severity

_SEVERITY = {rule.id: rule.severity for rule in SIGNAL.rules}


def grave(text: str, name: str) -> list[str]:
    found = SIGNAL.inspect(Reading(chunk_file(name, text.encode())), DetectorContext())
    return [
        item.rule
        for item in found
        if (_SEVERITY[item.rule] if item.severity is None else item.severity) >= Severity.MEDIUM
    ]


@pytest.mark.parametrize("name", ["a.sol", "a.swift", "a.lua", "a.sql", "a.pl", "a.s"])
@pytest.mark.parametrize(
    "text",
    [
        "function transfer(x) { }\nfunction tr\u0430nsfer(x) { }\n",
        "function isAdmin() { }\nfunction is\u200bAdmin() { }\n",
        "level = 1;\nrun(\u3164);\n",
        "x = 1\u037e\ny = 2;\n",
    ],
)
def test_attacks(name: str, text: str) -> None:
    assert grave(text, name)


@pytest.mark.parametrize(
    "text", ["Привет, мир.\nЭто просто текст.\n", "שלום עולם\n", "Ελληνικά\n\nκείμενο, χωρίς κώδικα\n"]
)
def test_prose(text: str) -> None:
    assert grave(text, "a.txt") == []
