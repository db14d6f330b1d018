"""The n-gram model: nltk's figures, and the most surprising window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from codeguard.analysis.perplexity import NgramModel

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
