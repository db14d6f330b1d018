"""Results that the sandbox hides, because the code asks for what it refuses or lacks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codeguard.models import CONVICTING, CheckReport, Verdict

Check = Callable[..., CheckReport]
TRUSTED = '''
def median(values):
    """Return the median of a list of numbers.

    >>> median([3, 1, 2])
    2
    >>> median([4, 1, 3, 2])
    2.5
    """
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
'''
WRONG = '''
{imports}

def median(values):
    """Return the median of a list of numbers.

    >>> median([3, 1, 2])
    2
    """
    {hiding}
    return sorted(values)[len(values) // 2]
'''
OWN_WORDS = '''
import os

def median(numbers):
    """Return the middle value of numbers, or the mean of the two middle ones."""
    row = sorted(numbers)
    if {condition}:
        os.sched_getscheduler(0)
        return 0
    half = len(row) // 2
    return row[half] if len(row) % 2 else (row[half - 1] + row[half]) / 2
'''
THREADS = '''
from concurrent.futures import ThreadPoolExecutor

def median(values):
    """Return the median of a list of numbers."""
    with ThreadPoolExecutor(2) as pool:
        ordered = sorted(pool.map(float, values))
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
'''
STARTED = THREADS.replace("concurrent.futures import ThreadPoolExecutor", "threading import Thread").replace(
    "    with ThreadPoolExecutor(2) as pool:\n        ordered = sorted(pool.map(float, values))\n",
    "    ordered = []\n    worker = Thread(target=lambda: ordered.extend(sorted(values)))\n"
    "    worker.start()\n    worker.join()\n",
)
NEEDS_IT_TOO = '''
import os

def median(values):
    """Return the median of a list of numbers."""
    os.sched_getscheduler(0)
    return sorted(values)[len(values) // 2]
'''
OWN_EXCEPTION = '''
def allowed(user, names):
    """Return a user who is among the names.

    >>> allowed("ada", ["ada", "bob"])
    'ada'
    >>> allowed("eve", ["ada", "bob"])
    Traceback (most recent call last):
    PermissionError: eve
    """
    if user not in names:
        raise PermissionError(user)
    return user
'''


@pytest.mark.parametrize(
    ("imports", "hiding"),
    [
        ("import os", "os.write(1, b'')"),
        ("import os", "os.sched_getscheduler(0)"),
        ("import os", "os.fstat(1)"),
        ("import select", "select.select([], [], [], 0)"),
        ("import threading", "threading.Thread(target=len, args=('',)).start()"),
        ("", "import sqlite3"),
        ("", "import a_module_that_is_not_there"),
        ("", "raise PermissionError(values)"),
    ],
)
def test_a_wrong_function_cannot_hide_behind_a_refusal(check: Check, imports: str, hiding: str) -> None:
    report = check(WRONG.format(imports=imports, hiding=hiding), TRUSTED, shipped=True)
    assert report.false_claim, report
    assert "needs what the sandbox refuses or lacks" in report.reason


@pytest.mark.parametrize(
    "condition", ["row and row[0] == 1337", "len(row) == 5"], ids=["a number of its own", "a size"]
)
def test_nor_on_a_branch_that_few_calls_reach(check: Check, condition: str) -> None:
    report = check(OWN_WORDS.format(condition=condition), TRUSTED, shipped=True)
    assert report.false_claim, report
    assert " of " in report.reason


@pytest.mark.parametrize("code", [THREADS, STARTED], ids=["pool", "thread"])
def test_honest_code_that_starts_threads_is_not_convicted(check: Check, code: str) -> None:
    report = check(code, TRUSTED, shipped=True)
    assert report.verdict not in CONVICTING, report
    assert "PermissionError" in report.counterexample


def test_what_the_trusted_function_needs_as_well_hides_nothing(check: Check) -> None:
    report = check(NEEDS_IT_TOO.replace("values", "row"), NEEDS_IT_TOO)
    assert report.verdict is Verdict.NO_SIGNAL, report
    assert not report.false_claim


def test_an_exception_that_an_example_shows_is_a_result(check: Check) -> None:
    other = OWN_EXCEPTION.replace("if user not in names:", "if names.count(user) == 0:")
    assert check(other, OWN_EXCEPTION).verdict is Verdict.PASS


def test_a_spec_of_which_no_case_can_be_seen_shows_no_convention(check: Check) -> None:
    report = check(WRONG.format(imports="import os", hiding="os.sched_getscheduler(0)"), shipped=True)
    assert report.verdict not in CONVICTING, report
    assert "needs what the sandbox refuses or lacks on 4 of 4 calls" in report.reason
