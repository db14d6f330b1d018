"""A package that the user's configuration names is there for trusted code and for what is held against it."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeguard.audit.check import check_file
from codeguard.config import DefenseConfig, Settings, load_settings
from codeguard.errors import SandboxError
from codeguard.index.workspace import Workspace
from codeguard.models import Verdict

pytestmark = pytest.mark.ci

PACKAGE = "def marked(text):\n    return '<' + text + '>'\n"
TRUSTED = '''
from markup import marked

def heading(text):
    """Return a text as a heading.

    >>> heading("a")
    '<A>'
    >>> heading("b c")
    '<B C>'
    """
    return marked(text.upper())
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    place = tmp_path / "site" / "markup"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(PACKAGE)
    (tmp_path / "ours.py").write_text(TRUSTED)
    return place


def verdict(folder: Path, body: str, modules: tuple[str, ...]) -> Verdict:
    theirs = folder / "theirs.py"
    theirs.write_text(TRUSTED.replace("return marked(text.upper())", body))
    settings = Settings(defense=DefenseConfig(modules=modules))
    (found,) = check_file(theirs, against=[folder / "ours.py"], settings=settings)
    return found.report.verdict


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("upper = text.upper()\n    return marked(upper)", Verdict.PASS),
        ("return marked(text.lower())", Verdict.FAIL),
    ],
)
def test_what_needs_it_is_run(package: Path, tmp_path: Path, body: str, expected: Verdict) -> None:
    assert verdict(tmp_path, body, (str(package),)) is expected


def test_without_it_nothing_is_run_wherever_it_lies(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(package.parent)
    monkeypatch.syspath_prepend(package.parent)
    assert verdict(tmp_path, "return marked(text.lower())", ()) not in (Verdict.PASS, Verdict.FAIL)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text(TRUSTED)
    with pytest.raises(SandboxError, match="no module for the sandbox"):
        verdict(tmp_path, "return text", (str(tmp_path / "missing"),))


def test_evidence_belongs_to_the_text_of_the_packages(package: Path, tmp_path: Path) -> None:
    place = tmp_path / "config.toml"
    place.write_text(f"[defense]\nmodules = ['{package}']\n")

    def epoch() -> str:
        workspace = Workspace(load_settings(place).replace(state_dir=str(tmp_path / "state")), create=True)
        try:
            return workspace.epoch
        finally:
            workspace.close()

    first = epoch()
    assert epoch() == first
    (package / "__init__.py").write_text(PACKAGE.replace("<", "["))
    assert epoch() != first
