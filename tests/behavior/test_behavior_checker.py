"""The behavior checker on real sandboxed code: what it convicts and what it must not."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import pytest

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.chunking import chunk_file
from codeguard.models import CheckReport, Verdict
from codeguard.sandbox import Level, Sandbox

SEED = b"test"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Level.L0, workers=1) as running:
        if running.level < Level.L2:
            pytest.skip(f"the sandbox reaches only {running.level.name} here")
        yield running


def check(sandbox: Sandbox, code: str, trusted: str = "", shipped: bool = True) -> CheckReport:
    """Check the last function of `code` against the shipped specs and `trusted`."""
    library = SpecLibrary.load(shipped=shipped)
    if trusted:
        library = library.with_trusted([chunk_file("trusted.py", textwrap.dedent(trusted).encode())])
    file = chunk_file("unknown.py", textwrap.dedent(code).encode())
    chunk = [chunk for chunk in file.chunks if chunk.kind in ("function", "method")][-1]
    return BehaviorChecker(library, sandbox, seed=SEED).check(chunk, file)


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
def test_shipped_spec_decides_by_name(sandbox: Sandbox, code: str, verdict: Verdict) -> None:
    assert check(sandbox, code).verdict is verdict


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
        ("import os\n    os.environ.get('A')\n    return [value * factor for value in values]", Verdict.VIOLATION),
    ],
)
def test_trusted_docstring_decides(sandbox: Sandbox, body: str, verdict: Verdict) -> None:
    report = check(sandbox, f"def scale(values, factor):\n    {body}\n", SCALE)
    assert report.verdict is verdict, report


def test_the_report_says_where_the_expectation_stands(sandbox: Sandbox) -> None:
    report = check(sandbox, "def scale(values, factor):\n    return values\n", SCALE)
    assert report.origin == "trusted.py:7"
    assert report.counterexample == "scale([5, 0], 3): expected [15, 0], got [5, 0]"
