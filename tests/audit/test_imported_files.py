"""Which files beside an audited one are read: those of its package, and no link out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeguard.audit.imported_files import on_disk


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("package/a.py", True),
        ("package", False),  # a folder
        ("package/linked.py", False),
        ("package/out/b.py", False),  # behind a linked folder, so the name alone is inside
        ("b.py", False),
        ("package/none.py", False),
        ("package/\0.py", False),
    ],
)
def test_a_file_is_there_if_it_lies_inside(tmp_path: Path, path: str, expected: bool) -> None:
    package, outside = tmp_path / "package", tmp_path / "outside"
    package.mkdir()
    outside.mkdir()
    for place in (package / "a.py", outside / "b.py", tmp_path / "b.py"):
        place.write_text("x = 1\n")
    (package / "linked.py").symlink_to(tmp_path / "b.py")
    (package / "out").symlink_to(outside)
    files = on_disk(tmp_path, package, None, lambda *item: False)  # type: ignore[arg-type]
    assert files.has(path) is expected
