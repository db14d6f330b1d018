"""Work is given to workers however small it is."""

from pathlib import Path

import pytest
from parallel_index import dump, index, made

from codeguard.workers.processes import BatchSize


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return made(tmp_path / "corpus")


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the index holds that this process makes by itself."""
    home = tmp_path_factory.mktemp("alone")
    index(made(home / "corpus"), home / "state")
    return dump(home / "corpus", home / "state")


@pytest.fixture(autouse=True)
def _everything_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the work is, and in many tasks."""
    monkeypatch.setattr("codeguard.index.file_tasks.BATCH", BatchSize(256, 100))
    monkeypatch.setattr("codeguard.index.file_tasks.BATCH", BatchSize(2))
    monkeypatch.setattr("codeguard.index.evidence_tasks.CHECKS_A_TASK", 2)
    monkeypatch.setattr("codeguard.index.evidence_tasks.FEW", 0)
    monkeypatch.setattr("codeguard.workers.processes.STARTING_S", 0.0)
