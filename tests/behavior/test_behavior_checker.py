"""The behavior checker on real sandboxed code: what it convicts and what it must not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest

from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.corpus.chunking import chunk_file
from codeguard.models import CheckReport, Verdict
from codeguard.sandbox import Job, JobResult, Level, Sandbox

Check = Callable[..., CheckReport]


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("def add(a, b):\n    return a + b\n", Verdict.PASS),
        ("def add(a, b):\n    return a + b if a < 9 else a\n", Verdict.FAIL),
        # Hardly anywhere what is known by that name: no conviction, but a claim that was found false.
        ("def add_numbers(x, y):\n    return x * y\n", Verdict.NO_SIGNAL),
        (
            'def add_numbers(x, y):\n    """Return the sum of two numbers."""\n    return x * y\n',
            Verdict.FAIL,
        ),
        ("def add(a, b, c):\n    return a + b + c\n", Verdict.NO_SIGNAL),
        ("def add(node, child):\n    node.children.append(child)\n", Verdict.NO_SIGNAL),
        ("def frobnicate(a, b):\n    return a - b\n", Verdict.NO_SIGNAL),
    ],
)
def test_shipped_spec_decides_by_name(check: Check, code: str, verdict: Verdict) -> None:
    assert check(code, shipped=True).verdict is verdict


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("return [text for text in texts if sorted(text) == sorted(word)]", Verdict.NO_SIGNAL),
        ("return len(word) == len(texts)", Verdict.FAIL),
        ("return None", Verdict.FAIL),
    ],
    ids=["those that are", "wrong", "nothing"],
)
def test_who_gives_another_kind_than_a_shipped_spec_is_another_function(
    check: Check, body: str, verdict: Verdict
) -> None:
    told = "'Texts that use the letters of a word equally often.'"
    code = f"def is_anagram(word, texts):\n    {told}\n    word += ''\n    {body}\n"
    report = check(code, shipped=True)
    assert report.verdict is verdict, report
    assert not report.false_claim


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


CLAIM = '"""Multiply every value by a factor."""'


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("return [factor * value for value in values]", Verdict.PASS),
        ("return list(map(lambda value: value * factor, values))", Verdict.PASS),
        ("return tuple(value * factor for value in values)", Verdict.PASS),
        ("return (value * factor for value in values)", Verdict.DIFFERS),
        ("return [value + factor for value in values]", Verdict.FAIL),
        ("return [value * factor if value < 7 else 0 for value in values]", Verdict.DIVERGES),
        (
            "import os\n    os.environ.get('A')\n    return [value * factor for value in values]",
            Verdict.VIOLATION,
        ),
    ],
)
def test_trusted_docstring_decides(check: Check, body: str, verdict: Verdict) -> None:
    report = check(f"def scale(values, factor):\n    {CLAIM}\n    {body}\n", SCALE)
    assert report.verdict is verdict, report


def test_a_bare_claim_that_is_wrong_everywhere_is_found_false_without_a_conviction(check: Check) -> None:
    report = check("def scale(values, factor):\n    return [value + factor for value in values]\n", SCALE)
    assert report.verdict is Verdict.NO_SIGNAL
    assert report.claims == "scale (trusted.py:2)"


def test_the_report_says_where_the_expectation_stands(check: Check) -> None:
    report = check(f"def scale(values, factor):\n    {CLAIM}\n    return values\n", SCALE)
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


def test_for_a_copy_in_the_same_surroundings_nothing_is_run_and_for_others_it_is(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        b'STEP = 2\n\n\ndef stepped(n: int) -> int:\n    """Return n steps.\n\n    >>> stepped(3)\n    6\n    """\n'
        b"    return n * STEP\n"
    )
    library = SpecLibrary.load(shipped=False).with_trusted([chunk_file("trusted.py", text)])
    jobs: list[Job] = []

    def run_many(given: Iterable[Job]) -> Iterator[JobResult]:
        jobs.extend(listed := list(given))
        return Sandbox.run_many(sandbox, listed)

    monkeypatch.setattr(sandbox, "run_many", run_many)
    for step, verdict in ((b"2", Verdict.PASS), (b"3", Verdict.FAIL)):
        file = chunk_file("theirs.py", text.replace(b"STEP = 2", b"STEP = " + step))
        chunk = next(item for item in file.chunks if item.symbol == "stepped")
        assert BehaviorChecker(library, sandbox, seed=b"seed").check(chunk, file).verdict is verdict
        assert bool(jobs) is (verdict is Verdict.FAIL)


def test_alone_it_has_the_shipped_specs_and_a_sandbox_of_its_own() -> None:
    wrong = {
        "add": "def add(a, b):\n    return a - b\n",
        "factorial": "def factorial(n):\n    return sum(range(n + 1))\n",
        "reverse_string": "def reverse_string(text):\n    return text\n",
    }
    with BehaviorChecker() as checker:
        reports = dict(checker.check_code("\n\n".join(wrong.values()) + "\n\ndef other(x):\n    return x\n"))
        if any(report.verdict is Verdict.UNSUPPORTED for report in reports.values()):
            assert {report.level for report in reports.values()} <= {"L0", "L1"}
            pytest.skip("nothing runs here: the sandbox is below L2")
        assert {name: report.verdict for name, report in reports.items()} == {
            **dict.fromkeys(wrong, Verdict.FAIL),
            "other": Verdict.NO_SIGNAL,
        }
        ((name, report),) = checker.check_code("def add(a, b):\n    return a + b\n")
        assert (name, report.verdict) == ("add", Verdict.PASS)
        assert [name for name, _ in checker.check_code("def add(a): pass\n\ndef add(a, b): pass\n")] == [
            "add"
        ] * 2
        for text in ("", "def add(a, b:", "\0", "\ud800"):
            assert checker.check_code(text) == []


def test_alone_nothing_runs_below_the_level_that_is_required() -> None:
    with BehaviorChecker(
        sandbox=Sandbox(Level.L0, without=frozenset({"seccomp"})), required_level=Level.L3
    ) as checker:
        ((_, report),) = checker.check_code("def add(a, b):\n    return a - b\n")
    assert report.verdict is Verdict.UNSUPPORTED
