"""The n-gram model: nltk's figures, and the most surprising window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeguard.analysis.perplexity import NgramModel
from codeguard.analysis.perplexity.ngram import character_bits, worst_window

TRAINED = ["abracadabra", "banana band", "abba", ""]
SCORED = ["banana", "band abba cad", "nnn dra", "c"]
TEXTS = st.lists(st.text(alphabet="ab \nµ√😀\x00", max_size=30), max_size=4)


@pytest.mark.slow  # to load nltk takes longer than all other tests of this file
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_agrees_with_nltk(order: int) -> None:
    from nltk.lm import WittenBellInterpolated
    from nltk.util import everygrams

    ours = NgramModel.train(TRAINED, order, floor=False)
    theirs = WittenBellInterpolated(order)
    theirs.fit([list(everygrams(text, max_len=order)) for text in TRAINED], sorted(set("".join(TRAINED))))
    for text in SCORED:
        got = np.exp2(-ours.bits([text])[0])
        want = [theirs.score(char, tuple(text[max(0, i - order + 1) : i])) for i, char in enumerate(text)]
        assert got == pytest.approx(want, abs=1e-9, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(trained=TEXTS, scored=TEXTS, order=st.integers(1, 7))
def test_a_text_costs_the_same_alone_and_among_others(
    trained: list[str], scored: list[str], order: int
) -> None:
    model = NgramModel.train(trained, order)
    for text, costs in zip(scored, model.bits(scored), strict=True):
        assert costs.tolist() == model.bits([text])[0].tolist()
        assert len(costs) == len(text.encode())


def test_an_untrained_model_is_uniform() -> None:
    assert NgramModel.train([]).bits_per_character("abc") == pytest.approx(8)


@pytest.mark.parametrize(
    ("text", "width", "start", "end"),
    [
        ("", 4, 0, 0),
        ("aa", 4, 0, 2),
        ("aaaaaaaazzzzaaaa", 4, 8, 12),
        ("ééééééQJéé", 2, 6, 8),
    ],
)
def test_the_worst_window_is_given_in_characters(text: str, width: int, start: int, end: int) -> None:
    model = NgramModel.train(["a" * 50, "é" * 50])
    bits, got_start, got_end = worst_window(character_bits(text, model.bits([text])[0]), width)
    assert (got_start, got_end) == (start, end)
    assert bits >= model.bits_per_character(text)
