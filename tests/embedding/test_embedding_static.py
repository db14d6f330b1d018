"""Our own embedding: rows of one text alone, questions near their answers, and nothing that a text can do to it."""

from __future__ import annotations

import hashlib
import itertools
import string
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.errors import EmbeddingError
from codeguard.index.embedding import Embedding, open_embedding
from codeguard.index.embedding.static import MOST_LETTERS, MOST_PIECES, StaticEmbedding
from experiments.benchmarks.retrieval import pairs

CONFIG = "def read_config(path):\n    with open(path) as file:\n        return json.load(file)"


@pytest.fixture(scope="module")
def static() -> StaticEmbedding:
    return StaticEmbedding()


def nearest(embedding: Embedding, question: str, texts: list[str]) -> int:
    return int(np.argmax(embedding.embed([question]) @ embedding.embed(texts).T))


def test_the_identity_belongs_to_these_vectors() -> None:
    """Other vectors under the same identity would mix in an index: raise VERSION together with this digest."""
    model = (files("codeguard.index.embedding") / "static.npz").read_bytes()
    assert (StaticEmbedding.identity, hashlib.sha256(model).hexdigest()[:16]) == (
        "static@1",
        "e99ee3fb865f74a4",
    )


@given(st.lists(st.text(max_size=40), max_size=5))
def test_rows_have_length_one_and_depend_on_their_text_alone(
    static: StaticEmbedding, texts: list[str]
) -> None:
    rows = static.embed(texts)
    assert rows.shape == (len(texts), static.dimension)
    assert np.allclose((rows * rows).sum(axis=1), 1, atol=1e-5)
    assert all(
        (StaticEmbedding.embed(static, [text])[0] == row).all() for text, row in zip(texts, rows, strict=True)
    )


@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        (
            "make a picture smaller",
            "def thumbnail(image, size):\n    return image.resize(size)",
            ["def smaller(a, b):\n    return min(a, b)", "def make(target):\n    run(['make', target])"],
        ),
        (
            "wait before trying again after a failure",
            "def backoff(attempt):\n    time.sleep(2 ** attempt)",
            ["def failure(test):\n    assert not test.ok", "def again():\n    return True"],
        ),
        (
            "load settings from disk",
            CONFIG,
            [
                "def disk_usage(path):\n    return usage(path).used",
                "def settings_page(request):\n    return 1",
            ],
        ),
    ],
)
def test_a_question_finds_an_answer_that_has_none_of_its_words(
    static: StaticEmbedding, question: str, answer: str, others: list[str]
) -> None:
    """The others have words of the question; an embedding of words alone takes one of them."""
    assert nearest(static, question, [answer, *others]) == 0
    assert nearest(open_embedding("lexical"), question, [answer, *others]) != 0


def test_a_docstring_finds_its_function_more_often_than_by_words(static: StaticEmbedding) -> None:
    """None of the standard library's functions was trained on."""
    functions = pairs(150)
    found = {}
    for embedding in (static, open_embedding("lexical")):
        near = (
            embedding.embed([item.queries["docstring"] for item in functions])
            @ embedding.embed([f"{item.chunk.symbol}\n{item.chunk.text}" for item in functions]).T
        )
        found[embedding.identity] = float((near.argmax(axis=1) == np.arange(len(functions))).mean())
    assert found["static@1"] > found["lexical@2/dim512"] + 0.05


def test_spellings_of_a_name_are_one(static: StaticEmbedding) -> None:
    rows = static.embed(
        ["parse_http_response", "parseHTTPResponse", "ParseHttpResponse", "parse http response"]
    )
    assert np.allclose(rows, rows[0], atol=1e-6)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("word " * MOST_PIECES, "word " * MOST_PIECES + "other " * 500_000),
        ("x" * 40, "x" * 2_000_000),
        ("gap", " " * 3_000_000 + "gap"),
        ("a\ud800b", "a\udfffb"),
    ],
    ids=["cut after its first pieces", "a long word is data", "blanks are nothing", "lone surrogates"],
)
def test_a_text_cannot_keep_it_busy(static: StaticEmbedding, text: str, same_as: str) -> None:
    assert (static.embed([text]) == static.embed([same_as])).all()


def test_words_without_end_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeguard.index.embedding.static.CACHED_WORDS", 100)
    fresh = StaticEmbedding()
    words = ["".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2)]
    together = fresh.embed([" ".join(words)])
    assert len(fresh._pieces._cache) <= 100
    fresh.embed(["x" * 1_000_000])
    assert max(map(len, fresh._pieces._cache)) <= MOST_LETTERS
    assert (together == StaticEmbedding().embed([" ".join(words)])).all()


def test_auto_is_this_one_and_an_index_goes_on_with_the_one_it_was_made_with(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(CONFIG + "\n")
    for name, expected in (("auto", "static@1"), ("lexical", "lexical@2/dim512")):
        made = Settings(store=str(tmp_path / name), jobs=1, embedding=name)
        with CodeGuard.open(settings=made) as guard:
            assert guard.index([tmp_path / "config.py"]).embedding == expected
        again = Settings(store=str(tmp_path / name), jobs=1)
        with CodeGuard.open(settings=again) as guard:
            assert guard.index([tmp_path / "config.py"]).embedding == expected
            assert len(guard.query("load settings").results) == 1
    with pytest.raises(EmbeddingError, match="made with another embedding"):
        CodeGuard.open(settings=Settings(store=str(tmp_path / "lexical"), embedding="static")).query("x")
