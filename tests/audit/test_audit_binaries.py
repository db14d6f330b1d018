"""What cannot be read as text: what is run, loaded or opened is a finding, pictures and tables are none."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from codeguard.audit.evidence import skipped_findings
from codeguard.corpus.discovery import discover
from codeguard.models import Severity


def archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as stream:
        stream.writestr("a.py", "x = 1\n" * 2_000)
    return made.getvalue() + b"\0"


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.exe", b"MZ\x90\0" + bytes(60), True),
        ("libx.so", b"\x7fELF\x02\x01\x01" + bytes(60), True),
        ("a.cpython-311.pyc", b"\xa7\r\r\n\0\0\0\0" + bytes(60), True),
        ("a.zip", archive(), True),
        ("macros.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(60), True),
        ("model.bin", b"\x80\x04\x95\0\0\0\0" + bytes(60), True),
        ("logo.png", b"\x7fELF\x02\x01\x01" + bytes(60), True),
        ("logo.png", b"\x89PNG\r\n\x1a\n" + bytes(60), False),
        ("logo.png", archive(), False),  # pictures often hold one
        ("font.woff2", b"wOF2\0\x01\0\0" + bytes(60), False),
        ("table.npy", b"\x93NUMPY\x01\0" + bytes(60), False),
        ("django.mo", b"\xde\x12\x04\x95" + bytes(60), False),
        ("noise.dat", bytes(range(256)), False),
    ],
)
def test_binaries(tmp_path: Path, name: str, data: bytes, told: bool) -> None:
    (tmp_path / name).write_bytes(data)
    found = skipped_findings(discover([tmp_path], root=tmp_path).skipped)
    assert [item.rule for item in found] == ["discovery.not-audited"] * told
    assert all(item.severity is Severity.MEDIUM for item in found)


def test_one_finding_for_a_kind_in_a_tree(tmp_path: Path) -> None:
    for folder in ("one/a", "one/b", "two"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "m.so").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(60))
    (tmp_path / "one" / "a.zip").write_bytes(b"PK\x03\x04" + bytes(60))
    found = skipped_findings(discover([tmp_path], root=tmp_path).skipped)
    assert sorted((item.path, item.reason) for item in found) == [
        ("one/a.zip", "an archive"),
        ("one/a/m.so", "a program: m.so, m.so in 2 folders"),
        ("two/m.so", "a program"),
    ]


def test_one_finding_for_a_folder(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.so").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(60))
    (found,) = skipped_findings(discover([tmp_path], root=tmp_path).skipped)
    assert found.reason == "a program: 0.so, 1.so, 2.so, 3.so and 5 more"


def test_one_finding_for_what_the_interpreter_keeps(tmp_path: Path) -> None:
    for folder in ("a", "a/b", "c"):
        (tmp_path / folder / "__pycache__").mkdir(parents=True)
        (tmp_path / folder / "__pycache__" / "m.pyc").write_bytes(b"\xa7\r\r\n\0\0\0\0" + bytes(60))
    (found,) = skipped_findings(discover([tmp_path], root=tmp_path).skipped)
    assert found.rule == "discovery.not-audited"
