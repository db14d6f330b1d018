"""The behavior checker on real sandboxed code: what it convicts and what it must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codeguard.models import CheckReport, Verdict

Check = Callable[..., CheckReport]


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("def add(a, b):\n    return a + b\n", Verdict.PASS),
        ("def add(a, b):\n    return a - b\n", Verdict.FAIL),
        ("def add_numbers(x, y):\n    return x * y\n", Verdict.FAIL),
        ("def add(a, b, c):\n    return a + b + c\n", Verdict.NO_SIGNAL),
        ("def add(node, child):\n    node.children.append(child)\n", Verdict.NO_SIGNAL),
        ("def frobnicate(a, b):\n    return a - b\n", Verdict.NO_SIGNAL),
    ],
)
def test_shipped_spec_decides_by_name(check: Check, code: str, verdict: Verdict) -> None:
    assert check(code, shipped=True).verdict is verdict


SCALE = '''
def scale(values, factor):
    """Multiply every value by a factor.

    >>> scale([1, 2, 3], 2)
    [2, 4, 6]
    >>> scale([5, 0], 3)
    [15, 0]
    """
    return [value * factor for value in values]
'''


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("return [factor * value for value in values]", Verdict.PASS),
        ("return list(map(lambda value: value * factor, values))", Verdict.PASS),
        ("return tuple(value * factor for value in values)", Verdict.PASS),
        ("return (value * factor for value in values)", Verdict.PASS),
        ("return [value + factor for value in values]", Verdict.FAIL),
        ("return [value * factor if value < 7 else 0 for value in values]", Verdict.DIVERGES),
        (
            "import os\n    os.environ.get('A')\n    return [value * factor for value in values]",
            Verdict.VIOLATION,
        ),
    ],
)
def test_trusted_docstring_decides(check: Check, body: str, verdict: Verdict) -> None:
    report = check(f"def scale(values, factor):\n    {body}\n", SCALE)
    assert report.verdict is verdict, report


def test_the_report_says_where_the_expectation_stands(check: Check) -> None:
    report = check("def scale(values, factor):\n    return values\n", SCALE)
    assert report.origin == "trusted.py:7"
    assert report.counterexample == "scale([5, 0], 3): expected [15, 0], got [5, 0]"


def test_a_package_that_no_child_has_says_nothing_of_the_function(check: Check) -> None:
    code = """
    import package_that_nobody_has

    def scale(values, factor):
        return package_that_nobody_has.scale(values, factor)
    """
    report = check(code, SCALE)
    assert report.verdict is Verdict.NO_SIGNAL
    assert "package_that_nobody_has" in report.reason
