"""What a team's own tests call a function with is where a changed copy is held to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.behavior.verdict.examination import Examination
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


PAIRS = '''
def joined_pairs(pairs, sign="&"):
    """Write pairs of a name and a value as one text."""
    parts = []
    for name, value in pairs:
        parts.append(f"{name}={value}" if value else name)
    return sign.join(parts)
'''
PAIRS_CASES = "".join(
    f'  [[spec.case]]\n  args = [{pairs}]\n  expected = "{text}"\n'
    for pairs, text in (
        ('[["a", "1"], ["b", ""]]', "a=1&b"),
        ('[["c", "22"]]', "c=22"),
        ("[]", ""),
        ('[["d", "x"], ["e", "y"], ["f", "z"]]', "d=x&e=y&f=z"),
    )
)


def judged(sandbox: Sandbox, code: str, shown: dict[int, str]) -> tuple[Verdict, bool]:
    """Check a copy of the function whose calls were recorded."""
    return judged_beside(
        sandbox, SPOKEN, "spoken", code, "".join(CASE.format(*pair) for pair in shown.items())
    )


def judged_beside(sandbox: Sandbox, own: str, name: str, code: str, cases: str) -> tuple[Verdict, bool]:
    """Check a copy of a trusted function with recorded calls."""
    learned = f'[[spec]]\nname = "{name}"\npath = "src/shop.py"\n{cases}'
    files = {"src/shop.py": own, "codeguard.learned.toml": learned}
    trusted = [chunk_file(path, text.encode()) for path, text in files.items()]
    file = chunk_file("unknown.py", code.encode())
    (chunk,) = [item for item in file.chunks if item.symbol == name]
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


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("    parts = []", "    pairs, parts = pairs + [], []", Verdict.NO_SIGNAL),  # an iterator is no list
        ("if value else name", "if value else value", Verdict.FAIL),
    ],
)
def test_a_copy_may_refuse_an_iterator_that_no_test_gives(
    sandbox: Sandbox, old: str, new: str, verdict: Verdict
) -> None:
    found = judged_beside(sandbox, PAIRS, "joined_pairs", PAIRS.replace(old, new), PAIRS_CASES)
    assert found == (verdict, verdict is Verdict.NO_SIGNAL)


def test_results_that_cannot_be_compared_refuse_nothing() -> None:
    """An object in place of an asynchronous generator gave no result that was wrong, and an error of our own."""
    asked: Any = SimpleNamespace(_reads_like=lambda *given: True, expects_other_kinds=lambda results: False)
    profile: Any = SimpleNamespace(reference=None)
    similarity: Any = None
    assert Examination._refusing_report(asked, profile, similarity, []) is None
