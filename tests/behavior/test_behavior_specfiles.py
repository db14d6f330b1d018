"""Files of specs: which are read, and what their digest notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeguard.behavior.specs.files import digest_of, spec_files
from codeguard.errors import SpecError

FILES = {"b.toml": "one", "a.toml": "two", "notes.txt": "three"}


def folder_of(place: Path, files: dict[str, str]) -> Path:
    place.mkdir()
    for name, text in files.items():
        (place / name).write_text(text)
    return place


def test_toml_files_are_read_by_name(tmp_path: Path) -> None:
    found = spec_files([folder_of(tmp_path / "specs", FILES)])
    assert [(file.path.name, file.data) for file in found] == [("a.toml", b"two"), ("b.toml", b"one")]


@pytest.mark.parametrize(
    ("files", "same"),
    [
        (FILES, True),
        ({**FILES, "notes.txt": "four"}, True),
        ({**FILES, "a.toml": "two, but"}, False),
        ({**FILES, "c.toml": ""}, False),
        ({"a.toml": "two"}, False),
        ({"a.toml": "one", "b.toml": "two"}, False),
        ({"a.tomlb": "x", "a.toml": "twob.tomlone"}, False),
    ],
)
def test_the_digest_is_of_names_and_contents(tmp_path: Path, files: dict[str, str], same: bool) -> None:
    before, after = (
        digest_of(spec_files([folder_of(tmp_path / name, content)]))
        for name, content in (("before", FILES), ("after", files))
    )
    assert (before == after) is same


@pytest.mark.parametrize("missing", ["nowhere", "specs/a.toml"])
def test_what_is_no_folder_or_cannot_be_read_is_an_error(tmp_path: Path, missing: str) -> None:
    folder_of(tmp_path / "specs", FILES)
    with pytest.raises(SpecError, match="no such folder"):
        spec_files([tmp_path / missing])
    (tmp_path / "specs" / "z.toml").mkdir()
    with pytest.raises(SpecError, match="cannot read the spec file"):
        spec_files([tmp_path / "specs"])
