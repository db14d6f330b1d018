"""The corpus of the growth benchmark and its plot."""

import ast
from pathlib import Path
from xml.etree import ElementTree

import pytest

from experiments.benchmarks.growth_plot import PANELS, draw
from experiments.benchmarks.scale import PART_FILES, mutated, sources, write_part

SOURCE = "LIMIT = 20\n\n\ndef area(width):\n    return width * 12\n\n\nclass Room:\n    size = area(3)\n"


@pytest.mark.parametrize("round_", [1, 2, 11])
def test_a_copy_is_other_code_of_the_same_shape(round_: int) -> None:
    copy = mutated(SOURCE, round_)
    names = {
        node.name for node in ast.walk(ast.parse(copy)) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert not names & {"area", "Room"}
    assert copy != mutated(SOURCE, round_ + 1)
    assert [type(node) for node in ast.walk(ast.parse(copy))] == [
        type(node) for node in ast.walk(ast.parse(SOURCE))
    ]


def test_the_first_round_is_the_original() -> None:
    assert mutated(SOURCE, 0) == SOURCE


def test_parts_are_the_same_whenever_they_are_written(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for number in range(PART_FILES + 3):
        (packages / f"m{number}.py").write_text(f"{SOURCE}\n# {'x' * 200} {number}\n")
    files = sources([packages])
    assert len(files) == PART_FILES + 3
    for number, count in ((0, PART_FILES), (1, 3), (2, PART_FILES)):
        one, two = (write_part(tmp_path / name, files, number) for name in ("one", "two"))
        texts = [path.read_text() for path in sorted(one.iterdir())]
        assert len(texts) == count
        assert texts == [path.read_text() for path in sorted(two.iterdir())]


def test_the_plot_has_a_point_for_each_figure() -> None:
    rows: list[dict[str, float | int | str]] = [
        {"chunks": 10_000, "near_p50_ms": 1.5, "disk_bytes": 5e6, "update_s": 2.0},
        {"chunks": 1_000_000, "near_p50_ms": 9.5, "disk_bytes": 5e9, "update_s": 0},
        {"chunks": 1_000_000, "near_p50_ms": 9.5, "through": "server"},
    ]
    svg = ElementTree.fromstring(draw(rows))
    tag = "{http://www.w3.org/2000/svg}"
    assert len(list(svg.iter(f"{tag}circle"))) == 5
    said = [element.text for element in svg.iter(f"{tag}text")]
    assert {panel.title for panel in PANELS} <= set(said)
    assert "1,000,000" in said
