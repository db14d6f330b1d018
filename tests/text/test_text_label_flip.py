from dataclasses import replace

import numpy as np
import pytest
from text_samples import clean_base, clean_batch, flipped

from codeguard.errors import ConfigError
from codeguard.index.embedding import LexicalEmbedding
from codeguard.text import Document, LabelFlipDefense, LabelledBase, TextDefenseError
from codeguard.text.label_flip import DETECTORS, assess

EMBEDDING = LexicalEmbedding()


def defense(base: LabelledBase | None = None, **changes: object) -> LabelFlipDefense:
    options = {"detector": "knn", "neighbours": 3, **changes}
    if base is None:
        base = LabelledBase.of(clean_base(), EMBEDDING)
    return LabelFlipDefense(base, **options)  # type: ignore[arg-type]


class BrokenEmbedding:
    identity, dimension, note = "broken", 512, ""

    def __init__(self, result: object) -> None:
        self.result = result

    def embed(self, texts: object) -> object:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.parametrize("detector", DETECTORS)
def test_entry_level_keeps_the_clean_and_rejects_the_flipped(detector: str) -> None:
    judge = defense(detector=detector)
    clean, bad = clean_batch(), flipped(clean_batch())
    assert [item.kept for item in judge.select(clean).judgments] == [True] * len(clean)
    assert [item.rule for item in judge.select(bad).judgments] == ["flipped"] * len(bad)


@pytest.mark.parametrize("detector", DETECTORS)
def test_batch_level_takes_or_refuses_the_whole(detector: str) -> None:
    judge = defense(detector=detector, level="batch")
    assert len(judge.select(clean_batch()).kept) == len(clean_batch())
    selection = judge.select(flipped(clean_batch()))
    assert not selection.kept
    assert "nearer to" in selection.judgments[0].reason


def test_a_reason_names_the_label_that_fits_better() -> None:
    selection = defense().select([Document("claim your free cash prize, call now", label="ham")])
    (judgment,) = selection.rejected
    assert "'ham'" in judgment.reason
    assert "'spam'" in judgment.reason
    assert judgment.scores["other"] > judgment.scores["own"]


@pytest.mark.parametrize(
    ("base", "batch", "rule"),
    [
        ([], clean_batch(), "empty_base"),
        (clean_base()[:8], clean_batch(), "one_label"),
        (clean_base(), [Document("what is this", label="other")], "unseen_label"),
        (clean_base(), [Document("what is this")], "unseen_label"),
    ],
)
def test_what_cannot_be_compared_is_rejected(base: list[Document], batch: list[Document], rule: str) -> None:
    selection = defense(LabelledBase.of(base, EMBEDDING)).select(batch)
    assert {item.rule for item in selection.judgments} == {rule}
    assert not selection.kept


def large_base(noise: float = 0.0) -> list[Document]:
    rng = np.random.default_rng(1)
    words = ("ok", "today", "please", "then", "soon", "well")
    documents = [replace(item, text=f"{item.text} {word}", id="") for item in clean_base() for word in words]
    labels = ["ham", "spam"]
    return [
        replace(item, label=labels[rng.integers(2)]) if rng.random() < noise else item for item in documents
    ]


def test_the_detector_is_chosen_on_the_base_and_what_it_is_expected_to_do_is_said() -> None:
    judge = defense(LabelledBase.of(large_base(), EMBEDDING), detector="auto")
    selection = judge.select(clean_batch() + flipped(clean_base()[:2]))
    assert "expected to find" in selection.notes[0]
    assert [item.kept for item in selection.judgments] == [True] * 8 + [False] * 2
    described = next(item for item in assess(judge.base, 3) if item.detector == "centroid")
    chosen = judge.expectation()
    assert chosen.rejected <= 0.05
    assert chosen.found - chosen.rejected >= described.found - described.rejected


def test_a_base_that_cannot_tell_its_labels_apart_refuses_to_judge() -> None:
    base = LabelledBase.of(large_base(noise=1.0), EMBEDDING)
    selection = defense(base, detector="auto").select(clean_batch())
    assert {item.rule for item in selection.judgments} == {"cannot_tell"}
    assert "would find" in selection.error
    assert defense(base).select(clean_batch()).error == ""  # a named detector judges


def test_every_detector_is_held_to_the_share_of_right_entries_it_may_reject() -> None:
    base = LabelledBase.of(large_base(noise=0.3), EMBEDDING)
    assert all(item.rejected <= 0.05 for item in assess(base, 3))


def test_a_base_too_small_to_measure_on_is_said() -> None:
    selection = LabelFlipDefense(LabelledBase.of(clean_base(), EMBEDDING)).select(clean_batch())
    assert "too small to cross-validate" in selection.error
    assert not selection.kept


def test_an_unseen_label_leaves_the_other_entries_to_be_judged_in_order() -> None:
    batch = [clean_batch()[0], Document("hm", label="other", id="x"), *flipped(clean_batch()[:1])]
    selection = defense().select(batch)
    assert [item.rule for item in selection.judgments] == ["label_ok", "unseen_label", "flipped"]


def test_an_empty_batch_is_empty() -> None:
    assert defense().select([]).judgments == ()


@pytest.mark.parametrize(
    "result",
    [
        RuntimeError("model is gone"),
        np.full((8, 512), np.nan, dtype=np.float32),
        np.ones((3, 512), dtype=np.float32),
        np.ones((8, 7), dtype=np.float32),
    ],
)
def test_a_detector_error_rejects_everything_and_is_reported(result: object) -> None:
    base = LabelledBase.of(clean_base(), EMBEDDING)
    broken = LabelledBase(base.vectors, [base.names[code] for code in base.codes], BrokenEmbedding(result))
    selection = defense(broken).select(clean_batch())
    assert not selection.kept
    assert {item.rule for item in selection.judgments} == {"detector_error"}
    assert selection.error


def test_three_labels() -> None:
    ham = [
        Document(text, label="weather")
        for text in (
            "rain and wind with thunder over the coast",
            "sunny and dry, light wind from the coast",
            "snow showers and frost, wind from the north",
            "thunder, rain and hail in the evening",
        )
    ]
    base = LabelledBase.of(clean_base() + ham, EMBEDDING)
    for detector in DETECTORS:
        judge = defense(base, detector=detector)
        right = Document("frost, snow and wind in the north tonight", label="weather")
        assert judge.select([right]).kept, detector
        assert not judge.select([replace(right, label="spam")]).kept, detector


@pytest.mark.parametrize("changes", [{"detector": "magic"}, {"level": "some"}, {"neighbours": 0}])
def test_a_configuration_that_means_nothing_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        defense(**changes)


def test_a_base_refuses_what_it_cannot_hold() -> None:
    vectors = EMBEDDING.embed(["a", "b"])
    for rows, labels in ((vectors, ["x"]), (vectors, ["x", ""]), (vectors * np.nan, ["x", "y"])):
        with pytest.raises(TextDefenseError):
            LabelledBase(rows, labels, EMBEDDING)
