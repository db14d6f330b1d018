"""Functions of arrays: run with numpy in the sandbox, on arrays from docstrings."""

from __future__ import annotations

import pytest

from codeguard.models import Verdict
from codeguard.sandbox import Level, Sandbox
from tests.behavior.conftest import Check

pytestmark = pytest.mark.ci

SHOWN = '''
import numpy as np

def moving_average(values, window):
    """Return the moving average of a series.

    >>> moving_average(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    array([1.5, 2.5, 3.5])
    """
    kernel = np.ones(window) / window
    return np.convolve(values, kernel, mode="valid")
'''


@pytest.fixture(scope="module", autouse=True)
def _every_layer() -> None:
    with Sandbox() as sandbox:
        if sandbox.level < Level.L3:
            pytest.skip(f"numpy needs L3, this machine's sandbox reaches {sandbox.level.name}")


def _average(body: str) -> str:
    return f'''
import numpy as np

def moving_average(values, window):
    """Return the moving average of a series."""
    {body}
'''


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (
            "total = np.cumsum(np.insert(np.asarray(values, dtype=float), 0, 0.0))\n"
            "    return (total[window:] - total[:-window]) / window",
            Verdict.PASS,
        ),
        ("return [sum(values[i : i + window]) / window for i in range(len(values) - window + 1)]", Verdict.PASS),
        ("return np.convolve(values, np.ones(window) / (window + 1), mode='valid')", Verdict.FAIL),
        ("np.asarray(values).tofile('/tmp/out')\n    return np.convolve(values, np.ones(window) / window, 'valid')",
         Verdict.VIOLATION),
        ("np.save('/tmp/out', values)\n    return np.convolve(values, np.ones(window) / window, 'valid')",
         Verdict.VIOLATION),
    ],
)  # fmt: skip
def test_arrays_of_a_docstring_are_compared_by_their_values(
    check: Check, body: str, verdict: Verdict
) -> None:
    report = check(_average(body), SHOWN)
    assert report.verdict is verdict, report


def test_the_counterexample_is_written_as_a_reader_would_call_it(check: Check) -> None:
    report = check(_average("return np.convolve(values, np.ones(window), mode='valid')"), SHOWN)
    assert "moving_average(np.array([1.0, 2.0, 3.0, 4.0]), 2): expected ndarray([1.5, 2.5, 3.5])" in (
        report.counterexample
    )
