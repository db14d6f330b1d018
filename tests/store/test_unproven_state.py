"""A user's configuration that cannot be written, as in many containers: everything works, and says what it lacks."""

from pathlib import Path

import pytest

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.errors import StoreError
from codeguard.models import Trust
from codeguard.ranking.reranking import Ranking


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "m.py").write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path


def opened(root: Path, trust: list[Path] | None = None) -> CodeGuard:
    settings = Settings(store=str(root / "store"), root=str(root), embedding="lexical", share=False, jobs=1)
    return CodeGuard.open(trust=trust or [], settings=settings)


def indexed(root: Path) -> None:
    with opened(root, [root / "ours"]) as guard:
        guard.index([root / "ours"])


def asked(root: Path) -> Ranking:
    with opened(root) as guard:
        return guard.query("add", k=5)


def trust_of(ranking: Ranking) -> set[Trust]:
    return {item.trust for item in ranking.ranking}


def test_the_key_is_kept_elsewhere_and_trust_lasts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/nowhere")
    indexed(project)
    ranking = asked(project)
    assert trust_of(ranking) == {Trust.TRUSTED}
    assert any("cannot be kept" in line and "temporary" in line for line in ranking.warnings)
    (folder,) = (project / "temporary").glob("codeguard-*")
    assert folder.stat().st_mode & 0o077 == 0


def test_an_index_of_before_opens_and_nothing_in_it_is_trusted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed(project)
    assert trust_of(asked(project)) == {Trust.TRUSTED}
    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/nowhere")
    ranking = asked(project)
    assert trust_of(ranking) == {Trust.UNLISTED}
    assert any("nothing is trusted" in line for line in ranking.warnings)


def test_another_users_folder_among_the_temporary_files_is_not_taken(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/nowhere")
    indexed(project)
    (folder,) = (project / "temporary").glob("codeguard-*")
    folder.chmod(0o777)
    ranking = asked(project)
    assert trust_of(ranking) == {Trust.UNLISTED}
    assert any("cached evidence is computed anew" in line for line in ranking.warnings)


def test_with_a_configuration_a_planted_index_is_refused_as_ever(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed(project)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "another"))
    with pytest.raises(StoreError, match="not of this installation"):
        asked(project)
