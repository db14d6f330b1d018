"""Bytecode in `__pycache__` is silent where it is what the audited source beside it compiles to, and only there."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode as Mode

import pytest
from audit_helpers import look, rules

from codeguard.audit.bytecode import is_compiled_from

SOURCE = '''"""Constants of each kind that the compiler folds or keeps."""

import os

LIMITS = (1, -1, 2**70, 1.5, -0.0, 2j, b"bytes", "text", "täxt", True, None, ...)


class Account:
    def may(self, name: str) -> bool:
        assert name, "a name"
        return name in {"ada", "grace"} or any(part == os.sep for part in name)
'''


def compiled(folder: Path, source: str = SOURCE, mode: Mode = Mode.TIMESTAMP, level: int = -1) -> Path:
    """Write a source and what the interpreter would keep of it; return where that lies."""
    (folder / "m.py").write_text(source, encoding="utf-8")
    return Path(
        py_compile.compile(str(folder / "m.py"), optimize=level, invalidation_mode=mode, doraise=True) or ""
    )


@pytest.mark.parametrize("mode", [Mode.TIMESTAMP, Mode.CHECKED_HASH])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_python_keeps_of_a_source_is_silent(tmp_path: Path, mode: Mode, level: int) -> None:
    compiled(tmp_path, mode=mode, level=level)
    report = look(tmp_path)
    assert not report.findings
    assert len(report.skipped) == 1  # it is still listed as not read


def other_source(kept: Path) -> None:
    (kept.parent.parent / "m.py").write_text(SOURCE.replace('"ada"', '"eve"'), encoding="utf-8")


def changed(old: bytes, new: bytes) -> Callable[[Path], None]:
    def change(kept: Path) -> None:
        data = kept.read_bytes()
        assert old in data
        kept.write_bytes(data.replace(old, new, 1))

    return change


def moved(name: str) -> Callable[[Path], None]:
    def move(kept: Path) -> None:
        kept.rename(kept.parent / name)

    return move


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(other_source, id="another source"),
        pytest.param(changed(b"ada", b"eve"), id="another constant"),
        pytest.param(changed((-1).to_bytes(4, "little", signed=True), bytes(4)), id="another number"),
        pytest.param(lambda kept: (kept.parent.parent / "m.py").unlink(), id="no source"),
        pytest.param(moved(f"m.{sys.implementation.cache_tag}-pytest-9.0.0.pyc"), id="of pytest"),
        pytest.param(moved("m.cpython-27.pyc"), id="of another interpreter"),
        pytest.param(moved(f"m.{sys.implementation.cache_tag}.opt-1.pyc"), id="of another level"),
        pytest.param(moved("../m.pyc"), id="beside the source"),
        pytest.param(lambda kept: kept.write_bytes(kept.read_bytes() + b"N"), id="something behind it"),
        pytest.param(lambda kept: kept.write_bytes(kept.read_bytes()[:-9]), id="cut"),
        pytest.param(lambda kept: os.truncate(kept, 3_000_000), id="too large"),
        pytest.param(lambda kept: kept.write_bytes(kept.read_bytes()[:16] + b"[\1\0\0\0N"), id="no code"),
        pytest.param(lambda kept: kept.write_bytes(kept.read_bytes()[:16] + b"\xa9\1r\0\0\0\0"), id="itself"),
        pytest.param(lambda kept: kept.write_bytes(kept.read_bytes()[:16] + b")\1" * 5_000), id="deep"),
    ],
)
def test_what_is_not_of_the_source_is_a_finding(tmp_path: Path, planted: Callable[[Path], object]) -> None:
    kept = compiled(tmp_path)
    (tmp_path / "other.py").write_text("x = 1\n", encoding="utf-8")
    planted(kept)
    assert rules(look(tmp_path).findings) == ["discovery.not-audited"]


def test_unchecked_bytecode_is_a_finding(tmp_path: Path) -> None:
    """Python runs it whatever becomes of the source: fixing the source would fix nothing."""
    compiled(tmp_path, mode=Mode.UNCHECKED_HASH)
    assert rules(look(tmp_path).findings) == ["discovery.not-audited"]


def test_an_excluded_source_speaks_for_nothing(tmp_path: Path) -> None:
    compiled(tmp_path)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("m.py\n", encoding="utf-8")
    assert rules(look(tmp_path).findings) == ["discovery.not-audited"]


def test_another_process_made_it(tmp_path: Path) -> None:
    """Dumps of one code object differ by what else the process holds that wrote them."""
    library = Path(py_compile.__file__).parent
    for name in ("ast.py", "enum.py", "inspect.py", "statistics.py"):
        shutil.copy(library / name, tmp_path)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(tmp_path)], check=True)
    for path in tmp_path.glob("*.py"):
        assert is_compiled_from(Path(cache_from_source(str(path))).read_bytes(), path.read_bytes())
