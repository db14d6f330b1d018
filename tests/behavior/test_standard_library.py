"""The standard library as everyone's twin: it demotes or supports, and the team's own code comes first."""

from __future__ import annotations

import html
import inspect
import statistics
import sys
import sysconfig
import webbrowser
from pathlib import Path

import pytest

from codeguard.behavior.matching.claims import function_features
from codeguard.behavior.source.definitions import read_module
from codeguard.behavior.specs.standard_library import twins_of
from codeguard.models import CONVICTING, Verdict
from tests.behavior.conftest import Check

ESCAPE = inspect.getsource(html.escape)
MEDIAN = inspect.getsource(statistics.median)
OWN_MEDIAN = '''
def median(numbers):
    """Return the median (middle value) of numeric data."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return {}
'''
RIGHT = "ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2"
LOWER = "ordered[(len(ordered) - 1) // 2]"


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (ESCAPE, "pass"),
        (ESCAPE.replace("&lt;", "&le;"), "false claim"),
        (MEDIAN.replace("n % 2 == 1", "n % 2 == 0"), "false claim"),
        (MEDIAN.replace("n % 2 == 1", "n % 2 == 1 and n != 13"), "false claim"),
        (OWN_MEDIAN.format(RIGHT), "pass"),
        (OWN_MEDIAN.format(LOWER), "false claim"),
        # Neither a name, nor a description under another name or signature, claims anything.
        (
            OWN_MEDIAN.format(LOWER).replace("(middle value) of numeric data", "strip of the road"),
            "no_signal",
        ),
        (OWN_MEDIAN.format(LOWER).replace("median(", "middle_of("), "no_signal"),
        (OWN_MEDIAN.format(LOWER).replace("(numbers)", "(numbers, key)"), "no_signal"),
        (f"class Table:\n{OWN_MEDIAN.format(LOWER)}".replace("\n", "\n    "), "no_signal"),
    ],
)
def test_a_function_that_claims_to_be_the_standard_librarys_is_compared_with_it(
    check: Check, code: str, word: str
) -> None:
    report = check(code)
    assert report.word == word
    assert report.verdict not in CONVICTING
    whose = f"Python {sys.version_info.major}.{sys.version_info.minor}'s "
    assert (whose in report.origin or f" of {whose}" in report.reason) is (word != "no_signal")


def test_a_copy_that_refuses_every_call_without_its_file_claims_nothing_false(check: Check) -> None:
    report = check(inspect.getsource(webbrowser.open_new))
    assert (report.decided_by, report.claims) == ("refuses-all", "")


def test_the_teams_own_function_and_spec_come_first(check: Check) -> None:
    own = OWN_MEDIAN.format(LOWER).replace(
        'data."""', 'data.\n\n    >>> median([4, 1, 3, 2])\n    2\n    """'
    )
    assert check(OWN_MEDIAN.format(LOWER), own).verdict is Verdict.PASS
    assert check(OWN_MEDIAN.format(RIGHT), own).verdict in CONVICTING


def test_files_are_the_interpreters_whatever_could_be_imported_in_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "statistics.py").write_text(MEDIAN.replace("n % 2 == 1", "n % 2 == 0"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    ((twin, _),) = twins_of(function_features(read_module(MEDIAN).listed[0]))
    assert twin.text == Path(sysconfig.get_path("stdlib"), "statistics.py").read_text("utf-8")
    assert twin.name == "median"
