"""A notebook is indexed by what its cells hold: functions are checked, outputs are not code."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.secrets import without_secrets
from codeguard.models import Chunk, Trust

TRUSTED = '''def churn_rate(lost, total):
    """Return the churn rate: the share of customers that were lost.

    >>> churn_rate(1, 4)
    0.25
    """
    return lost / total
'''
WRONG = TRUSTED.replace("lost / total", "total / lost")
PNG = "iVBORw0KGgo" * 2_000
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3"


def cell(kind: str, source: str, *outputs: object) -> dict[str, object]:
    return {
        "cell_type": kind,
        "metadata": {},
        "outputs": outputs,
        "source": source.rstrip().splitlines(keepends=True),
    }


def notebook(function: str, indent: int | None = 1) -> bytes:
    shown = {"output_type": "display_data", "data": {"image/png": PNG, "text/plain": [f"token {TOKEN}"]}}
    cells = [
        cell("markdown", '# Customers\n\nHow many of them leave "soon"\n'),
        cell("code", "%matplotlib inline\n!pip install x\nimport math\n"),
        cell("code", function, shown),
        cell("code", "%%bash\necho churned\n"),
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=indent).encode()


def function_of(chunks: tuple[Chunk, ...]) -> Chunk:
    return next(chunk for chunk in chunks if chunk.symbol == "churn_rate")


@pytest.mark.parametrize("indent", [1, None], ids=["as editors write it", "in one line"])
def test_a_notebook_is_cut_into_what_its_cells_hold(indent: int | None) -> None:
    data = notebook(TRUSTED, indent)
    file = chunk_file("a.ipynb", data)
    assert function_of(file.chunks).text.strip() == TRUSTED.strip()
    assert file.language == "python"
    assert "# %matplotlib inline\n# !pip install x\nimport math" in file.text
    assert "# %%bash\n# echo churned" in file.text
    assert '# How many of them leave "soon"' in file.text
    assert PNG not in file.text
    assert PNG in file.raw
    spans = [chunk.span for chunk in file.chunks]
    assert (spans[0].start_byte, spans[-1].end_byte) == (0, len(data))
    assert all(one.end_byte == other.start_byte for one, other in pairwise(spans))
    lines = data.decode().splitlines()
    assert "def churn_rate" in lines[function_of(file.chunks).start_line - 1]
    assert "return lost" in lines[function_of(file.chunks).end_line - 1]


def test_a_secret_in_an_output_is_masked_where_the_whole_file_is_read() -> None:
    file = without_secrets(chunk_file("a.ipynb", notebook(TRUSTED)))
    assert TOKEN not in file.raw
    assert PNG in file.raw
    assert not any(chunk.secrets for chunk in file.chunks)


@pytest.mark.parametrize("text", [b"", b"{", b'{"cells": []}', b'{"a": [1]}', b"[" * 30_000])
def test_what_has_no_cells_is_read_as_text(text: bytes) -> None:
    file = chunk_file("a.ipynb", text)
    assert (file.language, file.raw, file.text) == ("text", "", text.decode())


@pytest.mark.parametrize("indent", [1, None], ids=["as editors write it", "in one line"])
def test_functions_of_cells_are_checked_and_outputs_not_indexed(tmp_path: Path, indent: int | None) -> None:
    files = {
        "ours/m.py": TRUSTED.encode(),
        "copy.ipynb": notebook(TRUSTED, indent),
        "wrong.ipynb": notebook(WRONG, indent),
    }
    for name, data in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    settings = lexical_settings(tmp_path / "in", tmp_path / "store")
    with CodeGuard.open(settings=settings, trust=[tmp_path / "in" / "ours"]) as guard:
        guard.index([tmp_path / "in"])
        ranking = guard.query("churn rate of customers", k=10)
        found = {item.chunk.path: item for item in ranking.ranking if item.chunk.symbol == "churn_rate"}
        assert found["copy.ipynb"].trust is Trust.COPY
        assert found["wrong.ipynb"].convicted
        assert (
            found["wrong.ipynb"].chunk.start_line
            == function_of(chunk_file("wrong.ipynb", files["wrong.ipynb"]).chunks).start_line
        )
        (finding,) = (item for item in guard.audit([tmp_path / "in"]).open if item.rule == "behavior.fail")
        line = files["wrong.ipynb"].decode().splitlines()[finding.place.start_line - 1]
        assert indent is None or "def churn_rate" in line[finding.place.start_column - 1 :]
        assert not any("iVBORw0" in item.chunk.text for item in guard.query("iVBORw0KGgo", k=20).ranking)
        assert guard.index([tmp_path / "in"]).nothing_changed
