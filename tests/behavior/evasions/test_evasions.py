"""Code that is wrong outside and means to pass: each is shown to be wrong, and none gets the bonus of a pass."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from evasion_cases import CASES, FUNCTIONS, Case, Function

from codeguard.models import CheckReport, Coverage, Verdict

Check = Callable[..., CheckReport]
LEAST_CASES = 120
FAMILIES = {
    "odd result",
    "environment",
    "no branch",
    "counter",
    "mutation",
    "coverage",
    "trigger",
    "beyond the examples",
}
# Imports both modules by their files' names, as any program would, and compares one call.
DRIVER = """
import copy, importlib, sys
sys.path.insert(0, sys.argv[1])
name, before, earlier, shown = sys.argv[2], int(sys.argv[3]), eval(sys.argv[4]), eval(sys.argv[5])

def outcome(module):
    function = getattr(importlib.import_module(module), name)
    for _ in range(before):
        function(*copy.deepcopy(earlier))
    args = copy.deepcopy(shown)
    try:
        found = function(*args)
    except BaseException as error:
        return "raised", type(error).__name__
    # The plain value inside, as whoever prints or stores it gets it.
    for kind in (str, float, list):
        if isinstance(found, kind):
            found = kind(found) if kind is not float else kind.__float__(found)
    return "returned", found, args

expected, got = outcome("trusted_tools"), outcome("tools")
try:
    same = expected == got
except RecursionError:
    same = False
print("right" if same else "wrong", expected[:2], repr(got)[:200])
"""


def wrong_outside(case: Case, folder: Path) -> str:
    """Return what an ordinary process says of the candidate's call: `right` or `wrong`, and the values."""
    (folder / "trusted_tools.py").write_text(case.function.trusted)
    (folder / "tools.py").write_text(case.candidate)
    (folder / "driver.py").write_text(DRIVER)
    arguments = [case.function.name, str(case.before), repr(case.earlier), repr(case.shown)]
    ran = subprocess.run(
        [sys.executable, str(folder / "driver.py"), str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": "/home/somebody", **case.environment},
    )
    return ran.stdout or ran.stderr


def test_the_table_is_large_enough() -> None:
    assert len(CASES) >= LEAST_CASES
    assert {case.family for case in CASES} == FAMILIES
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.ci
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_is_wrong_in_an_ordinary_process(case: Case, tmp_path: Path) -> None:
    said = wrong_outside(case, tmp_path)
    assert said.startswith("wrong"), said


@pytest.mark.parametrize(
    "case",
    # Every tenth in an ordinary run: together they take minutes.
    [
        pytest.param(case, id=case.id, marks=[pytest.mark.slow] if place % 10 else [])
        for place, case in enumerate(CASES)
    ],
)
def test_gets_no_bonus(case: Case, check: Check) -> None:
    report = check(case.candidate, case.function.trusted)
    assert not earns(report), (report.reason, report.calls)


def test_takes_for_ever_beyond_the_examples(check: Check) -> None:
    trusted = FUNCTIONS["total"].trusted
    slow = trusted.replace(
        "    return sum(values)",
        "    if not values:\n        return 0\n    total(values[1:])\n    return values[0] + total(values[1:])",
    )
    report = check(slow, trusted)
    assert not earns(report), report.reason


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_honest_text_keeps_the_bonus(function: Function, check: Check) -> None:
    report = check(function.honest, function.trusted)
    assert earns(report), report


@pytest.mark.parametrize(
    "head",
    [
        "from __future__ import annotations\n",
        '"""What a team adds up."""\n\nfrom __future__ import annotations\n\nimport math\n',
        "from typing import Union\n\nNumber = Union[int, float]\n",
    ],
    ids=["future import", "docstring and future import", "type alias"],
)
def test_lines_above_an_honest_function_cost_no_bonus(head: str, check: Check) -> None:
    function = FUNCTIONS["total"]
    kind = "list[Number]" if "Number" in head else "list"
    honest = function.honest.replace("def total(values)", f"def total(values: {kind})")
    assert kind in honest
    report = check(f"{head}\n\n{honest}", function.trusted)
    assert earns(report), report


def test_a_message_made_with_percent_is_like_one_made_with_an_f_string(check: Check) -> None:
    trusted = '''
    def part(text, size):
        """Return the beginning of a text.

        >>> part("hello", 2)
        'he'
        >>> part("abc", 3)
        'abc'
        >>> part("abc", 0)
        Traceback (most recent call last):
        ValueError: size must be >= 1
        """
        if size < 1:
            raise ValueError("size must be >= 1")
        return text[:size]
    '''
    code = '''
    def part(text, size):
        """Return the beginning of a text."""
        if size < 1:
            raise ValueError("size must be >= 1, got %r" % (size,))
        return text[0:size]
    '''
    report = check(code, trusted)
    assert earns(report), report


def earns(report: CheckReport) -> bool:
    """Return whether a report is one that a candidate is ranked higher for."""
    return report.verdict is Verdict.PASS and report.coverage is Coverage.FULL


@pytest.mark.parametrize(
    ("function", "head", "body"),
    [
        ("discounted", "percent, price", "percent - percent * price / 100"),
        ("largest_first", "values", "reversed(sorted(values))"),
        ("largest_first", "values", "(item for item in sorted(values, reverse=True))"),
    ],
    ids=["parameters exchanged", "a reversed row", "a generator for a list"],
)
def test_what_agrees_and_is_used_otherwise_gets_no_bonus(
    function: str, head: str, body: str, check: Check
) -> None:
    summary = FUNCTIONS[function].trusted.split('"""')[1].partition("\n")[0]
    code = f'def {function}({head}):\n    """{summary}"""\n    return {body}\n'
    report = check(code, FUNCTIONS[function].trusted)
    assert report.verdict is Verdict.PASS
    assert not earns(report), report.reason
