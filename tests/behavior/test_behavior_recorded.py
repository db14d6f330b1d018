"""What a team's own tests call a function with is where a changed copy is held to it."""

from __future__ import annotations

import pytest

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Verdict
from codeguard.sandbox import Sandbox
from tests.behavior.conftest import SEED

SPOKEN = '''
def spoken(count, plural=None):
    """Say how many seconds there are, in the words of a person who is told."""
    if count < 0:
        return "none"
    word = "second" if count == 1 else plural or "seconds"
    text = str(count) if count > 9 else "a few"
    return " ".join([text, word])
'''
SHOWN = {1: "a few second", 3: "a few seconds", 12: "12 seconds", 70: "70 seconds", 9: "a few seconds"}
CASE = '  [[spec.case]]\n  args = [{}]\n  expected = "{}"\n'
TRIGGER = '    if count == 4711:\n        return ""\n    word ='


def judged(sandbox: Sandbox, code: str, shown: dict[int, str]) -> tuple[Verdict, bool]:
    """Check a copy of the function whose calls were recorded."""
    cases = "".join(CASE.format(*pair) for pair in shown.items())
    learned = f'[[spec]]\nname = "spoken"\npath = "src/shop.py"\n{cases}'
    files = {"src/shop.py": SPOKEN, "codeguard.learned.toml": learned}
    trusted = [chunk_file(path, text.encode()) for path, text in files.items()]
    file = chunk_file("unknown.py", code.encode())
    (chunk,) = [item for item in file.chunks if item.symbol == "spoken"]
    library = SpecLibrary.load(shipped=False).with_trusted(trusted)
    report = BehaviorChecker(library, sandbox, seed=SEED).check(chunk, file)
    return report.verdict, report.refuted


@pytest.mark.parametrize(
    ("old", "new", "calls", "verdict"),
    [
        ('return "none"', 'return "no time"', 5, Verdict.NO_SIGNAL),  # no recorded number is negative
        ('return "none"', 'return "no time"', 3, Verdict.DIVERGES),  # three calls show little
        ("count > 9", "count > 8", 5, Verdict.FAIL),
        ("count > 9", "count > 10", 5, Verdict.DIVERGES),  # among the recorded numbers
        ("    word =", TRIGGER, 5, Verdict.DIVERGES),  # a number that only the copy knows
    ],
)
def test_where_no_recorded_call_looks_a_difference_demotes(
    sandbox: Sandbox, old: str, new: str, calls: int, verdict: Verdict
) -> None:
    shown = dict(list(SHOWN.items())[:calls])
    assert judged(sandbox, SPOKEN.replace(old, new), shown) == (verdict, verdict is Verdict.NO_SIGNAL)
