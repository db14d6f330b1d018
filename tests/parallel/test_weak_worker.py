"""What a worker says that cannot confine is an answer for now and none to remember."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import BehaviorReports, Subject
from codeguard.index.catalog import Catalog
from codeguard.index.report import SandboxBudget
from codeguard.models import CheckReport, Verdict


@pytest.mark.parametrize(
    ("verdict", "level", "times"),
    [
        (Verdict.UNSUPPORTED, "L0", 2),  # of a worker that is weaker than the others
        (Verdict.UNSUPPORTED, "L3", 1),
        (Verdict.ERROR, "L3", 2),
        (Verdict.PASS, "L3", 1),
    ],
)
def test_what_is_asked_again(tmp_path: Path, verdict: Verdict, level: str, times: int) -> None:
    file = chunk_file("m.py", b"def add(a, b):\n    return a + b\n")
    asked: list[Subject] = []

    def worker(subjects: Sequence[Subject], budget: SandboxBudget) -> Iterator[tuple[Subject, CheckReport]]:
        for subject in subjects:
            asked.append(subject)
            yield subject, CheckReport(verdict, "because", level)

    with Catalog(tmp_path / "catalog", b"k" * 32) as catalog:
        for _ in range(2):
            reports = BehaviorReports(lambda: worker, "epoch", catalog, level="L3")
            reports.prepare([(file.chunks[0], file)])
            assert reports(file.chunks[0], file).verdict is verdict
    assert len(asked) == times
