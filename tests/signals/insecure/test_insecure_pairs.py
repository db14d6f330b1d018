"""Insecure texts are found at medium severity or above, and their fixed counterparts are not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.insecure import SIGNAL
from codeguard.analysis.rules.secrets import SIGNAL as SECRETS
from codeguard.models import Severity, SourceFile, text_digest

PAIRS = tomllib.loads(Path(__file__).with_name("pairs.toml").read_text(encoding="utf-8"))["pair"]


def serious(text: str) -> list[str]:
    file = SourceFile("sample", text, text_digest(text), "python", ())
    reading = Reading(file)
    found = SIGNAL.inspect(reading, DetectorContext())
    rules = [item.rule for item in found if item.severity is not None and item.severity >= Severity.MEDIUM]
    # What looks generated is reported by the signal about secrets alone.
    return [*rules, *(item.rule for item in SECRETS.inspect(reading, DetectorContext()))]


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["name"] for pair in PAIRS])
def test_the_insecure_text_is_found_by_its_rules_and_its_twin_is_not(pair: dict[str, str]) -> None:
    assert set(pair["rules"]) <= set(serious(pair["insecure"]))
    assert not serious(pair["fixed"])
