"""The picture of a terminal shows what the commands printed, and nothing that it printed becomes markup."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from experiments import recording

COMMITTED = Path(__file__).parents[2] / "docs" / "recording.svg"
SVG = "{http://www.w3.org/2000/svg}"


def lines_of(svg: str) -> list[str]:
    return [node.text or "" for node in fromstring(svg).iter(f"{SVG}text")]


def test_each_line_is_there_in_order_and_as_text() -> None:
    steps = [("$ one", ["<script>x</script>", "a && b"]), ("$ two", ["word " * 40])]
    shown = lines_of(recording.picture(steps))
    assert shown[:4] == ["$ one", "<script>x</script>", "a && b", "$ two"]
    assert len(shown) > 5
    assert all(len(line) <= recording.COLUMNS for line in shown)
    assert " ".join(shown[4:]).split() == ["word"] * 40


def test_what_a_command_prints_comes_after_the_command() -> None:
    svg = recording.picture([("$ one", ["first"]), ("$ two", ["second"])])
    delays = [float(text) for text in re.findall(r"animation-delay:([\d.]+)s", svg)]
    assert delays == sorted(delays)
    assert delays[1] - delays[0] == pytest.approx(recording.WAIT)


def test_the_committed_picture_shows_the_poisoned_and_the_right_answer() -> None:
    shown = lines_of(COMMITTED.read_text(encoding="utf-8"))
    second = next(place for place, line in enumerate(shown) if line.startswith("$") and place)
    assert any("data/poisoned/" in line for line in shown[:second])
    assert not any("data/poisoned/" in line for line in shown[second : second + 4])
    assert any("your own code" in line for line in shown[second:])
