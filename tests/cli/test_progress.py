"""The bar moves with what is done, not with what was handed out."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from codeguard.api import CodeGuard
from codeguard.cli.output import Progress
from codeguard.config import Settings


def test_a_stage_that_ends_twice_is_one_line_and_a_pipe_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, lines in ((Terminal(), 2), (io.StringIO(), 0)):
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setenv("COLUMNS", "30")
        bar = Progress()
        for stage in ("files", "checks"):
            for done in (0, 1, 2, 2):
                bar(stage, done, 2)
        text = stream.getvalue()
        assert text.count("\n") == lines
        assert all(len(part) <= 30 for part in re.split(r"[\r\n]", re.sub(r"\x1b\[\S*?[a-zA-Z]", "", text)))


def test_an_index_counts_what_is_done_one_by_one(tmp_path: Path) -> None:
    for number in range(6):
        code = f'def add_{number}(a, b):\n    """Add a, b and {number}."""\n    return a + b + {number}\n'
        (tmp_path / f"m{number}.py").write_text(code)
    told: dict[str, list[tuple[int, int]]] = {}
    settings = Settings(store=str(tmp_path / "store"), root=str(tmp_path), embedding="lexical", jobs=1)
    with CodeGuard.open(settings=settings) as guard:
        guard.index([tmp_path], progress=lambda stage, *at: told.setdefault(stage, []).append(at))
    assert {"files", "signals", "checks"} <= told.keys()
    for stage in ("files", "signals", "checks"):
        counts = [done for done, _ in told[stage]]
        assert sorted(set(counts)) == list(range(7)), stage  # none left out
        assert counts == sorted(counts)
        assert {total for _, total in told[stage]} == {6}
