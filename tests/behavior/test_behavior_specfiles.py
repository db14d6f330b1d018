"""Files of specs: which are read, and what their digest notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeguard.behavior.specs.files import SpecFile, digest_of, spec_files
from codeguard.behavior.specs.toml import parse_specs
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "unknown key"),
        ("spec = 1", "own.toml: spec, got int"),
        ("[[spec]]\ncase = [{ args = [1], expected = 1 }]", "spec 1: name"),
        ("[[spec]]\nname = 'f'", "has no case"),
        ("[[spec]]\nname = 'f'\naliases = [1]\ncase = [{ args = [1], expected = 1 }]", "aliases"),
        ("[[spec]]\nname = 'f'\ncase = [1]", "expected a table"),
        ("[[spec]]\nname = 'f'\ncase = [{ expected = 1 }]", "exactly one of args, call"),
        ("[[spec]]\nname = 'f'\ncase = [{ args = [1] }]", "exactly one of expected"),
        ("[[spec]]\nname = 'f'\ncase = [{ args = 1, expected = 1 }]", "args, got int"),
        ("[[spec]]\nname = 'f'\ncase = [{ call = '1', expected = 1 }]", "arguments"),
        ("[[spec]]\nname = 'f'\ncase = [{ call = 'x()', expected = 1 }]", "call is no Python literal"),
    ],
)
def test_a_malformed_spec_is_an_error_that_says_where(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_specs(SpecFile(tmp_path / "own.toml", text.encode()))
