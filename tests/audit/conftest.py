"""Every test of the audit keeps its state by itself and works in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_helpers import git, write


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
