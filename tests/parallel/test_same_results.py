"""Whoever does the work, and however many: the same catalog, evidence, export and vectors to the last byte."""

from pathlib import Path

import pytest
from parallel_index import dump, index


def test_processes_give_what_one_process_gives(corpus: Path, tmp_path: Path) -> None:
    alone = index(corpus, tmp_path / "alone")
    assert {(item.path, item.symbol) for item in alone.convicted} >= {
        ("theirs/wrong.py", "add"),
        ("theirs/twice.py", "clamp"),
    }
    first = dump(corpus, tmp_path / "alone")
    assert any('"verdict": "pass"' in line for line in first)
    several = index(corpus, tmp_path / "several", jobs=2)
    assert (several.convicted, several.checked) == (alone.convicted, alone.checked)
    assert dump(corpus, tmp_path / "several") == first


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_a_cluster_gives_what_one_process_gives(corpus: Path, tmp_path: Path, workers: int) -> None:
    distributed = pytest.importorskip("distributed")
    index(corpus, tmp_path / "alone")
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        report = index(corpus, tmp_path / "cluster", cluster=cluster.scheduler_address)
    assert report.warnings == ()
    assert dump(corpus, tmp_path / "cluster") == dump(corpus, tmp_path / "alone")
