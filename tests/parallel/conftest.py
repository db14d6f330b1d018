"""Work is given to workers however small it is."""

from pathlib import Path

import pytest
from parallel_index import OURS, THEIRS


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    for name, text in (OURS | THEIRS).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(autouse=True)
def _everything_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the work is, and in many tasks."""
    monkeypatch.setattr("codeguard.indexing.BYTES_A_POOL", 0)
    monkeypatch.setattr("codeguard.judging.FILES_A_POOL", 0)
    monkeypatch.setattr("codeguard.judging.CHECKS_A_POOL", 0)
    monkeypatch.setattr("codeguard.chunktasks.BATCH_BYTES", 100)
    monkeypatch.setattr("codeguard.judgetasks.FILES_A_TASK", 2)
    monkeypatch.setattr("codeguard.judgetasks.CHECKS_A_TASK", 2)
    monkeypatch.setattr("codeguard.embedtasks.BATCH_CHARACTERS", 300)
