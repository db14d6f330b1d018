"""Whether a signal of another package may be installed, told by looking at folders."""

from __future__ import annotations

import sys
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from zipfile import ZipFile

import pytest

from codeguard.analysis.rules import ENTRY_POINT_GROUP
from codeguard.analysis.rules.installed import may_be_installed

OURS = f"[{ENTRY_POINT_GROUP}]\nshouting = shouting:SIGNAL\n"
OTHER = "[console_scripts]\nshout = shouting:main\n"


def distribution(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1\n")
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(text)


def named() -> bool:
    """Return what the standard library's own finder says; the one that everybody asks may be another's by now."""
    context = metadata.DistributionFinder.Context(path=sys.path)
    found = metadata.MetadataPathFinder.find_distributions(context)
    return any(point.group == ENTRY_POINT_GROUP for one in found for point in one.entry_points)


@pytest.fixture
def finders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without finders of distributions that a test runner may bring."""
    plain = [item for item in sys.meta_path if item is PathFinder or not hasattr(item, "find_distributions")]
    monkeypatch.setattr(sys, "meta_path", plain)


@pytest.mark.usefixtures("finders")
@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("shouting-1.dist-info", OURS, True),
        ("Shouting-1.DIST-INFO", OURS, True),
        ("shouting.egg-info", OURS, True),
        ("shouting-1.dist-info", OTHER, False),
        ("shouting-1.dist-info", "", False),
        ("shouting", OURS, False),
    ],
)
def test_a_distribution_that_names_the_group(
    place: str, text: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution(tmp_path / place, text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    assert may_be_installed(ENTRY_POINT_GROUP) is expected
    assert named() is expected


@pytest.mark.usefixtures("finders")
def test_an_unpacked_egg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    egg = tmp_path / "shouting-1.egg"
    distribution(egg / "EGG-INFO", OURS)
    monkeypatch.setattr(sys, "path", [str(egg)])
    assert may_be_installed(ENTRY_POINT_GROUP)
    assert named()


@pytest.mark.usefixtures("finders")
def test_an_archive_may_hold_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("shouting-1.dist-info/entry_points.txt", OTHER)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert not may_be_installed(ENTRY_POINT_GROUP)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packed.zip")])
    assert may_be_installed(ENTRY_POINT_GROUP)


def test_another_finder_may_know_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_distributions(self, context: object) -> list[metadata.Distribution]:
            return []

    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [Finder()])
    assert may_be_installed(ENTRY_POINT_GROUP)
