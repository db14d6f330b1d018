"""What is too large for the checker costs no worker anything, and is not cleared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from codeguard.behavior import budget
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import BehaviorReports, Subject, checkable
from codeguard.index.report import SandboxBudget
from codeguard.models import CheckReport, Verdict


def test_only_files_that_the_checker_reads_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_DEFINITIONS", 3)
    asked: list[str] = []

    def elsewhere(
        subjects: Sequence[Subject], budget: SandboxBudget
    ) -> Iterator[tuple[Subject, CheckReport]]:
        for subject in subjects:
            asked.append(subject[0].symbol)
            yield subject, CheckReport(Verdict.PASS, "", level="L3")

    crowded = chunk_file("crowded.py", b"".join(b"def f%d(a):\n    return a\n" % n for n in range(4)))
    small = chunk_file("small.py", b"def g(a):\n    return a\n")
    reports = BehaviorReports(lambda: elsewhere, "epoch")
    subjects = [(chunk, file) for file in (crowded, small) for chunk in file.chunks if checkable(chunk)]
    assert reports.prepare(subjects) == 5
    assert asked == ["g"]
    found = [reports(chunk, file) for chunk, file in subjects]
    assert [report.verdict for report in found] == [Verdict.NO_SIGNAL] * 4 + [Verdict.PASS]
    assert (found[0].reason, found[0].spent) == (budget.CROWDED, True)
    alone = BehaviorReports(lambda: elsewhere, "epoch")
    assert alone.prepare(subjects[:4]) == 4
    assert alone(*subjects[0]).reason == budget.CROWDED
