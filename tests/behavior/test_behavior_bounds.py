"""What codeguard itself cannot read of a function in time is no pass, and costs no other function its check."""

from __future__ import annotations

import json
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict import checker
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import BehaviorReports
from codeguard.index.catalog import Catalog
from codeguard.index.evidence_tasks import Checks
from codeguard.models import CheckReport, Verdict
from codeguard.sandbox import Level, Sandbox
from codeguard.workers.tasks import Shared, TaskAnswer

TRUSTED = b'def add(a, b):\n    """Add.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
SUBJECTS = chunk_file("m.py", b"def add(a, b):\n    return a + b\n\n\ndef hostile(a, b):\n    return a + b\n")


def loop(*arguments: Any) -> Any:
    while True:
        pass


@pytest.mark.parametrize("stage", ["read_candidate", "CandidateSession"])
def test_a_function_that_takes_the_reader_too_long_times_out(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, "PLANNING_S", 0.2)
    monkeypatch.setattr(checker, "EXAMINING_S", 0.2)
    known = getattr(checker, stage)

    def odd(subject: Any, *rest: Any) -> Any:
        name = subject.symbol if stage == "read_candidate" else subject.definition.name
        return loop() if name == "hostile" else known(subject, *rest)

    monkeypatch.setattr(checker, stage, odd)
    library = SpecLibrary.load(shipped=False).with_trusted(
        [chunk_file("t.py", TRUSTED), chunk_file("u.py", TRUSTED.replace(b"add", b"hostile"))]
    )
    with Sandbox(Level.L0) as sandbox:
        checking = BehaviorChecker(library, sandbox, seed=b"x" * 32)
        subjects = [(chunk, SUBJECTS) for chunk in SUBJECTS.chunks if chunk.symbol]
        first, second = checking.check_many(subjects)
    assert first.verdict is Verdict.PASS
    assert second.verdict is Verdict.TIMEOUT
    assert "of the processor" in second.reason


class Dying(Executor):
    """Workers that one function ends."""

    def __init__(self, ended: str, lasting: bool) -> None:
        self.ended, self.lasting = ended, lasting
        self.asked: list[list[str]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        asked = json.loads(args[0][0])
        files = [json.loads(text) for text in asked["files"]]
        symbols = [files[file]["chunks"][chunk][0] for file, chunk in asked["subjects"]]
        self.asked.append(symbols)
        if "hostile" in symbols:
            future.set_result([TaskAnswer((), self.ended, "because", self.lasting)])
        else:
            reports = [(CheckReport(Verdict.PASS, "same", "L3").to_json(), 0.1, "packed") for _ in symbols]
            future.set_result([TaskAnswer((json.dumps(reports).encode(),))])
        return future


@pytest.mark.parametrize(
    ("ended", "verdict", "kept"),
    [
        ("cpu", Verdict.TIMEOUT, True),
        ("memory", Verdict.MEMORY, True),
        ("wall", Verdict.ERROR, False),
        ("died", Verdict.ERROR, False),
        ("failed", Verdict.ERROR, False),
    ],
)
def test_a_worker_that_ends_costs_one_function_its_check(
    ended: str, verdict: Verdict, kept: bool, tmp_path: Path
) -> None:
    subjects = [(chunk, SUBJECTS) for chunk in SUBJECTS.chunks if chunk.symbol]
    workers = Dying(ended, lasting=True)

    def checks() -> Checks:
        return Checks(workers, lambda: Shared.of(b""))

    with Catalog(tmp_path / "catalog", b"k" * 32) as catalog:
        for _ in range(2):
            reports = BehaviorReports(checks, "epoch", catalog)
            reports.prepare(subjects)
            assert [reports(*subject).verdict for subject in subjects] == [Verdict.PASS, verdict]
    singly = [["add", "hostile"], ["add"], ["hostile"]]
    assert workers.asked == (singly if kept else [*singly, ["hostile"]])
