"""What a person and a program read of the functions of a checked file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_samples import judged

from codeguard.audit.check import CheckedFunction
from codeguard.models import CheckReport, Coverage, Verdict
from codeguard.reports import check
from codeguard.reports.check import check_json, check_text, untested


def checked(verdict: Verdict, level: str = "L3", **fields: object) -> CheckedFunction:
    report = CheckReport(verdict, "the reason", level, **fields)  # type: ignore[arg-type]
    return CheckedFunction(judged("m.py", 0.0, start=4).chunk, report)


FALSE_CLAIM = checked(Verdict.NO_SIGNAL, claims="own.py:1 add", refuted=True)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_function_is_tested_where_calls_decided_something(verdict: Verdict) -> None:
    item = checked(verdict)
    expected = verdict not in (Verdict.UNSUPPORTED, Verdict.NO_SIGNAL, Verdict.ERROR)
    assert check.tested(item) is expected
    assert untested([item, item]) is not expected


def test_a_claim_that_calls_disproved_is_a_test() -> None:
    assert check.tested(FALSE_CLAIM)
    assert not check.tested(checked(Verdict.NO_SIGNAL, claims="own.py:1 add"))
    assert not untested([checked(Verdict.ERROR), FALSE_CLAIM])


def test_the_first_line_counts_and_names_the_level_below_the_required_one() -> None:
    items = [checked(Verdict.PASS), checked(Verdict.NO_SIGNAL)]
    assert check_text(items, "L2").splitlines()[0] == "1 of 2 functions tested"
    below = check_text([checked(Verdict.UNSUPPORTED, "L1")], "L2").splitlines()[0]
    assert below.startswith("sandbox L1 is BELOW the required L2")
    assert check_json([checked(Verdict.UNSUPPORTED, "L1")], "L2")["warnings"] == [
        below.removesuffix(", 0 of 1 functions tested")
    ]
    assert check_json(items, "L2")["warnings"] == []


def test_effects_are_shown_without_imports_and_of_unreached_branches_two() -> None:
    notes = (*(f"not reached: line {number}" for number in range(5)), "a remark")
    item = checked(
        Verdict.PASS,
        effects=("import:os", "open:x"),
        notes=notes,
        calls=7,
        coverage=Coverage.PARTIAL,
        tier="native",
    )
    text = check_text([item], "L2")
    assert "tried: open:x\n" in text
    assert "7 calls in full Python, confined by the system\n" in text
    assert "note: a remark" in text
    assert [line.strip() for line in text.splitlines() if "not reached" in line] == [
        "not reached: line 0", "not reached: line 1",
    ]  # fmt: skip
    assert "… and 3 more (--format json lists them)" in text
    assert "tried" not in check_text([checked(Verdict.PASS, effects=("import:os",))], "L2")


@pytest.mark.parametrize(("verdict", "convicted"), [(Verdict.FAIL, True), (Verdict.DIFFERS, False)])
def test_convictions_are_marked(verdict: Verdict, convicted: bool) -> None:
    own = judged("own.py", 0.0, text='def add(a, b):\n    "Add."\n    return a\n').chunk
    item = replace(checked(verdict), own=own)
    text = check_text([item], "L2")
    assert ("CONVICTED" in text) is convicted
    assert ("own.py:1, without docstrings:\n            -return a\n" in text) is convicted
    assert check_json([item], "L2")["functions"][0]["convicted"] is convicted
