import json
import os
from pathlib import Path

import numpy as np
import pytest
from text_samples import clean_base

from codeguard.errors import CorpusError
from codeguard.index.embedding import LexicalEmbedding
from codeguard.text import Document
from experiments.text.common import (
    CachedEmbedding,
    bootstrap,
    data_folder,
    share,
    text_table,
    wilson,
)
from experiments.text.filterrag import load_questions, swap_words
from experiments.text.label_flip import figures, ham_words, run, targeted_flips, uniform_flips

pytestmark = pytest.mark.ci

DATA = os.environ.get("CODEGUARD_DATA", "")


@pytest.mark.parametrize(
    ("hits", "count", "interval"),
    [(0, 0, (0, 1)), (0, 10, (0, 0.2775)), (10, 10, (0.7225, 1)), (5, 10, (0.2366, 0.7634))],
)
def test_wilson_intervals(hits: int, count: int, interval: tuple[float, float]) -> None:
    assert wilson(hits, count) == pytest.approx(interval, abs=1e-4)


def test_a_bootstrap_interval_holds_the_mean_and_says_nan_for_nothing() -> None:
    low, high = bootstrap([0.1, 0.2, 0.3, 0.4])
    assert 0.1 <= low < 0.25 < high <= 0.4
    assert np.isnan(bootstrap([])).all()


def test_flips_touch_the_share_asked_for_and_targeted_ones_only_spam() -> None:
    rng = np.random.default_rng(0)
    batch, flips = uniform_flips(clean_base(), 0.25, rng)
    assert sum(flips) == 4
    assert [new.label != old.label for new, old in zip(batch, clean_base(), strict=True)] == flips
    batch, flips = targeted_flips(clean_base(), 0.5, rng)
    assert sum(flips) == 4
    assert {new.label for new, bad in zip(batch, flips, strict=True) if bad} == {"ham"}
    assert all(old.label == "spam" for old, bad in zip(clean_base(), flips, strict=True) if bad)


def test_figures_are_undefined_without_cases() -> None:
    values = figures({"tp": 0, "fp": 0, "fn": 0, "tn": 4})
    assert np.isnan(values["TPR"])
    assert values["FPR"] == 0


def test_ham_words_speak_for_ham() -> None:
    documents = [Document(f"see you later {n}", label="ham") for n in range(30)]
    documents += [Document(f"free prize you {n}", label="spam") for n in range(30)]
    assert ham_words(documents) == ["later", "see", "you"]


def test_swapped_words_raise_the_similarity_and_leave_the_target() -> None:
    embedding = LexicalEmbedding()
    text, question = (
        "The play was written in London by Alice Smith long ago.",
        "who directed the silent movie",
    )
    swapped = swap_words(text, question, "Alice Smith", embedding, 0)
    goal = embedding.embed([question])[0]
    assert embedding.embed([swapped])[0] @ goal > embedding.embed([text])[0] @ goal
    assert "Alice Smith" in swapped


def test_a_table_shows_proportions_with_their_interval() -> None:
    assert "| 0.500 [0.237, 0.763] |" in text_table([{"x": share(5, 10)}])


def test_each_text_is_embedded_once() -> None:
    class Counting(LexicalEmbedding):
        seen: list[str] = []  # noqa: RUF012

        def embed(self, texts):  # type: ignore[no-untyped-def]
            self.seen.extend(texts)
            return super().embed(texts)

    inner = Counting()
    cached = CachedEmbedding(inner)
    rows = cached.embed(["a", "b", "a"])
    np.testing.assert_array_equal(cached.embed(["a"])[0], rows[2])
    assert inner.seen == ["a", "b"]
    assert cached.embed([]).shape == (0, 512)


def test_questions_of_any_folder_of_that_shape_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "poisonedrag_own"
    folder.mkdir()
    record = {"question": "q", "correct answer": "a", "incorrect answer": "b", "adv_texts": ["q says b"]}
    (folder / "own.json").write_text(json.dumps({"1": record}), encoding="utf-8")
    (folder / "golden_own.txt").write_text("a golden passage\n", encoding="utf-8")
    (question,) = load_questions(folder, LexicalEmbedding(), ["plain"])
    assert (question.golden, question.poison["plain"], question.poison["prefix"]) == (
        "a golden passage",
        ("q says b",),
        ("q. q says b",),
    )
    assert "blind" not in question.poison


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="sms_spam"):
        data_folder(tmp_path, "sms_spam")


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="CODEGUARD_DATA is not set: SMS Spam Collection not here")
def test_label_flips_are_found_with_the_lexical_embedding() -> None:
    result = run(Path(DATA), LexicalEmbedding(), seeds=1)
    assert result["messages"] > 5000
    row = next(
        row
        for row in result["rows"]
        if (row["attack"], row["detector"], row["level"], row["flipped"]) == ("uniform", "knn", "entry", 0.4)
    )
    assert row["TPR"]["value"] > 0.95
    assert row["FPR"]["value"] < 0.03
