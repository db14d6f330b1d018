"""The budget of a run: every file has a fair share, and what spends it is not cleared and says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from in_process import codeguard

from codeguard.api import CodeGuard
from codeguard.behavior.budget import SPENT
from codeguard.config import DefenseConfig, Settings
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import BehaviorReports
from codeguard.index.catalog import Catalog
from codeguard.index.report import SandboxBudget, Subject
from codeguard.integrations.documents import DocumentJudge, StoredText
from codeguard.models import CheckReport, SourceFile, Verdict

OWN = '''def factorial(n):
    """Return n!.

    >>> factorial(5)
    120
    """
    result = 1
    for factor in range(2, n + 1):
        result *= factor
    return result
'''
HONEST = 'import math\n\n\ndef factorial(n):\n    """Return n!."""\n    return math.prod(range(1, n + 1))\n'
LOOPS = 'def factorial(n):\n    """Return n!."""\n    while True:\n        pass\n'
WHOLE_ONLY = 'def factorial(n):\n    """Return n!."""\n    while n:\n        n = abs(n) - 1\n'
WAITS = (
    "import threading\n\n\n"
    'def factorial(n):\n    """Return n!."""\n    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()\n'
)
BUDGET = "1.5"


def file_of(path: str, functions: int) -> SourceFile:
    return chunk_file(path, b"".join(b"def f%d(a):\n    return a\n\n\n" % n for n in range(functions)))


def subjects_of(*files: SourceFile) -> list[Subject]:
    return [(chunk, file) for file in files for chunk in file.chunks if chunk.symbol]


@pytest.mark.parametrize(
    ("functions", "spent", "expected"),
    [
        ([1, 1], {}, [6.0, 6.0]),  # the run's twelve seconds in equal shares
        ([1, 3], {}, [6.0, 2.0, 2.0, 2.0]),  # of files, not of functions
        ([1], {}, [8.0]),  # at most what a file may have
        ([1, 1], {"0.py": 3.0}, [4.5, 4.5]),  # in equal shares of what is left
        ([1, 1], {"0.py": 7.0}, [1.0, 2.5]),  # a file that has spent much has what a file may have
        ([2], {"0.py": 8.0}, [0.0, 0.0]),
        ([1], {"other.py": 20.0}, [0.0]),
    ],
)
def test_the_shares_of_functions(
    functions: Sequence[int], spent: dict[str, float], expected: list[float]
) -> None:
    budget = SandboxBudget(12.0, 8.0)
    for path, seconds in spent.items():
        budget.charge(path, seconds)
    files = [file_of(f"{place}.py", count) for place, count in enumerate(functions)]
    assert budget.shares(subjects_of(*files)) == pytest.approx(expected)


def test_files_that_are_still_to_come_keep_their_shares() -> None:
    budget = SandboxBudget(12.0, 8.0, coming=4)
    (subject,) = subjects_of(file_of("0.py", 1))
    assert budget.shares([subject]) == [3.0]
    budget.charge("0.py", 3.0)
    assert budget.shares(subjects_of(file_of("1.py", 1))) == [3.0]


def test_only_a_share_that_is_much_larger_is_worth_another_round() -> None:
    budget = SandboxBudget(12.0, 12.0)
    subjects = subjects_of(file_of("0.py", 1), file_of("1.py", 1))
    assert budget.again(subjects, [3.0, 5.0]) == [True, False]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name, text in {
        "own/ours.py": OWN,
        "theirs/honest.py": HONEST,
        "theirs/loops.py": LOOPS,
        "theirs/waits.py": WAITS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_audit_names_who_spent_its_share_and_the_others_keep_theirs(corpus: Path, jobs: str) -> None:
    words = ["audit", "theirs", "--trust", "own", "--budget", BUDGET, "--jobs", jobs, "--format", "json"]
    done = codeguard(*words, cwd=corpus)
    report = json.loads(done.stdout)
    spent = [item for item in report["findings"] if item["rule"] == "audit.budget-spent"]
    assert done.returncode == 1
    assert [(item["path"], item["severity"]) for item in spent] == [
        ("theirs/loops.py", "high"),
        ("theirs/waits.py", "high"),
    ]
    assert not [item for item in report["findings"] if item["path"] == "theirs/honest.py"]
    assert report["budget"]["files"] == ["theirs/loops.py", "theirs/waits.py"]
    assert (report["budget"]["allowed_s"], report["budget"]["file_s"]) == (1.5, 1.5)
    assert report["budget"]["spent_s"] == pytest.approx(1.5, rel=0.4)


@pytest.mark.parametrize("format_", ["text", "sarif", "json"])
def test_every_format_says_what_was_allowed(corpus: Path, format_: str) -> None:
    words = ["theirs/honest.py", "--trust", "own", "--budget", "45.5", "--format", format_]
    done = codeguard("audit", *words, cwd=corpus)
    assert done.returncode == 0
    assert "45.5" in done.stdout


def test_what_spends_its_share_is_demoted_and_not_cleared(corpus: Path) -> None:
    settings = Settings(
        store=str(corpus / "state"),
        root=str(corpus),
        embedding="lexical",
        jobs=1,
        defense=DefenseConfig(budget_s=float(BUDGET)),
    )
    with CodeGuard.open(settings=settings, trust=[corpus / "own"]) as guard:
        report = guard.index([corpus / "theirs"])
        assert report.budget is not None
        assert report.budget.files == ("theirs/loops.py", "theirs/waits.py")
        assert any("2 files are not fully checked" in line for line in report.warnings)
        for _ in range(2):  # of the cache as well
            ranking = guard.query("factorial", k=4)
            standing = {item.chunk.path: (item.demoted, item.convicted) for item in ranking.results}
            assert standing == {
                "own/ours.py": (False, False),
                "theirs/honest.py": (False, False),
                "theirs/loops.py": (True, False),
                "theirs/waits.py": (True, False),
            }
            assert any("2 files are not fully checked" in line for line in ranking.warnings)
            assert ranking.to_json()["budget"]["files"] == ("theirs/loops.py", "theirs/waits.py")
        dropped = guard.query("factorial", k=4, mode="drop").dropped
        assert {item.chunk.path for item in dropped} == {"theirs/loops.py", "theirs/waits.py"}
        judge = DocumentJudge(guard)
        verdicts = judge.judge([StoredText("honest", HONEST, 0.1), StoredText("loops", LOOPS, 0.1)])
        assert [item.id for item in verdicts.retained] == ["honest"]
    again = settings.replace(defense=DefenseConfig(budget_s=60.0))
    with CodeGuard.open(settings=again, trust=[corpus / "own"]) as guard:
        raised = guard.index([corpus / "theirs"])
        assert raised.budget is not None
        assert raised.budget.files == ()
        assert raised.verdicts["timeout"] == 2


@pytest.mark.parametrize(
    ("run_s", "file_s", "known"),
    [(10.0, 5.0, True), (8.0, 4.0, True), (11.0, 5.0, False), (10.0, 6.0, False)],
)
def test_a_spent_share_counts_until_a_limit_is_raised(
    tmp_path: Path, run_s: float, file_s: float, known: bool
) -> None:
    (subject,) = subjects_of(file_of("m.py", 1))

    def nobody() -> None:
        raise AssertionError

    with Catalog(tmp_path / "catalog", b"k" * 32) as catalog:
        spent = CheckReport(Verdict.NO_SIGNAL, SPENT, "L3", spent=True)
        made = BehaviorReports(
            lambda: lambda subjects, budget: iter([(subject, spent)]),
            "epoch",
            catalog,
            budget=SandboxBudget(10.0, 5.0),
        )
        made.prepare([subject])
        later = BehaviorReports(
            nobody,  # type: ignore[arg-type]
            "epoch",
            catalog,
            budget=SandboxBudget(run_s, file_s),
            known_only=True,
        )
        assert later(*subject).spent is known
        assert later(*subject).not_yet is not known


def test_check_states_its_budget(corpus: Path) -> None:
    done = codeguard(
        "check", "theirs/loops.py", "--against", "own", "--budget", "0.5", "--format", "json", cwd=corpus
    )
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["budget"]["files"] == ["theirs/loops.py"]
    assert report["functions"][0]["spent"] is True
    assert "1 file is not fully checked" in done.stderr


def test_a_looping_function_is_run_twice_and_no_more(corpus: Path) -> None:
    """Once with all calls, and once with those after the one that it hangs in; never in the second world."""
    done = codeguard("check", "theirs/loops.py", "--against", "own", "--format", "json", cwd=corpus)
    report = json.loads(done.stdout)
    assert report["functions"][0]["verdict"] == "timeout"
    assert report["budget"]["spent_s"] < 2.5  # a child has one second


def test_what_no_fraction_ends_is_run_on_few_of_them(tmp_path: Path) -> None:
    """Of the three runs that a function's endless calls are given, each would end after a second."""
    (tmp_path / "counts.py").write_text(WHOLE_ONLY)
    done = codeguard("check", "counts.py", "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["budget"]["spent_s"] < 2.5


def test_the_old_key_of_the_configuration_names_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[defense]\nquery_budget_s = 20.0\n")
    done = codeguard("--config", "config.toml", "query", "x", cwd=tmp_path)
    assert done.returncode == 2
    assert "budget_s" in done.stderr.replace("query_budget_s", "")
