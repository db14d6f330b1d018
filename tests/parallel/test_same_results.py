"""Whoever does the work, and however many: the same catalog, evidence, export and vectors to the last byte."""

from pathlib import Path

import pytest
from parallel_index import difference, dump, index

from codeguard.index import evidence_tasks

pytestmark = pytest.mark.ci


@pytest.mark.slow
def test_processes_give_what_one_process_gives(corpus: Path, tmp_path: Path, alone: list[str]) -> None:
    report = index(corpus, tmp_path / "several", jobs=2)
    assert {(item.path, item.symbol) for item in report.convicted} >= {
        ("theirs/wrong.py", "add"),
        ("theirs/twice.py", "clamp"),
    }
    assert any('"verdict": "pass"' in line for line in alone)
    assert difference(dump(corpus, tmp_path / "several"), alone) == []


@pytest.mark.slow
def test_processes_that_share_the_trusted_functions_give_what_one_process_gives(
    corpus: Path, tmp_path: Path, alone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence_tasks, "PROBED_TOGETHER", 1)
    index(corpus, tmp_path / "several", jobs=2)
    assert any("probes:trusted" in line for line in alone)
    assert difference(dump(corpus, tmp_path / "several"), alone) == []
