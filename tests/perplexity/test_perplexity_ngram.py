"""The n-gram model has the probabilities of its definition."""

from __future__ import annotations

import numpy as np
import pytest

from codeguard.analysis.perplexity import NgramModel

TRAINED = ["abracadabra", "banana band", "abba", "", "µ√"]
SCORED = ["banana", "band abba cad", "nnn dra", "c", "√µ b"]


def probability(byte: int, context: bytes) -> float:
    """Return Witten and Bell's interpolated probability of a byte after a context, over a uniform distribution."""
    parts = [text.encode() for text in TRAINED]
    followers = [
        text[at + len(context)]
        for text in parts
        for at in range(len(text) - len(context))
        if text[at : at + len(context)] == context
    ]
    lower = probability(byte, context[1:]) if context else 1 / 256
    kinds = len(set(followers))
    return (followers.count(byte) + kinds * lower) / (len(followers) + kinds) if followers else lower


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_it_is_the_interpolation_of_witten_and_bell(order: int) -> None:
    model = NgramModel.train(TRAINED, order)
    for text in map(str.encode, SCORED):
        want = [probability(byte, text[max(0, at - order + 1) : at]) for at, byte in enumerate(text)]
        assert np.exp2(-model.bits([text.decode()])[0]) == pytest.approx(want, abs=1e-9, rel=1e-9)
