from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_samples import clean_base, clean_batch, flipped

from codeguard.errors import ConfigError
from codeguard.index.embedding import LexicalEmbedding
from codeguard.text import Document, LabelFlipConfig, LabelFlipDefense, LabelledBase, TextDefenseError
from codeguard.text.label_flip import DETECTORS, LLMLabelJudge, assess, binomial_tail
from codeguard.text.labels import shrunk_covariance
from codeguard.text.llm import LLMClient, LLMConfig
from codeguard.text.reading import ReaderAnswer
from experiments.text.loopback import completion, serve

EMBEDDING = LexicalEmbedding()
KNN = LabelFlipConfig(detector="knn-weighted", neighbours=3)


def defense(config: LabelFlipConfig = KNN) -> LabelFlipDefense:
    return LabelFlipDefense(LabelledBase.of(clean_base(), EMBEDDING), config)


def config(**changes: object) -> LabelFlipConfig:
    return replace(KNN, **changes)


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
    judge = defense(config(detector=detector))
    clean, bad = clean_batch(), flipped(clean_batch())
    assert [item.kept for item in judge.select(clean).judgments] == [True] * len(clean)
    assert [item.rule for item in judge.select(bad).judgments] == ["flipped"] * len(bad)


@pytest.mark.parametrize("detector", DETECTORS)
def test_batch_level_takes_or_refuses_the_whole(detector: str) -> None:
    judge = defense(config(detector=detector, level="batch"))
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
    ("batch", "level"),
    [
        (flipped(clean_batch() + clean_base()[:4]), "batch level: 100%"),
        (clean_batch() + clean_base()[:4], "entry level: 0%"),
        (clean_batch() + flipped(clean_base()[:4]), "entry level: 33%"),
        (flipped(clean_batch()[:3]), "entry level: 100%"),  # three entries are no batch to judge as a whole
    ],
)
def test_auto_chooses_the_level_and_says_why(batch: list[Document], level: str) -> None:
    selection = defense(config(level="auto")).select(batch)
    assert selection.notes[0].startswith(level)


def test_mixed_looks_at_entries_only_in_a_suspicious_batch() -> None:
    judge = defense(config(level="mixed"))
    assert "kept whole" in judge.select(clean_batch()).notes[0]
    selection = judge.select(clean_batch()[:2] + flipped(clean_batch()[2:]))
    assert "suspicious" in selection.notes[0]
    assert [item.kept for item in selection.judgments] == [True] * 2 + [False] * 6


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
    selection = LabelFlipDefense(LabelledBase.of(base, EMBEDDING), KNN).select(batch)
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
    judge = LabelFlipDefense(LabelledBase.of(large_base(), EMBEDDING), LabelFlipConfig(neighbours=3))
    selection = judge.select(clean_batch() + flipped(clean_base()[:2]))
    assert selection.notes[0].startswith(f"{judge.detector}")
    assert "expected to find" in selection.notes[0]
    assert [item.kept for item in selection.judgments] == [True] * 8 + [False] * 2
    described = next(item for item in assess(judge.base, judge.config) if item.detector == "centroid")
    chosen = judge.expectation()
    assert chosen.rejected <= 0.05
    assert chosen.found - chosen.rejected >= described.found - described.rejected


def test_a_base_that_cannot_tell_its_labels_apart_refuses_to_judge() -> None:
    base = LabelledBase.of(large_base(noise=1.0), EMBEDDING)
    selection = LabelFlipDefense(base, LabelFlipConfig(neighbours=3)).select(clean_batch())
    assert {item.rule for item in selection.judgments} == {"cannot_tell"}
    assert "would find" in selection.error
    assert LabelFlipDefense(base, KNN).select(clean_batch()).error == ""  # a named detector judges


def test_every_detector_is_held_to_the_share_of_right_entries_it_may_reject() -> None:
    base = LabelledBase.of(large_base(noise=0.3), EMBEDDING)
    config = LabelFlipConfig(neighbours=3)
    assert all(item.rejected <= 0.05 for item in assess(base, config))
    assert any(item.rejected > 0.05 for item in assess(base, config, limited=False))


def test_a_base_too_small_to_measure_on_is_said() -> None:
    selection = LabelFlipDefense(LabelledBase.of(clean_base(), EMBEDDING)).select(clean_batch())
    assert "too small to cross-validate" in selection.error
    assert not selection.kept


def test_an_unseen_label_leaves_the_other_entries_to_be_judged_in_order() -> None:
    batch = [clean_batch()[0], Document("hm", label="other", id="x"), *flipped(clean_batch()[:1])]
    selection = defense().select(batch)
    assert [item.rule for item in selection.judgments] == ["label_ok", "unseen_label", "flipped"]
    assert "1 of 3" in selection.notes[-1]


def test_a_batch_of_one_is_judged_and_says_so() -> None:
    for level in ("batch", "entry", "mixed", "auto"):
        judge = defense(config(level=level, detector="centroid"))
        assert not judge.select(flipped(clean_batch()[:1])).kept
        assert any("batch of one" in note for note in judge.select(clean_batch()[:1]).notes)


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
    selection = LabelFlipDefense(broken, KNN).select(clean_batch())
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
    judge = LabelFlipDefense(LabelledBase.of(clean_base() + ham, EMBEDDING), KNN)
    for detector in DETECTORS:
        judge.config = config(detector=detector)
        right = Document("frost, snow and wind in the north tonight", label="weather")
        assert judge.select([right]).kept, detector
        assert not judge.select([replace(right, label="spam")]).kept, detector


@pytest.mark.parametrize(
    "changes",
    [
        {"detector": "magic"},
        {"level": "some"},
        {"neighbours": 0},
        {"agreement": 1.5},
        {"large_part": 0},
        {"significance": 1},
    ],
)
def test_a_configuration_that_means_nothing_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        config(**changes)


def test_a_base_refuses_what_it_cannot_hold() -> None:
    vectors = EMBEDDING.embed(["a", "b"])
    for rows, labels in ((vectors, ["x"]), (vectors, ["x", ""]), (vectors * np.nan, ["x", "y"])):
        with pytest.raises(TextDefenseError):
            LabelledBase(rows, labels, EMBEDDING)


def test_whitening_evens_out_the_spread_within_labels() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(4000, 6)) @ np.diag([2, 1, 1, 1, 0.8, 0.7])
    base = LabelledBase(rows.astype(np.float32), ["a", "b"] * 2000, EMBEDDING)
    turned = (rows - base.centroids[base.codes]) @ base.metric
    np.testing.assert_allclose(np.cov(turned.T), np.eye(6), atol=0.05)


def test_shrinkage_matches_scikit_learn() -> None:
    covariance = pytest.importorskip("sklearn.covariance")
    rows = np.random.default_rng(3).normal(size=(40, 25))
    rows -= rows.mean(axis=0)
    expected, _ = covariance.ledoit_wolf(rows, assume_centered=True)
    np.testing.assert_allclose(shrunk_covariance(rows), expected, rtol=1e-6)


@given(st.integers(0, 60), st.integers(1, 60), st.floats(0.001, 0.999))
def test_binomial_tail_is_the_sum_of_its_terms(successes: int, trials: int, share: float) -> None:
    import math

    expected = sum(
        math.comb(trials, hits) * share**hits * (1 - share) ** (trials - hits)
        for hits in range(successes, trials + 1)
    )
    assert binomial_tail(successes, trials, share) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("reply", "kept"),
    [("ham", True), (" Ham. ", True), ("spam", False), ("I cannot say", False), ("", False)],
)
def test_a_second_opinion_decides_what_fits_two_labels_and_no_answer_rejects(reply: str, kept: bool) -> None:
    pytest.importorskip("openai")
    odd = Document("call me now when the lecture is over, I won a prize", label="ham")
    with serve(lambda request: completion(reply)) as server:
        judge = LLMLabelJudge(LLMClient(LLMConfig(server.url, "m", attempts=1)))
        undecided = LabelFlipDefense(defense().base, config(detector="centroid"), judge)
        selection = undecided.select([odd])
        assert len(server.requests) == 1
    assert [item.kept for item in selection.judgments] == [kept]
    assert "second opinion" in selection.notes[1]


def test_what_is_clear_is_not_asked() -> None:
    class Never:
        def name_labels(self, texts: list[str], names: list[str]) -> list[ReaderAnswer]:
            assert texts == []
            return []

    assert LabelFlipDefense(defense().base, KNN, Never()).select(clean_base()[:1]).error == ""  # type: ignore[arg-type]
