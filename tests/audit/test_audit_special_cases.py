"""Findings of several rules that say the same of one place are one finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audit_helpers import look, rules, write

from codeguard.analysis.observations import Place
from codeguard.audit.findings import Finding, Standing
from codeguard.audit.inspection import SHOWN_COPIES, without_general
from codeguard.audit.rules import all_rules
from codeguard.models import Confidence, Severity

SPECIAL_OF = {"x.special": ("x.general",)}


def finding(rule: str, columns: tuple[int, int] = (5, 20), **changes: Any) -> Finding:
    values: dict[str, Any] = {
        "path": "a.py",
        "place": Place(3, columns[0], 3, columns[1]),
        "severity": Severity.MEDIUM,
        "confidence": Confidence.MEDIUM,
        "reason": f"by {rule}",
    }
    return Finding(rule, **{**values, **changes})


SPECIAL, GENERAL = finding("x.special"), finding("x.general")

CASES = {
    "the special case stays": ([GENERAL, SPECIAL], ["x.special"]),
    "a more severe general one stays": (
        [finding("x.general", severity=Severity.HIGH), SPECIAL],
        ["x.general"],
    ),
    "a more certain general one is kept beside it": (
        [finding("x.general", confidence=Confidence.HIGH), finding("x.special", severity=Severity.HIGH)],
        ["x.general", "x.special"],
    ),
    "of a low one certainty does not matter": (
        [finding("x.general", severity=Severity.LOW, confidence=Confidence.HIGH), SPECIAL],
        ["x.special"],
    ),
    "one rule by two ways": ([SPECIAL, finding("x.special", (7, 12))], ["x.special"]),
    "one rule at two places of a line": ([SPECIAL, finding("x.special", (30, 40))], ["x.special"] * 2),
    "another place of the line": ([finding("x.general", (20, 30)), SPECIAL], ["x.general", "x.special"]),
    "an empty place": ([finding("x.general", (5, 5)), SPECIAL], ["x.special"]),
    "another file": ([finding("x.general", path="b.py"), SPECIAL], ["x.general", "x.special"]),
    "rules that have nothing to do with each other": (
        [finding("y.other"), SPECIAL],
        ["y.other", "x.special"],
    ),
    "what is overruled stands for nothing": (
        [GENERAL, finding("x.special", standing=Standing.ACCEPTED)],
        ["x.general", "x.special"],
    ),
}


@pytest.mark.parametrize(("given", "left"), CASES.values(), ids=CASES)
def test_which_findings_are_left(given: list[Finding], left: list[str]) -> None:
    assert rules(without_general(given, SPECIAL_OF)) == left
    assert sorted(rules(without_general(given[::-1], SPECIAL_OF))) == sorted(left)


def test_the_one_that_stays_names_the_others_and_not_without_end() -> None:
    (found,) = without_general([GENERAL, SPECIAL], SPECIAL_OF)
    assert found.reason == "by x.special (also x.general: by x.general)"
    general = [f"x.g{n}" for n in range(9)]
    (found,) = without_general([SPECIAL, *map(finding, general)], {"x.special": general})
    assert found.reason.endswith(f"x.g2: by x.g2 and {9 - SHOWN_COPIES} more)")


def test_the_severity_that_decides_the_exit_code_never_falls() -> None:
    for given, _ in CASES.values():
        worst = max(item.severity for item in given if item.open)
        assert max(item.severity for item in without_general(given, SPECIAL_OF) if item.open) == worst


def test_rules_name_rules_that_exist_and_none_is_special_of_itself() -> None:
    special_of = {item.id: item.rule.special_of for item in all_rules() if item.rule.special_of}
    known = {item.id for item in all_rules()}
    assert special_of
    for rule, general in special_of.items():
        assert known.issuperset(general), rule
        assert all(rule not in special_of.get(other, ()) and other != rule for other in general), rule


RUNS = """
import requests


def run(url):
    code = requests.get(url, timeout=5).text
    exec(code)
"""


def test_code_from_the_network_that_is_run_is_told_once_and_a_selected_rule_is_shown(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": RUNS})
    of_the_line = ("capabilities.download-and-run", "insecure.code-injection")
    found = look(tmp_path, only=of_the_line).findings
    assert rules(found) == ["capabilities.download-and-run"]
    assert "(also insecure.code-injection: the answer of requests.get() reaches exec" in found[0].reason
    for rule in of_the_line:
        assert rules(look(tmp_path, only=(rule,)).findings) == [rule]


def test_a_certificate_that_is_not_verified_is_told_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a.py": "import requests\n\nrequests.get('https://example.com', verify=False, timeout=5)\n"},
    )
    assert rules(look(tmp_path, only=("insecure",)).findings) == ["insecure.tls-not-verified"]
