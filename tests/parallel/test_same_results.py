"""Whoever does the work, and however many: the same catalog, evidence, export and vectors to the last byte."""

from pathlib import Path

import pytest
from parallel_index import difference, dump, index

pytestmark = pytest.mark.ci


@pytest.mark.slow
def test_processes_give_what_one_process_gives(corpus: Path, tmp_path: Path, alone: list[str]) -> None:
    report = index(corpus, tmp_path / "several", jobs=2)
    assert {(item.path, item.symbol) for item in report.convicted} >= {
        ("theirs/wrong.py", "add"),
        ("theirs/twice.py", "clamp"),
    }
    assert any('"verdict": "pass"' in line for line in alone)
    assert any("probes:trusted" in line for line in alone)
    assert difference(dump(corpus, tmp_path / "several"), alone) == []
