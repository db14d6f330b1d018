"""What the vectors of `static` are trained on: the answer to a question never holds the question."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from codeguard.index.embedding import static
from experiments.embedding_training.functions import digest, functions_of, package
from experiments.embedding_training.questions import Kind, questions
from experiments.embedding_training.train import COUNTS, PLACES, Bags, Pieces, write

PYTHON = b'''"""Tools that read prices."""

def mean_price(rows):
    """Return the mean price. Rows without a price are left out of the mean.

    :param rows: as `read` gives them
    """
    # an empty shop has no mean at all
    if not rows:
        raise ValueError(f"no rows to take the mean of, got {rows}")
    prices = [row.price for row in rows]
    return sum(prices) / len(prices)
'''
SCRIPT = b"""/**
 * Sends an order to the kitchen.
 * @param {Order} order what was asked for
 */
export function send(order) {
  // the kitchen closes at ten in the evening
  return post("/kitchen", order);
}
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "shop-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("shop/prices.py", PYTHON)
        opened.writestr("shop/kitchen.js", SCRIPT)
        opened.writestr("shop/tests/test_prices.py", PYTHON.replace(b"mean_price", b"test_mean"))
        opened.writestr("shop/broken.py", b"def broken(:\n    pass  # this is no Python at all, is it\n")
    return path


def test_a_package_gives_its_functions_but_those_of_tests(archive: Path) -> None:
    found = {item["symbol"]: item for file in package(archive) for item in file["functions"]}
    assert {"mean_price", "send"} <= set(found) <= {"mean_price", "send", "broken"}
    assert found["mean_price"]["documentation"].startswith("Return the mean price.")
    assert '"""' not in found["mean_price"]["code"]
    assert found["mean_price"]["message"] == "ValueError: no rows to take the mean of, got value"
    assert found["send"]["documentation"] == "Sends an order to the kitchen."
    assert [comment[0] for comment in found["send"]["comments"]] == [
        "the kitchen closes at ten in the evening"
    ]


@pytest.mark.parametrize("same", ["text", "first line of documentation"])
def test_what_is_measured_on_is_left_out(archive: Path, same: str) -> None:
    function = next(iter(functions_of("prices.py", PYTHON)))
    mark = function.code if same == "text" else function.documentation.partition("\n")[0]
    files = package(archive, without=frozenset({digest(mark)}))
    assert "mean_price" not in {item["symbol"] for file in files for item in file["functions"]}


def test_a_question_is_not_in_its_answer_but_where_it_is_looked_for_by_its_text(archive: Path) -> None:
    asked = [item for file in package(archive) for item in questions(file)]
    assert {Kind.SUMMARY, Kind.SENTENCE, Kind.COMMENT, Kind.MODULE} <= {item.kind for item in asked}
    assert ("Return the mean price.", "mean price\n") in {
        (item.question, item.answer[:11]) for item in asked if item.kind is Kind.SUMMARY
    }
    for item in asked:
        if item.kind not in (Kind.NAME, Kind.LINES, Kind.MESSAGE):
            assert item.question not in item.answer
    assert asked == [item for file in package(archive) for item in questions(file)]


def test_what_is_written_is_what_the_embedding_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "mean", "price", "send", "##s"]
    vectors = np.random.default_rng(0).normal(size=(len(pieces), 8)).astype(np.float32)
    learned = {"vectors": vectors, "places": np.zeros(PLACES), "counts": np.log(np.arange(1.0, COUNTS + 1))}
    write(tmp_path / "written.npz", pieces, learned)
    monkeypatch.setattr(static, "files", lambda _: tmp_path)
    monkeypatch.setattr(static, "MODEL", "written.npz")
    text = "mean prices mean"
    bags = Bags.of([text], Pieces(pieces))
    assert [(int(piece), int(count)) for piece, count in zip(bags.pieces[0], bags.counts[0], strict=True) if piece] == [
        (3, 1), (4, 0), (6, 0)
    ]  # fmt: skip
    expected = 2 * vectors[3] + vectors[4] + vectors[6]
    got = static.StaticEmbedding().embed([text])[0]
    assert got @ expected / np.linalg.norm(expected) == pytest.approx(1, abs=1e-3)
