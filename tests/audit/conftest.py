"""Every test of the audit keeps its state by itself and works in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_helpers import FLAGGED, git, write

from codeguard.analysis.engine import Engine
from codeguard.analysis.rules import DetectorContext, FileSignal
from codeguard.corpus.chunking import chunk_file
from codeguard.ranking.signals import load_all


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    """Load what the detectors load with their first file: each audit would load it again, in a fork of this process."""
    signals = [item for item in load_all() if isinstance(item, FileSignal)]
    list(Engine(signals, DetectorContext()).observe(chunk_file("m.py", FLAGGED.encode())))


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the working directory."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def repository(project: Path) -> Path:
    """A git repository with one commit, that is the working directory."""
    git(project, "init", "-q", "-b", "main")
    write(project, {"README": "a project\n"})
    git(project, "add", "README")
    git(project, "commit", "-q", "-m", "begin")
    return project
